"""The providers: name, dialect, base URL, and how the key is sent.

Quirks of compatible servers are rows of the dialect that they speak (``dialects/openai_chat/facts.py``), found there by
the provider's name. ``shares`` names providers that accept each other's signatures and ids: one vendor's models at two
addresses. This module does not read the environment; ``keys`` only names the variables that usually hold the key.
"""

from __future__ import annotations

from msgspec import Struct

__all__ = ["IN_MEMORY", "IN_PROCESS", "PROVIDERS", "Auth", "Provider", "provider"]


class Auth(Struct, frozen=True, kw_only=True):
    """How a key is sent: ``Authorization: Bearer``, a header of its own, or not at all.

    ``sigv4`` and ``google`` sign with credentials that the vendor's library finds; a plain key is accepted too.
    """

    kind: str = "bearer"  # bearer | header | sigv4 | google | none
    header: str | None = None
    keys: tuple[str, ...] = ()


class Provider(Struct, frozen=True, kw_only=True):
    """A server of models: its protocol, address and key. ``{…}`` in the URL is filled from the configuration."""

    name: str
    dialect: str
    base_url: str
    auth: Auth
    headers: dict[str, str] = {}
    shares: tuple[str, ...] = ()
    local: bool = False
    """Whether the server runs on the caller's own machine, so that calls cost nothing."""


def bearer(*keys: str) -> Auth:
    return Auth(kind="bearer", keys=keys)


def header(name: str, *keys: str) -> Auth:
    return Auth(kind="header", header=name, keys=keys)


NONE = Auth(kind="none")
GOOGLE = Auth(kind="google", keys=("GOOGLE_OAUTH_ACCESS_TOKEN",))
IN_PROCESS = "http://localhost:0"
"""Placeholder for the address of a server in this process; its port is known when it runs."""
IN_MEMORY = "http://embedded.invalid"
"""Placeholder for the scripted model, which has no address: it is called without a socket."""

# fmt: off
_ROWS = (
    #        name               dialect               base URL                                        auth
    Provider(name="anthropic",  dialect="anthropic-messages", base_url="https://api.anthropic.com/v1",
             auth=header("x-api-key", "ANTHROPIC_API_KEY"), shares=("bedrock", "vertex-anthropic")),
    Provider(name="openai",     dialect="openai-responses",   base_url="https://api.openai.com/v1",
             auth=bearer("OPENAI_API_KEY"), shares=("openai-chat", "azure")),
    Provider(name="openai-chat", dialect="openai-chat",       base_url="https://api.openai.com/v1",
             auth=bearer("OPENAI_API_KEY"), shares=("openai",)),
    Provider(name="google",     dialect="gemini",             base_url="https://generativelanguage.googleapis.com/v1beta",
             auth=header("x-goog-api-key", "GEMINI_API_KEY", "GOOGLE_API_KEY"), shares=("vertex",)),
    Provider(name="ollama",     dialect="ollama",             base_url="http://localhost:11434",
             auth=Auth(kind="none", keys=("OLLAMA_API_KEY",)), local=True),
    Provider(name="bedrock",    dialect="bedrock-converse",   base_url="https://bedrock-runtime.{region}.amazonaws.com",
             auth=Auth(kind="sigv4", keys=("AWS_BEARER_TOKEN_BEDROCK",)), shares=("anthropic",)),
    # the same models at another cloud's address
    Provider(name="azure",      dialect="openai-chat",        base_url="https://{resource}.openai.azure.com/openai/v1",
             auth=header("api-key", "AZURE_OPENAI_API_KEY"), shares=("openai",)),
    Provider(name="vertex",     dialect="gemini",
             base_url="https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/publishers/google",
             auth=GOOGLE, shares=("google",)),
    Provider(name="vertex-anthropic", dialect="anthropic-messages",
             base_url="https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/publishers/anthropic",
             auth=GOOGLE, shares=("anthropic",)),
    # compatible with OpenAI Chat; their differences are rows of that dialect's quirks
    Provider(name="mistral",    dialect="openai-chat", base_url="https://api.mistral.ai/v1",
             auth=bearer("MISTRAL_API_KEY")),
    Provider(name="deepseek",   dialect="openai-chat", base_url="https://api.deepseek.com",
             auth=bearer("DEEPSEEK_API_KEY")),
    Provider(name="groq",       dialect="openai-chat", base_url="https://api.groq.com/openai/v1",
             auth=bearer("GROQ_API_KEY")),
    Provider(name="xai",        dialect="openai-chat", base_url="https://api.x.ai/v1",
             auth=bearer("XAI_API_KEY")),
    Provider(name="together",   dialect="openai-chat", base_url="https://api.together.xyz/v1",
             auth=bearer("TOGETHER_API_KEY")),
    Provider(name="fireworks",  dialect="openai-chat", base_url="https://api.fireworks.ai/inference/v1",
             auth=bearer("FIREWORKS_API_KEY")),
    Provider(name="openrouter", dialect="openai-chat", base_url="https://openrouter.ai/api/v1",
             auth=bearer("OPENROUTER_API_KEY")),
    Provider(name="cerebras",   dialect="openai-chat", base_url="https://api.cerebras.ai/v1",
             auth=bearer("CEREBRAS_API_KEY")),
    Provider(name="perplexity", dialect="openai-chat", base_url="https://api.perplexity.ai",
             auth=bearer("PERPLEXITY_API_KEY")),
    Provider(name="cohere",     dialect="openai-chat", base_url="https://api.cohere.ai/compatibility/v1",
             auth=bearer("COHERE_API_KEY")),
    Provider(name="huggingface", dialect="openai-chat", base_url="https://router.huggingface.co/v1",
             auth=bearer("HF_TOKEN")),
    Provider(name="venice",     dialect="openai-chat", base_url="https://api.venice.ai/api/v1",
             auth=bearer("VENICE_API_KEY")),
    Provider(name="zai",        dialect="openai-chat", base_url="https://api.z.ai/api/paas/v4",
             auth=bearer("ZAI_API_KEY")),
    Provider(name="moonshot",   dialect="openai-chat", base_url="https://api.moonshot.ai/v1",
             auth=bearer("MOONSHOT_API_KEY")),
    Provider(name="vllm",       dialect="openai-chat", base_url="http://localhost:8000/v1",      auth=NONE, local=True),
    Provider(name="llamacpp",   dialect="openai-chat", base_url="http://localhost:8080/v1",      auth=NONE, local=True),
    Provider(name="lmstudio",   dialect="openai-chat", base_url="http://localhost:1234/v1",      auth=NONE, local=True),
    # llama.cpp inside this process (client/local), in the protocols that it speaks
    Provider(name="local",           dialect="openai-chat",        base_url=f"{IN_PROCESS}/v1", auth=NONE, local=True),
    Provider(name="local-responses", dialect="openai-responses",   base_url=f"{IN_PROCESS}/v1", auth=NONE, local=True),
    Provider(name="local-anthropic", dialect="anthropic-messages", base_url=f"{IN_PROCESS}/v1", auth=NONE, local=True),
    # compatible with Anthropic Messages, but neither they nor Anthropic accept each other's signatures
    Provider(name="kimi",       dialect="anthropic-messages", base_url="https://api.moonshot.ai/anthropic/v1",
             auth=header("x-api-key", "MOONSHOT_API_KEY")),
    Provider(name="minimax",    dialect="anthropic-messages", base_url="https://api.minimax.io/anthropic/v1",
             auth=header("x-api-key", "MINIMAX_API_KEY")),
    Provider(name="deepseek-anthropic", dialect="anthropic-messages", base_url="https://api.deepseek.com/anthropic/v1",
             auth=header("x-api-key", "DEEPSEEK_API_KEY")),
)
# fmt: on

PROVIDERS: dict[str, Provider] = {row.name: row for row in _ROWS}
"""Every known provider by name. ``connect`` finds a row that is added to it."""


def provider(name: str) -> Provider:
    """The provider of that name. Raises ``ValueError``, which lists the known names, if there is none."""
    row = PROVIDERS.get(name)
    if row is None:
        raise ValueError(f"no provider is called {name!r}; known: {', '.join(sorted(PROVIDERS))}")
    return row

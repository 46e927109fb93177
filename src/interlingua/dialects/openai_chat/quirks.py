"""What servers that are compatible with OpenAI Chat do otherwise: a closed list, as data.

Reading needs none of it: the decoder accepts the union of all spellings and marks which one it saw. Quirks steer what
is *written* to a server that was named, by ``dialect("openai-chat", provider=…)`` or by ``Target``. Each field is read
in exactly one place.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ...codec.ids import IdRule

__all__ = ["OPENAI", "QUIRKS", "Quirks"]

FORTY = IdRule(re.compile(r"(?s).{1,40}"))
NINE = IdRule(re.compile(r"[a-zA-Z0-9]{9}"), prefix="", length=9)


class Quirks(Struct, frozen=True, kw_only=True):
    """How one compatible server wants to be spoken to. The defaults are OpenAI's."""

    max_tokens_key: str = "max_completion_tokens"
    seed_key: str = "seed"
    top_k: bool = False
    """Takes ``top_k``."""
    thinking_key: str | None = None
    """The message field in which reasoning goes back; None where there is none."""
    replay_thinking: bool = False
    """Turns with tool calls must bring their reasoning back, if only as an empty string."""
    thinking_param: str = "reasoning_effort"
    """How thinking is asked for: ``reasoning_effort``, or an object ``thinking`` or ``reasoning``."""
    cache_key: str | None = "prompt_cache_breakpoint"
    """The attribute of a content part that marks a cache point."""
    ids: IdRule = FORTY
    """Which call ids the server takes."""
    any_word: str = "required"
    """The word for: some tool must be called."""
    developer_role: bool = True
    """Knows the role ``developer``."""
    stream_usage: bool = True
    """Takes ``stream_options``; the others send usage unasked."""
    parallel: bool = True
    """Takes ``parallel_tool_calls``."""
    strict: bool = True
    """Takes ``strict`` on tools."""
    list_content: bool = False
    """Takes documents by URL and reasoning as parts of the content."""


OPENAI = Quirks()
_PLAIN = Quirks(max_tokens_key="max_tokens", cache_key=None, developer_role=False)

QUIRKS: dict[str, Quirks] = {
    "openai": OPENAI,
    "azure": OPENAI,
    "mistral": Quirks(
        max_tokens_key="max_tokens", seed_key="random_seed", top_k=True, cache_key=None, ids=NINE, any_word="any",
        developer_role=False, stream_usage=False, list_content=True,
    ),
    "deepseek": Quirks(
        max_tokens_key="max_tokens", cache_key=None, developer_role=False, thinking_key="reasoning_content",
        replay_thinking=True, thinking_param="thinking", parallel=False,
    ),
    "groq": Quirks(cache_key=None, developer_role=False, thinking_key="reasoning"),
    "xai": Quirks(cache_key=None, developer_role=False),
    "together": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False, thinking_key="reasoning",
    ),
    "fireworks": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False,
        thinking_key="reasoning_content", any_word="any",
    ),
    "openrouter": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key="cache_control", developer_role=False,
        thinking_key="reasoning", thinking_param="reasoning",
    ),
    "cerebras": Quirks(cache_key=None, developer_role=False, thinking_key="reasoning"),
    "perplexity": Quirks(
        max_tokens_key="max_tokens", cache_key=None, developer_role=False, stream_usage=False, parallel=False,
        strict=False,
    ),
    "vllm": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False, thinking_key="reasoning",
    ),
    "llamacpp": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False,
        thinking_key="reasoning_content",
    ),
    "lmstudio": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False,
        thinking_key="reasoning_content",
    ),
    "ollama": Quirks(max_tokens_key="max_tokens", cache_key=None, developer_role=False, thinking_key="reasoning"),
    "cohere": Quirks(max_tokens_key="max_tokens", cache_key=None, parallel=False),
    "google": _PLAIN,
    "github-copilot": _PLAIN,
    "huggingface": _PLAIN,
    "venice": _PLAIN,
    "zai": Quirks(
        max_tokens_key="max_tokens", cache_key=None, developer_role=False, thinking_key="reasoning_content",
        thinking_param="thinking",
    ),
    "moonshot": Quirks(
        max_tokens_key="max_tokens", cache_key=None, developer_role=False, thinking_key="reasoning_content",
        thinking_param="thinking",
    ),
}  # fmt: skip

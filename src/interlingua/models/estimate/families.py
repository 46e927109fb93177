"""Which models count tokens alike: the names of the rows in ``weights.py``.

A row is a family of models, or a family at one server (``gpt-5@openai-chat``) if that server counts differently, for
instance because it adds a hidden prompt.
"""

from __future__ import annotations

import re

__all__ = ["family", "counts_thoughts", "never_thinks", "keeps_idle_tools", "server"]

# Patterns of model names, and their families; the first that matches is used.
MODELS = (
    (r"claude-opus-4[.-]7", "claude-opus-4-7"),
    (r"claude-(fable|mythos|opus-4[.-][89]|[a-z]+-[5-9])", "claude-5"),
    (r"claude-\w+-4[.-]6", "claude-4-6"),
    (r"claude-\w+-4[.-]5", "claude-4-5"),
    (r"claude-(\w+-4|4)", "claude-4"),
    (r"claude-3[.-][57]", "claude-3-5"),
    (r"claude", "claude-3"),
    (r"gemini-([3-9]|flash-latest|pro-latest)", "gemini-3"),
    (r"gemini-2[.-]5", "gemini-2-5"),
    (r"gemini", "gemini-2"),
    (r"gpt-oss", "gpt-oss"),
    (r"^(openai[/.])?(gpt-3|gpt-4(?![.o\d]))", "gpt-4"),
    (r"^(openai[/.])?(gpt-[5-9]|o\d|codex)", "gpt-5"),
    (r"^(openai[/.])?(gpt|chatgpt)", "gpt-4o"),
    (r"ministral|mistral-medium", "ministral"),
    (r"mistral-small|magistral", "mistral-small"),
    (r"mistral|mixtral|codestral|pixtral|devstral|voxtral", "mistral"),
    (r"deepseek.*(v[4-9]|v3[.]2)|deepseek-(chat|reasoner)$", "deepseek-4"),
    (r"deepseek", "deepseek"),
    (r"grok-[12]", "grok-2"),
    (r"grok-3", "grok-3"),
    (r"grok-[4-9].*fast|grok-code", "grok-4-fast"),
    (r"grok-4[.][1-9]|grok-[5-9]", "grok-4-3"),
    (r"grok", "grok-4"),
    (r"qwen-?(3[.-][5-9]|[4-9])", "qwen-3-5"),
    (r"qwen-?3|qwq", "qwen-3"),
    (r"qwen", "qwen"),
    (r"llama-?4", "llama-4"),
    (r"llama-?3[.-][123]", "llama-3-1"),
    (r"llama", "llama-3"),
    (r"nova-[2-9]", "nova-2"),
    (r"nova", "nova"),
    (r"kimi", "kimi"),
    (r"glm", "glm"),
    (r"gemma", "gemma"),
    (r"sonar", "sonar"),
)

# The family by provider, if the model's name matches no pattern.
SERVERS = {
    "anthropic": "claude-5", "vertex-anthropic": "claude-5", "bedrock": "claude-5", "openai": "gpt-5",
    "openai-chat": "gpt-5", "azure": "gpt", "google": "gemini-3", "vertex": "gemini-3", "mistral": "mistral-small",
    "deepseek": "deepseek-4", "deepseek-anthropic": "deepseek-4", "xai": "grok-4-3", "perplexity": "sonar",
    "moonshot": "kimi", "kimi": "kimi", "zai": "glm",
}  # fmt: skip

# The provider that stands for a dialect.
DIALECTS = {
    "anthropic-messages": "anthropic", "openai-responses": "openai", "gemini": "google", "bedrock-converse": "bedrock",
}  # fmt: skip

# Families to which only their maker adds a hidden prompt; at other servers they have rows of their own, without it.
HOUSED = ("grok-3", "grok-4", "grok-4-3", "grok-4-fast")
HOUSES = ("xai", "openrouter")
ELSEWHERE = "-elsewhere"

# Servers that drop the reasoning of earlier turns: vLLM, and servers that run it (vllm-project/vllm#38488).
WITHOUT_THOUGHTS = ("vllm", "gpustack")

LONGEST_NAME = 200  # characters that patterns match: a name may come from outside, and some patterns look far ahead
_MODELS = tuple((re.compile(pattern), name) for pattern, name in MODELS)
_NEVER_THINKS = re.compile(r"deepseek-chat$|non-reasoning")
_KEEPS = re.compile(r"gpt(?!-oss)|claude|gemini|grok")


def family(provider: str, model: str | None) -> str:
    """The family by the model's name, else by the provider, else ``open``."""
    name = (model or "")[:LONGEST_NAME].lower()
    found = next((row for pattern, row in _MODELS if pattern.search(name)), None)
    if found is None:
        return SERVERS.get(provider, "open")
    return found + ELSEWHERE if found in HOUSED and provider not in HOUSES else found


def server(provider: str) -> str:
    """The provider's name, given that of a provider or a dialect."""
    return DIALECTS.get(provider, provider)


def never_thinks(model: str) -> bool:
    """Whether the model's name says that it does not think, so that the server writes no instruction about it."""
    return _NEVER_THINKS.search(model[:LONGEST_NAME]) is not None


def counts_thoughts(provider: str) -> bool:
    """Whether reasoning that is sent back becomes a part of the prompt."""
    return provider not in WITHOUT_THOUGHTS


def keeps_idle_tools(row: str) -> bool:
    """Whether tools are in the prompt even if the choice is ``none``; for open models they are left out."""
    return _KEEPS.match(row) is not None

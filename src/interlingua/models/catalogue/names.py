"""Names of providers and models that users write and we do not: those of other libraries, and names of families."""

from __future__ import annotations

import re
from collections.abc import Container

from ..providers import PROVIDERS

__all__ = ["ALSO_CALLED", "FAMILY_NAMES", "advice_for", "our_spelling"]

SEPARATED = re.compile(r"([^:/]+)([:/])(.*)", re.DOTALL)
TAGGED = re.compile(r"[\w.-]+:(\d+(\.\d+)?[bm]|latest|mini|small|large)([._-].*)?", re.IGNORECASE)
"""A model of Ollama, such as ``llama3:8b``."""

# Other names of providers: of LiteLLM, of agent frameworks, and of the models that they make.
ALSO_CALLED = {
    "amazon": "bedrock", "amazon-bedrock": "bedrock", "aws": "bedrock", "azure-openai": "azure",
    "azure_openai": "azure", "chatgpt": "openai", "claude": "anthropic", "cohere_chat": "cohere",
    "custom_openai": "openai-chat", "fireworks-ai": "fireworks", "fireworks_ai": "fireworks", "gemini": "google",
    "google-genai": "google", "google-gla": "google", "google-vertex": "vertex", "google_genai": "google",
    "google_vertexai": "vertex", "gpt": "openai", "grok": "xai", "hf": "huggingface", "hosted_vllm": "vllm",
    "llama-cpp": "llamacpp", "llama.cpp": "llamacpp", "llama_cpp": "llamacpp", "lm-studio": "lmstudio",
    "lm_studio": "lmstudio", "ollama_chat": "ollama", "openai-compatible": "openai-chat",
    "openai-responses": "openai", "openai_like": "openai-chat", "together_ai": "together", "togetherai": "together",
    "vertex_ai": "vertex", "vertexai": "vertex", "x-ai": "xai",
}  # fmt: skip

# Names of families without a version: the provider that makes them, and the tier that the name stands for.
FAMILY_NAMES = {
    "chatgpt": "openai:balanced", "claude": "anthropic:balanced", "claude-haiku": "anthropic:fast",
    "claude-opus": "anthropic:deep", "claude-sonnet": "anthropic:balanced", "gemini": "google:balanced",
    "gemini-flash": "google:balanced", "gemini-flash-lite": "google:fast", "gemini-pro": "google:deep",
    "glm": "zai:balanced", "gpt": "openai:balanced", "grok": "xai:balanced",
}  # fmt: skip

# Families that many providers serve, and the provider to suggest as an example.
SERVED_BY_MANY = {"gemma": "ollama", "gpt-oss": "groq", "llama": "ollama", "phi": "ollama", "qwen": "ollama"}

WITHOUT_DOTS = frozenset({"anthropic"})
"""Providers whose model names have no dots: a name with dots is a name of OpenRouter."""


def our_spelling(name: str, known: Container[str] = PROVIDERS) -> str:
    """Rewrite ``provider/model`` and other names of a provider as ``provider:model``; return any other name unchanged.

    ``known`` are the names of providers.
    """
    found = SEPARATED.fullmatch(name)
    if found is None:
        return name
    prefix, separator, model = found.groups()
    provider = prefix if prefix in known else ALSO_CALLED.get(prefix.lower(), "")
    if provider not in known or (separator == "/" and (not model or _is_of_a_reseller(provider, model))):
        return name
    return f"{provider}:{model}"


def _is_of_a_reseller(provider: str, model: str) -> bool:
    return provider in WITHOUT_DOTS and "." in model


def advice_for(name: str) -> str | None:
    """A suggestion for a name that no provider could be found for; None if its form gives no hint."""
    prefix, slash, model = name.partition("/")
    if slash and prefix in WITHOUT_DOTS:
        return f"write {f'{prefix}:{model}'.replace('.', '-')!r}, or 'openrouter:{name}' to reach it there"
    if slash:
        return f"write provider:{name}, such as 'openrouter:{name}' or 'huggingface:{name}'"
    if TAGGED.fullmatch(name):
        return f"did you mean 'ollama:{name}'?"
    family = next((family for family in SERVED_BY_MANY if name.lower().startswith(family)), None)
    if family is None:
        return None
    return f"several providers serve {family} models; write provider:model, such as '{SERVED_BY_MANY[family]}:{name}'"

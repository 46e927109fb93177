"""Tier names: one word for comparable models, so that a provider can be swapped without touching the model's name.

The table has the current models of each provider, chosen by published price and rank in November 2026;
``models.yaml`` overrides it.
"""

from __future__ import annotations

__all__ = ["TIERS", "TIER_NAMES", "tier_model"]

# the words that mean each tier
TIER_NAMES: dict[str, str] = {
    "deep": "deep",
    "balanced": "balanced",
    "fast": "fast",
    "opus": "deep",
    "sonnet": "balanced",
    "haiku": "fast",
}

_CLAUDE = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")
_GPT = ("gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-luna")
_GEMINI = ("gemini-3.1-pro-preview", "gemini-3.8-flash", "gemini-3.5-flash-lite")
_DEEPSEEK = ("deepseek-v4-pro", "deepseek-v4-flash", "deepseek-v4-flash")
_KIMI = ("kimi-k3.1-pro", "kimi-k3", "kimi-k2.6")

# fmt: off
TIERS: dict[str, tuple[str, str, str]] = {
    # provider           deep, balanced, fast
    "anthropic":          _CLAUDE,
    "vertex-anthropic":   _CLAUDE,
    "bedrock":            ("global.anthropic.claude-opus-5-5", "global.anthropic.claude-sonnet-5-5",
                           "global.anthropic.claude-haiku-5-5"),
    "openai":             _GPT,
    "openai-chat":        _GPT,
    "azure":              _GPT,
    "google":             _GEMINI,
    "vertex":             _GEMINI,
    "openrouter":         ("anthropic/claude-opus-5.5", "anthropic/claude-sonnet-5.5", "anthropic/claude-haiku-5.5"),
    "mistral":            ("mistral-large-latest", "mistral-medium-latest", "mistral-small-latest"),
    "xai":                ("grok-4.7", "grok-4.3", "grok-4-1-fast-reasoning"),
    "deepseek":           _DEEPSEEK,
    "deepseek-anthropic": _DEEPSEEK,
    "groq":               ("openai/gpt-oss-120b", "openai/gpt-oss-120b", "openai/gpt-oss-20b"),
    "cerebras":           ("gpt-oss-120b", "gpt-oss-120b", "gpt-oss-120b"),
    "moonshot":           _KIMI,
    "kimi":               _KIMI,
    "zai":                ("glm-5.3", "glm-5.3", "glm-5.3-flash"),
    "perplexity":         ("sonar-reasoning-pro", "sonar-pro", "sonar"),
    "minimax":            ("MiniMax-M3", "MiniMax-M3", "MiniMax-M3.1-Flash"),
}
# fmt: on

_COLUMNS = ("deep", "balanced", "fast")


def tier_model(provider: str, name: str) -> str | None:
    """The model for a tier at a provider; None if the name is not a tier or the provider has no row."""
    tier, row = TIER_NAMES.get(name), TIERS.get(provider)
    return row[_COLUMNS.index(tier)] if tier is not None and row is not None else None

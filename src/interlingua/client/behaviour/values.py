"""``Behaviour`` and ``Preset``: what may differ by provider, as values. Everything is off by default."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from ...models.catalogue.families import family_facts, home
from ..config import Retry

__all__ = ["CORE_TOOLS", "Behaviour", "Preset", "family_word", "row_words"]

CORE_TOOLS = (
    *("Read", "Write", "Edit", "Bash", "Glob", "Grep", "TodoWrite", "AskUserQuestion", "Task", "WebSearch", "WebFetch"),
    *("Skill", "EnterPlanMode", "ExitPlanMode"),
)
"""Tools that filtering never leaves out, by their exact names."""


class Behaviour(Struct, frozen=True, omit_defaults=True):
    """How requests to some models are prepared. ``Behaviour()`` changes nothing.

    ``addendum`` follows the system prompt. ``strict`` and ``parallel`` are set where the request does not set them.
    ``max_tools`` leaves out the least relevant tools. ``force_first_tool`` forces a tool call in the first answer, if
    there are tools and the caller made no choice. ``retry`` and ``max_retries`` are for the adapter.
    """

    addendum: str | None = None
    strict: bool | None = None
    parallel: bool | None = None
    max_tools: int | None = None
    force_first_tool: bool = False
    retry: Retry | None = None
    max_retries: int | None = None


class Preset(Struct, frozen=True):
    """A behaviour for each family of models, under one name.

    The keys of ``rows`` are family words (``claude``, ``openai``, ``gemini``, ``mistral``, …) or names of providers.
    """

    name: str
    rows: dict[str, Behaviour] = {}
    default: Behaviour = Behaviour()
    core_tools: tuple[str, ...] = CORE_TOOLS

    def behaviour_for(self, provider: str, model: str | None = None) -> Behaviour:
        """The row of the model's family, else that of the provider, else the default."""
        found = (self.rows[word] for word in row_words(provider, model) if word in self.rows)
        return next(found, self.default)


# -------------------------------------------------------------------------------------------------------- families

# The name that people use for a provider's models.
FAMILIES = {"anthropic": "claude", "google": "gemini"}

# Providers with models of only one family: a model with an unknown name (a deployment, a fine-tune) belongs to it.
ONLY_FAMILY = {
    "anthropic": "claude",
    "vertex-anthropic": "claude",
    "openai": "openai",
    "openai-chat": "openai",
    "azure": "openai",
    "google": "gemini",
    "vertex": "gemini",
}


def family_word(maker: str) -> str:
    """The key of a provider's own models in ``rows``: ``claude`` for ``anthropic``."""
    return FAMILIES.get(maker, maker)


@lru_cache(maxsize=512)
def row_words(provider: str, model: str | None) -> tuple[str, ...]:
    """The keys of ``rows`` that apply to a model, the most specific first.

    The model's name decides, not the provider that serves it: Claude on Bedrock is Claude. Llama on Azure is known to
    be of none of these families, so only a row for the provider applies.
    """
    maker = None if model is None else home(model)
    if maker is not None:
        return (family_word(maker), provider)
    known = model is not None and family_facts(model) is not None
    return (provider,) if known or provider not in ONLY_FAMILY else (ONLY_FAMILY[provider], provider)

"""The catalogue: which model a name means, what that model accepts, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from ...types.capabilities import AdapterCapabilities
from ...types.request import Thinking
from ..providers import PROVIDERS, Provider, provider as provider_row
from .facts import Facts, capabilities, merged
from .families import Recorded, home
from .layers import Families, GenaiPrices, Layer, ModelsDev
from .names import FAMILY_NAMES, our_spelling
from .tiers import TIER_NAMES, tier_model

__all__ = ["Catalogue", "capabilities_for", "default_catalogue", "rejected_parameters", "resolve"]

ALWAYS_HOME = {"opus": "anthropic", "sonnet": "anthropic", "haiku": "anthropic"}


class Catalogue:
    """Layers of facts, of which the later wins, and the names by which users call models.

    ``aliases`` maps a user's word to ``provider:model``; ``tiers`` maps (provider, tier) to a model and is used before
    the built-in table. Immutable: a new configuration is a new catalogue.
    """

    def __init__(
        self,
        layers: Iterable[Layer] | None = None,
        *,
        aliases: Mapping[str, str] | None = None,
        tiers: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self.layers: tuple[Layer, ...] = tuple(_default_layers() if layers is None else layers)
        self.aliases = dict(aliases or {})
        self.tiers = dict(tiers or {})
        self._facts = lru_cache(maxsize=1024)(self._merged)
        self._capabilities = lru_cache(maxsize=1024)(self._make_capabilities)

    def resolve(self, name: str, provider: str | None = None) -> tuple[Provider, str]:
        """The provider and the model that a name means.

        ``provider:model`` names both; an alias is looked up; a bare model is sent to ``provider``, or to the provider
        that makes it. An unknown model is sent as written. An unknown provider raises ``ValueError``, which lists the
        known ones.
        """
        name = self.aliases.get(name, name)
        if provider is None:
            name = FAMILY_NAMES.get(name) or our_spelling(name)
        prefix, colon, model = name.partition(":")
        if not colon:
            prefix, model = provider or self._home(name), name
        elif provider is not None and prefix not in PROVIDERS:
            prefix, model = provider, name  # ``llama3:8b``: the colon is a part of the model's name
        row = provider_row(prefix)
        return row, self.wire_name(row.name, model)

    def wire_name(self, provider: str, model: str) -> str:
        """The name of the model at the provider: tier names are looked up, any other name is sent as written."""
        tier = TIER_NAMES.get(model)
        if tier is None:
            return model
        return self.tiers.get((provider, tier)) or tier_model(provider, model) or model

    def _home(self, name: str) -> str:
        found = ALWAYS_HOME.get(name) or home(name)
        if found is None:
            known = ", ".join(sorted(PROVIDERS))
            raise ValueError(f"whose model is {name!r}? Write provider:model; known providers: {known}")
        return found

    def facts(self, provider: str, model: str) -> Facts:
        """The facts of all layers about a model; empty if none knows it."""
        return self._facts(provider, model)

    def _merged(self, provider: str, model: str) -> Facts:
        wire = self.wire_name(provider, model)
        return merged(*(layer.facts(provider, wire) for layer in self.layers))

    def knows(self, provider: str, model: str) -> bool:
        """Whether any layer knows the model. An unknown model is sent as written, and nothing is refused for it."""
        return self.facts(provider, model) != Facts()

    def capabilities_for(self, provider: str, model: str, dialect: str | None = None) -> AdapterCapabilities:
        """What the model accepts through the provider's protocol; ``dialect`` names that if the provider has no row."""
        return self._capabilities(provider, model, dialect)

    def _make_capabilities(self, provider: str, model: str, dialect: str | None) -> AdapterCapabilities:
        return capabilities(self.facts(provider, model), dialect or provider_row(provider).dialect, provider)

    def rejected_parameters(
        self, model: str, provider: str | None = None, *, thinking: Thinking | None = None
    ) -> frozenset[str]:
        """The ``Request`` fields that the model refuses with a 400; with ``thinking``, those refused only then too."""
        facts = self.facts(provider or home(model) or "", model)
        refused = facts.rejects or ()
        return frozenset((*refused, *(facts.rejects_while_thinking or ())) if _thinks(thinking) else refused)


def _thinks(thinking: Thinking | None) -> bool:
    return thinking is not None and thinking.mode != "disabled" and thinking.effort != "none" and thinking.budget != 0


def _default_layers() -> Iterable[Layer]:
    return Families(), ModelsDev(), GenaiPrices(), Recorded()


@cache
def default_catalogue() -> Catalogue:
    """The catalogue that is used without a configuration."""
    return Catalogue()


def resolve(name: str, provider: str | None = None) -> tuple[Provider, str]:
    """``Catalogue.resolve`` of the default catalogue."""
    return default_catalogue().resolve(name, provider)


def capabilities_for(provider: str, model: str) -> AdapterCapabilities:
    """``Catalogue.capabilities_for`` of the default catalogue."""
    return default_catalogue().capabilities_for(provider, model)


def rejected_parameters(model: str, provider: str | None = None, *, thinking: Thinking | None = None) -> frozenset[str]:
    """``Catalogue.rejected_parameters`` of the default catalogue."""
    return default_catalogue().rejected_parameters(model, provider, thinking=thinking)

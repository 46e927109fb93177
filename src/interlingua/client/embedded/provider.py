"""The embedded model as a provider: ``embedded:``, or ``embedded:gemini`` to choose its dialect."""

from __future__ import annotations

from difflib import get_close_matches

from ...dialects import DIALECTS
from ...errors import NotConfigured
from ...models.providers import IN_MEMORY, NONE, Provider

__all__ = ["EMBEDDED", "embedded_provider"]

EMBEDDED = "embedded"
DEFAULT_DIALECT = "anthropic-messages"


def embedded_provider(model: str | None = None) -> Provider:
    """The row of the provider. If the model's name is that of a dialect, this dialect is used."""
    if model not in DIALECTS and (near := get_close_matches(model or "", DIALECTS, n=1, cutoff=0.8)):
        raise NotConfigured(f"embedded: no dialect is called {model!r}; did you mean {near[0]!r}?")
    dialect = model if model in DIALECTS else DEFAULT_DIALECT
    return Provider(name=EMBEDDED, dialect=dialect, base_url=f"{IN_MEMORY}/v1", auth=NONE, local=True)

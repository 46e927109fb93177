"""The embedded model as a provider: ``embedded:``, or ``embedded:gemini`` to choose its dialect."""

from __future__ import annotations

from ...dialects import DIALECTS
from ...models.providers import NONE, Provider

__all__ = ["EMBEDDED", "embedded_provider"]

EMBEDDED = "embedded"
DEFAULT_DIALECT = "anthropic-messages"


def embedded_provider(model: str | None = None) -> Provider:
    """Its row. If the model's name is that of a dialect, this dialect is used."""
    dialect = model if model in DIALECTS else DEFAULT_DIALECT
    return Provider(name=EMBEDDED, dialect=dialect, base_url="http://embedded.invalid/v1", auth=NONE, local=True)

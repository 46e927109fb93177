"""The embedded model as a provider: ``embedded:`` or, to choose its protocol, ``embedded:gemini``."""

from __future__ import annotations

from ...dialects import DIALECTS
from ...models.providers import NONE, Provider

__all__ = ["EMBEDDED", "embedded_provider"]

EMBEDDED = "embedded"
USUAL = "anthropic-messages"


def embedded_provider(model: str | None = None) -> Provider:
    """Its row. The model's name may be that of a dialect, which is then spoken."""
    spoken = model if model in DIALECTS else USUAL
    return Provider(name=EMBEDDED, dialect=spoken, base_url="http://embedded.invalid/v1", auth=NONE, local=True)

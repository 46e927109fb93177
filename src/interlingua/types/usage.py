"""Token counts, in buckets that do not overlap."""

from __future__ import annotations

from msgspec import Struct

from .base import Json
from .checking import check

__all__ = ["TokenUsage"]

INTEGER = frozenset({int})


class TokenUsage(Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True):
    """What a call consumed.

    The three input buckets are disjoint: fresh, read from the cache, written to the cache. ``output_tokens``
    includes ``reasoning_tokens``. In a stream the numbers are cumulative: the newest replaces the older.
    """

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    raw: Json = None

    def __post_init__(self) -> None:
        counts = (self.input_tokens, self.cached_input_tokens, self.cache_creation_input_tokens)
        if not INTEGER.issuperset(map(type, (*counts, self.output_tokens, self.reasoning_tokens))):
            check(self)

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """What both calls consumed; ``raw`` belongs to one call and is left out."""
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.estimated or other.estimated,
        )

    @property
    def total_input_tokens(self) -> int:
        """All the tokens of the prompt."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens

    @property
    def total_tokens(self) -> int:
        """Prompt and answer together."""
        return self.total_input_tokens + self.output_tokens

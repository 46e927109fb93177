"""Candidates while they grow: those beyond the first, and what the first has beside its parts.

The parts of two chunks append; texts that are unsigned and of one kind run together where the chunks meet.
"""

from __future__ import annotations

from ...codec.stream import lengthen
from ...types.base import Json
from .key_case import Wire, is_object

GROWING = frozenset(("groundingMetadata", "citationMetadata", "logprobsResult"))
PLAIN = frozenset(("text", "thought"))


def grow(candidate: Wire, more: Wire) -> None:
    """Add a chunk's candidate to what came before: probabilities append, the rest is said anew."""
    for key, value in more.items():
        before: Json = candidate.get(key)
        if key == "logprobsResult" and value:
            candidate[key] = lengthen(before or {}, value)
        elif key in GROWING and before and value:
            candidate[key] = {**before, **{k: v for k, v in value.items() if v}}
        elif value or not before:
            candidate[key] = value


class Other:
    """A candidate beyond the first."""

    __slots__ = ("candidate", "content", "parts", "texts")

    def __init__(self) -> None:
        self.candidate: Wire = {}
        self.content: Wire | None = None
        self.parts: list[Json] = []
        self.texts: list[str] = []  # of the last part, where that is a text which may go on

    def add(self, candidate: Wire) -> None:
        content: Json = candidate.get("content")
        if is_object(content) and content:
            candidate = {key: value for key, value in candidate.items() if key != "content"}
            self.content = {**(self.content or {}), **content}
            for position, part in enumerate(content.get("parts") or ()):
                self.part(part, position)
        grow(self.candidate, candidate)

    def part(self, part: Json, position: int) -> None:
        plain = is_object(part) and type(part.get("text")) is str and part.keys() <= PLAIN
        last: Json = self.parts[-1] if self.texts and not position else None
        if plain and is_object(last) and last.get("thought") == part.get("thought"):
            self.texts.append(part["text"])
            return
        self.settle()
        self.parts.append(part)
        self.texts = [part["text"]] if plain else []

    def settle(self) -> None:
        """Put the last text together."""
        if len(self.texts) > 1:
            self.parts[-1] = {**self.parts[-1], "text": "".join(self.texts)}

    def whole(self) -> Wire:
        self.settle()
        if self.content is None:
            return self.candidate
        return {**self.candidate, "content": {**self.content, "parts": self.parts}}

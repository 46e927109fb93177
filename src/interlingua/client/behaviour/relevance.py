"""Which tools a question is about: Okapi BM25 over what their definitions say.

A word of the question counts once: as itself, or half where the definition has only a word of the same meaning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import fsum, log
from typing import Any, NamedTuple, TypeGuard

import msgspec

from ...types.tools import ToolDefinition
from .thesaurus import KIN
from .words import content_words

__all__ = ["scores"]

K1 = 1.2  # how soon a word said again adds nothing
B = 0.75  # how much a long definition is held against its tool; both are the usual values
NAME = 2  # a word of the name counts as often
SYNONYM = 0.5  # what another word for the same thing is worth

Meanings = dict[str, tuple[tuple[str, float], ...]]

_encode = msgspec.json.Encoder().encode


class Text(NamedTuple):
    """What a definition says: how often each word, and how many words in all."""

    counts: dict[str, int]
    length: int


def scores(question: str, tools: Sequence[ToolDefinition]) -> list[float]:
    """How well each tool answers to the words of the question; 0.0 where they have nothing in common."""
    meanings = _meanings(question)
    texts = [_text(tool.name, tool.description or "", _encode(tool.input_schema)) for tool in tools]
    shared = [text.counts.keys() & meanings.keys() for text in texts]
    holders = Counter(word for words in shared for word in words)
    rarity = {word: log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for word, count in holders.items()}
    usual = sum(text.length for text in texts) / (len(texts) or 1)

    def score(text: Text, words: set[str]) -> float:
        damping = K1 * (1 - B + B * text.length / usual)
        best: dict[str, float] = {}
        for word in words:
            count = text.counts[word]
            said = rarity[word] * count * (K1 + 1) / (count + damping)
            for asked, weight in meanings[word]:
                best[asked] = max(best.get(asked, 0.0), said * weight)
        return fsum(best.values())  # exact, hence the same whatever order a set is read in

    return [score(text, words) if words else 0.0 for text, words in zip(texts, shared, strict=True)]


@lru_cache(maxsize=32)
def _meanings(question: str) -> Meanings:
    """Words that a definition may hold: which words of the question they stand for, and how well.

    Kept for a while, since every step of a tool loop asks the same.
    """
    made: dict[str, list[tuple[str, float]]] = {}
    for asked in dict.fromkeys(content_words(question)):
        made.setdefault(asked, []).append((asked, 1.0))
        for other in KIN.get(asked, ()):
            made.setdefault(other, []).append((asked, SYNONYM))
    return {word: tuple(stands_for) for word, stands_for in made.items()}


# -------------------------------------------------------------------------------------------- what a definition says


@lru_cache(maxsize=1024)
def _text(name: str, description: str, schema: bytes) -> Text:
    """Kept by what is said and not by the object, so that a schema edited in place is read anew."""
    words = content_words(name) * NAME + content_words(description)
    for said in _said(msgspec.json.decode(schema)):
        words += content_words(said)
    return Text(dict(Counter(words)), len(words))


def _said(schema: Any) -> Iterator[str]:
    """Names and descriptions of all parameters, nested ones too."""
    if _is_object(schema):
        properties = schema.get("properties")
        if _is_object(properties):
            yield from properties
        if isinstance(description := schema.get("description"), str):
            yield description
        for key, inner in schema.items():
            yield from _said(list(inner.values()) if key in NAMED and _is_object(inner) else inner)
    elif isinstance(schema, list):
        for inner in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from _said(inner)


NAMED = ("properties", "$defs", "definitions")  # their keys are names, and one may be called "description"


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)

"""How relevant tools are to a question: Okapi BM25 over the text of their definitions.

A word of the question counts once: fully if the definition contains it, half if it contains only a synonym.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import fsum, log
from typing import Any, NamedTuple, TypeGuard

import msgspec

from ...types.tools import ToolDefinition
from .stemming import content_words
from .thesaurus import SYNONYMS

__all__ = ["scores"]

K1 = 1.2  # how soon further occurrences of a word add nothing
B = 0.75  # how much a long definition counts against its tool; both are the usual values
NAME = 2  # a word of the name counts as two
SYNONYM = 0.5  # the weight of a synonym

Meanings = dict[str, tuple[tuple[str, float], ...]]

_encode = msgspec.json.Encoder().encode


class Text(NamedTuple):
    """The words of a definition with their counts, and the number of all words."""

    counts: dict[str, int]
    length: int


def scores(question: str, tools: Sequence[ToolDefinition]) -> list[float]:
    """The score of each tool for the question; 0.0 if they have no word in common."""
    meanings = _meanings(question)
    texts = [_definition_words(tool.name, tool.description or "", _encode(tool.input_schema)) for tool in tools]
    shared = [text.counts.keys() & meanings.keys() for text in texts]
    holders = Counter(word for words in shared for word in words)
    rarity = {word: log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for word, count in holders.items()}
    mean_length = sum(text.length for text in texts) / (len(texts) or 1)

    def score(text: Text, words: set[str]) -> float:
        damping = K1 * (1 - B + B * text.length / mean_length)
        best: dict[str, float] = {}
        for word in words:
            count = text.counts[word]
            value = rarity[word] * count * (K1 + 1) / (count + damping)
            for query_word, weight in meanings[word]:
                best[query_word] = max(best.get(query_word, 0.0), value * weight)
        return fsum(best.values())  # exact, so the order of the set does not matter

    return [score(text, words) if words else 0.0 for text, words in zip(texts, shared, strict=True)]


@lru_cache(maxsize=32)
def _meanings(question: str) -> Meanings:
    """For each word that a definition may contain: the words of the question that it matches, with weights.

    Cached, because every step of a tool loop asks the same question.
    """
    made: dict[str, list[tuple[str, float]]] = {}
    for query_word in dict.fromkeys(content_words(question)):
        made.setdefault(query_word, []).append((query_word, 1.0))
        for other in SYNONYMS.get(query_word, ()):
            made.setdefault(other, []).append((query_word, SYNONYM))
    return {word: tuple(stands_for) for word, stands_for in made.items()}


# ------------------------------------------------------------------------------------------- words of a definition


@lru_cache(maxsize=1024)
def _definition_words(name: str, description: str, schema: bytes) -> Text:
    """The words of a definition. Cached by its text, so that a schema that is edited in place is read again."""
    words = content_words(name) * NAME + content_words(description)
    for text in _schema_texts(msgspec.json.decode(schema)):
        words += content_words(text)
    return Text(dict(Counter(words)), len(words))


def _schema_texts(schema: Any) -> Iterator[str]:
    """Names and descriptions of all parameters, nested ones too."""
    if _is_object(schema):
        properties = schema.get("properties")
        if _is_object(properties):
            yield from properties
        if isinstance(description := schema.get("description"), str):
            yield description
        for key, inner in schema.items():
            yield from _schema_texts(list(inner.values()) if key in NAMED and _is_object(inner) else inner)
    elif isinstance(schema, list):
        for inner in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from _schema_texts(inner)


NAMED = ("properties", "$defs", "definitions")  # their keys are names of parameters, and one may be "description"


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)

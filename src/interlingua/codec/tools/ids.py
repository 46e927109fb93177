"""Tool-call ids: which ones each protocol accepts, and how another id is derived from one that it refuses.

A derived id depends only on the original and on those already given out in the same conversation, so that the same
history always gets the same ids, and two calls never share one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["ANY", "IdMap", "IdRule"]

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class IdRule(NamedTuple):
    """Which ids a reader takes, and what a derived one looks like: ``prefix``, then ``length`` letters and digits."""

    pattern: re.Pattern[str]
    prefix: str = "call_"
    length: int = 24


ANY = IdRule(re.compile(r"(?s).+"))


class IdMap:
    """The ids of one request, from ours to the reader's.

    ``known`` are all ids of the request, read only when one must be derived: it may not equal one that comes later.
    """

    __slots__ = ("_given", "_known", "_taken", "rule")

    def __init__(self, rule: IdRule, known: Iterable[str] = ()) -> None:
        self.rule = rule
        self._known = known
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def fit(self, original: str) -> str:
        """The id itself where the reader takes it, else one derived from it."""
        if self.rule.pattern.fullmatch(original):
            self._taken.add(original)
            return original
        found = self._given.get(original)
        if found is None:
            found = self._given[original] = self._derive(original)
        return found

    def _derive(self, original: str) -> str:
        self._taken.update(filter(self.rule.pattern.fullmatch, self._known))
        self._known = ()
        attempt = 0
        while True:
            derived = self.rule.prefix + _letters(f"{attempt}:{original}", self.rule.length)
            if derived not in self._taken:
                self._taken.add(derived)
                return derived
            attempt += 1


def _letters(text: str, length: int) -> str:
    from hashlib import blake2b  # noqa: PLC0415 - slow to import, and rarely needed

    number = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest(), "big")
    letters: list[str] = []
    while len(letters) < length:
        number, digit = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[digit])
    return "".join(letters)

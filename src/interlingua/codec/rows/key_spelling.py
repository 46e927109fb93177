"""Keys that a protocol reads in a second spelling too, such as ``inline_data`` for ``inlineData``.

A table that has a ``KeySpelling`` reads the keys of its rows in both. The mark ``keys`` holds the paths of the keys in
the second spelling, and they are written in it again. Residue stays as it came. Compiled code knows only the usual
spelling; it gives up where an unknown key is the second spelling of a known one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from ...types.base import Json
from ..json import Wire, is_array, is_object

__all__ = ["KeySpelling"]


class KeySpelling:
    """camelCase keys that may be in snake_case.

    Only the keys ``words`` are respelled. What lies below the keys ``free`` is left alone: it has its own reader, or
    none.
    """

    def __init__(self, words: Iterable[str], free: Collection[str]) -> None:
        self.snakes = {word: re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", word) for word in words}
        self.words = {snake: word for word, snake in self.snakes.items()}
        self.free = frozenset(free)

    def is_suspect(self, keys: Iterable[str]) -> bool:
        """Whether one of the keys is in the second spelling."""
        return not self.words.keys().isdisjoint(keys)

    def get(self, wire: Wire, key: str) -> Json:
        """The value of a key in either spelling; None where there is none."""
        return wire[key] if key in wire else wire.get(self.snakes[key])

    def usual(self, wire: Wire) -> tuple[Wire, list[str]]:
        """The object with its keys in the usual spelling, and the paths of those that were not.

        The copy shares what lies below ``free`` keys. If all keys are usual, the object itself is returned.
        """
        places: list[str] = []
        spelled = self._usual(wire, "", places)
        return (spelled, places) if places else (wire, places)

    def usual_within(self, wire: Wire, tree: Mapping[str, Json], path: str = "") -> tuple[Wire, list[str]]:
        """Do the same for the keys in ``tree`` alone, which holds the keys of inner objects in their own nesting."""
        places: list[str] = []
        spelled: Wire = {}
        for key, value in wire.items():
            word = self.words.get(key, key)
            if word != key and word in tree and word not in wire:
                key = word
                places.append(path + key)
            if is_object(value) and tree.get(key):
                value, inner = self.usual_within(value, tree[key], f"{path}{key}/")
                places += inner
            spelled[key] = value
        return (spelled, places) if places else (wire, places)

    def _usual(self, wire: Wire, path: str, places: list[str]) -> Wire:
        spelled: Wire = {}
        for key, value in wire.items():
            word = self.words.get(key, key)
            if word != key and word not in wire:
                key = word
                places.append(path + key)
            if key in self.free:
                pass
            elif is_object(value):
                value = self._usual(value, f"{path}{key}/", places)
            elif is_array(value):
                value = [
                    self._usual(item, f"{path}{key}/{index}/", places) if is_object(item) else item
                    for index, item in enumerate(value)
                ]
            spelled[key] = value
        return spelled

    def restore(self, wire: Wire, places: Collection[str]) -> Wire:
        """The object with its keys as they were spelled. Objects that it shares with others are not altered."""
        spelled: Wire = self._restored(wire, frozenset(places), "")
        return spelled

    def _restored(self, value: Json, places: frozenset[str], path: str) -> Json:
        if is_array(value):
            return [self._restored(item, places, f"{path}{index}/") for index, item in enumerate(value)]
        if not is_object(value) or not any(place.startswith(path) for place in places):
            return value
        return {
            self.snakes.get(key, key) if path + key in places else key: self._restored(item, places, f"{path}{key}/")
            for key, item in value.items()
        }

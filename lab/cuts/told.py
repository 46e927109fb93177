"""What a stream has told so far: its blocks, which of them it closed, why it stopped, whether it ended or failed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from lab.oracles.leaves import is_object

__all__ = ["CALL", "OTHER", "TEXT", "THOUGHT", "Piece", "Told", "Wire", "call_key", "dump", "inner"]

Wire = dict[str, Any]
CALL, TEXT, THOUGHT, OTHER = "call", "text", "thought", "other"


def dump(value: Any) -> str:
    """Compact JSON."""
    return msgspec.json.encode(value).decode()


def inner(wire: Wire, key: str) -> Wire:
    """The object under a key; an empty one where there is none."""
    found = wire.get(key)
    return found if is_object(found) else {}


class Piece:
    """One block: a call with its arguments, a text, a thought, or something else with its type and id."""

    __slots__ = ("before", "closed", "followed", "free", "kind", "left", "parts", "signed")

    def __init__(self, kind: str, text: str = "") -> None:
        self.kind, self.closed, self.signed = kind, False, False
        self.followed = False
        """No frame closed it, but the next call began: it is finished, though no reader may act on that."""
        self.left = False
        """The answer began anew while it was open: it is never finished."""
        self.before = ""
        """What the wire said before it said the whole; some recordings differ."""
        self.free = False
        """The arguments of a call are free text."""
        self.parts = [text] if text else []

    def more(self, text: Any) -> None:
        """One more delta; servers send null, and some an object where text is expected."""
        if isinstance(text, str):
            self.parts.append(text)
        elif text is not None:
            self.parts.append(dump(text))

    def became(self, text: Any) -> None:
        """The wire says the whole of it."""
        self.before += "".join(self.parts) + "\n"
        self.parts = []
        self.more(text)

    @property
    def text(self) -> str:
        """All of it so far; free text as the object that other protocols say it with."""
        text = "".join(self.parts)
        return dump({"input": text}) if self.free else text


class Told:
    """The pieces of a stream in the order in which they were opened. ``stop`` is the wire's word, None if unknown."""

    def __init__(self, dialect: str, *, holds_calls: bool) -> None:
        self.dialect, self.holds_calls = dialect, holds_calls
        """Arguments come in pieces: a closed call is finished only when a later block or the stop reason has come."""
        self.pieces: list[Piece] = []
        self.places: dict[Any, Piece] = {}
        self.ids: dict[Any, str | None] = {}
        self.items: dict[Any, tuple[Any, ...]] = {}
        self.stop: str | None = None
        self.limited = self.ended = self.failed = self.over = False
        self.restarted = False
        """The wire began the message again. If a block begins next, so does the answer."""

    def open(self, place: Any, kind: str, text: str = "") -> Piece:
        """A block begins."""
        if self.restarted:
            self.begin_anew()
        piece = self.places[place] = Piece(kind, text)
        self.pieces.append(piece)
        return piece

    def begin_anew(self) -> None:
        """The blocks that are open stay unfinished."""
        self.restarted = False
        self.places.clear()
        for piece in self.pieces:
            piece.left = not piece.closed

    def at(self, place: Any, kind: str) -> Piece:
        """The block at a place; it begins here if the wire did not say so before."""
        return self.places.get(place) or self.open(place, kind)

    def close(self, place: Any) -> None:
        """The wire closes a block."""
        if piece := self.places.get(place):
            piece.closed, self.restarted = True, False

    def stopped(self, word: str, *limits: str) -> None:
        """The wire says why the answer stopped; ``limits`` are its words for the output limit."""
        self.stop, self.limited = word, word in limits

    def end(self, *, over: bool = True) -> None:
        """The last word: what was open is as finished as it will be. ``over``: what follows is ignored."""
        self.stop = self.stop or ""
        self.ended, self.over = True, over
        for piece in self.pieces:
            piece.closed = not piece.left

    def finished_calls(self, *, surely: bool) -> Counter[str]:
        """The calls that are finished: surely, or in the eyes of whoever reads no further than the closing word.

        The last call of an answer that its output limit ended is not finished in either sense.
        """
        calls = [piece for piece in self.pieces if piece.kind == CALL]
        closed = [piece for piece in calls if piece.closed or (surely and piece.followed)]
        return Counter(call_key(piece.text) for piece in closed if not self._held(piece, surely=surely))

    def _held(self, call: Piece, *, surely: bool) -> bool:
        if not self.holds_calls or call is not self.pieces[-1]:
            return False
        return self.limited or (surely and self.stop is None)

    def finished_texts(self, *kinds: str) -> list[str]:
        """The closed pieces of some kinds."""
        return [piece.text for piece in self.pieces if piece.kind in kinds and piece.closed]

    def settled_text(self) -> str:
        """All that no later delta can change: blocks that were closed, or that a later block follows."""
        settled = [piece for piece in self.pieces if piece.closed or piece is not self.pieces[-1]]
        said = ["".join(piece.text for piece in settled if piece.kind == kind) for kind in (TEXT, THOUGHT, OTHER)]
        return "\n".join([*said, *(piece.before for piece in settled)])

    @property
    def is_finished(self) -> bool:
        """Whether the protocol's last word was seen, and no error."""
        return self.ended and not self.failed


def call_key(arguments: str) -> str:
    """Arguments so that two spellings of one object are equal; a text that is no JSON stands for itself."""
    try:
        value = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeError):
        return arguments
    return msgspec.json.encode(value, order="sorted").decode()

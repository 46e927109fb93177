"""The state of a stream so far: its blocks, which of them are closed, why it stopped, whether it ended or failed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from lab.oracles.leaves import is_object

__all__ = ["CALL", "OTHER", "TEXT", "THOUGHT", "Piece", "StreamState", "Wire", "call_key", "dump", "inner"]

Wire = dict[str, Any]
CALL, TEXT, THOUGHT, OTHER = "call", "text", "thought", "other"


def dump(value: Any) -> str:
    """Compact JSON."""
    return msgspec.json.encode(value).decode()


def inner(wire: Wire, key: str) -> Wire:
    """The object under a key; an empty one if there is none."""
    found = wire.get(key)
    return found if is_object(found) else {}


class Piece:
    """One block: a call with its arguments, a text, a thought, or something else with its type and id."""

    __slots__ = ("abandoned", "before", "closed", "followed", "free", "kind", "parts", "signed")

    def __init__(self, kind: str, text: str = "") -> None:
        self.kind, self.closed, self.signed = kind, False, False
        self.followed = False
        """Whether the next call began though no frame closed this one: it is finished, but no reader can rely on it."""
        self.abandoned = False
        """Whether the answer began anew while this was open: then it is never finished."""
        self.before = ""
        """The text of the deltas, if a later frame gave the whole text; in some recordings they differ."""
        self.free = False
        """Whether the arguments of a call are free text."""
        self.parts = [text] if text else []

    def more(self, text: Any) -> None:
        """Append a delta. Servers also send null, and some an object instead of text."""
        if isinstance(text, str):
            self.parts.append(text)
        elif text is not None:
            self.parts.append(dump(text))

    def set_whole(self, text: Any) -> None:
        """Replace the text by the whole text that a frame gives."""
        self.before += "".join(self.parts) + "\n"
        self.parts = []
        self.more(text)

    @property
    def text(self) -> str:
        """The text so far; free text as the JSON object that other protocols use for it."""
        text = "".join(self.parts)
        return dump({"input": text}) if self.free else text


class StreamState:
    """The pieces of a stream in the order in which they were opened. ``stop`` is the wire's stop reason, if known."""

    def __init__(self, dialect: str, *, holds_calls: bool) -> None:
        self.dialect, self.holds_calls = dialect, holds_calls
        """``holds_calls``: a closed call is finished only when a later block or the stop reason has come."""
        self.pieces: list[Piece] = []
        self.places: dict[Any, Piece] = {}
        self.ids: dict[Any, str | None] = {}
        self.items: dict[Any, tuple[Any, ...]] = {}
        self.stop: str | None = None
        self.limited = self.ended = self.failed = self.over = False
        self.restarted = False
        """Whether the message began again on the wire. If a block begins next, the answer begins again, too."""

    def open(self, place: Any, kind: str, text: str = "") -> Piece:
        """Add the block that begins at a place."""
        if self.restarted:
            self.begin_anew()
        piece = self.places[place] = Piece(kind, text)
        self.pieces.append(piece)
        return piece

    def begin_anew(self) -> None:
        """Begin the answer again: the blocks that are open stay unfinished."""
        self.restarted = False
        self.places.clear()
        for piece in self.pieces:
            piece.abandoned = not piece.closed

    def at(self, place: Any, kind: str) -> Piece:
        """The block at a place, which is added if no frame opened it."""
        return self.places.get(place) or self.open(place, kind)

    def close(self, place: Any) -> None:
        """Close the block at a place."""
        if piece := self.places.get(place):
            piece.closed, self.restarted = True, False

    def stopped(self, word: str, *limits: str) -> None:
        """Set the stop reason; ``limits`` are the protocol's words for the output limit."""
        self.stop, self.limited = word, word in limits

    def end(self, *, over: bool = True) -> None:
        """End the answer, and close its open blocks. ``over``: later frames are ignored."""
        self.stop = self.stop or ""
        self.ended, self.over = True, over
        for piece in self.pieces:
            piece.closed = not piece.abandoned

    def finished_calls(self, *, surely: bool) -> Counter[str]:
        """The calls that are finished: ``surely``, or for a reader that stops at the frame that closes them.

        The last call of an answer that the output limit ended is not finished in either sense.
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
        """The text that no later delta can change: of blocks that are closed or followed by another block."""
        settled = [piece for piece in self.pieces if piece.closed or piece is not self.pieces[-1]]
        texts = ["".join(piece.text for piece in settled if piece.kind == kind) for kind in (TEXT, THOUGHT, OTHER)]
        return "\n".join([*texts, *(piece.before for piece in settled)])

    @property
    def is_finished(self) -> bool:
        """Whether the protocol's end of an answer was seen, and no error."""
        return self.ended and not self.failed


def call_key(arguments: str) -> str:
    """Arguments as normalised JSON, so that two spellings of one object are equal. Other text is returned as it is."""
    try:
        value = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeError):
        return arguments
    return msgspec.json.encode(value, order="sorted").decode()

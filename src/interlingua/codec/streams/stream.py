"""Reading streams, for all dialects: framing, the end of the stream, cuts and errors. ``encoder`` writes them.

A dialect's decoder only interprets each frame (``read``) and builds the whole answer (``response``).

An event that begins as an object but is not JSON was damaged in transit, so a part of the answer is missing. An answer
with an unnoticed gap is worse than none, so the stream ends there in an error, with the partial answer (``broken``).
There are two exceptions: if the terminal event was read before, the event is passed on; if the bytes end with the
event, the stream is reported as cut. Data that begins otherwise (``[DONE]``, a keep-alive) is never a part of an
answer, and is passed on.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, cast

import msgspec
from msgspec.structs import replace

from ...errors import AdapterError, NetworkError, ParseError
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import (
    Event,
    MessageComplete,
    MessageStart,
    ToolUseEnd,
    Unknown,
)
from ...types.response import Response
from ...types.words import StopReason
from ..base import SHAPE_ERRORS, StreamDecoder
from ..history.incomplete import BROKEN
from ..json import Wire, is_array
from ..limits import Limits, is_deeper, too_long
from .fold import Accumulator
from .garbled import not_json
from .lenient import strictly

__all__ = [
    "NOT_JSON",
    "FrameDecoder",
    "decode_frame",
    "decode_json",
    "dump",
    "lengthen",
]

decode_json = msgspec.json.Decoder().decode
DEEPEST = Limits().depth
_encode_json = msgspec.json.Encoder().encode


class TooDeep(msgspec.DecodeError):
    """JSON that is nested deeper than ``DEEPEST``."""


def decode_frame(data: bytes) -> Any:
    """The JSON of one frame. A level takes two bytes, so short data cannot be too deep and is not checked."""
    value = decode_json(data)
    if len(data) > 256 and data.count(b"{") + data.count(b"[") > 128 and is_deeper(value, DEEPEST):
        raise TooDeep(f"it is nested more than {DEEPEST} deep")
    return value


def dump(value: Json) -> bytes:
    """Compact JSON."""
    return _encode_json(value)


def lengthen(known: Wire, more: Wire) -> Wire:
    """Add a chunk's object to ``known``: lists are appended in place, as for token probabilities; others replaced."""
    for key, value in more.items():
        old = known.get(key)
        if is_array(old) and is_array(value):
            old += value
        else:
            known[key] = [*value] if is_array(value) else old if value is None else value
    return known


ERROR = StopReason.error  # attribute access on an Enum costs 40 ns
NOT_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What parsing raises for data that is not JSON or is nested too deeply."""


def _raw(frame: Any) -> Json:
    data: Json = cast("Sequence[Json]", frame)[1] if isinstance(frame, tuple) else frame
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)


class Frames(Protocol):
    """Any framing: bytes in, frames out. ``limit`` is the longest frame in bytes."""

    limit: int

    def feed(self, chunk: bytes) -> list[Any]: ...

    def close(self) -> list[Any]: ...


class FrameDecoder(StreamDecoder):
    """A decoder over some framing. ``fold`` is its accumulator; ``done`` says that the stream has ended or failed.

    No unfinished block looks finished. Blocks that are open when the stream fails are closed as ``incomplete``. A
    protocol that writes arguments in pieces also ends a call that the output limit cut off, so the end of the latest
    call is held back (``end_block``) until the next block opens (``release``) or the stop reason is known
    (``complete``).
    """

    dialect: str

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        self.fold = Accumulator()
        self.error: AdapterError | None = None
        self.started = False
        self.done = False
        self.closing = self.clean = False
        self.last_call: ToolUseEnd | None = None
        self.accept(Limits())

    @abstractmethod
    def read(self, frame: Any, out: list[Event]) -> None:
        """Append the events of one frame to ``out``."""

    @abstractmethod
    def finished_block(self, index: int) -> Block:
        """An open block with everything received for it."""

    @abstractmethod
    def response(self, *, finished: bool) -> Response:
        """The answer so far, without ``error`` and a forced stop reason. ``content`` may be left out."""

    def accept(self, limits: Limits) -> None:
        self.frames.limit = sys.maxsize if limits.event is None else limits.event
        self.max_arguments = sys.maxsize if limits.arguments is None else limits.arguments
        self.room = self.max_arguments  # after this many bytes the arguments of an open call may be too long

    def is_finished(self) -> bool:
        """Whether the protocol's terminal event was read; if not, a stream whose bytes end was cut."""
        return False

    def feed(self, chunk: bytes) -> list[Event]:
        out: list[Event] = []
        if self.done:
            return out
        try:
            frames = self.frames.feed(chunk)
        except ParseError as error:
            self.fail(error, out)
            return out
        if len(frames) == 1:  # as models send them
            try:
                self.read(frames[0], out)
            except SHAPE_ERRORS:
                self.unknown(_raw(frames[0]), out)
        else:
            self.read_all(frames, out)
        self.room -= len(chunk)
        if self.room < 0:
            self.check_arguments(out)
        return out

    def check_arguments(self, out: list[Event]) -> None:
        """End the stream if the arguments of an open call are too long; called only once enough bytes came for that."""
        self.room = self.max_arguments - self.fold.longest_input()
        if self.room < 0 and not self.done:
            self.fail(ParseError(f"the input of a tool call {too_long('arguments', self.max_arguments)}"), out)

    def read_all(self, frames: list[Any], out: list[Event]) -> None:
        """Read frames until the stream ends; a frame of an unexpected shape is passed on as ``unknown``."""
        for frame in frames:
            try:
                self.read(frame, out)
            except SHAPE_ERRORS:
                self.unknown(_raw(frame), out)
            if self.done:
                break

    def close(self, clean: bool = False) -> list[Event]:
        out: list[Event] = []
        if self.done:
            return out
        self.closing, self.clean = True, clean
        try:
            self.read_all(self.frames.close(), out)
            self.end(out)
        except ParseError as error:
            self.fail(error, out)
        except SHAPE_ERRORS as fault:
            self.fail(ParseError(f"the answer cannot be read: {fault}"), out)
        return out

    def end(self, out: list[Event]) -> None:
        """End the stream at the end of its bytes: complete, or cut if the terminal event is missing."""
        if self.done:
            return
        if self.is_finished():
            self.complete(out)
        else:
            self.fail(NetworkError("the stream was cut before it was finished"), out)

    def begin(self, out: list[Event], start: MessageStart | None = None) -> None:
        """Emit ``message.start`` once."""
        if not self.started:
            self.started = True
            out.append(start or MessageStart())

    def unknown(self, raw: Json, out: list[Event]) -> None:
        """Pass on an event that the dialect does not know."""
        self.begin(out)
        out.append(Unknown(self.dialect, raw))

    def skip_broken_frame(self, data: bytes, fault: Exception, out: list[Event], name: str = "") -> bool:
        """Treat data that is not JSON: read it leniently, or end the stream. False if the data is to be passed on."""
        if not isinstance(fault, TooDeep) and self.read_repaired(data, name, out):
            return True
        if data.lstrip()[:1] != b"{" or self.closing or self.is_finished():
            return False
        self.fail(not_json(data, fault, name), out)
        return True

    def read_repaired(self, data: bytes, name: str, out: list[Event]) -> bool:
        """Read an event that is JSON except for NaN, lone surrogates and the like; return whether it was read."""
        strict = strictly(data) if self.tolerant and b"{" in data[:4] else None
        if strict is None:
            return False
        self.approximated = True
        self.read_data(name, strict, out)
        return True

    def read_data(self, name: str, data: bytes, out: list[Event]) -> None:
        """``read``, given the name and the data of a frame."""
        self.read((name, data), out)

    def end_block(self, index: int, block: Block, out: list[Event]) -> None:
        """Close a block that the wire has closed. The end of a call is held back if no later block has begun."""
        event = self.fold.close(index, block)
        if type(event) is ToolUseEnd and index == len(self.fold.blocks) - 1:
            self.last_call = event
        else:
            out.append(event)

    def release(self, out: list[Event]) -> None:
        """Emit the held end of the latest call as finished, because another block begins."""
        if self.last_call is not None:
            out.append(self.last_call)
            self.last_call = None

    def release_cut(self, out: list[Event]) -> None:
        """Emit the held end of the latest call as incomplete, because the answer broke off."""
        if self.last_call is not None:
            index, block = self.last_call.index, replace(self.last_call.block, incomplete=True)
            self.fold.blocks[index] = block
            out.append(ToolUseEnd(index, block.input, block))
            self.last_call = None

    def close_blocks(self, out: list[Event], *, cut: bool = False) -> None:
        """Close the open blocks in order; as incomplete with ``cut``, because the stream failed."""
        for index in [*self.fold.open_indexes]:
            block = self.finished_block(index)
            if cut:
                out.append(self.fold.close(index, replace(block, incomplete=True)))
            else:
                self.end_block(index, block, out)

    def complete(self, out: list[Event]) -> None:
        """Complete the stream after its terminal event."""
        self.begin(out)
        self.close_blocks(out)
        whole = self.response(finished=True)
        if whole.stop_reason in BROKEN:
            self.release_cut(out)
        else:
            self.release(out)
        content = self.content()
        self.done = True
        out.append(MessageComplete(whole if whole.content == content else replace(whole, content=content)))

    def content(self) -> tuple[Block, ...]:
        """The finished blocks in the order in which a whole answer has them."""
        return self.fold.content

    def fail(self, error: AdapterError, out: list[Event]) -> None:
        """End the stream in an error, with the partial answer: it broke or reported the error."""
        self.begin(out)
        self.release_cut(out)
        try:
            self.close_blocks(out, cut=True)
            whole = replace(self.response(finished=False), content=self.content())
        except SHAPE_ERRORS:  # the blocks cannot be built from the wire, only from their deltas
            self.close_with_deltas(out)
            whole = Response(self.fold.content)
        self.done = True
        self.error, error.response = error, replace(whole, stop_reason=ERROR, error=error)
        out.append(MessageComplete(error.response, error))

    def close_with_deltas(self, out: list[Event]) -> None:
        """Close the open blocks with only the text of their deltas."""
        for index in [*self.fold.open_indexes]:
            block, text = self.fold.blocks[index], self.fold.joined(index)
            if isinstance(block, TextBlock | RefusalBlock | ThinkingBlock):
                block = replace(block, text=block.text + text)
            elif isinstance(block, ToolUseBlock):
                block = replace(block, input_text=text)
            out.append(self.fold.close(index, replace(block, incomplete=True)))

"""Finds out what a file or stdin holds (a request, an answer, an error or a stream) and in which dialect.

Only as much is read as that needs. A stream is then read chunk by chunk, everything else as one JSON value.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from typing import Any, BinaryIO, Literal, NamedTuple, cast

import msgspec

from ..codec.json import is_object
from ..codec.limits import Limits
from ..codec.registry import DIALECTS, dialect as find
from ..dialects.detect import detect_dialect
from ..errors import ParseError
from ..types.base import Json
from .failures import CommandError

__all__ = [
    "KINDS",
    "Head",
    "Kind",
    "Wire",
    "kind_of",
    "open_input",
    "parse",
    "read_wire",
]

Kind = Literal["request", "response", "stream", "error"]
KINDS: tuple[Kind, ...] = ("request", "response", "stream", "error")
CHUNK = 1 << 16
ENOUGH = 1 << 20
"""The most bytes of a stream that are read to find out its dialect."""
BLANK = b"\xef\xbb\xbf \t\r\n"
SSE = (b"data:", b"event:", b"id:", b"retry:", b":")

# The keys by which an error body shows its dialect. OpenAI's two protocols have the same errors.
ERRORS: tuple[tuple[str, str], ...] = (
    ("anthropic-messages", "type"),
    ("bedrock-converse", "__type"),
    ("bedrock-converse", "message"),
)


class Wire(NamedTuple):
    """The input: ``body`` is its JSON, or for a stream ``chunks`` are its bytes."""

    dialect: str
    kind: Kind
    body: Json = None
    chunks: Iterator[bytes] = iter(())


@contextmanager
def open_input(file: str | None) -> Generator[BinaryIO, None, None]:
    """Open a file, or stdin for None and ``-``. A ``CommandError`` in the block gets the file's name."""
    if file is None or file == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise CommandError("there is nothing to read: name a file, or send something to stdin")
        yield sys.stdin.buffer
    else:
        with open(file, "rb") as source:
            try:
                yield source
            except CommandError as error:
                raise CommandError(f"{file}: {error}", error.code) from None


def read_wire(source: BinaryIO, dialect: str | None = None, kind: Kind | None = None) -> Wire:
    """Read the input. ``dialect`` and ``kind`` are found out if they are None."""
    head = Head(source)
    if kind == "stream" or (kind is None and head.is_stream()):
        return Wire(dialect or _dialect_of_stream(head), "stream", chunks=head.chunks())
    if kind is None and head.first_line() is not None:
        raise CommandError(
            "these are several JSON values: one at a time is translated; `interlingua inspect` reads all"
        )
    body = parse(head.everything())
    kind = kind or kind_of(body, dialect)
    return Wire(dialect or _dialect_of(body, kind), kind, body)


def parse(data: bytes, wanted: str = "JSON and no stream of a provider") -> Json:
    """The JSON value of these bytes. Raises ``CommandError``, which says where the JSON is wrong."""
    if not data.strip(BLANK):
        raise CommandError("there is nothing to read: the input is empty")
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except msgspec.DecodeError as error:
        raise CommandError(f"this is no {wanted}: {error}") from None
    except RecursionError:
        raise CommandError("this JSON is nested too deeply") from None


class Head:
    """The beginning of the input, of which more is read until it shows what the input is."""

    def __init__(self, source: BinaryIO) -> None:
        self.source, self.data, self.ended = source, b"", False
        self.more()

    def more(self) -> bool:
        """Read the next chunk. Returns whether there was one."""
        chunk = _read(self.source)
        self.data, self.ended = self.data + chunk, not chunk
        return not self.ended

    def everything(self) -> bytes:
        """The whole input. Raises if it is larger than an answer may be."""
        pieces, size, limit = [self.data], len(self.data), Limits().body or 0
        while chunk := _read(self.source):
            pieces.append(chunk)
            size += len(chunk)
            if size > limit:
                raise CommandError(f"this is larger than {limit >> 20} MiB; only streams may be")
        return b"".join(pieces)

    def chunks(self) -> Iterator[bytes]:
        """What was read so far, then the rest chunk by chunk."""
        yield self.data
        self.data = b""
        while chunk := _read(self.source):
            yield chunk

    def is_stream(self) -> bool:
        """Whether this is a stream: SSE, AWS events, an array of events, or Ollama's lines."""
        while not self.data.strip() and self.more():
            pass
        start = self.data.lstrip(BLANK)
        if start.startswith(b"{"):
            first = self.first_line()
            return isinstance(first, dict) and "done" in first
        return start.startswith((b"[", *SSE)) or self.data[:2] == b"\0\0"

    def first_line(self) -> Json:
        """The JSON value on the first line, if more lines follow it; else None."""
        while b"\n" not in self.data.lstrip(BLANK) and self.more():
            if len(self.data) > (Limits().body or 0):
                return None
        first, _, rest = self.data.lstrip(BLANK).partition(b"\n")
        while not rest.strip() and self.more():
            first, _, rest = self.data.lstrip(BLANK).partition(b"\n")
        try:
            return msgspec.json.decode(first) if rest.strip() else None
        except (msgspec.DecodeError, RecursionError):
            return None


def _read(source: BinaryIO) -> bytes:
    return cast("BufferedIOBase", source).read1(CHUNK)


# --------------------------------------------------------------------------------------------------- telling what it is


def kind_of(body: Json, dialect: str | None = None) -> Kind:
    """The kind of a body: a request, an answer or an error."""
    if not isinstance(body, dict):
        raise CommandError("this is no request, answer or error: it is not a JSON object")
    keys = cast("dict[str, Any]", body)
    histories = (find(dialect).history_key,) if dialect else ("messages", "contents", "input")
    if keys.get("object") != "response" and any(key in keys for key in histories):
        return "request"
    is_error = keys.get("type") == "error" or (keys.get("error") is not None and keys.get("object") != "response")
    return "error" if is_error or "__type" in keys or set(keys) == {"message"} else "response"


def _dialect_of(body: Json, kind: Kind) -> str:
    try:
        return detect_dialect(body)
    except ParseError:
        if kind == "error" and is_object(body):
            return _dialect_of_error(body)
        raise CommandError(f"the dialect of this {kind} cannot be told: {_name_it()}") from None


def _dialect_of_error(body: dict[str, Any]) -> str:
    for name, key in ERRORS:
        if key in body:
            return name
    error = body.get("error")
    if isinstance(error, str):
        return "ollama"
    inner = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    return "gemini" if "status" in inner and "details" in inner | {"details": 0} else "openai-chat"


def _name_it() -> str:
    return f"name it, --from {'|'.join(DIALECTS)}"


def _dialect_of_stream(head: Head) -> str:
    if head.data[:2] == b"\0\0":
        return "bedrock-converse"
    while True:
        for event in _events(head.data):
            try:
                return detect_dialect(event)
            except ParseError:
                continue
        if len(head.data) > ENOUGH or not head.more():
            raise CommandError(f"the dialect of this stream cannot be told: {_name_it()}")


def _events(data: bytes) -> Iterator[Json]:
    """The complete JSON values at the beginning of a stream."""
    start = data.lstrip(BLANK)
    if start.startswith(b"["):
        yield from _first_of_array(start[1:])
        return
    for line in start.splitlines():
        text = line.removeprefix(b"data:").strip()
        if text.startswith(b"{"):
            try:
                yield msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError):
                continue


def _first_of_array(data: bytes) -> Iterator[Json]:
    import json

    try:
        yield json.JSONDecoder().raw_decode(data.decode(errors="replace").lstrip())[0]
    except (ValueError, RecursionError):
        return

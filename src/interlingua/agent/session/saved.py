"""A session as it is stored. The format has a version; every release reads all older ones.

Version 2 says who wrote the session last (``writer``, ``revision``). It may hold the states of tool calls
(``metadata["calls"]`` of a message), blocks that are ``incomplete``, what a load could not read (``unreadable``), which
messages were taken back (``undone``), and which media were uploaded to whom (``uploads``).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...client.uploaded import Uploaded
from ...codec.json import is_array, is_object
from ...codec.limits import is_deeper
from ...codec.old_marks import renewed
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block
from ...types.messages import Message
from .lenient_reading import DEEPEST, as_text, read_leniently, read_message

__all__ = [
    "FORMAT",
    "VERSION",
    "Head",
    "Mark",
    "Saved",
    "may_replace",
    "parse",
    "read_mark",
    "read_parts",
    "read_saved",
]

FORMAT = "interlingua.session"
VERSION = 2

# How a file of an older version becomes one of the next: version -> what to do with its JSON object.
UPGRADES: dict[int, Callable[[dict[str, Json]], dict[str, Json]]] = {
    1: lambda told: {**told, "version": 2},
}


class Mark(Struct, frozen=True):
    """Which state of a session a place holds: the ``revision``-th that ``writer`` wrote. Version 1 has no writer."""

    format: str
    id: str
    writer: str = ""
    revision: int = 0


class Head(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of a session but its messages. ``omitted`` are ids of messages that are not sent any more.

    ``undone`` are ids of messages that were taken back. They are among ``omitted`` too, for readers that know no other.
    ``uploads`` are the media that providers have. ``unreadable`` are fields that a load could not read, as they were
    in the file.
    """

    format: str
    version: int
    id: str
    writer: str = ""
    revision: int = 0
    model: str | tuple[str, ...] | dict[str, float] | None = None
    system: tuple[Block, ...] = ()
    options: dict[str, Json] = msgspec.field(default={}, name="wishes")  # its name in the format since version 1
    omitted: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()
    metadata: dict[str, Json] = {}
    forked_from: str | None = None
    uploads: tuple[Uploaded, ...] = ()
    unreadable: dict[str, Json] = {}


class Saved(Struct, frozen=True):
    """A whole session."""

    head: Head
    messages: tuple[Message, ...] = ()
    seen: dict[str, int] | None = None
    """To be saved: for each writer the latest revision that this session has read or written. Anything else that is
    found in its place is not replaced. None: replace whatever is there."""
    problems: tuple[str, ...] = ()
    """Loaded: what could not be read, each a sentence that says where."""


_read_mark = msgspec.json.Decoder(Mark).decode


def may_replace(saved: Saved, found: Mark | None) -> bool:
    """Whether what is stored is an earlier state of this very session, or nothing."""
    if saved.seen is None or found is None:
        return True
    return found.id == saved.head.id and saved.seen.get(found.writer, -1) >= found.revision


def read_saved(data: bytes | str, source: str) -> Saved:
    """A session from JSON, of this version or an older one. What cannot be read is kept as it is, and told."""
    told = parse(data, source)
    return read_parts(told, told.pop("messages", []) if is_object(told) else [], source)


def read_parts(told: Json, messages: Json, source: str) -> Saved:
    """A session from the JSON values of its head and of its messages."""
    head, problems = _read_head(_upgraded(told, source), messages, source)
    head = replace(head, system=renewed(head.system)) if head.system else head
    read: list[Message] = []
    omitted: list[str | None] = []
    for index, raw in enumerate(messages if is_array(messages) else ()):
        message, why = read_message(raw)
        read.append(renewed(message))
        if why is not None:
            problems.append(f"{source}: message {index} ({message.id}) could not be read whole: {why}")
            omitted += [] if message.content else [message.id]
    if omitted:
        head = replace(head, omitted=tuple(dict.fromkeys((*head.omitted, *filter(None, omitted)))))
    return Saved(head, tuple(read), problems=tuple(problems))


def _read_head(told: dict[str, Json], messages: Json, source: str) -> tuple[Head, list[str]]:
    deep = {name: as_text(value) for name, value in told.items() if is_deeper(value, DEEPEST)}
    try:
        head, left = read_leniently({name: told[name] for name in told if name not in deep}, Head)
    except msgspec.ValidationError as error:
        raise ParseError(f"{source} does not hold a session: {error}. Restore it from a backup.") from None
    left |= deep
    if not is_array(messages):
        left["messages"] = messages
    problems = [f"{source}: the field {name} could not be read: {str(value)[:80]!r}" for name, value in left.items()]
    return replace(head, unreadable={**head.unreadable, **left}) if left else head, problems


def read_mark(data: bytes | str, source: str) -> Mark:
    """Which session it is and who wrote it last; the rest is not looked at."""
    try:
        found = _read_mark(data)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{source} is no saved session: {error}") from None
    if found.format != FORMAT:
        raise ParseError(f"{source} is no saved session")
    return found


def parse(data: bytes | str, source: str) -> Json:
    """JSON; whatever is wrong with it is a ``ParseError`` that names the source."""
    if isinstance(data, bytes):
        data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise ParseError(f"{source} is empty: it is not JSON and holds no session")
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise ParseError(f"{source} is not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:  # bytes that are no UTF-8 are a UnicodeDecodeError
        raise ParseError(
            f"{source} is not JSON: {error}. It may be damaged: restore it from a backup, or repair it by hand."
        ) from None


def _upgraded(told: Json, source: str) -> dict[str, Json]:
    if not is_object(told) or told.get("format") != FORMAT:
        raise ParseError(f"{source} is no saved session: it does not say {FORMAT!r}")
    found = told
    version = found.get("version")
    if type(version) is not int or version < 1:
        raise ParseError(f"{source} does not hold a session: its version is {version!r}")
    if version > VERSION:
        raise ParseError(
            f"{source} was written by a newer release of interlingua: it has version {version} of the format, and this"
            f" release reads versions up to {VERSION}. Install a newer release to load it."
        )
    for older in range(version, VERSION):
        found = UPGRADES[older](found)
    return found

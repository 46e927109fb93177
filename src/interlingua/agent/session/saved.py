"""A session as it is stored. The format has a version; every release reads all older ones.

Version 2 added who wrote the session last (``writer``, ``revision``), the states of tool calls (``metadata["calls"]``
of a message), blocks that are ``incomplete``, and what could not be read (``unreadable``).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...codec.json import is_array, is_object
from ...codec.limits import is_deeper
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

# Version -> how its JSON object becomes one of the next version.
UPGRADES: dict[int, Callable[[dict[str, Json]], dict[str, Json]]] = {
    1: lambda stored: {**stored, "version": 2},
}


class Mark(Struct, frozen=True):
    """Which state of a session is stored: the ``revision``-th that ``writer`` wrote. Version 1 has no writer."""

    format: str
    id: str
    writer: str = ""
    revision: int = 0


class Head(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session without its messages. ``omitted`` are ids of messages that are not sent any more.

    ``unreadable`` are fields that could not be read, as they were in the file.
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
    metadata: dict[str, Json] = {}
    forked_from: str | None = None
    unreadable: dict[str, Json] = {}


class Saved(Struct, frozen=True):
    """A whole session."""

    head: Head
    messages: tuple[Message, ...] = ()
    seen: dict[str, int] | None = None
    """For a save: the latest revision of each writer that this session has read or written. A stored session that is
    not among them is not replaced. None: replace anything."""
    problems: tuple[str, ...] = ()
    """After a load: what could not be read, each as a sentence with its place."""


_read_mark = msgspec.json.Decoder(Mark).decode


def may_replace(saved: Saved, found: Mark | None) -> bool:
    """Whether nothing is stored, or an earlier state of the same session that this one has seen."""
    if saved.seen is None or found is None:
        return True
    return found.id == saved.head.id and saved.seen.get(found.writer, -1) >= found.revision


def read_saved(data: bytes | str, source: str) -> Saved:
    """A session from JSON of this version or an older one. What cannot be read is kept as it is, and reported."""
    stored = parse(data, source)
    return read_parts(stored, stored.pop("messages", []) if is_object(stored) else [], source)


def read_parts(stored: Json, messages: Json, source: str) -> Saved:
    """A session from the JSON values of its head and of its messages."""
    head, problems = _read_head(_upgraded(stored, source), messages, source)
    read: list[Message] = []
    omitted: list[str | None] = []
    for index, raw in enumerate(messages if is_array(messages) else ()):
        message, why = read_message(raw)
        read.append(message)
        if why is not None:
            problems.append(f"{source}: message {index} ({message.id}) could not be read completely: {why}")
            omitted += [] if message.content else [message.id]
    if omitted:
        head = replace(head, omitted=tuple(dict.fromkeys((*head.omitted, *filter(None, omitted)))))
    return Saved(head, tuple(read), problems=tuple(problems))


def _read_head(stored: dict[str, Json], messages: Json, source: str) -> tuple[Head, list[str]]:
    deep = {name: as_text(value) for name, value in stored.items() if is_deeper(value, DEEPEST)}
    try:
        head, left = read_leniently({name: stored[name] for name in stored if name not in deep}, Head)
    except msgspec.ValidationError as error:
        raise ParseError(f"{source} does not contain a session: {error}. Restore it from a backup.") from None
    left |= deep
    if not is_array(messages):
        left["messages"] = messages
    problems = [f"{source}: the field {name} could not be read: {str(value)[:80]!r}" for name, value in left.items()]
    return replace(head, unreadable={**head.unreadable, **left}) if left else head, problems


def read_mark(data: bytes | str, source: str) -> Mark:
    """The id and the writer of a stored session; the rest is not read."""
    try:
        found = _read_mark(data)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{source} is not a saved session: {error}") from None
    if found.format != FORMAT:
        raise ParseError(f"{source} is not a saved session")
    return found


def parse(data: bytes | str, source: str) -> Json:
    """The JSON value. Any error is a ``ParseError`` that names the source."""
    if isinstance(data, bytes):
        data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise ParseError(f"{source} is empty: it is not JSON and contains no session")
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise ParseError(f"{source} cannot be read as JSON: it is nested too deeply") from None
    except ValueError as error:  # UnicodeDecodeError is a ValueError
        raise ParseError(
            f"{source} is not JSON: {error}. It may be damaged: restore it from a backup, or repair it by hand."
        ) from None


def _upgraded(stored: Json, source: str) -> dict[str, Json]:
    if not is_object(stored) or stored.get("format") != FORMAT:
        raise ParseError(f"{source} is not a saved session: its format is not {FORMAT!r}")
    found = stored
    version = found.get("version")
    if type(version) is not int or version < 1:
        raise ParseError(f"{source} does not contain a session: its version is {version!r}")
    if version > VERSION:
        raise ParseError(
            f"{source} was written by a newer release of interlingua: it has version {version} of the format, and this"
            f" release reads versions up to {VERSION}. Install a newer release to load it."
        )
    for older in range(version, VERSION):
        found = UPGRADES[older](found)
    return found

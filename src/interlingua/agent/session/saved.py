"""A session as it is stored. The format has a version, and every release reads all older versions.

Version 2 added who wrote the session last (``writer``, ``revision``). It may hold the states of tool calls
(``metadata["calls"]`` of a message), ``incomplete`` blocks, values that a load could not read (``unreadable``), which
messages were taken back (``undone``), and which media were uploaded to which provider (``uploads``).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...client.uploaded import Uploaded
from ...codec.json import is_array, is_object
from ...codec.limits import is_deeper
from ...codec.old_marks import upgraded
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block
from ...types.messages import Message
from .lenient_reading import MAX_DEPTH, as_text, read_leniently, read_message

__all__ = [
    "FORMAT",
    "VERSION",
    "Head",
    "Revision",
    "Saved",
    "may_replace",
    "parse",
    "read_parts",
    "read_revision",
    "read_saved",
]

FORMAT = "interlingua.session"
VERSION = 2

# For each older version, the function that turns its JSON object into one of the next version.
UPGRADES: dict[int, Callable[[dict[str, Json]], dict[str, Json]]] = {
    1: lambda stored: {**stored, "version": 2},
}


class Revision(Struct, frozen=True):
    """Which state of which session is stored: the ``revision``-th that ``writer`` wrote. Version 1 has no writer."""

    format: str
    id: str
    writer: str = ""
    revision: int = 0


class Head(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session without its messages. ``omitted`` are the ids of messages that are no longer sent.

    ``undone`` are the ids of messages that were taken back. ``omitted`` has them too, for older releases, which do not
    know ``undone``. ``uploads`` are the media that providers have. ``unreadable`` are fields that a load could not
    read, as they were in the file.
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
    """When saving: for each writer the latest revision that this session has read or written. A save replaces no other
    stored state. None: replace whatever is there."""
    problems: tuple[str, ...] = ()
    """After loading: what could not be read, each as a sentence that says where."""


_read_revision = msgspec.json.Decoder(Revision).decode


def may_replace(saved: Saved, found: Revision | None) -> bool:
    """Whether a save may replace what is stored: nothing is stored, or an earlier state of the same session."""
    if saved.seen is None or found is None:
        return True
    return found.id == saved.head.id and saved.seen.get(found.writer, -1) >= found.revision


def read_saved(data: bytes | str, source: str) -> Saved:
    """A session from JSON of this version or an older one. What cannot be read is kept, and listed in ``problems``."""
    stored = parse(data, source)
    return read_parts(stored, stored.pop("messages", []) if is_object(stored) else [], source)


def read_parts(stored: Json, messages: Json, source: str) -> Saved:
    """A session from the JSON values of its head and of its messages."""
    head, problems = _read_head(_upgraded(stored, source), messages, source)
    head = replace(head, system=upgraded(head.system)) if head.system else head
    read: list[Message] = []
    omitted: list[str | None] = []
    for index, raw in enumerate(messages if is_array(messages) else ()):
        message, why = read_message(raw)
        read.append(upgraded(message))
        if why is not None:
            problems.append(f"{source}: message {index} ({message.id}) could not be read whole: {why}")
            omitted += [] if message.content else [message.id]
    if omitted:
        head = replace(head, omitted=tuple(dict.fromkeys((*head.omitted, *filter(None, omitted)))))
    return Saved(head, tuple(read), problems=tuple(problems))


def _read_head(stored: dict[str, Json], messages: Json, source: str) -> tuple[Head, list[str]]:
    deep = {name: as_text(value) for name, value in stored.items() if is_deeper(value, MAX_DEPTH)}
    try:
        head, unread = read_leniently({name: stored[name] for name in stored if name not in deep}, Head)
    except msgspec.ValidationError as error:
        raise ParseError(f"{source} does not hold a session: {error}. Restore it from a backup.") from None
    unread |= deep
    if not is_array(messages):
        unread["messages"] = messages
    problems = [f"{source}: the field {name} could not be read: {str(value)[:80]!r}" for name, value in unread.items()]
    return replace(head, unreadable={**head.unreadable, **unread}) if unread else head, problems


def read_revision(data: bytes | str, source: str) -> Revision:
    """Which session is stored and who wrote it last. Nothing else of it is read."""
    try:
        found = _read_revision(data)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{source} is no saved session: {error}") from None
    if found.format != FORMAT:
        raise ParseError(f"{source} is no saved session")
    return found


def parse(data: bytes | str, source: str) -> Json:
    """Parse JSON. Any fault in it raises a ``ParseError`` that names the source."""
    if isinstance(data, bytes):
        data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise ParseError(f"{source} is empty: it is not JSON and holds no session")
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise ParseError(f"{source} is not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:  # also a UnicodeDecodeError, for bytes that are not UTF-8
        raise ParseError(
            f"{source} is not JSON: {error}. It may be damaged: restore it from a backup, or repair it by hand."
        ) from None


def _upgraded(stored: Json, source: str) -> dict[str, Json]:
    if not is_object(stored) or stored.get("format") != FORMAT:
        raise ParseError(f"{source} is no saved session: it does not say {FORMAT!r}")
    found = stored
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

"""Reading a stored session as far as it can be read. What cannot be read is kept as it was, and reported.

A file may hold values of a type that this release refuses: an older release wrote them without a check, a person
edited the file, or it is damaged. One such value must not make the whole conversation unreadable.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from ...codec.json import is_array, is_object
from ...codec.limits import Limits, is_deeper
from ...types.base import Json, Value
from ...types.blocks import Block, ToolResultBlock, ToolUseBlock
from ...types.messages import Message
from ...types.words import Role
from ..history import new_message_id

__all__ = ["MAX_DEPTH", "as_text", "read_leniently", "read_message"]

S = TypeVar("S", bound=msgspec.Struct)
_FIELD = re.compile(r" - at `\$\.(\w+)")
_ROLES = frozenset(Role)
UNREADABLE = "unreadable"
MAX_DEPTH = (Limits().depth or 128) + 8
"""The nesting that is accepted from a provider (``Limits.depth``) plus the levels of a message and its blocks."""


def read_message(raw: Json) -> tuple[Message, str | None]:
    """A message, and why a part of it could not be read, or None. That part is in ``metadata["unreadable"]``."""
    try:
        if not is_deeper(raw, MAX_DEPTH):
            return _converted(raw, Message), None
        why = f"it is nested more than {MAX_DEPTH} deep"
        raw = as_text(raw)
    except msgspec.ValidationError as error:
        why = str(error)
    fields = _object(raw)
    lost: list[Json] = []
    if str(fields.get("role")) not in _ROLES:
        lost.append({"at": "", "raw": raw})
        fields = {"role": Role.tool, "id": fields.get("id")}  # the only role that does not end open calls
    content = _read_blocks(fields.pop("content", []), lost)
    message, unread = read_leniently(fields, Message)
    lost += [{"at": name, "raw": value} for name, value in unread.items()]
    before = message.metadata.get(UNREADABLE)
    kept: list[Json] = [*(before if is_array(before) else ()), *lost]
    metadata = {**message.metadata, UNREADABLE: kept}
    return replace(message, content=tuple(content), id=message.id or new_message_id(), metadata=metadata), why


def as_text(value: Json) -> str:
    """A value that is nested too deeply, as JSON text: no reader has to recurse into it."""
    return msgspec.json.encode(value).decode()


def _read_blocks(raw: Json, lost: list[Json]) -> list[Block]:
    if not is_array(raw):
        lost.append({"at": "content", "raw": raw})
        return []
    found: list[Block] = []
    for index, block in enumerate(raw):
        try:
            found.append(_converted(block, Block))
        except msgspec.ValidationError:
            lost.append({"at": f"content/{index}", "raw": block})
            found += _read_block(block)
    return found


def _read_block(raw: Json) -> list[Block]:
    """The readable part of a block, if there is any. A call becomes ``incomplete``, so that it is never run."""
    fields = _object(raw)
    kind = _BLOCKS.get(fields.get("type") if isinstance(fields.get("type"), str) else None)
    if kind is None:
        return []
    inner = _read_blocks(fields.pop("content", []), []) if kind is ToolResultBlock else []
    try:
        block, _ = read_leniently(fields, kind)
    except msgspec.ValidationError:
        return []
    if isinstance(block, ToolResultBlock):
        return [replace(block, content=tuple(inner))]
    return [replace(block, incomplete=True)] if isinstance(block, ToolUseBlock) else [block]


def read_leniently(fields: dict[str, Json], kind: type[S]) -> tuple[S, dict[str, Json]]:
    """The value without the fields that cannot be read, and those fields. Raises if a required field is among them."""
    fields = dict(fields)
    unread: dict[str, Json] = {}
    while True:
        try:
            return _converted(fields, kind), unread
        except msgspec.ValidationError as error:
            named = _FIELD.search(str(error))
            if named is None or named[1] not in fields:
                raise
            unread[named[1]] = fields.pop(named[1])


def _converted(raw: Json, kind: Any) -> Any:
    """The value. It is also refused if residue or marks in it do not have the form that dialects expect."""
    value = msgspec.convert(raw, kind)
    if isinstance(value, Value) and (field := _invalid_field(value)) is not None:
        raise msgspec.ValidationError(f"Expected objects by dialect - at `$.{field}`")
    return value


def _invalid_field(value: Value) -> str | None:
    """The first field whose residue or marks are not one object for each dialect; None if there is none."""
    for name in value.__struct_fields__:
        held = getattr(value, name)
        if name in ("extras", "forms"):
            sound = not held or all(map(is_object, held.values()))
        else:
            inner: tuple[Any, ...] = held if isinstance(held, tuple) else (held,)  # pyright: ignore[reportUnknownVariableType]
            sound = all(_invalid_field(one) is None for one in inner if isinstance(one, Value))
        if not sound:
            return name
    return None


def _object(raw: Json) -> dict[str, Json]:
    return dict(raw) if is_object(raw) else {}


_BLOCKS: dict[Any, type[Any]] = {kind.__struct_config__.tag: kind for kind in Block.__args__}

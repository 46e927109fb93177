"""Turns and system text, as they are read. Tool results travel in user turns; a turn that holds more is split.

Neighbours that speak for one side of the conversation share a turn. Marks on a message: ``apart`` (it had a turn of its
own all the same), ``first`` (it opened the conversation though it is the model's), ``role`` (another word, or none),
``parts`` (absent, or one object). On a block: ``verbatim`` (an empty text, or a system part that is no text: it was
read here, so it is written here), ``turn`` (a result that began a turn of its own behind others to the same calls).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.tables import kept, marks, note_role
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock
from ...types.messages import Message, Origin
from ...types.words import Role
from .key_case import Wire, is_array, is_object
from .media import NAME
from .parts import Calls, read_part
from .usual import ASSISTANT, USER, read_turn as read_usual

ROLES = {"user": USER, "model": ASSISTANT, "function": USER}
ROLE_WORDS: dict[str, str] = {USER: "user", Role.tool: "user", ASSISTANT: "model"}
_SIDES = ("user", "model")
_APART = {"forms": {NAME: {"apart": True}}}


def decode_contents(wire: Sequence[Json], provider: str | None) -> tuple[Message, ...]:
    messages: list[Message] = []
    calls, origin = Calls(), Origin(provider, NAME)
    for index, turn in enumerate(wire):
        if not is_object(turn):
            raise ParseError(f"contents[{index}] is not an object")
        decode_turn(turn, index, messages, calls, origin)
    return tuple(messages)


def decode_turn(turn: Wire, index: int, into: list[Message], calls: Calls, origin: Origin) -> None:
    word, parts = turn.get("role"), turn.get("parts")
    role = ROLES.get(word, USER) if type(word) is str else USER
    again = bool(into) and (into[-1].role is ASSISTANT) is (role is ASSISTANT)
    if role is ASSISTANT and not again:
        calls.waiting.clear()
    prefix = f"call_{index}_"
    fields: dict[str, Any] = {}
    if len(turn) == 2 and word in _SIDES and is_array(parts) and parts and not again and (into or role is USER):
        said = read_usual(parts, prefix, calls.waiting, role is ASSISTANT)
        if said is not None:
            into.append(Message(said[0], said[1], None, origin if role is ASSISTANT else None))
            return
    else:
        parts, fields = read_turn(turn, role, again=again, first=not into)
    blocks = [read_block(part, prefix, place, calls) for place, part in enumerate(parts)]
    if role is ASSISTANT:
        into.append(Message(role, tuple(blocks), None, origin, **fields))
    else:
        add_turn(blocks, fields, into)


def read_turn(turn: Wire, role: Role, *, again: bool, first: bool) -> tuple[list[Json], dict[str, Any]]:
    """The parts of a turn that is not as we would write it, and its residue and marks."""
    rest, forms, blanks = dict(turn), Wire(), Wire()
    if rest.pop("role", None) not in _SIDES:
        forms["role"] = turn.get("role", "absent")
        note_role(turn.get("role"), ROLES, rest)
    if again:
        forms["apart"] = True
    elif first and role is ASSISTANT:
        forms["first"] = True
    parts = read_parts(rest, forms, blanks)
    return parts, kept(NAME, rest, forms, blanks)


def add_turn(blocks: list[Block], fields: dict[str, Any], into: list[Message]) -> None:
    """A user turn; results that go on behind results are one message, which answers one turn of calls."""
    messages = split_turn(blocks, fields)
    if messages[0].role is Role.tool and into and into[-1].role is Role.tool and fields == _APART:
        first, *more = messages.pop(0).content
        first = replace(first, forms={NAME: {**marks(NAME, first), "turn": True}})
        into[-1] = replace(into[-1], content=(*into[-1].content, first, *more))
    into.extend(messages)


def read_parts(rest: Wire, forms: Wire, blanks: Wire) -> list[Json]:
    """The parts of a content, which some clients send as one object."""
    parts = rest.get("parts")
    if is_array(parts) and parts:
        del rest["parts"]
        return parts
    if is_object(parts) and parts:
        forms["parts"] = "object"
        return [rest.pop("parts")]
    if "parts" not in rest:
        forms["parts"] = "absent"
    elif not parts:
        blanks["parts"] = rest.pop("parts")
    return []


def read_block(part: Json, prefix: str, place: int, calls: Calls, *, system: bool = False) -> Block:
    block = read_part(part, prefix, place, calls)
    odd = not block.text and block.signature is None if type(block) is TextBlock else system
    return replace(block, forms={NAME: {**marks(NAME, block), "verbatim": True}}) if odd else block


def split_turn(blocks: list[Block], fields: dict[str, Any]) -> list[Message]:
    """One wire turn as adjacent ``tool`` and ``user`` messages, which share a turn when they are written again."""
    results = sum(type(block) is ToolResultBlock for block in blocks)
    if results in (0, len(blocks)):
        return [Message(Role.tool if results else Role.user, tuple(blocks), **fields)]
    runs: list[tuple[Role, list[Block]]] = []
    for block in blocks:
        role = Role.tool if type(block) is ToolResultBlock else Role.user
        if not runs or runs[-1][0] is not role:
            runs.append((role, []))
        runs[-1][1].append(block)
    return [Message(role, tuple(run), **(fields if i == 0 else {})) for i, (role, run) in enumerate(runs)]


def decode_system(wire: Wire, forms: Wire) -> tuple[Block, ...]:
    """Pops the text of the system instruction; its role means nothing and is a mark."""
    if "role" in wire:
        forms["system_role"] = wire.pop("role")
    inner: Wire = {}
    blanks: Wire = {}
    parts = read_parts(wire, inner, blanks)
    if inner:
        forms["system_parts"] = inner["parts"]
    if blanks:
        wire |= blanks
    calls = Calls()
    return tuple(read_block(part, "call_", place, calls, system=True) for place, part in enumerate(parts))

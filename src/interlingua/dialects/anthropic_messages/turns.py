"""Turns and system text. Tool results travel in user turns; a turn that mixes them with other blocks is split here.

Marks on a message: ``content`` (it was a string, or absent), ``joined`` (it shared a wire turn with the message before
it), ``apart`` (it did not, although we would join them), ``first`` (it opened the conversation although it is not the
user's), ``role`` (a role that the protocol does not have, or no role).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...codec.history.rules import PLACEHOLDER, blocks_to_send, call_ids, in_wire_order
from ...codec.history.turns import result_runs, take_blocks, take_role, write_system_texts
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks
from ...codec.rows.plain_text import is_plain_text
from ...codec.tools.ids import IdMap
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, DocumentBlock, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message, Origin
from ...types.words import Role
from .. import claude
from .facts import IDS, NAME
from .rows import BLOCKS

USER, ASSISTANT, TOOL = Role.user, Role.assistant, Role.tool  # aliases: attribute access on an Enum costs 40 ns
ROLES = {"user": Role.user, "assistant": Role.assistant, "system": Role.system}
ROLE_WORDS = {Role.user: "user", Role.tool: "user", Role.assistant: "assistant", Role.system: "system"}
BLANK: Wire = {"type": "text", "text": PLACEHOLDER}
read_block = BLOCKS.read
write_portable = BLOCKS.only(TextBlock, ToolUseBlock, ToolResultBlock).write_each_usual  # no block needs its issuer

# ------------------------------------------------------------------------------------------------------------- reading


def read_messages(wire: list[Wire], provider: str | None) -> tuple[Message, ...]:
    messages: list[Message] = []
    origin = Origin(provider, NAME)
    for index, turn in enumerate(wire):
        if type(turn) is not dict:
            raise ParseError(f"messages[{index}] is not an object")
        read_turn(turn, messages, origin)
    return tuple(messages)


def read_turn(turn: Wire, into: list[Message], origin: Origin) -> None:
    listed: list[Json] | None
    if len(turn) == 2 and type(listed := turn.get("content")) is list and listed and into:
        role = turn.get("role")
        if role == "assistant":
            into.append(Message(ASSISTANT, tuple(map(read_block, listed)), origin=origin))
            return
        if role == "user":
            into.extend(split_turn(list(map(read_block, listed)), {}, into))
            return
    rest = dict(turn)
    marks: Wire = {}
    role = take_role(rest, marks, ROLES)
    if not into and role is not USER:
        marks["first"] = True
    blocks = _read_content(rest, marks)
    fields = extras_and_forms(NAME, rest, marks)
    if role is USER:
        into.extend(split_turn(blocks, fields, into))
    else:
        by = origin if role is ASSISTANT else None
        into.append(Message(role, tuple(blocks), origin=by, **fields))


def _read_content(rest: Wire, marks: Wire) -> list[Block]:
    """The blocks of a turn. Content of an unknown shape stays residue."""
    if type(text := rest.get("content")) is str and text:
        marks["content"] = "string"
        del rest["content"]
        return [TextBlock(text)]
    return list(map(read_block, take_blocks(rest, marks, "")))


def split_turn(blocks: list[Block], fields: dict[str, Any], before: list[Message]) -> list[Message]:
    """One wire turn as adjacent ``tool`` and ``user`` messages; the later ones are marked joined."""
    results = sum([type(block) is ToolResultBlock for block in blocks])
    if not fields and (results == 0 or (results == len(blocks) and not (before and before[-1].role is TOOL))):
        return [Message(TOOL if results else USER, tuple(blocks))]
    runs = result_runs(blocks)
    if not runs:
        return [Message(USER, (), **fields)]
    if runs[0][0] is TOOL and before and before[-1].role is TOOL:
        forms = fields.get("forms", {}).get(NAME, {})
        fields = {**fields, "forms": {NAME: {**forms, "apart": True}}}
    first = Message(runs[0][0], tuple(runs[0][1]), **fields)
    return [first, *(Message(role, tuple(run), forms={NAME: {"joined": True}}) for role, run in runs[1:])]


def read_system(wire: Json, marks: Wire) -> tuple[Block, ...]:
    if type(wire) is str:
        marks["system"] = "string"
        return (TextBlock(wire),)
    return tuple(map(read_block, wire)) if is_array(wire) else ()


# ------------------------------------------------------------------------------------------------------------- writing


def write_messages(messages: Sequence[Message], target: Target | None, ledger: Ledger, skip: int = 0) -> list[Wire]:
    turns: list[Wire] = []
    numbered = in_wire_order(messages, ledger, NAME)
    ledger.ids = IdMap(IDS, call_ids(message for _, message in numbered))
    before: Message | None = None
    for index, message in numbered:
        if index < skip:
            continue
        role_changes = before.role != message.role if before is not None else message.role is USER
        if role_changes and (usual := write_usual_turn(message)) is not None:
            turns.append(usual)
            before = message
            continue
        ledger.where = ("messages", index)
        if not turns and message.role not in (USER, TOOL) and "first" not in marks(NAME, message):
            ledger.lose("added", f"{NAME} wants a user message first; a placeholder was added")
            turns.append({"role": "user", "content": [BLANK.copy()]})
        if turns and _shares_turn(message, before):
            _join(turns[-1], write_content(message, target, ledger))
        else:
            turns.append(write_turn(message, target, ledger))
        if message.extras:
            ledger.lose_foreign_extras(message, NAME)
        before = message
    if turns and before is not None and before.role == ASSISTANT:
        trim_prefill(turns[-1], before, len(messages) - 1, ledger)
    ledger.where = ()
    return turns


def write_usual_turn(message: Message) -> Wire | None:
    """The wire turn of texts, calls and results without marks or residue; None for any other message."""
    if message.extras or message.forms or not message.content:
        return None
    content = write_portable(message.content)
    return None if content is None else {"role": ROLE_WORDS[message.role], "content": content}


def trim_prefill(turn: Wire, message: Message, index: int, ledger: Ledger) -> None:
    """Strip the end of a last assistant turn, which the model continues: the protocol accepts no whitespace there."""
    content: Json = turn.get("content")
    last: Json = content[-1] if is_array(content) and content else None
    if (message.origin is not None and message.origin.dialect == NAME) or not is_object(last):
        return
    if last.get("type") == "text" and last["text"] != last["text"].rstrip():
        last["text"] = last["text"].rstrip() or PLACEHOLDER
        ledger.where = ("messages", index, "content", len(message.content) - 1)
        ledger.lose("approximated", f"{NAME} accepts no whitespace at the end of the last assistant message", "text")


def _shares_turn(message: Message, before: Message | None) -> bool:
    """Whether a message belongs in the wire turn before it: results after results, others only if read so."""
    mark = marks(NAME, message)
    if before is None or before.role not in (USER, TOOL):
        return False
    if message.role == TOOL and before.role == TOOL:
        return "apart" not in mark
    return "joined" in mark and message.role in (USER, TOOL)


def _join(turn: Wire, content: list[Json]) -> None:
    before: Json = turn.get("content") or []
    turn["content"] = [*([{"type": "text", "text": before}] if type(before) is str else before), *content]


def write_turn(message: Message, target: Target | None, ledger: Ledger) -> Wire:
    mark, word = marks(NAME, message), ROLE_WORDS[message.role]
    only = message.content[0] if len(message.content) == 1 else None
    content: Json
    if mark.get("content") == "string" and is_plain_text(only):
        content = only.text
    else:
        content = write_content(message, target, ledger)
    role = mark["role"] if "role" in mark and word == "user" else [word]
    return claude.write_turn(message, role, content, NAME, BLANK, ledger)


def write_content(message: Message, target: Target | None, ledger: Ledger) -> list[Json]:
    where = ledger.where
    written: list[Json] = []
    written_elsewhere = message.role == ASSISTANT and (message.origin is None or message.origin.dialect != NAME)
    for index, block in blocks_to_send(message, NAME, target, ledger):
        ledger.where = (*where, "content", index)
        if written_elsewhere and isinstance(block, ImageBlock | DocumentBlock):
            ledger.lose("dropped", f"{NAME} takes images and documents in user messages only")
            continue
        wire = BLOCKS.write(block, ledger)
        if wire is not None or BLOCKS.is_null(block):
            written.append(wire)
    ledger.where = where
    return written


def write_system(blocks: Sequence[tuple[tuple[str | int, ...], Block]], ledger: Ledger, form: str | None) -> Json:
    """A list of text blocks; a string if it was read as one and is still a single plain text."""
    first = blocks[0][1] if len(blocks) == 1 else None
    if form == "string" and is_plain_text(first):
        return first.text
    return write_system_texts(blocks, BLOCKS, ledger)

"""Turns and system text. Tool results travel in user turns; a turn that mixes them with other blocks is split here.

Marks on a message: ``content`` (it was a string), ``joined`` (it shared a wire turn with the message before),
``apart`` (it did not, though we would write it so), ``first`` (it opened the conversation though it is not the
user's), ``role`` (a role of no protocol). On a block: ``verbatim`` (an empty text, an unsigned thought or an id that
this protocol refuses: it was read here, so it is written here).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.history import PLACEHOLDER, call_ids, is_plain, issued, settled, speakable
from ...codec.ids import IdMap, IdRule
from ...codec.json import is_array
from ...codec.tables import Ledger, kept, marks, note_role, own, take
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ...types.capabilities import Target
from ...types.messages import Message, Origin
from ...types.words import Role
from .blocks import BLOCKS, NAME, Wire
from .usual import read_block as read_usual, say_block as say_usual

USER = Role.user  # an enum's members are slow to reach
ROLES = {"user": Role.user, "assistant": Role.assistant, "system": Role.system}
ROLE_WORDS = {Role.user: "user", Role.tool: "user", Role.assistant: "assistant", Role.system: "system"}
IDS = IdRule(re.compile(r"[a-zA-Z0-9_-]+"), prefix="toolu_")
UNCACHED = (ThinkingBlock, RedactedThinkingBlock)
_VERBATIM = {NAME: {"verbatim": True}}


def decode_messages(wire: list[Wire], provider: str | None) -> tuple[Message, ...]:
    messages: list[Message] = []
    origin = Origin(provider, NAME)
    for index, turn in enumerate(wire):
        if type(turn) is not dict:
            raise ParseError(f"messages[{index}] is not an object")
        decode_turn(turn, messages, origin)
    return tuple(messages)


def decode_turn(turn: Wire, into: list[Message], origin: Origin) -> None:
    listed: list[Json] | None
    if len(turn) == 2 and type(listed := turn.get("content")) is list and listed and into:
        role = turn.get("role")
        if role == "assistant":
            into.append(Message(Role.assistant, tuple(map(read_block, listed)), origin=origin))
            return
        if role == "user":
            into.extend(split_turn(list(map(read_block, listed)), {}, into))
            return
    rest = dict(turn)
    forms: Wire = {}
    blanks: Wire = {}
    word = rest.pop("role", "absent")
    role = ROLES.get(word, Role.user) if isinstance(word, str) else Role.user
    if not isinstance(word, str) or word not in ROLES:
        forms["role"] = word
        note_role(turn.get("role"), ROLES, rest)
    if not into and role is not Role.user:
        forms["first"] = True
    content = take(rest, "content", blanks)
    if type(content) is str:
        forms["content"] = "string"
        blocks: list[Block] = [TextBlock(content)]
    elif is_array(content):
        blocks = list(map(read_block, content))
    else:
        blocks = []
        if "content" not in turn:
            forms["content"] = "absent"
        elif content is not None:
            rest["content"] = content  # of no shape we know: residue says it
    fields = kept(NAME, rest, forms, blanks)
    if role is Role.user:
        into.extend(split_turn(blocks, fields, into))
    else:
        by = origin if role is Role.assistant else None
        into.append(Message(role, tuple(blocks), origin=by, **fields))


def read_block(wire: Json) -> Block:
    usual = read_usual(wire)
    if usual is not None:
        return usual
    block = BLOCKS.decode(wire)
    odd = (
        (isinstance(block, TextBlock) and not block.text)
        or (isinstance(block, ThinkingBlock) and block.signature is None)
        or (isinstance(block, UNCACHED) and block.cache is not None)
        or (isinstance(block, ToolUseBlock) and IDS.pattern.fullmatch(block.id) is None)
        or (isinstance(block, ToolResultBlock) and _is_odd_result(block))
    )
    return replace(block, forms={NAME: {**marks(NAME, block), "verbatim": True}}) if odd else block


def _is_odd_result(block: ToolResultBlock) -> bool:
    empty = any(isinstance(inner, TextBlock) and not inner.text for inner in block.content)
    return empty or IDS.pattern.fullmatch(block.tool_use_id) is None


def split_turn(blocks: list[Block], fields: dict[str, Any], before: list[Message]) -> list[Message]:
    """One wire turn as adjacent ``tool`` and ``user`` messages; the later ones are marked joined."""
    results = sum(type(block) is ToolResultBlock for block in blocks)
    if not fields and (results == 0 or (results == len(blocks) and not (before and before[-1].role is Role.tool))):
        return [Message(Role.tool if results else Role.user, tuple(blocks))]
    runs: list[tuple[Role, list[Block]]] = []
    for block in blocks:
        role = Role.tool if type(block) is ToolResultBlock else Role.user
        if not runs or runs[-1][0] is not role:
            runs.append((role, []))
        runs[-1][1].append(block)
    if not runs:
        return [Message(Role.user, (), **fields)]
    if runs[0][0] is Role.tool and before and before[-1].role is Role.tool:
        forms = fields.get("forms", {}).get(NAME, {})
        fields = {**fields, "forms": {NAME: {**forms, "apart": True}}}
    first = Message(runs[0][0], tuple(runs[0][1]), **fields)
    return [first, *(Message(role, tuple(run), forms={NAME: {"joined": True}}) for role, run in runs[1:])]


def encode_messages(messages: Sequence[Message], target: Target | None, ledger: Ledger, skip: int = 0) -> list[Wire]:
    turns: list[Wire] = []
    messages = issued(messages, NAME)
    ids = IdMap(IDS, call_ids(messages))
    before: Message | None = None
    for index, message in settled(messages, ledger):
        if index < skip:
            continue
        turns_over = before.role != message.role if before is not None else message.role is USER
        if turns_over and (usual := say_usual_turn(message)) is not None:
            turns.append(usual)
            before = message
            continue
        ledger.where = ("messages", index)
        if not turns and message.role not in (Role.user, Role.tool) and "first" not in marks(NAME, message):
            ledger.lose("added", f"{NAME} wants a user message first; a placeholder was added")
            turns.append({"role": "user", "content": [{"type": "text", "text": PLACEHOLDER}]})
        if turns and _same_turn(message, before):
            _join(turns[-1], encode_content(message, target, ids, ledger))
        else:
            turns.append(encode_turn(message, target, ids, ledger))
        if message.extras:
            ledger.foreign(message, NAME)
        before = message
    if turns and before is not None and before.role == Role.assistant:
        trim_prefill(turns[-1], before, len(messages) - 1, ledger)
    ledger.where = ()
    return turns


def trim_prefill(turn: Wire, message: Message, index: int, ledger: Ledger) -> None:
    """A last turn of the assistant's is continued by the model, and may not end in whitespace."""
    content: list[Wire] = turn["content"]
    last = content[-1] if type(content) is list and content else None
    if (message.origin is not None and message.origin.dialect == NAME) or last is None or last.get("type") != "text":
        return
    if last["text"] != last["text"].rstrip():
        last["text"] = last["text"].rstrip() or PLACEHOLDER
        ledger.where = ("messages", index, "content", len(message.content) - 1)
        ledger.lose("approximated", f"{NAME} accepts no whitespace at the end of the last assistant message", "text")


def say_usual_turn(message: Message) -> Wire | None:
    """A turn of usual blocks, whoever said them, with nothing to remember of it."""
    if message.extras or message.forms or not message.content:
        return None
    said: list[Wire] = []
    for block in message.content:
        wire = say_usual(block)
        if wire is None:
            return None
        said.append(wire)
    return {"role": ROLE_WORDS[message.role], "content": said}


def _same_turn(message: Message, before: Message | None) -> bool:
    """Results of one assistant turn belong in one wire turn; others only where they came so."""
    mark = marks(NAME, message)
    if before is None or before.role not in (Role.user, Role.tool):
        return False
    if message.role == Role.tool and before.role == Role.tool:
        return "apart" not in mark
    return "joined" in mark and message.role in (Role.user, Role.tool)


def _join(turn: Wire, content: list[Wire]) -> None:
    if type(turn["content"]) is str:
        turn["content"] = [{"type": "text", "text": turn["content"]}]
    turn["content"] += content


def encode_turn(message: Message, target: Target | None, ids: IdMap, ledger: Ledger) -> Wire:
    mark = marks(NAME, message)
    wire: Wire = {"role": mark.get("role", ROLE_WORDS[message.role]) if mark else ROLE_WORDS[message.role]}
    if wire["role"] == "absent":
        del wire["role"]
    only = message.content[0] if len(message.content) == 1 else None
    if only is not None and mark.get("content") == "string" and is_plain(only):
        wire["content"] = only.text  # type: ignore[union-attr]
        return own(NAME, wire, message)
    content = encode_content(message, target, ids, ledger)
    if content:
        wire["content"] = content
    elif message.content or not _was_hollow(message, mark):
        wire["content"] = [{"type": "text", "text": PLACEHOLDER}]
        ledger.lose("added", f"{NAME} accepts no empty message; a placeholder was added", "content")
    return own(NAME, wire, message)


def _was_hollow(message: Message, mark: Wire) -> bool:
    """The turn came without content, or with something that is no list of blocks."""
    if mark.get("content") == "absent" or "content" in mark.get("blank", ()):
        return True
    return "content" in message.extras.get(NAME, ())


def encode_content(message: Message, target: Target | None, ids: IdMap, ledger: Ledger) -> list[Wire]:
    where = ledger.where
    said: list[Wire] = []
    foreign = message.role == Role.assistant and (message.origin is None or message.origin.dialect != NAME)
    for index, block in speakable(message, NAME, target, ledger):
        ledger.where = (*where, "content", index)
        if foreign and isinstance(block, ImageBlock | DocumentBlock):
            ledger.lose("dropped", f"{NAME} takes images and documents in user messages only")
            continue
        wire = encode_block(block, ids, ledger)
        if wire is not None:
            said.append(wire)
    ledger.where = where
    return said


def encode_block(block: Block, ids: IdMap, ledger: Ledger) -> Wire | None:
    kind = type(block)
    if isinstance(block, TextBlock) and not block.text and "verbatim" not in marks(NAME, block):
        ledger.lose_form("dropped", f"{NAME} accepts no empty text")
        return None
    if kind is ThinkingBlock and block.signature is None and "verbatim" not in marks(NAME, block):
        ledger.lose("dropped", f"{NAME} accepts only signed reasoning", weight="state")
        return None
    if isinstance(block, UNCACHED) and block.cache is not None and "verbatim" not in marks(NAME, block):
        ledger.lose("dropped", f"thinking blocks of {NAME} take no cache marks", "cache")
        block = replace(block, cache=None)
    wire = BLOCKS.encode(block, ledger)
    if wire is not None and (kind is ToolUseBlock or kind is ToolResultBlock):
        _fit_id(block, wire, "id" if kind is ToolUseBlock else "tool_use_id", ids, ledger)
    return wire


def _fit_id(block: Block, wire: Wire, key: str, ids: IdMap, ledger: Ledger) -> None:
    if "verbatim" in marks(NAME, block):
        return
    fitted = ids.fit(wire[key])
    if fitted != wire[key]:
        ledger.lose_form("approximated", f"{NAME} takes ids of letters, digits, _ and -; one derived", key)
        wire[key] = fitted


def decode_system(wire: Json, forms: Wire) -> tuple[Block, ...]:
    if type(wire) is str:
        forms["system"] = "string"
        return (TextBlock(wire),)
    return tuple(map(read_block, wire)) if is_array(wire) else ()


def encode_system(blocks: Sequence[tuple[tuple[str | int, ...], Block]], ledger: Ledger, form: str | None) -> Json:
    """A list of text blocks; a string where it was one and still can be."""
    if form == "string" and len(blocks) == 1 and is_plain(blocks[0][1]):
        return blocks[0][1].text  # type: ignore[union-attr]
    said: list[Wire] = []
    ids = IdMap(IDS)
    for where, block in blocks:
        ledger.where = where
        if isinstance(block, OpaqueBlock) and block.dialect == NAME:
            said.append(block.raw)
        elif type(block) is not TextBlock:
            ledger.lose_from_system(block, NAME)
        else:
            wire = say_usual(block) or encode_block(block, ids, ledger)
            if wire is not None:
                said.append(wire)
    ledger.where = ()
    return said

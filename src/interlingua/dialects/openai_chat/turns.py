"""The history: leading system text, turns, and tool results, each of which is a message of its own on the wire.

Leading system messages are ``Request.system``; the first block of each has the marks and the residue of its message
under ``message``. Media cannot be part of a result: they are sent in a user message after it. Marks on a message:
``role`` (one that the protocol does not have, or none), ``joined`` (results that do not follow an assistant message).
On a result: ``derived`` (it had no id), ``place`` (it does not answer a call right before it, and stays there).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.history.issuer import same_issuer
from ...codec.history.rules import blocks_to_send, call_ids, in_wire_order, misplaced_results
from ...codec.json import Wire, is_array
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks, note_role, with_marks
from ...codec.rows.plain_text import is_one_text
from ...codec.tools.ids import IdMap
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message, Origin
from ...types.words import Role
from . import rules
from .assistant import number_calls, read_blocks, read_turn, regroup, usual_turn
from .facts import NAME, OPENAI, THINKING_KEYS, Quirks
from .rows import MESSAGES, MOVED, PARTS, TURNS, Turn

USER, ASSISTANT, TOOL, SYSTEM = Role.user, Role.assistant, Role.tool, Role.system  # aliases: Enum access costs 40 ns
ROLES = ("system", "developer", "user", "assistant")
read_wire = MESSAGES.read
writers = MESSAGES.writers

# ------------------------------------------------------------------------------------------------------------- reading


def read_messages(wire: list[Wire], provider: str | None) -> tuple[tuple[Block, ...], tuple[Message, ...]]:
    """The system blocks that open the conversation, and the messages behind them."""
    system: list[Block] = []
    messages: list[Message] = []
    called: Collection[str] = ()
    origin = Origin(provider, NAME)
    for index, turn in enumerate(wire):
        if type(turn) is not dict:
            raise ParseError(f"messages[{index}] is not an object")
        role = turn.get("role")
        if role == "assistant":
            message = read_assistant(turn, messages, origin)
            called = [block.id for block in message.content if type(block) is ToolUseBlock]
        elif role == "tool" or role == "function":
            read_result(turn, messages, called)
            continue
        else:
            message = read_message(turn, role)
            called = ()
            if message.role is SYSTEM and not messages and message.content:
                system.extend(as_system(message, first=not system))
                continue
        messages.append(message)
    return tuple(system), tuple(messages)


def read_assistant(wire: Wire, before: Sequence[Message], origin: Origin) -> Message:
    turn = read_turn(TURNS, wire)
    blocks = read_blocks(turn)
    if [True for block in blocks if block.forms and is_derived(block)]:
        blocks = with_unique_ids(blocks, before)
    return Message(ASSISTANT, blocks, origin=origin, extras=turn.extras, forms=turn.forms)


def is_derived(block: Block) -> bool:
    """Whether a call or a result had no id on the wire; the id that we made is never sent."""
    return "derived" in marks(NAME, block)


def with_unique_ids(blocks: tuple[Block, ...], before: Sequence[Message]) -> tuple[Block, ...]:
    """The blocks; a call without an id on the wire gets another id if an earlier turn has the one that we made."""
    taken = {block.id for turn in before for block in turn.content if type(block) is ToolUseBlock}
    cleared = [replace(b, id="") if type(b) is ToolUseBlock and is_derived(b) and b.id in taken else b for b in blocks]
    return number_calls(cleared, f"call_{len(before)}")


def read_result(wire: Wire, messages: list[Message], called: Collection[str]) -> None:
    """Read a result. It joins the message of the results right before it."""
    block: ToolResultBlock = read_wire(wire)
    if not block.tool_use_id:
        block = replace(with_marks(NAME, block, derived=True), tool_use_id=_last_call(messages))
    if block.tool_use_id not in called:
        block = with_marks(NAME, block, place="kept")
    if messages and messages[-1].role is TOOL:
        messages[-1] = replace(messages[-1], content=(*messages[-1].content, block))
    else:
        detached = not messages or messages[-1].role is not ASSISTANT
        messages.append(Message(TOOL, (block,), forms={NAME: {"joined": True}} if detached else {}))


def _last_call(messages: Sequence[Message]) -> str:
    for message in reversed(messages):
        for block in reversed(message.content):
            if type(block) is ToolUseBlock:
                return block.id
    return "call_0"


def read_message(wire: Wire, role: Json) -> Message:
    """Read a user or system message. An unknown role is read as ``user``, and stays residue."""
    found: Message | Any = read_wire(wire)
    if type(found) is Message:
        return found
    message: Message = read_wire({**wire, "role": "user"})
    residue: Wire = dict(message.extras.get(NAME, {}))
    note_role(role, ROLES, residue)
    mark = {**marks(NAME, message), "role": [role] if "role" in wire else []}
    return replace(message, **extras_and_forms(NAME, residue, mark))


def as_system(message: Message, *, first: bool) -> Sequence[Block]:
    """The blocks of a leading system message. The first one gets the marks and the residue of the message."""
    if first and not message.extras and not message.forms:
        return message.content
    head, residue = message.content[0], message.extras.get(NAME)
    extras = {**head.extras.get(NAME, {}), **({"message": residue} if residue else {})}
    forms = {**marks(NAME, head), "message": marks(NAME, message)}
    return (replace(head, extras={NAME: extras} if extras else {}, forms={NAME: forms}), *message.content[1:])


# ------------------------------------------------------------------------------------------------------------- writing


def write_system(blocks: Sequence[Block], quirks: Quirks, ledger: Ledger) -> list[Wire]:
    """Write one system message, or as many as the blocks were read from."""
    if is_one_text(blocks):
        return [{"role": "system", "content": blocks[0].text}]  # type: ignore[union-attr]
    if rules.differs_in_parts(quirks):
        blocks = rules.fit_blocks(tuple(blocks), quirks, None, ledger, "system")
    groups: list[tuple[int, list[Block]]] = []
    for index, block in enumerate(blocks):
        if not groups or "message" in marks(NAME, block):
            groups.append((index, []))
        groups[-1][1].append(block)
    return [_write_system(start, group, quirks, ledger) for start, group in groups]


def _write_system(start: int, group: list[Block], quirks: Quirks, ledger: Ledger) -> Wire:
    head = group[0]
    forms, residue = marks(NAME, head).get("message", {}), head.extras.get(NAME, {}).get("message", {})
    if head.forms:
        mark = {key: value for key, value in marks(NAME, head).items() if key != "message"}
        rest = {key: value for key, value in head.extras.get(NAME, {}).items() if key != "message"}
        others = {name: value for name, value in head.extras.items() if name != NAME}
        head = replace(head, forms={NAME: mark} if mark else {}, extras={**others, NAME: rest} if rest else others)
    message = Message(SYSTEM, (head, *group[1:]), **extras_and_forms(NAME, residue, dict(forms)))
    count = len(ledger.losses)
    wire = write_message(message, quirks, ledger)
    if len(ledger.losses) > count:
        places = {f"content/{at}": f"system/{start + at}" for at in range(len(group))}
        ledger.relocate(count, {**places, "content": "system"})
    return wire


def write_messages(messages: Sequence[Message], target: Target | None, quirks: Quirks, ledger: Ledger) -> list[Wire]:
    messages = rules.fit_history(messages, quirks, ledger)
    usual = None if quirks.replay_thinking else write_usual_history(messages)
    if usual is not None:
        return usual
    turns: list[Wire] = []
    ledger.ids = IdMap(OPENAI.ids, call_ids(messages))
    moved: list[Wire] = []
    misplaced = find_misplaced(messages)
    before = USER
    for index, message in in_wire_order(messages, ledger, NAME):
        if before is message.role is TOOL:
            ledger.where = ()
            ledger.lose_form("moved", f"neighbouring tool messages read as one in {NAME}", "messages", index)
        before = message.role
        if not misplaced and not moved and not quirks.replay_thinking and (wires := write_usual(message)) is not None:
            turns.extend(wires)
            continue
        ledger.where = ("messages", index)
        if moved and message.role is not TOOL:
            turns.append({"role": "user", "content": moved})
            moved = []
        if message.role is TOOL:
            skip = [place for at, place in misplaced if at == index]
            turns.extend(write_results(message, moved, ledger, skip))
        elif message.role is ASSISTANT:
            turns.append(write_assistant(message, target, quirks, ledger))
            for (at, place), caller in misplaced.items():
                if caller == index:
                    turns.append(write_misplaced(messages[at], at, place, moved, ledger))
        else:
            turns.append(write_message(message, quirks, ledger))
    if moved:
        turns.append({"role": "user", "content": moved})
    ledger.where = ()
    return turns


# ---------------------------------------------------------------------------------------------------- the usual case


def write_usual_history(messages: Sequence[Message]) -> list[Wire] | None:
    """A history of only usual turns, with every result right behind its call; None for any other history."""
    turns: list[Wire] = []
    calls: list[Wire] = []
    before = USER
    for message in messages:
        role = message.role
        if role is TOOL:
            results = None if before is USER or before is TOOL else _write_usual_results(message)
            if results is None or not _are_answered(calls, results):
                return None
            turns += results
        else:
            wire = _write_usual_turn(message)
            if wire is None:
                return None
            calls = wire.get("tool_calls", [])
            turns.append(wire)
        before = role
    return turns


def _are_answered(calls: list[Wire], results: list[Wire]) -> bool:
    """Whether every result answers one of these calls."""
    if len(calls) == len(results) == 1:
        return bool(calls[0]["id"] == results[0]["tool_call_id"])
    called = [call["id"] for call in calls]
    return all(result["tool_call_id"] in called for result in results)


def write_usual(message: Message) -> list[Wire] | None:
    """The wire messages of a usual message, which compiled rows can write; None for any other message."""
    if message.role is TOOL:
        return _write_usual_results(message)
    wire = _write_usual_turn(message)
    return None if wire is None else [wire]


def _write_usual_results(message: Message) -> list[Wire] | None:
    if message.extras or message.forms:
        return None
    wires: list[Wire] = []
    for block in message.content:
        wire = None if NAME in block.forms else writers[type(block)](block)
        if wire is None:
            return None
        wires.append(wire)
    return wires


def _write_usual_turn(message: Message) -> Wire | None:
    if message.forms and "role" in marks(NAME, message):
        return None
    wire: Wire | None = None
    if message.role is not ASSISTANT:
        wire = writers[Message](message)
    elif not message.extras and (turn := usual_turn(message.content)) is not None:
        wire = TURNS.writers[Turn](replace(turn, forms=message.forms) if message.forms else turn)
    return wire


# --------------------------------------------------------------------------------------------------------- single turns


def write_assistant(message: Message, target: Target | None, quirks: Quirks, ledger: Ledger) -> Wire:
    mark, extras = marks(NAME, message), message.extras
    blocks = list(blocks_to_send(message, NAME, target, ledger))
    turn, places = regroup(blocks, mark, quirks, ledger, answer=False)
    if NAME in extras and not same_issuer(message.origin, NAME, target):
        for key in extras[NAME]:
            ledger.lose("dropped", "a field of another server, which this one may not know", "extras", NAME, key)
        extras = {name: residue for name, residue in extras.items() if name != NAME}
    if quirks.thinking_key is not None and turn.thinking is not None:
        keys = {quirks.thinking_key: list[Json]()} if quirks.thinking_key != THINKING_KEYS[0] else None
        spelling = {name: spelled for name, spelled in mark.get("spelling", {}).items() if name != "thinking"}
        mark = {**mark, "spelling": {**spelling, **({"thinking": keys} if keys else {})}}
    count = len(ledger.losses)
    wire: Wire = TURNS.write(replace(turn, extras=extras, forms={NAME: mark} if mark else {}), ledger)
    ledger.relocate(count, places)
    return wire


def write_message(message: Message, quirks: Quirks, ledger: Ledger) -> Wire:
    mark = marks(NAME, message)
    if mark.get("tag") == "developer" and not quirks.developer_role:
        message = replace(message, forms={NAME: {key: value for key, value in mark.items() if key != "tag"}})
    wire: Wire = MESSAGES.write(message, ledger)
    if is_array(role := mark.get("role")):
        del wire["role"]
        wire |= {"role": role[0]} if role else {}
    return wire


def find_misplaced(messages: Sequence[Message]) -> dict[tuple[int, int], int]:
    """The places of results that must move behind their calls, with the index of the message that calls.

    Results that this dialect read where they are stay there.
    """
    return {
        (at, place): caller
        for (at, place), caller in misplaced_results(messages).items()
        if "place" not in marks(NAME, messages[at].content[place])
    }


def write_misplaced(message: Message, at: int, place: int, moved: list[Wire], ledger: Ledger) -> Wire:
    """Write a result of another message (its index is ``at``) right behind its call, and declare it moved."""
    block = message.content[place]
    assert isinstance(block, ToolResultBlock)
    where = ledger.where
    ledger.where = ("messages", at, "content", place)
    ledger.lose("moved", f"{NAME} wants tool results right after the message that called")
    wire = write_result(block, moved, ledger)
    ledger.where = where
    return wire


def write_results(message: Message, moved: list[Wire], ledger: Ledger, skip: Sequence[int]) -> list[Wire]:
    written: list[Wire] = []
    for index, block in ledger.each(enumerate(message.content), "content"):
        if type(block) is ToolResultBlock:
            written += [write_result(block, moved, ledger)] if index not in skip else []
        elif (wire := PARTS.write(block, ledger)) is not None:
            moved.append(wire)
            ledger.lose("moved", f"a tool message of {NAME} holds results only; the rest went to a user message")
    ledger.lose_foreign_extras(message, NAME)
    return written


def write_result(block: ToolResultBlock, moved: list[Wire], ledger: Ledger) -> Wire:
    """Write a result. Its media are added to ``moved``."""
    if is_derived(block):
        block = replace(block, tool_use_id="")
    media = [(index, inner) for index, inner in enumerate(block.content) if type(inner) in MOVED]
    for _, inner in ledger.each(media if marks(NAME, block).get("content") != "parts" else (), "content"):
        if (part := PARTS.write(inner, ledger)) is not None:
            moved.append(part)
            ledger.lose("moved", f"a tool result of {NAME} is text; media were sent in a user message after it")
    wire: Wire = MESSAGES.write(block, ledger)
    return wire

"""Turns and system text. A tool result is a turn of its own; a run of them is one message of ours.

Leading system turns are ``Request.system``, one block each, and are written so: the server itself joins them.
Results without a call id are matched by name, then by order.

Marks on a message: ``role`` (a spelling or a role of no protocol), ``inline`` (a leading system turn that is more than
text, and stays a turn), ``apart`` (results that do not stand behind their calls; a turn that follows another of the
model's, and one of them calls). On a result: ``derived`` and ``id`` as on a call, ``absent``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from ...codec.history import is_plain, issued, settled, speakable
from ...codec.json import is_array, is_object
from ...codec.tables import Ledger, kept, marks, note_role, own, take
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message, Origin
from ...types.words import Role
from . import usual
from .blocks import (
    NAME,
    Place,
    Wire,
    read_blocks,
    read_id,
    read_text,
    say_attributes,
    say_blocks,
    say_id,
    take_typed,
)
from .usual import ERROR_IN_WORDS, ERROR_PREFIX, NAMED_BY_CALL, NO_ERROR_FLAG, History

TOOL = Role.tool
ROLES = {
    "system": Role.system,
    "developer": Role.system,
    "user": Role.user,
    "assistant": Role.assistant,
    "tool": Role.tool,
}
ROLE_WORDS = {Role.system: "system", Role.user: "user", Role.assistant: "assistant", Role.tool: "tool"}
BESIDE_TEXT = ("thinking", "images", "tool_calls", "tool_name", "tool_call_id")

# ------------------------------------------------------------------------------------------------------------ reading


class Pairing:
    """Ids for calls and results that came without one: the same history always gets the same ids."""

    def __init__(self, turns: Sequence[Json]) -> None:
        self.turns = turns
        self.turn = 0
        self.open: list[ToolUseBlock] = []
        self.home: int | None = None  # the message that made these calls

    @cached_property
    def taken(self) -> set[str]:
        return {id for turn in self.turns for call in _wire_calls(turn) if type(id := call.get("id")) is str}

    def call(self, blocks: Sequence[Block], home: int | None) -> None:
        """Results answer the calls of the latest turn that made any."""
        if calls := [block for block in blocks if type(block) is ToolUseBlock]:
            self.open, self.home = calls, home

    def mint(self, index: int) -> str:
        """``call_<block index>``; in a turn where that is taken, with the turn's number too."""
        id = f"call_{index}"
        if id in self.taken:
            id = f"call_{self.turn}_{index}"
        self.taken.add(id)
        return id

    def answer(self, id: Json, name: Json) -> str:
        """The call that a result answers: by id, else by name, else by order, else one of its own."""
        likely = [call for call in self.open if id is None or "derived" in marks(NAME, call)]
        for found in (
            next((call for call in self.open if call.id == id), None),
            next((call for call in likely if call.name == name), None),
            next(iter(likely), None),
        ):
            if found is not None:
                self.open.remove(found)
                return found.id
        return id if type(id) is str else self.mint(0)


def _wire_calls(turn: Json) -> list[Wire]:
    calls = turn.get("tool_calls") if is_object(turn) else None
    return [call for call in calls if is_object(call)] if is_array(calls) else []


def decode_messages(turns: Json, provider: str | None) -> tuple[tuple[Block, ...], tuple[Message, ...]]:
    """The system prompt and the history."""
    system: list[Block] = []
    messages: list[Message] = []
    pairing, origin, apart = Pairing(turns), Origin(provider, NAME), False
    results: list[Block] = []  # those of the run that is being read
    for index, turn in enumerate(turns):
        if not is_object(turn):
            raise ParseError(f"messages[{index}] is not an object")
        pairing.turn = index
        if is_result(turn):
            results.append(usual.read_result(turn, pairing.open) or read_result(turn, read_role(turn)[1], pairing))
            apart = apart or pairing.home != len(messages) - 1
            continue
        if results:
            messages.append(Message(TOOL, tuple(results)))
            results = []
        read_any(turn, system, messages, pairing, origin)
    if results:
        messages.append(Message(TOOL, tuple(results)))
    return tuple(system), mark_apart(messages) if apart else tuple(messages)


def is_result(turn: Wire) -> bool:
    word = turn.get("role")
    return word == "tool" or (type(word) is str and word.lower() == "tool")


def read_any(turn: Wire, system: list[Block], messages: list[Message], pairing: Pairing, origin: Origin) -> None:
    """A turn that is no result: of the system prompt, while there is no other, or of the history."""
    if (message := usual.read_turn(turn, messages[-1].role if messages else None, origin)) is not None:
        if type(message.content[-1]) is ToolUseBlock:
            pairing.call(message.content, len(messages))
        messages.append(message)
        return
    role, forms = read_role(turn)
    if role is Role.system and not messages and not any(turn.get(key) for key in BESIDE_TEXT):
        system.append(read_system(turn, forms))
    else:
        read_turn(turn, role, forms, pairing, messages, origin)


def read_role(turn: Wire) -> tuple[Role, Wire]:
    word = turn.get("role")
    role = role_of(word)
    if "role" not in turn:
        return role, {"absent": ["role"]}
    return role, {} if word == ROLE_WORDS[role] else {"role": word}


def role_of(word: Json) -> Role:
    return ROLES.get(word.lower(), Role.user) if type(word) is str else Role.user


def without_role(turn: Wire) -> Wire:
    return {key: value for key, value in turn.items() if key != "role"}


def read_system(turn: Wire, forms: Wire) -> Block:
    rest = without_role(turn)
    blanks: Wire = {}
    text = read_text(rest, forms, blanks)
    return TextBlock(text, **kept(NAME, rest, forms, blanks))


def read_turn(turn: Wire, role: Role, forms: Wire, pairing: Pairing, messages: list[Message], origin: Origin) -> None:
    before = messages[-1].role if messages else None
    rest, blanks = without_role(turn), Wire()
    blocks = read_blocks(rest, forms, blanks, pairing.mint, answer=False)
    if "role" in forms:
        word = turn["role"]
        note_role(word.lower() if type(word) is str else word, ROLES, rest)
    pairing.call(blocks, len(messages) if role is Role.assistant else None)
    if role is before is Role.assistant and pairing.home in (len(messages) - 1, len(messages)):
        forms["apart"] = True
    if before is None and role is Role.system:
        forms["inline"] = True
    by = origin if role is Role.assistant else None
    messages.append(Message(role, tuple(blocks), origin=by, **kept(NAME, rest, forms, blanks)))


def read_result(turn: Wire, forms: Wire, pairing: Pairing) -> ToolResultBlock:
    rest, blanks = without_role(turn), Wire()
    fields: dict[str, Any] = {"name": take_typed(rest, "tool_name", str, blanks)}
    if fields["name"] is None:
        forms.setdefault("absent", []).append("tool_name")
    id = take(rest, "tool_call_id", blanks)
    fields["tool_use_id"] = read_id(id, pairing.answer(id, fields["name"]), forms)
    fields["content"] = tuple(read_blocks(rest, forms, blanks, pairing.mint, answer=False))
    return ToolResultBlock(**fields, **kept(NAME, rest, forms, blanks))


def mark_apart(messages: list[Message]) -> tuple[Message, ...]:
    """The server takes results anywhere; we would write them behind their calls."""
    if [index for index, _ in settled(messages, Ledger())] == list(range(len(messages))):
        return tuple(messages)
    apart = {NAME: {"apart": True}}
    return tuple(replace(message, forms=apart) if message.role is Role.tool else message for message in messages)


# ------------------------------------------------------------------------------------------------------------- saying


def encode_system(placed: Sequence[tuple[Place, Block]], ledger: Ledger) -> list[Wire]:
    """One turn for each block: nothing has to be joined."""
    turns: list[Wire] = []
    for place, block in placed:
        if is_plain(block) and type(block) is TextBlock:
            turns.append({"role": "system", "content": block.text})
            continue
        ledger.where = place
        if type(block) is not TextBlock:
            ledger.lose_from_system(block, NAME)
            continue
        if block.citations:
            ledger.lose("dropped", f"{NAME} has no citations", "citations")
        say_attributes(block, ledger)
        turns.append(say_turn(Role.system, {"content": block.text}, block))
    ledger.where = ()
    return turns


def say_turn(role: Role, said: Wire, value: Message | Block) -> Wire:
    """One wire turn: its role, what it says, and what this dialect left on the value it stands for."""
    mark = marks(NAME, value)
    turn: Wire = {}
    if "role" not in mark.get("absent", ()):
        turn["role"] = mark["role"] if "role" in mark and role_of(mark["role"]) is role else ROLE_WORDS[role]
    turn |= said
    if not turn["content"] and ("content" in mark.get("absent", ()) or "content" in mark.get("blank", ())):
        del turn["content"]
    return own(NAME, turn, value)


Run = list[tuple[int, Message]]


def encode_messages(
    messages: Sequence[Message], target: Target | None, ledger: Ledger, skip: int = 0, *, context: bool = False
) -> list[Wire]:
    history = History()
    theirs: Sequence[Message] = ()

    def otherwise(index: int) -> None:
        """By the tables, which know calls by the ids that they go out under."""
        nonlocal theirs
        theirs = theirs or issued(messages, NAME)
        history.note_ids(messages[index])
        say_run([(index, theirs[index])], history, target, ledger, context=context)

    known = len(ledger.losses)
    if usual.say_history(messages, skip, history, target, ledger.losses, otherwise):
        return history.turns
    del ledger.losses[known:]
    history = History()
    for run in in_runs(issued(messages, NAME), ledger, skip):
        if len(run) > 1 or not usual.say_message(run[0][1], run[0][0], history, target, ledger.losses):
            say_run(run, history, target, ledger, context=context)
    return history.turns


def say_run(run: Run, history: History, target: Target | None, ledger: Ledger, *, context: bool) -> None:
    """Messages that are one turn, and the results among them."""
    results: list[tuple[Place, ToolResultBlock]] = []
    others: list[tuple[Place, Block]] = []
    for index, message in run:
        history.hear(message)
        ledger.where = ("messages", index)
        ledger.foreign(message, NAME)
        part(message, target, results, others, ledger)
    ledger.where = ()
    for place, block in in_order(results, history, ledger):
        history.turns.append(say_result(block, place, history, ledger))
    if others or not results:
        history.turns += say_others(run, others, ledger, context=context)
    ledger.where = ()


def in_runs(messages: Sequence[Message], ledger: Ledger, skip: int) -> list[Run]:
    """Messages that become one: where turns of the model follow each other, the server keeps the first one's calls."""
    runs: list[Run] = []
    apart = any(message.role == Role.tool and "apart" in marks(NAME, message) for message in messages)
    for index, message in enumerate(messages) if apart else settled(messages, ledger):
        if index < skip:
            continue
        before = runs[-1][-1][1].role if runs else None
        if before == message.role == Role.tool:
            ledger.lose_form("moved", f"neighbouring tool messages read as one in {NAME}", "messages", index)
        if before == message.role == Role.assistant and joins(message, runs[-1]):
            ledger.lose_form("moved", f"{NAME} wants results right after calls; joined to them", "messages", index)
            runs[-1].append((index, message))
        else:
            runs.append([(index, message)])
    return runs


def joins(message: Message, run: Run) -> bool:
    if "apart" in marks(NAME, message):
        return False
    return any(type(block) is ToolUseBlock for _, member in run for block in member.content)


def part(
    message: Message,
    target: Target | None,
    results: list[tuple[Place, ToolResultBlock]],
    others: list[tuple[Place, Block]],
    ledger: Ledger,
) -> None:
    """Results apart from the rest of a message: each is a turn of its own."""
    where = ledger.where
    for index, block in speakable(message, NAME, target, ledger):
        ledger.where = (*where, "content", index)
        if (type(block) is ToolResultBlock) is not (message.role == Role.tool):
            ledger.lose_form("moved", f"tool results of {NAME} are messages of their own")
        if type(block) is ToolResultBlock:
            results.append((ledger.where, block))
        else:
            others.append((ledger.where, block))
    ledger.where = where
    if results and not others and message.role != Role.tool:
        ledger.lose_form("moved", f"tool results of {NAME} are messages of their own", "role")
    if others and not results and message.role == Role.tool:
        ledger.lose_form(
            "moved", f"a tool message of {NAME} holds results only; the rest went to a user message", "role"
        )


def say_others(run: Run, placed: list[tuple[Place, Block]], ledger: Ledger, *, context: bool) -> list[Wire]:
    """What a run of messages says beside its results, as one turn."""
    index, first = run[0]
    if first.role == Role.tool and not placed:
        ledger.lose_form("dropped", f"a tool message of {NAME} holds results, and this has none", "messages", index)
        return []
    role = Role.user if first.role == Role.tool else Role(first.role)
    turn = say_turn(role, say_blocks(placed, ledger, context=context), first)
    for _, message in run[1:]:
        own(NAME, turn, message)
    return [turn]


def in_order(
    results: list[tuple[Place, ToolResultBlock]], history: History, ledger: Ledger
) -> list[tuple[Place, ToolResultBlock]]:
    """Where calls went out without ids, results are told apart by their order; those that were read keep theirs."""
    if not any(b.tool_use_id in history.derived and "derived" not in marks(NAME, b) for _, b in results):
        return results
    last = ("", len(history.calls))
    ordered = sorted(results, key=lambda result: history.calls.get(result[1].tool_use_id, last)[1])
    for before, after in zip(results, ordered, strict=True):
        if before is not after:
            ledger.lose_form("moved", f"{NAME} matches results without ids by order; sorted", *before[0])
    return ordered


def say_result(block: ToolResultBlock, place: Place, history: History, ledger: Ledger) -> Wire:
    mark = marks(NAME, block)
    said = say_blocks([((*place, "content", index), part) for index, part in enumerate(block.content)], ledger)
    ledger.where = place
    if block.is_error:
        said["content"] = ERROR_PREFIX + said["content"]
        for path in ("is_error", "content"):
            ledger.lose("approximated", ERROR_IN_WORDS, path)
    elif block.is_error is not None:
        ledger.lose_form("dropped", NO_ERROR_FLAG, "is_error")
    name = block.name
    if name is None and "tool_name" not in mark.get("absent", ()) and block.tool_use_id in history.calls:
        name = history.calls[block.tool_use_id][0]
        ledger.lose_form("added", NAMED_BY_CALL, "name")
    if name is not None:
        said["tool_name"] = name
    sent = mark if "derived" in mark else history.derived.get(block.tool_use_id, mark)
    say_id(block.tool_use_id, sent, said, "tool_call_id", ledger)
    say_attributes(block, ledger)
    ledger.where = ()
    return say_turn(Role.tool, said, block)

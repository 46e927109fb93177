"""Reading turns. A tool result is a turn of its own; a run of them is one message of ours.

A message of the wire has a key for each kind of block, without an order among them: blocks are read in the order of
``PLACES``. Leading system turns are ``Request.system``, one block each. Results without a call id are matched by name,
then by order.

Marks on a message: ``inline`` (a leading system turn that is more than text, and stays a turn), ``apart`` (results that
do not stand behind their calls; a turn that follows another of the model's, and one of them calls). On a result:
``unnamed`` (it did not name its tool), ``derived`` (the id that we gave it), ``id`` (the one that it had, if any). On a
call: ``derived`` (the id that we gave it, because the wire had none), ``numbered`` (whether it has its
``function.index``, where that is not usual), ``arguments`` (they came as a string).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from ...codec.history.rules import settled
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import marks, note_role
from ...codec.rows.kinds import REFUSED
from ...codec.tools.arguments import read_arguments
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message, Origin
from ...types.words import Role
from .facts import NAME
from .rows import BLOCKS, CALLS, RESULTS, ROLES, TURNS, Turn

SYSTEM, USER, ASSISTANT, TOOL = Role.system, Role.user, Role.assistant, Role.tool  # an Enum's attribute costs 40 ns
Mint = Callable[[int], str]
"""Gives an id to a call that has none, by its place among the blocks."""

# ------------------------------------------------------------------------------------------------------------- blocks


def read_blocks(turn: Turn, mint: Mint, *, answer: bool) -> list[Block]:
    """What a message says. ``answer``: the server wrote it."""
    blocks: list[Block] = []
    if turn.thinking:
        blocks.append(ThinkingBlock(turn.thinking))
    if turn.content:
        blocks.append(TextBlock(turn.content))
    if turn.images:
        blocks.extend([BLOCKS.read({"images": picture}) for picture in turn.images])
    for number, call in enumerate(turn.tool_calls or ()):
        block = REFUSED if answer else CALLS.read(call)
        if type(block) is not ToolUseBlock or block.extras or not block.id:
            block = read_call(call, number, len(blocks), mint, answer=answer)
        blocks.append(block)
    return blocks


def read_call(wire: Json, number: int, place: int, mint: Mint, *, answer: bool) -> Block:
    """A call with something to remember. The server numbers the calls of an answer; clients send none back."""
    plain, found, text = _plain_call(wire, number, answer=answer)
    block: Any = CALLS.read(plain)
    if type(block) is not ToolUseBlock or "arguments" in block.extras.get(NAME, {}).get("function", ()):
        return OpaqueBlock(NAME, {"tool_calls": wire})
    if found or not block.id:
        id = block.id or mint(place)
        if not block.id:
            found["derived"] = id
        return replace(block, id=id, input_text=text, forms={NAME: {**marks(NAME, block), **found}})
    return block


def _plain_call(wire: Json, number: int, *, answer: bool) -> tuple[Json, Wire, str | None]:
    """A call with its arguments as an object and without its number; marks; the text of arguments that were one."""
    function = wire.get("function") if is_object(wire) else None
    if not is_object(function):
        return wire, {}, None
    found: Wire = {}
    text, arguments = None, function.get("arguments")
    index = function.get("index")
    numbered = index == number and type(index) is int
    if numbered is not answer and (numbered or index is None):
        found["numbered"] = numbered
    if numbered:
        function = {key: value for key, value in function.items() if key != "index"}
    if type(arguments) is str:
        found["arguments"] = "string"
        arguments, text = read_arguments(arguments)
        function = {**function, "arguments": arguments}
    return wire if function is wire["function"] else {**wire, "function": function}, found, text


# ---------------------------------------------------------------------------------------------------------------- turns


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

    def answer(self, id: str | None, name: str | None) -> str:
        """The call that a result answers: by id, else by name, else by order, else one of its own."""
        for place, call in enumerate(self.open):
            if call.id == id:
                del self.open[place]
                return call.id
        likely = [call for call in self.open if id is None or "derived" in marks(NAME, call)]
        found = next((call for call in likely if call.name == name), likely[0] if likely else None)
        if found is None:
            return id or self.mint(0)
        self.open.remove(found)
        return found.id


def _wire_calls(turn: Json) -> list[Wire]:
    calls = turn.get("tool_calls") if is_object(turn) else None
    return [call for call in calls if is_object(call)] if is_array(calls) else []


def read_messages(turns: list[Json], provider: str | None) -> tuple[tuple[Block, ...], tuple[Message, ...]]:
    """The system prompt and the history."""
    system: list[Block] = []
    messages: list[Message] = []
    pairing, origin, apart = Pairing(turns), Origin(provider, NAME), False
    results: list[Block] = []  # those of the run that is being read
    for index, wire in enumerate(turns):
        if not is_object(wire):
            raise ParseError(f"messages[{index}] is not an object")
        pairing.turn = index
        word = wire.get("role")
        if word == "tool" or (type(word) is str and word.lower() == "tool"):
            results.append(read_result(RESULTS.read(wire), pairing))
            apart = apart or pairing.home != len(messages) - 1
            continue
        if results:
            messages.append(Message(TOOL, tuple(results)))
            results = []
        turn: Turn = TURNS.read(wire)
        if turn.role is SYSTEM and not (messages or turn.thinking or turn.images or turn.tool_calls):
            system.append(TextBlock(turn.content, extras=turn.extras, forms=turn.forms))
        else:
            messages.append(read_turn(turn, word, pairing, messages, origin))
    if results:
        messages.append(Message(TOOL, tuple(results)))
    return tuple(system), mark_apart(messages) if apart else tuple(messages)


def read_turn(turn: Turn, word: Json, pairing: Pairing, messages: list[Message], origin: Origin) -> Message:
    """A turn that is no result. ``word`` is its role on the wire."""
    role, extras, forms = turn.role, turn.extras, turn.forms
    before = messages[-1].role if messages else None
    blocks = read_blocks(turn, pairing.mint, answer=False)
    if turn.tool_calls:
        pairing.call(blocks, len(messages) if role is ASSISTANT else None)
    if role is before is ASSISTANT and pairing.home in (len(messages) - 1, len(messages)):
        forms = _with_mark(forms, "apart")
    if before is None and role is SYSTEM:
        forms = _with_mark(forms, "inline")
    if forms and role is USER:
        rest: Wire = {}
        note_role(word.lower() if type(word) is str else word, ROLES.reads, rest)
        if rest:
            extras = {NAME: {**extras.get(NAME, {}), **rest}}
    by = origin if role is ASSISTANT else None
    if extras or forms:
        return Message(role, tuple(blocks), None, by, extras=extras, forms=forms)
    return Message(role, tuple(blocks), None, by)


def _with_mark(forms: dict[str, Json], mark: str) -> dict[str, Json]:
    return {NAME: {**forms.get(NAME, {}), mark: True}}


def read_result(turn: Turn, pairing: Pairing) -> ToolResultBlock:
    sent, name, forms = turn.tool_call_id, turn.tool_name, turn.forms
    id = pairing.answer(sent, name)
    if id != sent:
        forms = {NAME: {**forms.get(NAME, {}), "derived": id, **({} if sent is None else {"id": sent})}}
    if name is None:
        forms = _with_mark(forms, "unnamed")
    if turn.content and not (turn.thinking or turn.images or turn.tool_calls):
        content: tuple[Block, ...] = (TextBlock(turn.content),)
    else:
        content = tuple(read_blocks(turn, pairing.mint, answer=False))
    if turn.extras or forms:
        return ToolResultBlock(id, content, name, extras=turn.extras, forms=forms)
    return ToolResultBlock(id, content, name)


def mark_apart(messages: list[Message]) -> tuple[Message, ...]:
    """The server takes results anywhere; we would write them behind their calls."""
    if [index for index, _ in settled(messages, Ledger())] == list(range(len(messages))):
        return tuple(messages)
    apart = {NAME: {"apart": True}}
    return tuple(replace(message, forms=apart) if message.role is TOOL else message for message in messages)

"""Reads turns. On the wire every tool result is a turn; consecutive results become one message.

A wire message has a key for each kind of block, without an order among them: blocks are read in the order of
``PLACES``. Leading system turns are ``Request.system``, one block each. Results without a call id are matched by name,
then by order.

Marks on a message: ``inline`` (a leading system turn that has more than text, and stays a turn), ``apart`` (results
that do not stand behind their calls; an assistant turn behind another one, if one of them calls). On a result:
``unnamed`` (it did not name its tool), ``derived`` (the id that we gave it), ``id`` (the id that it had, if any). On a
call: ``derived`` (the id that we gave it, because the wire had none), ``numbered`` (whether it had a
``function.index``, where that is not usual), ``arguments`` (they were a string).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from ...codec.history.rules import in_wire_order
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

SYSTEM, USER, ASSISTANT, TOOL = Role.system, Role.user, Role.assistant, Role.tool  # aliases: Enum access costs 40 ns
MakeId = Callable[[int], str]
"""Makes an id for a call that has none, from its place among the blocks."""

# ------------------------------------------------------------------------------------------------------------- blocks


def read_blocks(turn: Turn, make_id: MakeId, *, answer: bool) -> list[Block]:
    """The blocks of a message. ``answer``: the server wrote it, not a client."""
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
            block = read_call(call, number, len(blocks), make_id, answer=answer)
        blocks.append(block)
    return blocks


def read_call(wire: Json, number: int, place: int, make_id: MakeId, *, answer: bool) -> Block:
    """Read a call that needs an id or marks. The server numbers the calls of an answer; clients do not."""
    plain, found, text = _plain_call(wire, number, answer=answer)
    block: Any = CALLS.read(plain)
    if type(block) is not ToolUseBlock or "arguments" in block.extras.get(NAME, {}).get("function", ()):
        return OpaqueBlock(NAME, {"tool_calls": wire})
    if found or not block.id:
        id = block.id or make_id(place)
        if not block.id:
            found["derived"] = id
        return replace(block, id=id, input_text=text, forms={NAME: {**marks(NAME, block), **found}})
    return block


def _plain_call(wire: Json, number: int, *, answer: bool) -> tuple[Json, Wire, str | None]:
    """A call with arguments as an object and without its number; marks; the text of its arguments if they were text."""
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
    """Makes ids for calls and results that have none. The same history always gets the same ids."""

    def __init__(self, turns: Sequence[Json]) -> None:
        self.turns = turns
        self.turn = 0
        self.unanswered: list[ToolUseBlock] = []
        self.caller: int | None = None  # the index of the message with these calls

    @cached_property
    def taken(self) -> set[str]:
        return {id for turn in self.turns for call in _wire_calls(turn) if type(id := call.get("id")) is str}

    def add_calls(self, blocks: Sequence[Block], caller: int | None) -> None:
        """Remember the calls of a turn: results answer the latest turn that has calls."""
        if calls := [block for block in blocks if type(block) is ToolUseBlock]:
            self.unanswered, self.caller = calls, caller

    def make_id(self, index: int) -> str:
        """``call_<block index>``, or ``call_<turn>_<block index>`` if that id is taken."""
        id = f"call_{index}"
        if id in self.taken:
            id = f"call_{self.turn}_{index}"
        self.taken.add(id)
        return id

    def match(self, id: str | None, name: str | None) -> str:
        """The id of the call that a result answers: by id, else by name, else by order; a new id if none is left."""
        for place, call in enumerate(self.unanswered):
            if call.id == id:
                del self.unanswered[place]
                return call.id
        candidates = [call for call in self.unanswered if id is None or "derived" in marks(NAME, call)]
        found = next((call for call in candidates if call.name == name), candidates[0] if candidates else None)
        if found is None:
            return id or self.make_id(0)
        self.unanswered.remove(found)
        return found.id


def _wire_calls(turn: Json) -> list[Wire]:
    calls = turn.get("tool_calls") if is_object(turn) else None
    return [call for call in calls if is_object(call)] if is_array(calls) else []


def read_messages(turns: list[Json], provider: str | None) -> tuple[tuple[Block, ...], tuple[Message, ...]]:
    """The system prompt and the history."""
    system: list[Block] = []
    messages: list[Message] = []
    pairing, origin, apart = Pairing(turns), Origin(provider, NAME), False
    results: list[Block] = []  # of the run that is being read
    for index, wire in enumerate(turns):
        if not is_object(wire):
            raise ParseError(f"messages[{index}] is not an object")
        pairing.turn = index
        word = wire.get("role")
        if word == "tool" or (type(word) is str and word.lower() == "tool"):
            results.append(read_result(RESULTS.read(wire), pairing))
            apart = apart or pairing.caller != len(messages) - 1
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
    """Read a turn that is not a result. ``word`` is its role on the wire."""
    role, extras, forms = turn.role, turn.extras, turn.forms
    before = messages[-1].role if messages else None
    blocks = read_blocks(turn, pairing.make_id, answer=False)
    if turn.tool_calls:
        pairing.add_calls(blocks, len(messages) if role is ASSISTANT else None)
    if role is before is ASSISTANT and pairing.caller in (len(messages) - 1, len(messages)):
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
    wire_id, name, forms = turn.tool_call_id, turn.tool_name, turn.forms
    id = pairing.match(wire_id, name)
    if id != wire_id:
        forms = {NAME: {**forms.get(NAME, {}), "derived": id, **({} if wire_id is None else {"id": wire_id})}}
    if name is None:
        forms = _with_mark(forms, "unnamed")
    if turn.content and not (turn.thinking or turn.images or turn.tool_calls):
        content: tuple[Block, ...] = (TextBlock(turn.content),)
    else:
        content = tuple(read_blocks(turn, pairing.make_id, answer=False))
    if turn.extras or forms:
        return ToolResultBlock(id, content, name, extras=turn.extras, forms=forms)
    return ToolResultBlock(id, content, name)


def mark_apart(messages: list[Message]) -> tuple[Message, ...]:
    """Mark results, if any do not stand behind their calls, where we would write them."""
    if [index for index, _ in in_wire_order(messages, Ledger())] == list(range(len(messages))):
        return tuple(messages)
    apart = {NAME: {"apart": True}}
    return tuple(replace(message, forms=apart) if message.role is TOOL else message for message in messages)

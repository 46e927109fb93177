"""Turns and system text. Tool results travel in user turns; a turn that mixes them with other parts is split here.

Neighbours that speak for one side of the conversation share a turn. Marks on a message: ``apart`` (it had a turn of its
own all the same), ``first`` (it opened the conversation though it is the model's), ``role`` (another word, or none),
``parts`` (absent, or one object). On a block: ``verbatim`` (an empty text, or a system part that is no text: it was
read here, so it is written here), ``turn`` (a result that began a turn of its own behind others to the same calls).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ...errors import ParseError, ToolStateError
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message, Origin
from ...types.words import Role
from .._history import PLACEHOLDER, settled, speakable
from .._tables import Ledger, kept, marks, own
from .media import NAME
from .parts import BLOCKS, PLACEHOLDERS, SIGNATURE, Calls, read_part, spelled, wire_id
from .spelling import Wire

ROLES = {"user": Role.user, "model": Role.assistant, "function": Role.user}
ROLE_WORDS = {Role.user: "user", Role.tool: "user", Role.assistant: "model"}
GENERATION = re.compile(r"gemini-(\d+)")
Placed = tuple[tuple[str | int, ...], Block]
_APART = {"forms": {NAME: {"apart": True}}}


def signs_calls(model: str | None) -> bool:
    """Whether a model refuses calls without a signature: Gemini 3 and later do."""
    found = GENERATION.search(model) if model is not None else None
    return found is not None and int(found[1]) >= 3


# ------------------------------------------------------------------------------------------------------------ reading


def decode_contents(wire: Sequence[Json], provider: str | None) -> tuple[Message, ...]:
    messages: list[Message] = []
    calls = Calls()
    for index, turn in enumerate(wire):
        if type(turn) is not dict:
            raise ParseError(f"contents[{index}] is not an object")
        decode_turn(turn, index, messages, calls, Origin(provider, NAME))
    return tuple(messages)


def decode_turn(turn: Wire, index: int, into: list[Message], calls: Calls, origin: Origin) -> None:
    rest, forms, blanks = dict(turn), Wire(), Wire()
    word = rest.pop("role", None)
    role = ROLES.get(word, Role.user) if isinstance(word, str) else Role.user
    if word not in ("user", "model"):
        forms["role"] = word if "role" in turn else "absent"
    if into and ROLE_WORDS[Role(into[-1].role)] == ROLE_WORDS[role]:
        forms["apart"] = True
    elif role is Role.assistant:
        calls.waiting.clear()
        if not into:
            forms["first"] = True
    parts = read_parts(rest, forms, blanks)
    blocks = [read_block(part, f"call_{index}_{place}", calls) for place, part in enumerate(parts)]
    fields = kept(NAME, rest, forms, blanks)
    if role is Role.assistant:
        into.append(Message(role, tuple(blocks), origin=origin, **fields))
        return
    messages = split_turn(blocks, fields)
    if messages[0].role is Role.tool and into and into[-1].role is Role.tool and fields == _APART:
        first, *more = messages.pop(0).content
        first = replace(first, forms={NAME: {**marks(NAME, first), "turn": True}})
        into[-1] = replace(into[-1], content=(*into[-1].content, first, *more))
    into.extend(messages)


def read_parts(rest: Wire, forms: Wire, blanks: Wire) -> list[Json]:
    """The parts of a content, which some clients send as one object."""
    parts = rest.get("parts")
    if type(parts) is list and parts:
        del rest["parts"]
        return parts
    if type(parts) is dict and parts:
        forms["parts"] = "object"
        return [rest.pop("parts")]
    if "parts" not in rest:
        forms["parts"] = "absent"
    elif not parts:
        blanks["parts"] = rest.pop("parts")
    return []


def read_block(part: Json, derived: str, calls: Calls, *, system: bool = False) -> Block:
    block = read_part(part, derived, calls)
    odd = not block.text and block.signature is None if type(block) is TextBlock else system
    return replace(block, forms={NAME: {**marks(NAME, block), "verbatim": True}}) if odd else block


def split_turn(blocks: list[Block], fields: dict[str, Any]) -> list[Message]:
    """One wire turn as adjacent ``tool`` and ``user`` messages, which share a turn when they are written again."""
    runs: list[tuple[Role, list[Block]]] = []
    for block in blocks:
        role = Role.tool if type(block) is ToolResultBlock else Role.user
        if not runs or runs[-1][0] is not role:
            runs.append((role, []))
        runs[-1][1].append(block)
    if not runs:
        return [Message(Role.user, (), **fields)]
    return [Message(role, tuple(run), **(fields if i == 0 else {})) for i, (role, run) in enumerate(runs)]


def decode_system(wire: Wire, forms: Wire) -> tuple[Block, ...]:
    """Pops the text of the system instruction; its role means nothing and is a mark."""
    if "role" in wire:
        forms["system_role"] = wire.pop("role")
    inner, blanks = Wire(), Wire()
    parts = read_parts(wire, inner, blanks)
    if inner:
        forms["system_parts"] = inner["parts"]
    if blanks:
        wire |= blanks
    calls = Calls()
    return tuple(read_block(part, f"call_{place}", calls, system=True) for place, part in enumerate(parts))


# ------------------------------------------------------------------------------------------------------------ writing


class History:
    """What the calls so far tell of their results: name, place, and the id on the wire, if there is one."""

    __slots__ = ("calls", "count", "signing")

    def __init__(self, signing: bool = False) -> None:
        self.calls: dict[str, tuple[str, int, str | None]] = {}
        self.count = 0
        self.signing = signing

    def made(self, block: ToolUseBlock) -> None:
        self.count += 1
        self.calls[block.id] = (block.name, self.count, wire_id(block))

    def finish(self, block: ToolResultBlock, response: Wire, ledger: Ledger) -> None:
        """A result needs the name of its call, and its id if that has one."""
        name, _, issued = self.calls.get(block.tool_use_id, (None, 0, block.tool_use_id))
        if issued is None:
            response.pop("id", None)
        elif "id" in response:
            response["id"] = issued
        if "name" not in response and "name" not in marks(NAME, block).get("blank", {}).get("functionResponse", ()):
            if name is None:
                raise ToolStateError(f"no call in the history has the id {block.tool_use_id!r}", retryable=False)
            response["name"] = name
            ledger.lose("added", "a result needs the name of its call", "name")

    def in_call_order(self, message: Message, ledger: Ledger) -> Message:
        """Results that no id tells apart stand in the order of their calls."""
        places = {i: place for i, block in enumerate(message.content) if (place := self._place(block)) is not None}
        order = sorted(places, key=places.__getitem__)
        if order == list(places):
            return message
        ledger.lose("moved", "results without ids stand in the order of their calls", "content")
        content = list(message.content)
        for place, taken in zip(places, order, strict=True):
            content[place] = message.content[taken]
        return replace(message, content=tuple(content))

    def _place(self, block: Block) -> int | None:
        if type(block) is not ToolResultBlock or "id" in marks(NAME, block):
            return None
        _, place, issued = self.calls.get(block.tool_use_id, (None, 0, ""))
        return place if issued is None else None


def encode_contents(
    messages: Sequence[Message], target: Target | None, ledger: Ledger, *, signing: bool = False
) -> list[Wire]:
    """The turns; system messages are not among them. ``signing``: the reader refuses unsigned calls."""
    history = History(signing)
    spoken: list[Spoken] = []
    for index, message in settled(messages, ledger):
        if message.role != Role.system:
            ledger.where = ("messages", index)
            if message.role == Role.tool:
                message = history.in_call_order(message, ledger)
            spoken.append(Spoken(index, message, encode_parts(message, target, history, ledger)))
            if message.extras:
                ledger.foreign(message, NAME)
    turns = lay_out(spoken, ledger)
    ledger.where = ()
    return turns


class Spoken(NamedTuple):
    """A message and what it says: one list of parts, or one for each turn that its results came in."""

    index: int
    message: Message
    parts: list[list[Wire]]


def lay_out(spoken: Sequence[Spoken], ledger: Ledger) -> list[Wire]:
    turns: list[Wire] = []
    before: Spoken | None = None
    for place, said in enumerate(spoken):
        message, (parts, *more) = said.message, said.parts
        ledger.where = ("messages", said.index)
        joins = before is not None and shares_turn(message, before.message)
        joined = place + 1 < len(spoken) and shares_turn(spoken[place + 1].message, message)
        if not parts and (joins or joined) and not was_empty(message):
            ledger.lose("dropped", "nothing of it is left to say")
            continue
        if not turns and message.role == Role.assistant and "first" not in marks(NAME, message):
            ledger.lose("added", "the first turn must be the user's")
            turns.append({"role": "user", "parts": [{"text": PLACEHOLDER}]})
        if joins and before is not None:
            _join(turns[-1], said, before, ledger)
        else:
            turns.append(encode_turn(message, parts, ledger))
        turns.extend({"role": "user", "parts": parts} for parts in more)
        before = said
    return turns


def _join(turn: Wire, said: Spoken, before: Spoken, ledger: Ledger) -> None:
    """A message that shares a turn with the one before. Results and what the user says are told apart again."""
    if said.message.role == before.message.role:
        ledger.lose("moved", "turns alternate: this one joins the one before")
        ledger.where = ("messages", before.index)
        ledger.lose("added", "turns alternate: the next one joins it", "content")
    parts = turn.get("parts", [])
    turn["parts"] = [*([parts] if type(parts) is dict else parts), *said.parts[0]]


def was_empty(message: Message) -> bool:
    """It was read without parts, so it is written without."""
    mark = marks(NAME, message)
    return not message.content and (mark.get("parts") == "absent" or "parts" in mark.get("blank", ()))


def shares_turn(message: Message, before: Message) -> bool:
    same = ROLE_WORDS[Role(message.role)] == ROLE_WORDS[Role(before.role)]
    return same and "apart" not in marks(NAME, message)


def encode_turn(message: Message, parts: list[Wire], ledger: Ledger) -> Wire:
    mark = marks(NAME, message)
    wire: Wire = {"role": mark.get("role", ROLE_WORDS[Role(message.role)])}
    if wire["role"] == "absent":
        del wire["role"]
    if parts:
        wire["parts"] = parts[0] if len(parts) == 1 and mark.get("parts") == "object" else parts
    elif not was_empty(message):
        wire["parts"] = [{"text": PLACEHOLDER}]
        ledger.lose("added", "a turn may not be empty", "content")
    return own(NAME, wire, message)


def encode_parts(message: Message, target: Target | None, history: History, ledger: Ledger) -> list[list[Wire]]:
    """The parts of a message: one list, or one for each turn that its results came in."""
    where, said = ledger.where, [list[Wire]()]
    unsigned = history.signing and message.role == Role.assistant
    for index, block in speakable(message, NAME, target, ledger):
        ledger.where = (*where, "content", index)
        wire = encode_block(block, history, ledger)
        if wire is None:
            continue
        if unsigned and type(block) is ToolUseBlock:
            unsigned = False  # of calls made together only the first is signed
            if SIGNATURE not in wire and "signature" not in marks(NAME, block):
                wire[SIGNATURE] = PLACEHOLDERS[0]
                ledger.lose("added", "the first call of a turn is signed: the documented placeholder", "signature")
        if block.forms:
            wire = spelled(block, wire)
            if said[-1] and "turn" in marks(NAME, block):
                said.append([])
        said[-1].append(wire)
    ledger.where = where
    return said


def encode_block(block: Block, history: History, ledger: Ledger) -> Wire | None:
    if type(block) is TextBlock:
        if not block.text and block.signature is None and "verbatim" not in marks(NAME, block):
            ledger.lose("dropped", "a text may not be empty")
            return None
        if block.citations:
            ledger.lose("dropped", "citations stand in answers only", "citations")
    wire = BLOCKS.encode(block, ledger)
    if type(block) is ToolUseBlock:
        history.made(block)
    elif type(block) is ToolResultBlock and wire is not None:
        history.finish(block, wire["functionResponse"], ledger)
    return wire


def encode_system(blocks: Iterable[Placed], ledger: Ledger) -> list[Wire]:
    """The parts of the system instruction."""
    said: list[Wire] = []
    history = History()
    for where, block in blocks:
        ledger.where = where
        if type(block) is not TextBlock and "verbatim" not in marks(NAME, block):
            ledger.lose("dropped", "a system prompt is text")
            continue
        wire = encode_block(block, history, ledger)
        if wire is not None:
            said.append(spelled(block, wire) if block.forms else wire)
    ledger.where = ()
    return said

"""Turns and system text. Tool results are sent in user turns; a turn with other parts, too, is split into messages.

Neighbouring messages of one role on the wire share a turn. Marks on a message: ``apart`` (it had a turn of its own
nevertheless), ``first`` (it opened the conversation though it is the model's), ``role`` (another word, or none),
``parts`` (there were none, or one object), ``joined`` (results that followed a text of the user in one turn). On a
block: ``turn`` (a result that began another turn after results of the same calls); for more see ``calls``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from msgspec.structs import replace

from ...codec.history.issuer import same_issuer
from ...codec.history.rules import PLACEHOLDER, blocks_to_send, in_wire_order
from ...codec.history.turns import result_runs, write_system_texts
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks, note_role
from ...codec.paths import merge
from ...codec.rows.table import Table
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.loss import Loss
from ...types.messages import Message, Origin
from ...types.words import Role
from .calls import IDENTIFIED, Calls, History, mark_read, named_by_call
from .facts import GENERATION, KEYS, NAME, PLACEHOLDERS, SIGNATURE, original_value
from .rows import PARTS

USER, ASSISTANT, TOOL, SYSTEM = Role.user, Role.assistant, Role.tool, Role.system  # access on an Enum costs 40 ns
ROLES = {"user": USER, "model": ASSISTANT, "function": USER}
ROLE_WORDS: dict[str, str] = {USER: "user", TOOL: "user", ASSISTANT: "model"}
FOLLOWING: dict[Role | None, tuple[Role, ...]] = {
    None: (USER,), USER: (ASSISTANT,), ASSISTANT: (TOOL, USER), TOOL: (ASSISTANT,)
}  # fmt: skip
"""The roles that may follow each role without being joined to it."""
WORDS = ("user", "model")
SIGNED_FIRST = f"{NAME} wants the first call of a turn signed; the documented placeholder was added"
APART = {"forms": {NAME: {"apart": True}}}
Placed = tuple[tuple[str | int, ...], Block]
read_part = PARTS.read
writers = PARTS.writers

# ------------------------------------------------------------------------------------------------------------- reading


def read_contents(wire: Sequence[Json], provider: str | None) -> tuple[Message, ...]:
    messages: list[Message] = []
    calls, origin = Calls(), Origin(provider, NAME)
    before: Json = ""  # the role, on the wire, of the turn before
    for index, turn in enumerate(wire):
        if turn.__class__ is not dict:
            raise ParseError(f"contents[{index}] is not an object")
        word, parts = turn.get("role"), turn.get("parts")
        usual = len(turn) == 2 and word != before and (word == "user" or (word == "model" and before))
        if not usual or parts.__class__ is not list or not parts:
            read_odd_turn(turn, index, messages, calls, origin)
            before = "model" if messages[-1].role is ASSISTANT else "user"
            continue
        before, calls.turn = word, index
        if word == "model":
            calls.waiting.clear()
            messages.append(Message(ASSISTANT, read_parts(parts, calls), None, origin))
        elif len(blocks := read_parts(parts, calls)) == 1:
            messages.append(Message(TOOL if type(blocks[0]) is ToolResultBlock else USER, blocks))
        else:
            add_user_turn(blocks, {}, messages)
    return tuple(messages)


def read_parts(parts: Sequence[Json], calls: Calls, table: Table = PARTS) -> tuple[Block, ...]:
    blocks: tuple[Block, ...] = tuple(map(table.read, parts))
    for place, block in enumerate(blocks):
        if type(block) in IDENTIFIED:
            calls.identify(block, place)
    return blocks


def read_odd_turn(turn: Wire, index: int, into: list[Message], calls: Calls, origin: Origin) -> None:
    """Read a turn that is not as we would write it, or that has the role of the turn before."""
    word = turn.get("role")
    role = ROLES.get(word, USER) if type(word) is str else USER
    again = bool(into) and (into[-1].role is ASSISTANT) is (role is ASSISTANT)
    if role is ASSISTANT and not again:
        calls.waiting.clear()
    parts, fields = take_turn(turn, role, again=again, first=not into)
    calls.turn = index
    blocks = read_parts(parts, calls)
    if role is ASSISTANT:
        into.append(Message(role, blocks, None, origin, **fields))
    else:
        add_user_turn(blocks, fields, into)


def take_turn(turn: Wire, role: Role, *, again: bool, first: bool) -> tuple[list[Json], dict[str, Any]]:
    """The parts of a turn that is not as we would write it, and its residue and marks."""
    rest = dict(turn)
    mark: Wire = {}
    if rest.pop("role", None) not in WORDS:
        mark["role"] = [turn["role"]] if "role" in turn else []
        note_role(turn.get("role"), ROLES, rest)
    if again:
        mark["apart"] = True
    elif first and role is ASSISTANT:
        mark["first"] = True
    parts = take_parts(rest, mark)
    return parts, extras_and_forms(NAME, rest, mark)


def take_parts(rest: Wire, mark: Wire) -> list[Json]:
    """Take the parts out of a content. The mark ``parts`` remembers that they were one object, or were missing."""
    parts = rest.get("parts")
    if is_array(parts) and parts:
        del rest["parts"]
        return parts
    if is_object(parts) and parts:
        mark["parts"] = "object"
        return [rest.pop("parts")]
    if not parts:
        mark["parts"] = [rest.pop("parts")] if "parts" in rest else []
    return []


def add_user_turn(blocks: tuple[Block, ...], fields: dict[str, Any], into: list[Message]) -> None:
    """Add a user turn. Results that follow results join their message, which answers one turn of calls."""
    messages = split_turn(blocks, fields)
    if messages[0].role is TOOL and into and into[-1].role is TOOL and fields == APART:
        first, *more = messages.pop(0).content
        mark_read(first, turn=True)
        into[-1] = replace(into[-1], content=(*into[-1].content, first, *more))
    for message in messages:
        if message.role is TOOL and into and into[-1].role is USER:
            message = replace(message, forms={NAME: {**marks(NAME, message), "joined": True}})
        into.append(message)


def split_turn(blocks: tuple[Block, ...], fields: dict[str, Any]) -> list[Message]:
    """One wire turn as adjacent ``tool`` and ``user`` messages, which share a turn when they are written again."""
    kinds = set(map(type, blocks))
    if ToolResultBlock not in kinds or len(kinds) == 1:
        return [Message(TOOL if ToolResultBlock in kinds else USER, blocks, **fields)]
    runs = result_runs(blocks)
    return [Message(role, tuple(run), **(fields if place == 0 else {})) for place, (role, run) in enumerate(runs)]


def read_system(wire: Wire, mark: Wire) -> tuple[Block, ...]:
    """Take the blocks out of the system instruction, whose role means nothing. What is no text is carried whole."""
    inner: Wire = {}
    if "role" in wire:
        mark["system_role"] = wire.pop("role")
    parts = take_parts(wire, inner)
    if inner:
        mark["system_parts"] = inner["parts"]
    blocks = map(read_part, parts)
    return tuple(
        [b if type(b) is TextBlock else OpaqueBlock(NAME, part) for b, part in zip(blocks, parts, strict=True)]
    )


# ------------------------------------------------------------------------------------------------------------- writing


def signs_calls(model: str | None) -> bool:
    """Whether a model refuses calls without a signature: Gemini 3 and later do."""
    found = GENERATION.search(model) if model is not None else None
    return found is not None and int(found[1]) >= 3


def write_contents_alone(messages: Sequence[Message], target: Target | None, ledger: Ledger) -> list[Wire]:
    """The value of ``contents``. System text has no place there; ``encode_request`` moves it."""
    for index, message in enumerate(messages):
        if message.role is SYSTEM:
            ledger.lose("dropped", f"{NAME} has system text in `systemInstruction`", "messages", index)
    signing = target is not None and signs_calls(target.model)
    return write_contents(messages, target, ledger, signing=signing)


def write_contents(
    messages: Sequence[Message], target: Target | None, ledger: Ledger, *, signing: bool = False
) -> list[Wire]:
    """The turns, without system messages. ``signing``: the server refuses calls without a signature."""
    known = len(ledger.losses)
    written = write_alternating(messages, target, ledger, signing=signing)
    if written is not None:
        return written
    del ledger.losses[known:]
    history, turns = History(messages), Turns(ledger)
    for index, message in in_wire_order(messages, ledger, NAME):
        if message.role is SYSTEM:
            continue
        ledger.where = ("messages", index)
        if message.role is TOOL and history.orders:
            message = history.in_call_order(message, ledger)
        turns.add(message, index, write_parts(message, index, target, history, ledger, signing=signing))
        if message.extras:
            ledger.where = ("messages", index)
            ledger.lose_foreign_extras(message, NAME)
    turns.settle(None)
    ledger.where = ()
    return turns.written


def write_alternating(
    messages: Sequence[Message], target: Target | None, ledger: Ledger, *, signing: bool
) -> list[Wire] | None:
    """The turns of the common history: roles alternate, and no message has marks, residue or a block to leave out.

    None for any other history.
    """
    turns: list[Wire] = []
    names: dict[str, str] = {}  # the names of the calls, by id
    reader: Origin | None = None  # the last origin that was found to be the target's issuer
    before: Role | None = None
    for index, message in enumerate(messages):
        role, content, origin = message.role, message.content, message.origin
        if role not in FOLLOWING[before] or not content or message.forms or message.extras:
            return None
        if origin is not None and origin is not reader:
            if not same_issuer(origin, NAME, target):
                return None
            reader = origin
        parts: list[Any] = []
        for block in content:
            part = writers[type(block)](block)
            if part is None:
                return None
            if type(block) is ToolUseBlock:
                if block.forms and "id" in marks(NAME, block):
                    return None
                names[block.id] = block.name
            elif type(block) is ToolResultBlock and block.name is None:
                if block.forms or block.tool_use_id not in names:
                    return None
                part["functionResponse"]["name"] = names[block.tool_use_id]
                ledger.losses.append(named_by_call(index, len(parts)))
            parts.append(part)
        if signing and role is ASSISTANT:
            sign_first(enumerate(content), parts, index, ledger)
        turns.append({"role": ROLE_WORDS[role], "parts": parts})
        before = role
    return turns


def sign_first(blocks: Iterable[tuple[int, Block]], parts: Sequence[Any], index: int, ledger: Ledger) -> None:
    """Add the placeholder signature to the first call of a turn, unless it is signed."""
    for (at, block), part in zip(blocks, parts, strict=True):
        if type(block) is ToolUseBlock:
            if KEYS.get(part, SIGNATURE) is None:
                part[SIGNATURE] = PLACEHOLDERS[0]
                ledger.losses.append(Loss(f"messages/{index}/content/{at}/signature", "added", SIGNED_FIRST))
            return


class Turns:
    """The turns while they are written. Neighbouring messages of one role on the wire share a turn."""

    __slots__ = ("before", "empty", "home", "ledger", "written")

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.written: list[Wire] = []
        self.before: Message | None = None
        self.home = 0  # the index of ``before``
        self.empty: tuple[Message, int] | None = None  # an empty message that the next may stand for, and its index

    def add(self, message: Message, index: int, parts: list[list[Json]]) -> None:
        self.settle(message)
        self.ledger.where = ("messages", index)
        joins = self.before is not None and shares_turn(message, self.before)
        if not parts[0] and not was_empty(message):
            if joins:
                self.ledger.lose_form("dropped", f"nothing of the message can be written in {NAME}")
            else:
                self.empty = message, index
            return
        if joins:
            self.join(message, index, parts[0])
        else:
            self.open(message, index, parts[0])
        self.written.extend([{"role": "user", "parts": more} for more in parts[1:]])

    def settle(self, following: Message | None) -> None:
        """Drop the empty message if ``following`` has the same role on the wire; else write a placeholder for it."""
        if self.empty is None:
            return
        (message, index), self.empty = self.empty, None
        self.ledger.where = ("messages", index)
        if following is not None and shares_turn(following, message):
            self.ledger.lose_form("dropped", f"nothing of the message can be written in {NAME}")
            return
        self.ledger.lose("added", f"{NAME} accepts no empty message; a placeholder was added", "content")
        self.open(message, index, [{"text": PLACEHOLDER}])

    def open(self, message: Message, index: int, parts: list[Json]) -> None:
        if not self.written and message.role == ASSISTANT and "first" not in marks(NAME, message):
            self.ledger.lose("added", f"{NAME} wants a user message first; a placeholder was added")
            self.written.append({"role": "user", "parts": [{"text": PLACEHOLDER}]})
        self.before, self.home = message, index
        self.written.append(write_turn(message, parts))

    def join(self, message: Message, index: int, parts: list[Json]) -> None:
        """Add a message to the last turn. A loss is declared only for one that will not be read as a message again."""
        if self.before is not None and message.role == self.before.role:
            self.ledger.lose_form("moved", f"{NAME} alternates roles; joined to the message before")
            self.ledger.where = ("messages", self.home)
            self.ledger.lose_form("added", f"{NAME} alternates roles; joined to the message before", "content")
        turn = self.written[-1]
        known: Json = turn.get("parts") or ()
        turn["parts"] = [*([known] if is_object(known) else known), *parts]
        self.before, self.home = message, index


def was_empty(message: Message) -> bool:
    """Whether a message was read without parts, and so is written without."""
    none = original_value(marks(NAME, message), "parts") is not None or "parts" in message.extras.get(NAME, ())
    return not message.content and none


def shares_turn(message: Message, before: Message) -> bool:
    """Whether two neighbours share a turn. A message with residue of its turn keeps a turn of its own."""
    same = ROLE_WORDS[message.role] == ROLE_WORDS[before.role]
    return same and "apart" not in marks(NAME, message) and not message.extras.get(NAME)


def write_turn(message: Message, parts: list[Json]) -> Wire:
    mark = marks(NAME, message)
    role = original_value(mark, "role")
    wire: Wire = {"role": ROLE_WORDS[message.role]} if role is None else {"role": role[0]} if role else {}
    wire |= with_parts(parts, mark.get("parts"))
    return merge(wire, message.extras.get(NAME, {})) if message.extras else wire


def with_parts(parts: list[Json], mark: Json) -> Wire:
    """An object with the key ``parts``, in the form that ``take_parts`` found."""
    if parts:
        return {"parts": parts[0] if len(parts) == 1 and mark == "object" else parts}
    return {"parts": mark[0]} if is_array(mark) and mark else {}


def write_parts(
    message: Message, home: int, target: Target | None, history: History, ledger: Ledger, *, signing: bool
) -> list[list[Json]]:
    """The parts of a message: one list, or one for each turn from which its results were read."""
    where = ledger.where
    written: list[list[Json]] = [[]]
    blocks: list[tuple[int, Block]] = []
    for index, block in blocks_to_send(message, NAME, target, ledger):
        ledger.where = (*where, "content", index)
        wire: Json = PARTS.write(block, ledger)
        if type(block) is ToolUseBlock:
            history.note(block)
        if wire is None and not PARTS.is_null(block):
            continue
        if written[-1] and block.forms and "turn" in marks(NAME, block):
            written.append([])
        if wire is not None and type(block) is ToolResultBlock:
            history.complete(block, home, index, wire, ledger)
        blocks.append((index, block))
        written[-1].append(wire)
    ledger.where = where
    if signing and message.role is ASSISTANT:
        sign_first(blocks, list(chain(*written)), home, ledger)
    return written


def write_system(blocks: Sequence[Placed], ledger: Ledger) -> list[Json]:
    """The parts of the system instruction."""
    return write_system_texts(blocks, PARTS, ledger)

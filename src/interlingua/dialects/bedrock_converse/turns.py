"""Turns and system text. Tool results travel in user turns, which are split here into ``tool`` and ``user`` messages.

Roles must alternate, so neighbours of one wire role are written as one turn. Marks on a message: ``apart`` (it was a
turn of its own although the one before has its role), ``joined`` (results behind other blocks of the same turn),
``first`` (it opened the conversation although it is not the user's), ``textless`` (a document without a text beside
it), ``role`` (one that the protocol does not have, or none), ``content`` (there was none, or an empty one).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...codec.history.rules import PLACEHOLDER, blocks_to_send, call_ids, in_wire_order
from ...codec.history.turns import result_runs, take_blocks, take_role
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks
from ...codec.rows.row import lost
from ...codec.rows.table import Table
from ...codec.tools.ids import IdMap
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, DocumentBlock, OpaqueBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message, Origin
from ...types.words import Role
from .. import claude
from .cache_points import mark_between, move_points_last, points_as_marks, write_with_point
from .facts import IDS, NAME
from .rows import ASSISTANT_BLOCKS, SYSTEM_BLOCKS, SYSTEM_TURN_BLOCKS, USER_BLOCKS

USER, ASSISTANT, TOOL, SYSTEM = Role.user, Role.assistant, Role.tool, Role.system  # aliases: Enum access costs 40 ns
ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}
BLOCKS = {"user": USER_BLOCKS, "assistant": ASSISTANT_BLOCKS, "system": SYSTEM_TURN_BLOCKS}
ROLE_WORDS = {USER: "user", TOOL: "user", ASSISTANT: "assistant", SYSTEM: "system"}
PORTABLE = {
    word: table.only(TextBlock, ToolUseBlock, ToolResultBlock, cache=lost(f"{NAME} has cache points of their own"))
    for word, table in BLOCKS.items()
}
"""By wire role: tables of the blocks that need no issuer. Without cache marks, which are blocks on the wire."""
PLAIN = frozenset((TextBlock, ThinkingBlock, ToolUseBlock))
RESULTS: frozenset[type] = frozenset((ToolResultBlock,))
BLANK: Wire = {"text": PLACEHOLDER}
NOTHING_LEFT = f"nothing of the message can be written in {NAME}"

# ------------------------------------------------------------------------------------------------------------- reading


def read_messages(wire: list[Json], provider: str | None) -> tuple[Message, ...]:
    messages: list[Message] = []
    origin = Origin(provider, NAME)
    documents: list[DocumentBlock] = []
    before: Json = None
    for index, turn in enumerate(wire):
        if not is_object(turn):
            raise ParseError(f"messages[{index}] is not an object")
        word = turn.get("role")
        read_turn(turn, messages, origin, documents, same_role=index > 0 and word == before)
        before = word
    mark_same_names(documents)
    return tuple(messages)


def read_turn(
    turn: Wire, into: list[Message], origin: Origin, documents: list[DocumentBlock], *, same_role: bool
) -> None:
    content: Json = turn.get("content")
    word = turn.get("role")
    rest: Wire = {}
    mark: Wire = {}
    if len(turn) == 2 and is_array(content) and content and (word == "user" or word == "assistant"):
        role, blocks = ROLES[word], _read_blocks(content, BLOCKS[word])
    else:
        rest = dict(turn)
        role = take_role(rest, mark, ROLES)
        blocks = _read_blocks(take_blocks(rest, mark), BLOCKS[ROLE_WORDS[role]])
    if same_role:
        mark["apart"] = True
    kinds = frozenset(map(type, blocks))
    if into and not (rest or mark):
        if kinds <= PLAIN:
            into.append(Message(role, tuple(blocks), None, origin if role is ASSISTANT else None))
            return
        if kinds == RESULTS and role is USER and not any(map(_is_odd_result, blocks)):
            into.append(Message(TOOL, tuple(blocks)))
            return
    if ToolResultBlock in kinds or DocumentBlock in kinds or OpaqueBlock in kinds:
        documents += _documents_in(blocks)
        if _needs_text(content):
            mark["textless"] = True
    runs = [(role, blocks)] if role is not USER or ToolResultBlock not in kinds else result_runs(blocks)
    if not into and runs[0][0] not in (USER, TOOL):
        mark["first"] = True
    fields: dict[str, Any] = extras_and_forms(NAME, rest, mark) if rest or mark else {}
    for of, run in runs:
        into.append(Message(of, tuple(run), origin=origin if of is ASSISTANT else None, **fields))
        more: Wire = {"role": mark["role"]} if "role" in mark else {}
        if of is USER:
            more["joined"] = True  # the next run has results
        fields = {"forms": {NAME: more}} if more else {}


def _read_blocks(content: list[Json], table: Table) -> list[Block]:
    found: list[Any] = list(map(table.read, content))
    blocks = points_as_marks(found, table)
    if blocks is not found:
        mark_between(blocks)
    return blocks


def _is_odd_result(block: Any) -> bool:
    """Whether a result has residue, or a document, whose name must be checked."""
    return bool(block.extras) or DocumentBlock in map(type, block.content)


def _documents_in(blocks: Sequence[Block]) -> list[DocumentBlock]:
    found: list[DocumentBlock] = []
    for block in blocks:
        inner = block.content if type(block) is ToolResultBlock else (block,)
        found += [part for part in inner if type(part) is DocumentBlock]
    return found


def mark_same_names(documents: Sequence[DocumentBlock]) -> None:
    """Mark documents that repeat an earlier name. Changes the blocks in place: nobody else has them yet."""
    names: set[str] = set()
    for block in documents:
        name = (block.title or "").casefold()
        if name in names and "title" not in marks(NAME, block).get("verbatim", ()):
            block.forms.setdefault(NAME, {}).setdefault("verbatim", []).append("title")
        names.add(name)


def _needs_text(content: Json) -> bool:
    keys = {key for wire in content if is_object(wire) for key in wire} if is_array(content) else ()
    return "document" in keys and "text" not in keys


def read_system(wire: list[Json]) -> tuple[Block, ...]:
    return tuple(points_as_marks(list(map(SYSTEM_BLOCKS.read, wire)), SYSTEM_BLOCKS))


# ------------------------------------------------------------------------------------------------------------- writing


class Turns:
    """The turns of a request as they are written. ``before`` is the message that was written last."""

    def __init__(self, target: Target | None, ledger: Ledger) -> None:
        self.target, self.ledger = target, ledger
        self.turns: list[Wire] = []
        self.before: Message | None = None
        self.opener = Message(USER)  # the first message of the latest turn
        self.unusual: list[tuple[Message, int, Wire]] = []  # opener, index of the last message, turn

    def add(self, index: int, message: Message, follower: Message | None) -> None:
        """Write a message as a turn of its own, or as a part of the turn before."""
        word, ledger = ROLE_WORDS[message.role], self.ledger
        usual = write_usual(message)
        if usual is not None and self.before is not None and word != self.turns[-1].get("role"):
            self.turns.append({"role": word, "content": usual})
            self.opener = message
        else:
            ledger.where = ("messages", index)
            if not message.content and _can_leave_out(message, follower):
                ledger.lose_form("dropped", f"{NAME} merges turns of one role, and this one is empty")
                return
            content = self.write_content(message) if usual is None else usual
            if not content and self.before is None and _can_leave_out(message, follower):
                ledger.lose_form("dropped", NOTHING_LEFT)
                return
            self._add_content(message, content)
            self.unusual = [row for row in self.unusual if row[2] is not self.turns[-1]]
            self.unusual.append((self.opener, index, self.turns[-1]))
        self.before = message

    def _add_content(self, message: Message, content: list[Json]) -> None:
        """Add content to the turn before if it has the same wire role; else write a new turn."""
        mark, ledger, turns = marks(NAME, message), self.ledger, self.turns
        role: list[Json] = mark.get("role", [ROLE_WORDS[message.role]])
        ledger.lose_foreign_extras(message, NAME)
        if self.before is not None and _role_of(turns[-1]) == role and "apart" not in mark:
            if not content:
                ledger.lose_form("dropped", NOTHING_LEFT)
            elif self.before.role == message.role:
                ledger.lose_form("moved", f"{NAME} alternates roles; joined to the message before")
            turns[-1].setdefault("content", []).extend(content)
            return
        if self.before is None and message.role not in (USER, TOOL) and "first" not in mark:
            ledger.lose("added", f"{NAME} wants a user message first; a placeholder was added")
            turns.append({"role": "user", "content": [BLANK.copy()]})
        turns.append(claude.write_turn(message, role, content, NAME, BLANK, ledger))
        self.opener = message

    def write_content(self, message: Message) -> list[Json]:
        where = self.ledger.where
        written: list[Json] = []
        table = BLOCKS[ROLE_WORDS[message.role]]
        for index, block in blocks_to_send(message, NAME, self.target, self.ledger):
            self.ledger.where = (*where, "content", index)
            written += write_with_point(block, table, self.ledger)
        self.ledger.where = where
        return written

    def add_texts(self) -> None:
        """Add a text to every turn that has a document but no text, which the service refuses."""
        for opener, index, turn in self.unusual:
            if _needs_text(turn.get("content")) and "textless" not in marks(NAME, opener):
                self.ledger.where = ("messages", index)
                turn["content"].append(BLANK.copy())
                reason = f"{NAME} requires a text beside a document; a placeholder was added"
                self.ledger.lose("added", reason, "content")
        self.ledger.where = ()


def write_messages(messages: Sequence[Message], target: Target | None, ledger: Ledger, skip: int = 0) -> list[Wire]:
    usual = write_usual_history(messages[skip:] if skip else messages)
    if usual is not None:
        return usual
    ledger.ids = IdMap(IDS, call_ids(messages))
    turns = Turns(target, ledger)
    history = move_points_last(_in_order(messages, ledger), ledger)
    for position, (index, message) in enumerate(history):
        if index >= skip:
            turns.add(index, message, history[position + 1][1] if position + 1 < len(history) else None)
    turns.add_texts()
    return turns.turns


def write_usual_history(messages: Sequence[Message]) -> list[Wire] | None:
    """A usual history: the user begins, roles alternate, results follow their calls. None for any other history."""
    turns: list[Wire] = []
    word = "assistant"
    for message in messages:
        role = message.role
        if (role is not USER and role is not TOOL) if word == "assistant" else role is not ASSISTANT:
            return None
        word = "user" if word == "assistant" else "assistant"
        if message.extras or message.forms or (role is TOOL and not turns):
            return None
        content = PORTABLE[word].write_each_usual(message.content)
        if not content:
            return None
        turns.append({"role": word, "content": content})
    return turns


def write_usual(message: Message) -> list[Json] | None:
    """The wire content of texts, calls and results without marks or residue; None for any other message."""
    if message.extras or message.forms:
        return None
    return PORTABLE[ROLE_WORDS[message.role]].write_each_usual(message.content) or None


def _can_leave_out(message: Message, follower: Message | None) -> bool:
    """Whether an empty message may be left out, because the next one belongs to the same wire turn."""
    same = follower is not None and ROLE_WORDS[follower.role] == ROLE_WORDS[message.role]
    return same and not marks(NAME, message)


def _role_of(turn: Wire) -> list[Json]:
    return [turn["role"]] if "role" in turn else []


def _in_order(messages: Sequence[Message], ledger: Ledger) -> Sequence[tuple[int, Message]]:
    """The messages, results moved right behind their calls, unless this protocol was read with them elsewhere."""
    if any(message.role is TOOL and "joined" in marks(NAME, message) for message in messages):
        return list(enumerate(messages))
    return in_wire_order(messages, ledger)


def write_system(blocks: Sequence[tuple[tuple[str | int, ...], Block]], ledger: Ledger) -> list[Json]:
    written: list[Json] = []
    for where, block in blocks:
        ledger.where = where
        written += write_with_point(block, SYSTEM_BLOCKS, ledger)
    ledger.where = ()
    return written

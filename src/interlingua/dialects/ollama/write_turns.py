"""Writes turns. ``read_turns`` explains the marks.

A wire message has a key for each kind of block. ``thinking`` and ``content`` are one string each: several blocks are
joined by a blank line, the texts of an assistant turn without one. Blocks are moved into the order of ``PLACES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from ...codec.history.incomplete import is_left_out
from ...codec.history.issuer import same_issuer
from ...codec.history.rules import blocks_to_send, in_wire_order
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.paths import merge
from ...codec.rows.plain_text import is_plain_text
from ...codec.tools.arguments import write_arguments
from ...types.base import Json
from ...types.blocks import Block, ImageBlock, OpaqueBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.loss import Loss, LossKind
from ...types.messages import Message
from ...types.words import Role
from .facts import ERROR_PREFIX, JOINT, NAME, PLACES, Place
from .rows import BLOCKS, CALLS, PLAIN_RESULTS, RESULTS, ROLES, TURNS, Turn

USER, ASSISTANT, TOOL = Role.user, Role.assistant, Role.tool  # aliases: Enum access costs 40 ns
WORDS = ROLES.writes
ERROR_IN_WORDS = f"{NAME} has no error flag; the text begins with {ERROR_PREFIX!r}"
NO_ERROR_FLAG = f"{NAME} has no error flag; false means the same as leaving it out"
NAMED_BY_CALL = f"a tool result of {NAME} names its tool; the name was taken from the call"
NO_RESULTS_HERE = f"tool results of {NAME} are messages of their own"
NO_ID = f"a call of {NAME} without an id goes by position"

# -------------------------------------------------------------------------------------------------------------- blocks

Placed = Sequence[tuple[Place, Block]]
Parts = dict[str, list[tuple[Place, Json]]]


def write_block(block: Block, ledger: Ledger) -> tuple[str, Json] | None:
    """The key of the message that holds a block, and the value to add there; None after a declared loss."""
    if type(block) is ToolUseBlock:
        return "tool_calls", write_call(block, ledger)
    wire = BLOCKS.write(block, ledger)
    if wire is None:
        return None
    if not is_object(wire) or len(wire) != 1:
        assert isinstance(block, OpaqueBlock)
        ledger.lose_opaque(block)
        return None
    return next(iter(wire.items()))


def write_call(block: ToolUseBlock, ledger: Ledger) -> Wire:
    """Write a call without its number. An id that we made when reading is never sent."""
    mark = marks(NAME, block)
    as_text = mark.get("arguments") == "string" and block.kind == "json"
    plain = replace(block, input_text=None) if as_text else block
    if not block.id:
        ledger.lose_form("added", NO_ID, "id")
    elif mark.get("derived") == block.id:
        plain = replace(plain, id="")
    wire: Wire = CALLS.write(plain, ledger)
    if as_text:
        wire["function"]["arguments"] = write_arguments(block.input, block.input_text)
    return wire


def write_number(wire: Wire, call: ToolUseBlock, number: int, *, answer: bool) -> None:
    """Add the number of a call among the others: answers have it; requests only if it was read there."""
    if "index" not in wire["function"] and marks(NAME, call).get("numbered", answer):
        wire["function"]["index"] = number


def write_slots(
    placed: Placed, ledger: Ledger, *, answer: bool = False, context: bool = False, one_text: bool = False
) -> dict[str, Any]:
    """The keys of a message. ``answer``: as the server writes it. ``context``: the key ``context`` may be written.
    ``one_text``: the texts are pieces of one text, as in an assistant turn."""
    if len(placed) == 1 and is_plain_text(only := placed[0][1]) and only.text:
        return {"content": only.text}
    where = ledger.where
    parts: Parts = {key: [] for key in PLACES}
    order: list[tuple[int, Place]] = []
    for place, block in placed:
        ledger.where = place
        written = None if answer and is_left_out(block, NAME, ledger) else write_block(block, ledger)
        if written is None:
            continue
        key, value = written
        if key not in PLACES or (key == "context" and not context):
            ledger.lose("dropped", f"a message of {NAME} has no {key}")
            continue
        if type(block) is ToolUseBlock:
            write_number(value, block, len(parts[key]), answer=answer)
        order.append((PLACES.index(key), place))
        parts[key].append((place, value))
    _declare_moved(order, ledger)
    slots: dict[str, Any] = {
        "content": _joined(parts["content"], ledger, "" if one_text or answer else JOINT),
        "thinking": _joined(parts["thinking"], ledger, JOINT),
    }
    slots |= {key: [value for _, value in parts[key]] for key in ("images", "tool_calls") if parts[key]}
    if parts["context"]:
        slots["context"] = parts["context"][-1][1]
    ledger.where = where
    return slots


def _declare_moved(order: list[tuple[int, Place]], ledger: Ledger) -> None:
    ordered = sorted(order, key=lambda member: member[0])
    for before, after in zip(order, ordered, strict=True) if ordered != order else ():
        if before is not after:
            ledger.where = before[1]
            ledger.lose("moved", f"a message of {NAME} holds thinking, text, images and calls in that order")


def _joined(texts: list[tuple[Place, str]], ledger: Ledger, joint: str) -> str:
    if len(texts) > 1:
        kind: LossKind = "approximated" if joint else "moved"
        why = f"{NAME} has one text per message; joined" + (" by blank lines" if joint else "")
        for place, _ in texts:
            ledger.where = place
            ledger.lose_form(kind, why)
    return joint.join([text for _, text in texts])


# --------------------------------------------------------------------------------------------------------------- turns

Run = list[tuple[int, Message]]
Results = list[tuple[Place, ToolResultBlock]]


def write_messages(
    messages: Sequence[Message], target: Target | None, ledger: Ledger, skip: int = 0, *, context: bool = False
) -> list[Wire]:
    """The turns of a history without its first ``skip`` messages. ``context``: the key ``context`` may be written."""
    count = len(ledger.losses)
    turns = write_usual_history(messages, target, ledger, skip)
    if turns is not None:
        return turns
    del ledger.losses[count:]
    history = History(target, ledger, context=context)
    for run in group_turns(messages, ledger, skip):
        history.write_run(run)
    return history.turns


def write_usual_history(
    messages: Sequence[Message], target: Target | None, ledger: Ledger, skip: int
) -> list[Wire] | None:
    """The turns of a usual history, in which every message is one turn without marks or losses; else None.

    Results are plain texts behind their calls, and the other blocks of a message stand in the order of its keys.
    """
    turns: list[Wire] = []
    names: dict[str, str] = {}  # of the calls, by their ids
    write_call, write_result = CALLS.writers[ToolUseBlock], PLAIN_RESULTS.writers[ToolResultBlock]
    before: Role | None = None
    for index, message in enumerate(messages[skip:], skip):
        role, content = message.role, message.content
        if not content or message.forms or message.extras or role is before is ASSISTANT:
            return None
        if role is TOOL:
            if before is not ASSISTANT or not _add_results(content, index, names, turns, ledger, write_result):
                return None
        else:
            turn: Wire = {"role": WORDS[role], "content": ""}
            calls: list[Wire] = []
            for block in content:
                if type(block) is ToolUseBlock:
                    wire = write_call(block)
                    if wire is None or block.forms or not block.id or role is not ASSISTANT:
                        return None
                    names[block.id] = block.name
                    calls.append(wire)
                elif calls or not _add_usual(block, turn, message, target):
                    return None
            if calls:
                turn["tool_calls"] = calls
            turns.append(turn)
        before = role
    return turns


def _add_results(
    blocks: Sequence[Block],
    index: int,
    names: Mapping[str, str],
    turns: list[Wire],
    ledger: Ledger,
    write: Callable[[ToolResultBlock], Wire | None],
) -> bool:
    """Add the results of a message to the turns; False if one is not plain text. ``names``: of the calls, by id."""
    for place, block in enumerate(blocks):
        if type(block) is not ToolResultBlock or block.extras or block.forms:
            return False
        id, turn = block.tool_use_id, write(block)
        if turn is None or not id:
            return False
        if id in names and block.name is None:
            turn["tool_name"] = names[id]
            ledger.losses.append(_named_by_call(index, place))
        turns.append(turn)
    return True


def _add_usual(block: Block, turn: Wire, message: Message, target: Target | None) -> bool:
    """Add a text, a thought or an image to a turn; False if it does not follow the order of the keys."""
    if type(block) is TextBlock:
        if turn["content"] or "images" in turn or not is_plain_text(block) or not block.text:
            return False
        turn["content"] = block.text
        return True
    wire = None if block.extras or block.forms else BLOCKS.write_usual(block)
    if type(block) is ImageBlock and wire is not None:
        turn.setdefault("images", []).append(wire["images"])
        return True
    if type(block) is not ThinkingBlock or wire is None or len(turn) > 2 or turn["content"]:
        return False
    turn |= wire
    return same_issuer(message.origin, NAME, target)


def group_turns(messages: Sequence[Message], ledger: Ledger, skip: int) -> list[Run]:
    """The messages grouped by turn: of neighbouring assistant messages, the server keeps the calls of the first."""
    runs: list[Run] = []
    apart = any(message.role == TOOL and "apart" in marks(NAME, message) for message in messages)
    for index, message in enumerate(messages) if apart else in_wire_order(messages, ledger):
        if index < skip:
            continue
        before = runs[-1][-1][1].role if runs else None
        if before == message.role == TOOL:
            ledger.lose_form("moved", f"neighbouring tool messages read as one in {NAME}", "messages", index)
        if before == message.role == ASSISTANT and _joins(message, runs[-1]):
            ledger.lose_form("moved", f"{NAME} wants results right after calls; joined to them", "messages", index)
            runs[-1].append((index, message))
        else:
            runs.append([(index, message)])
    return runs


def _joins(message: Message, run: Run) -> bool:
    if "apart" in marks(NAME, message):
        return False
    return any(type(block) is ToolUseBlock for _, member in run for block in member.content)


@lru_cache(maxsize=4096)
def _named_by_call(index: int, place: int) -> Loss:
    return Loss(f"messages/{index}/content/{place}/name", "added", NAMED_BY_CALL, weight="form")


class History:
    """The turns written so far, and what results need to know about the calls before them."""

    def __init__(self, target: Target | None, ledger: Ledger, *, context: bool) -> None:
        self.target, self.ledger, self.context = target, ledger, context
        self.turns: list[Wire] = []
        self.names: dict[str, str] = {}  # of the calls, by their ids
        self.places: dict[str, int] = {}  # among the calls of their turns
        self.derived: set[str] = set()  # calls that were written without an id

    def note_calls(self, blocks: Iterable[Block]) -> None:
        """Remember the names and places of calls by id, and which calls are written without an id."""
        for place, call in enumerate([block for block in blocks if type(block) is ToolUseBlock]):
            self.names[call.id], self.places[call.id] = call.name, place
            if marks(NAME, call).get("derived") == call.id:
                self.derived.add(call.id)
            else:
                self.derived.discard(call.id)

    def write_run(self, run: Run) -> None:
        """Write messages that form one turn, and the results in them."""
        ledger = self.ledger
        if len(run) == 1 and self.write_plain_results(*run[0]):
            return
        results: Results = []
        others: list[tuple[Place, Block]] = []
        for index, message in run:
            if message.role is ASSISTANT:
                self.note_calls(message.content)
            ledger.where = ("messages", index)
            ledger.lose_foreign_extras(message, NAME)
            self._split(message, results, others)
        for place, block in self._in_order(results):
            self.turns.append(self.write_result(block, place))
        if others or not results:
            self.write_others(run, others)
        ledger.where = ()

    def write_plain_results(self, index: int, message: Message) -> bool:
        """Write a message of results that are one plain text each, without marks; False for any other message."""
        if message.role is not TOOL or self.derived or message.extras or message.forms:
            return False
        turns, losses = len(self.turns), len(self.ledger.losses)
        if _add_results(
            message.content, index, self.names, self.turns, self.ledger, PLAIN_RESULTS.writers[ToolResultBlock]
        ):
            return True
        del self.turns[turns:], self.ledger.losses[losses:]
        return False

    def _split(self, message: Message, results: Results, others: list[tuple[Place, Block]]) -> None:
        """Add the blocks of a message to ``results``, each of which becomes a turn, or to ``others``."""
        ledger, where = self.ledger, self.ledger.where
        for index, block in blocks_to_send(message, NAME, self.target, ledger):
            ledger.where = (*where, "content", index)
            if (type(block) is ToolResultBlock) is not (message.role == TOOL):
                ledger.lose_form("moved", NO_RESULTS_HERE)
            if type(block) is ToolResultBlock:
                results.append((ledger.where, block))
            else:
                others.append((ledger.where, block))
        ledger.where = where
        if results and not others and message.role != TOOL:
            ledger.lose_form("moved", NO_RESULTS_HERE, "role")
        if others and not results and message.role == TOOL:
            why = f"a tool message of {NAME} holds results only; the rest went to a user message"
            ledger.lose_form("moved", why, "role")

    def write_others(self, run: Run, placed: Placed) -> None:
        """Write the blocks of a run that are not results as one turn."""
        ledger, (index, first) = self.ledger, run[0]
        ledger.where = ("messages", index)
        if first.role == TOOL and not placed:
            ledger.lose_form("dropped", f"a tool message of {NAME} holds results, and this has none")
            return
        slots = write_slots(placed, ledger, one_text=first.role == ASSISTANT and len(run) == 1, context=self.context)
        context = {"context": slots.pop("context")} if "context" in slots else {}
        role = USER if first.role == TOOL else first.role
        turn: Wire = TURNS.write(Turn(role, **slots, extras=first.extras, forms=first.forms), ledger)
        for _, message in run[1:]:
            merge(turn, message.extras.get(NAME, {}))
        self.turns.append(turn | context)

    def _in_order(self, results: Results) -> Results:
        """The results in the order of their calls if calls were written without ids; results that were read stay."""
        ledger, derived = self.ledger, self.derived
        ledger.where = ()
        if not any(b.tool_use_id in derived and "derived" not in marks(NAME, b) for _, b in results):
            return results
        last = len(self.places)
        ordered = sorted(results, key=lambda result: self.places.get(result[1].tool_use_id, last))
        for before, after in zip(results, ordered, strict=True):
            if before is not after:
                ledger.lose_form("moved", f"{NAME} matches results without ids by order; sorted", *before[0])
        return ordered

    def write_result(self, block: ToolResultBlock, place: Place) -> Wire:
        ledger, mark, id, name = self.ledger, marks(NAME, block), block.tool_use_id, block.name
        slots = write_slots([((*place, "content", index), part) for index, part in enumerate(block.content)], ledger)
        ledger.where = place
        if block.is_error:
            slots["content"] = ERROR_PREFIX + slots["content"]
            for path in ("is_error", "content"):
                ledger.lose("approximated", ERROR_IN_WORDS, path)
        elif block.is_error is not None:
            ledger.lose_form("dropped", NO_ERROR_FLAG, "is_error")
        if name is None and "unnamed" not in mark and id in self.names:
            name = self.names[id]
            ledger.lose_form("added", NAMED_BY_CALL, "name")
        if not id:
            ledger.lose_form("added", NO_ID, "tool_use_id")
        if block.signature is not None:
            ledger.lose("dropped", f"{NAME} has no signatures", "signature")
        if block.cache is not None:
            ledger.lose("dropped", f"{NAME} has no cache marks", "cache")
        is_derived = mark["derived"] == id if "derived" in mark else id in self.derived
        sent = mark.get("id") if is_derived else id or None
        turn = Turn(TOOL, **slots, tool_name=name, tool_call_id=sent, extras=block.extras, forms=block.forms)
        wire: Wire = RESULTS.write(turn, ledger)
        return wire

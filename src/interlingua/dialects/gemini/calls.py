"""Calls: which result belongs to which call, and calls that are streamed in pieces.

Older models give calls no ids. Marks on a block: ``id`` (the id that we made because the wire had none; it is not
written), ``unnamed`` (a result that was read without the name of its tool).

The arguments of a streamed call come whole, or in pieces (``partialArgs``, see ``codec.streams.pieces``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec.structs import force_setattr, replace

from ...codec.history.rules import called_names
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.streams.pieces import Pieces
from ...errors import ToolStateError
from ...types.base import Json
from ...types.blocks import Block, ServerToolResultBlock, ServerToolUseBlock, ToolResultBlock, ToolUseBlock
from ...types.loss import Loss
from ...types.messages import Message
from .facts import CODE, KEYS, NAME

IDENTIFIED: dict[type, str] = {
    ToolUseBlock: "id", ServerToolUseBlock: "id",
    ToolResultBlock: "tool_use_id", ServerToolResultBlock: "tool_use_id",
}  # fmt: skip
"""The types of blocks that have an id, and the field that holds it."""
NAMED_BY_CALL = f"a tool result of {NAME} names its tool; the name was taken from the call"

# -------------------------------------------------------------------------------------------------------------- reading


class Calls:
    """The calls that have no result yet. A result is paired with its call by id, else by name, else by order."""

    __slots__ = ("code", "turn", "waiting")

    def __init__(self, code: str | None = None) -> None:
        self.waiting: dict[str, str] = {}  # the names of the calls without a result, by id
        self.code = code  # the id of the last code that the provider ran
        self.turn: int | None = None  # the position of the turn being read; None in an answer

    def identify(self, block: Any, place: int) -> None:
        """Give a block that was just read an id if it has none, and pair it with its call if it is a result."""
        field = IDENTIFIED[type(block)]
        if not (id := getattr(block, field)):
            id = self._matching_call(block) or self._derived_id(place)
            force_setattr(block, field, id)
            mark_read(block, id=id)
        if type(block) is ToolUseBlock:
            self.waiting[id] = block.name
        elif type(block) is ToolResultBlock:
            self.waiting.pop(id, None)
            if block.name is None:
                mark_read(block, unnamed=True)
        elif type(block) is ServerToolUseBlock and block.name == CODE:
            self.code = id

    def _derived_id(self, place: int) -> str:
        """An id made from the position of the turn and of the block, for want of any other."""
        return f"call_{place}" if self.turn is None else f"call_{self.turn}_{place}"

    def _matching_call(self, block: Block) -> str | None:
        """The id of the call that a result without an id most likely answers; None if no call lacks a result."""
        if type(block) is ServerToolResultBlock:
            return self.code
        if type(block) is not ToolResultBlock:
            return None
        named = (id for id, called in self.waiting.items() if called == block.name)
        return next(named, next(iter(self.waiting), None))


def mark_read(block: Any, **more: Json) -> None:
    """Add marks to a block that was just read."""
    force_setattr(block, "forms", {NAME: {**marks(NAME, block), **more}})


# -------------------------------------------------------------------------------------------------------------- writing


class History:
    """The calls of a history being written: their names by id, and the order of those without an id on the wire."""

    __slots__ = ("messages", "names", "noted", "orders")

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.names: dict[str, str] = {}
        self.orders: dict[str, int] = {}
        self.noted = 0

    def note(self, call: ToolUseBlock) -> None:
        """Remember a call that is being written."""
        self.names[call.id] = call.name
        if call.forms or self.orders:
            self.noted += 1
            self.orders.pop(call.id, None)
            if "id" in marks(NAME, call):
                self.orders[call.id] = self.noted

    def complete(self, block: ToolResultBlock, index: int, at: int, part: Wire, ledger: Ledger) -> None:
        """Add the name of its tool to a result. ``index`` is the position of the message, ``at`` that of the block."""
        wire: Wire = part.get("functionResponse") or KEYS.get(part, "functionResponse")
        if self.orders and block.tool_use_id in self.orders and wire.get("id") == block.tool_use_id:
            del wire["id"]
        if "name" not in wire and not (block.forms and "unnamed" in marks(NAME, block)):
            name = self.names.get(block.tool_use_id)
            if name is None:  # perhaps the call comes later
                name = called_names(self.messages).get(block.tool_use_id)
            if name is None:
                raise ToolStateError(f"no call in the history has the id {block.tool_use_id!r}", retryable=False)
            wire["name"] = name
            ledger.losses.append(named_by_call(index, at))

    def in_call_order(self, message: Message, ledger: Ledger) -> Message:
        """The message with its results that have no id on the wire sorted into the order of their calls."""
        orders = {at: order for at, block in enumerate(message.content) if (order := self._order(block)) is not None}
        in_order = sorted(orders, key=orders.__getitem__)
        if in_order == list(orders):
            return message
        ledger.lose_form("moved", f"{NAME} matches results without ids by order; sorted", "content")
        content = list(message.content)
        for at, taken in zip(orders, in_order, strict=True):
            content[at] = message.content[taken]
        return replace(message, content=tuple(content))

    def _order(self, block: Block) -> int | None:
        """The position of the call that a result answers, if neither has an id on the wire; else None."""
        if type(block) is not ToolResultBlock or "id" in marks(NAME, block):
            return None
        return self.orders.get(block.tool_use_id)


@lru_cache(maxsize=4096)
def named_by_call(message: int, block: int) -> Loss:
    """The loss for a result without a name. It is cached: agents send the same history with every request."""
    return Loss(f"messages/{message}/content/{block}/name", "added", NAMED_BY_CALL, "form")


# ------------------------------------------------------------------------------------------------------ calls in pieces


class OpenCall:
    """The latest call of a stream while more of it may come. Its arguments come whole, or are joined from pieces."""

    __slots__ = ("block", "has_grown", "part", "pieces", "position", "will_continue")

    def __init__(self, part: Wire | None = None, position: int = 0) -> None:
        self.part: Wire = {"functionCall": {}}
        self.position = position
        self.block: Block | None = None  # the block that was read from the first part
        self.has_grown = False
        self.will_continue = False
        self.pieces: Pieces | None = None
        if part is not None and part["functionCall"].keys().isdisjoint(("willContinue", "partialArgs")):
            self.part = part
        elif part is not None:
            self.add(part)

    @property
    def wire(self) -> Wire:
        """The ``functionCall`` as read so far."""
        wire: Wire = self.part["functionCall"]
        return wire

    def is_continued_by(self, part: Wire, position: int) -> bool:
        """Whether a part brings more of this call, or repeats it."""
        call: Wire = part["functionCall"]
        if not call.get("name"):
            return True
        ids = {wire["id"] for wire in (self.wire, call) if wire.get("id")}
        if call["name"] != self.wire.get("name") or len(ids) > 1:
            return False
        if self.will_continue:
            return "args" in call or "partialArgs" in call
        return position == self.position and extends(call.get("args") or {}, self.wire.get("args") or {})

    @property
    def unfinished(self) -> bool:
        """Whether more was announced, or a piece could not be put in its place."""
        return self.will_continue or (self.pieces is not None and self.pieces.broken)

    def add(self, part: Wire) -> None:
        """Add a part that continues this call."""
        call, before = dict(part["functionCall"]), dict(self.wire)
        self.will_continue = bool(call.pop("willContinue", False))
        if not is_object(call.get("args", before)):
            del call["args"]
        pieces: Json = call.pop("partialArgs", None) or ()
        if "args" in call:
            self.pieces = None
        elif pieces and self.pieces is None:
            self.pieces = Pieces(before.setdefault("args", {}))
        if self.pieces is not None:
            for piece in pieces:
                self.pieces.add(piece)
        self.part = {**self.part, **part, "functionCall": {**before, **call}}
        self.has_grown = True

    def finish(self) -> Wire:
        """The whole part, with the arguments joined."""
        if self.pieces is not None:
            self.pieces.finish()
        return self.part


NO_CALL = OpenCall()


def extends(args: Wire, before: Wire) -> bool:
    """Whether arguments hold everything that earlier ones held, and perhaps more."""
    return all(key in args and _continues(args[key], value) for key, value in before.items())


def _continues(value: Json, before: Json) -> bool:
    return value == before or (isinstance(value, str) and isinstance(before, str) and value.startswith(before))

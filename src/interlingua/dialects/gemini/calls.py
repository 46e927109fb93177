"""Calls: which result belongs to which call, and calls that come in pieces.

Older models give calls no ids. Marks on a block: ``id`` (the id that we gave where the wire had none; it is not
written), ``unnamed`` (a result that came without the name of its tool).

The arguments of a streamed call come whole, or in pieces (``partialArgs``, see ``codec.pieces``).
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
"""The blocks that have an id, and its field."""
NAMED_BY_CALL = f"a tool result of {NAME} names its tool; the name was taken from the call"

# -------------------------------------------------------------------------------------------------------------- reading


class Calls:
    """Calls that wait for their results: a result finds its own by id, then by name, then by order."""

    __slots__ = ("code", "turn", "waiting")

    def __init__(self, code: str | None = None) -> None:
        self.waiting: dict[str, str] = {}  # their names by their ids
        self.code = code  # the id of the last code that was run
        self.turn: int | None = None  # the place of the turn that is read; none in an answer

    def identify(self, block: Any, place: int) -> None:
        """Give a block that was just read the id that it lacks, and pair results with calls."""
        field = IDENTIFIED[type(block)]
        if not (id := getattr(block, field)):
            id = self._likely(block) or self._derived(place)
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

    def _derived(self, place: int) -> str:
        """An id that nothing tells."""
        return f"call_{place}" if self.turn is None else f"call_{self.turn}_{place}"

    def _likely(self, block: Block) -> str | None:
        """The id of the call that a result without an id answers; None where no call waits."""
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
    """The calls of a history: their names, and the order of those that have no id on the wire."""

    __slots__ = ("messages", "names", "noted", "orders")

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.names: dict[str, str] = {}
        self.orders: dict[str, int] = {}
        self.noted = 0

    def note(self, call: ToolUseBlock) -> None:
        """Know a call that is written."""
        self.names[call.id] = call.name
        if call.forms or self.orders:
            self.noted += 1
            self.orders.pop(call.id, None)
            if "id" in marks(NAME, call):
                self.orders[call.id] = self.noted

    def complete(self, block: ToolResultBlock, index: int, at: int, part: Wire, ledger: Ledger) -> None:
        """Give a result what its call tells. ``index`` is the place of the message, ``at`` that of the block."""
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
        """Results that no id tells apart stand in the order of their calls."""
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
        """The order of the call that a result without an id answers."""
        if type(block) is not ToolResultBlock or "id" in marks(NAME, block):
            return None
        return self.orders.get(block.tool_use_id)


@lru_cache(maxsize=4096)
def named_by_call(message: int, block: int) -> Loss:
    """The loss of a result without a name, which agents send again with every request."""
    return Loss(f"messages/{message}/content/{block}/name", "added", NAMED_BY_CALL, "form")


# ------------------------------------------------------------------------------------------------------ calls in pieces


class OpenCall:
    """The last call while more of it may come. Its arguments are put together from pieces, or come whole."""

    __slots__ = ("block", "grown", "part", "pieces", "position", "waiting")

    def __init__(self, part: Wire | None = None, position: int = 0) -> None:
        self.part: Wire = {"functionCall": {}}
        self.position = position
        self.block: Block | None = None  # what the part was read as at first
        self.grown = False
        self.waiting = False
        self.pieces: Pieces | None = None
        if part is not None and part["functionCall"].keys().isdisjoint(("willContinue", "partialArgs")):
            self.part = part
        elif part is not None:
            self.add(part)

    @property
    def said(self) -> Wire:
        said: Wire = self.part["functionCall"]
        return said

    def takes(self, part: Wire, position: int) -> bool:
        """Whether a part goes on with this call, or is this very call once more."""
        call: Wire = part["functionCall"]
        if not call.get("name"):
            return True
        ids = {said["id"] for said in (self.said, call) if said.get("id")}
        if call["name"] != self.said.get("name") or len(ids) > 1:
            return False
        if self.waiting:
            return "args" in call or "partialArgs" in call
        return position == self.position and extends(call.get("args") or {}, self.said.get("args") or {})

    @property
    def unfinished(self) -> bool:
        """Whether more was to come, or something that came could not be placed."""
        return self.waiting or (self.pieces is not None and self.pieces.broken)

    def add(self, part: Wire) -> None:
        call, said = dict(part["functionCall"]), dict(self.said)
        self.waiting = bool(call.pop("willContinue", False))
        if not is_object(call.get("args", said)):
            del call["args"]
        pieces: Json = call.pop("partialArgs", None) or ()
        if "args" in call:
            self.pieces = None
        elif pieces and self.pieces is None:
            self.pieces = Pieces(said.setdefault("args", {}))
        if self.pieces is not None:
            for piece in pieces:
                self.pieces.add(piece)
        self.part = {**self.part, **part, "functionCall": {**said, **call}}
        self.grown = True

    def finish(self) -> Wire:
        """All of it."""
        if self.pieces is not None:
            self.pieces.finish()
        return self.part


NO_CALL = OpenCall()


def extends(args: Wire, before: Wire) -> bool:
    """Whether arguments say all that others said, and perhaps more."""
    return all(key in args and _goes_on(args[key], value) for key, value in before.items())


def _goes_on(value: Json, before: Json) -> bool:
    return value == before or (isinstance(value, str) and isinstance(before, str) and value.startswith(before))

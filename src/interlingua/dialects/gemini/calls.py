"""Calls: which result belongs to which call, and calls that come in pieces.

Older models give calls no ids. Marks on a block: ``id`` (the id that we gave where the wire had none; it is not
written), ``unnamed`` (a result that came without the name of its tool).

The arguments of a streamed call come whole, or in pieces (``partialArgs``, see ``codec.pieces``).
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import force_setattr, replace

from ...codec.json import is_object
from ...codec.ledger import Ledger
from ...codec.pieces import Pieces
from ...codec.tables import marks
from ...errors import ToolStateError
from ...types.base import Json
from ...types.blocks import Block, ServerToolResultBlock, ServerToolUseBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message
from ...types.words import Role
from .facts import CODE, KEYS, NAME, PLACEHOLDERS, SIGNATURE, Wire

ASSISTANT = Role.assistant
IDENTIFIED = frozenset((ToolUseBlock, ToolResultBlock, ServerToolUseBlock, ServerToolResultBlock))
"""The blocks that have an id."""
NAMED_BY_CALL = f"a tool result of {NAME} names its tool; the name was taken from the call"
SIGNED_FIRST = f"{NAME} wants the first call of a turn signed; the documented placeholder was added"

# -------------------------------------------------------------------------------------------------------------- reading


class Calls:
    """Calls that wait for their results: a result finds its own by id, then by name, then by order."""

    __slots__ = ("code", "waiting")

    def __init__(self, code: str | None = None) -> None:
        self.waiting: list[tuple[str, str]] = []
        self.code = code  # the id of the last code that was run

    def identify(self, block: Any, derived: str) -> None:
        """Give a block that was just read the id that it lacks, and pair results with calls."""
        if type(block) is ToolUseBlock:
            if not block.id:
                _give_id(block, "id", derived)
            self.waiting.append((block.id, block.name))
        elif type(block) is ToolResultBlock:
            found = self._answered(block.tool_use_id, block.name)
            if not block.tool_use_id:
                _give_id(block, "tool_use_id", found or derived)
            if block.name is None:
                mark_read(block, unnamed=True)
        elif type(block) is ServerToolUseBlock:
            if not block.id:
                _give_id(block, "id", derived)
            if block.name == CODE:
                self.code = block.id
        elif not block.tool_use_id:
            _give_id(block, "tool_use_id", self.code or derived)

    def _answered(self, id: str, name: str | None) -> str | None:
        """The id of the call that a result answers; None where nothing was called."""
        waiting = self.waiting
        if id:
            found = next((call for call in waiting if call[0] == id), None)
        else:
            found = next((call for call in waiting if call[1] == name), waiting[0] if waiting else None)
        if found is None:
            return None
        waiting.remove(found)
        return found[0]


def _give_id(block: Any, field: str, id: str) -> None:
    force_setattr(block, field, id)
    mark_read(block, id=id)


def mark_read(block: Any, **more: Json) -> None:
    """Add marks to a block that was just read."""
    force_setattr(block, "forms", {NAME: {**marks(NAME, block), **more}})


# -------------------------------------------------------------------------------------------------------------- writing


class History:
    """The calls so far: their names, their order, and whether they have an id on the wire."""

    __slots__ = ("calls", "count", "signing", "unnamed", "unsigned")

    def __init__(self, *, signing: bool = False) -> None:
        self.calls: dict[str, tuple[str, int, bool]] = {}
        self.count = 0
        self.signing = signing  # the reader refuses unsigned calls
        self.unsigned = False  # and none of this turn was written yet
        self.unnamed = False  # some call has no id on the wire

    def begin(self, role: Role) -> None:
        """A turn begins."""
        self.unsigned = self.signing and role is ASSISTANT

    def complete(self, block: Block, wire: Wire, ledger: Ledger) -> None:
        """Remember a call, and sign the first of a turn; give a result what its call tells."""
        if type(block) is ToolUseBlock:
            has_id = not block.forms or "id" not in marks(NAME, block)
            self.unnamed = self.unnamed or not has_id
            self.count += 1
            self.calls[block.id] = (block.name, self.count, has_id)
            if self.unsigned and KEYS.get(wire, SIGNATURE) is None:
                wire[SIGNATURE] = PLACEHOLDERS[0]
                ledger.lose("added", SIGNED_FIRST, "signature")
            self.unsigned = False
        elif type(block) is ToolResultBlock:
            response: Wire = KEYS.get(wire, "functionResponse")
            name, _, has_id = self.calls.get(block.tool_use_id, (None, 0, True))
            if not has_id and response.get("id") == block.tool_use_id:
                del response["id"]
            if "name" not in response and "unnamed" not in marks(NAME, block):
                if name is None:
                    raise ToolStateError(f"no call in the history has the id {block.tool_use_id!r}", retryable=False)
                response["name"] = name
                ledger.lose_form("added", NAMED_BY_CALL, "name")

    def in_call_order(self, message: Message, ledger: Ledger) -> Message:
        """Results that no id tells apart stand in the order of their calls."""
        places = {i: place for i, block in enumerate(message.content) if (place := self._place(block)) is not None}
        order = sorted(places, key=places.__getitem__)
        if order == list(places):
            return message
        ledger.lose_form("moved", f"{NAME} matches results without ids by order; sorted", "content")
        content = list(message.content)
        for place, taken in zip(places, order, strict=True):
            content[place] = message.content[taken]
        return replace(message, content=tuple(content))

    def _place(self, block: Block) -> int | None:
        if type(block) is not ToolResultBlock or "id" in marks(NAME, block):
            return None
        _, place, has_id = self.calls.get(block.tool_use_id, (None, 0, True))
        return None if has_id else place


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

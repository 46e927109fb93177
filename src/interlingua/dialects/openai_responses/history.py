"""Reading the input: items to system blocks and messages.

A run of items that the model made is one assistant message; adjacent results are one ``tool`` message; any other
message item is one message. An assistant message item without a ``type``, right behind another one, begins a new turn:
nothing else marks the end of a turn. Items that belong neither to the user nor to the model (``additional_tools``,
``configuration_update``, …) are carried whole in the nearest user message, so that they need no turn of their own.

``instructions`` and leading system or developer messages are ``Request.system``. We write one plain block as
``instructions``, anything else as one developer message. If it was read otherwise, the blocks have marks:
``instructions``, or ``item`` on the first block of a message and ``joined`` on the others. Marks on a message:
``content`` (``string``, or a list of what stood there instead of parts, if anything), ``spelling`` (of its role and
type). On a result: ``tag`` (its item was of the type for the other kind of calls).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...codec.history.rules import mark_orphans
from ...codec.json import Wire, is_array, is_empty, is_object
from ...codec.marks import extras_and_forms, marks
from ...codec.rows.kinds import REFUSED
from ...codec.rows.plain_text import is_plain_text
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.messages import Message, Origin
from ...types.words import Role
from .facts import ADDED, LONGEST_ID, NAME, NEUTRAL_ITEMS, RESULTS, ROLES, kind_of
from .hosted import read_item
from .items import bare, item_marks, with_item
from .rows import EASY_ITEMS, INPUT, INPUT_MESSAGE, RESULTS as RESULT_TABLES

ASSISTANT, SYSTEM, TOOL, USER = Role.assistant, Role.system, Role.tool, Role.user  # an Enum costs 40 ns to reach
NOTHING: dict[str, Any] = {}
EASY_TAGS = frozenset(EASY_ITEMS.by_tag)


class Draft(Struct, gc=False):
    """A message while it is read."""

    role: Role
    blocks: list[Block] = []
    fields: dict[str, Any] = NOTHING
    """Its ``extras`` and ``forms``."""
    is_neutral: bool = False
    """Whether all its items so far are of ``NEUTRAL_ITEMS``."""
    message_last: bool = False
    """Whether its last item is a message."""


class Reader:
    """Reads the items of an input, and makes messages, system blocks and added tools of them."""

    def __init__(self, provider: str | None) -> None:
        self.origin = Origin(provider, NAME)
        self.drafts: list[Draft] = []
        self.last: Draft | None = None
        self.calls: dict[str, str] = {}  # the kind of each call by its id
        self.system: list[Block] = []
        self.added: list[list[Json]] = []  # the tools of each item that adds tools
        self.orphans = False  # whether a result answers a call that is not in the input
        self.has_reasoning = False

    def read(self, items: list[Json]) -> None:
        if not all(map(is_object, items)):
            odd = next(index for index, item in enumerate(items) if not is_object(item))
            raise ParseError(f"input[{odd}] is not an object")
        for item in items:
            kind, role = item.get("type"), item.get("role")
            if type(kind) is not str or not kind:
                kind = kind_of(item)
            if kind in RESULTS:
                self.read_result(item, RESULTS[kind])
            elif kind == "message" and type(role) is str and role in ROLES:
                self.read_message(item, ROLES[role])
            elif kind in NEUTRAL_ITEMS:
                self.read_neutral(item, kind)
            else:
                self.read_model_item(item, kind)
        if self.has_reasoning:
            self.mark_last_reasoning()

    def add(self, role: Role) -> Draft:
        draft = Draft(role)
        self.drafts.append(draft)
        self.last = draft
        return draft

    def read_model_item(self, item: Wire, kind: str) -> None:
        """Read an item that the model made: it continues the turn, or begins one."""
        last = self.last
        message, new_turn = kind == "message", False
        if last is None or last.role is not ASSISTANT:
            last = self.add(ASSISTANT)
        elif message and last.message_last and "type" not in item:
            last, new_turn = self.add(ASSISTANT), True
        last.message_last = message
        if kind in EASY_TAGS and "id" not in item and not new_turn:  # nearly all have no marks and no residue
            block: Any = EASY_ITEMS.read(item)
            if not (block is REFUSED or block.extras or block.forms or item.get("call_id") == ""):
                last.blocks.append(block if message else self.note_call(block))
                return
        for block in read_item(item, None, len(last.blocks), new_turn=new_turn):
            last.blocks.append(self.note_call(block) if type(block) is ToolUseBlock else block)
        if kind == "reasoning":
            self.has_reasoning = True

    def note_call(self, block: ToolUseBlock) -> ToolUseBlock:
        """Remember the kind of a call. An id that we would not write ourselves is marked, so that it is kept."""
        id = block.id
        if id in self.calls or not 0 < len(id) <= LONGEST_ID:
            mark = marks(NAME, block)
            block = replace(block, forms={NAME: {**mark, "verbatim": [*mark.get("verbatim", ()), "id"]}})
        self.calls[id] = block.kind
        return block

    def read_message(self, item: Wire, role: Role) -> None:
        """Read a user or system message. A system message at the very beginning belongs to the system prompt."""
        _, rest, mark = INPUT_MESSAGE.take(item)
        blocks = read_content(rest, mark)
        last = self.last
        if role is SYSTEM and last is None and blocks:
            self.system += with_item(blocks, rest, mark or {"first": True})
            return
        if last is None or not last.is_neutral:
            last = self.add(role)
        last.role, last.is_neutral = role, False
        last.blocks += blocks
        if rest or mark:
            last.fields = extras_and_forms(NAME, rest, mark)

    def read_result(self, item: Wire, kind: str) -> None:
        """Read the result of a call. It is marked if its item is of the type for the other kind of calls."""
        block: Any = RESULT_TABLES[kind].read(item)
        if block is REFUSED:
            block = OpaqueBlock(NAME, item)
            self.orphans = True
        elif self.calls.get(block.tool_use_id) != kind:
            self.orphans = self.orphans or block.tool_use_id not in self.calls
            if self.calls.get(block.tool_use_id, "json") != kind:
                block = replace(block, forms={NAME: {**marks(NAME, block), "tag": item["type"]}})
        last = self.last
        if last is None or not (last.role is TOOL or last.is_neutral):
            last = self.add(TOOL)
        last.role, last.is_neutral = TOOL, False
        last.blocks.append(block)

    def read_neutral(self, item: Wire, kind: str) -> None:
        """Read one of ``NEUTRAL_ITEMS``. It is carried whole, but the tools that it adds go to ``Request.tools``."""
        if kind == ADDED and is_array(item.get("tools")) and item["tools"]:
            self.added.append(item["tools"])
            item = {key: value for key, value in item.items() if key != "tools"}
            if not self.drafts:
                self.system.append(OpaqueBlock(NAME, item))
                return
        last = self.last
        if last is None or last.role is ASSISTANT:
            last = self.add(USER)
            last.is_neutral = True
        last.blocks.append(OpaqueBlock(NAME, item))

    def mark_last_reasoning(self) -> None:
        """Mark reasoning at the end of a turn, which is written only if it was read like this."""
        for draft in self.drafts:
            if draft.role is ASSISTANT and type(draft.blocks[-1]) is ThinkingBlock:
                places = range(len(draft.blocks) - 1, -1, -1)
                head = next(place for place in places if "joined" not in marks(NAME, draft.blocks[place]))
                block = draft.blocks[head]
                item = {**item_marks(block), "alone": True}
                draft.blocks[head] = replace(block, forms={NAME: {**marks(NAME, block), "item": item}})

    def messages(self) -> tuple[Message, ...]:
        found: list[Message] = []
        for draft in self.drafts:
            by = self.origin if draft.role is ASSISTANT else None
            message = Message(draft.role, tuple(draft.blocks), None, by)
            found.append(replace(message, **draft.fields) if draft.fields else message)
        return mark_orphans(found, NAME) if self.orphans else tuple(found)


def read_content(rest: Wire, mark: Wire) -> list[Block]:
    """Take the parts out of a message item. What is neither text nor parts stays residue."""
    content = rest.pop("content", None) if "content" in rest else mark
    if type(content) is str and content:
        mark["content"] = "string"
        return [TextBlock(content)]
    if is_array(content) and content:
        return list(map(INPUT.read, content))
    if content is mark:
        mark["content"] = []
    elif is_empty(content):
        mark["content"] = [content]
    else:
        rest["content"] = content
    return []


def plain_text(block: Block) -> str | None:
    """The text of a block that is plain text and not empty; else None."""
    return (block.text or None) if is_plain_text(block) else None


def read_system(instructions: str | None, leading: list[Block]) -> tuple[Block, ...]:
    """The system prompt, with marks unless it was read in the form that we would write."""
    if instructions is not None and not leading:
        return (TextBlock(instructions),)
    if instructions is None and _as_we_write(leading):
        return tuple(map(bare, leading))
    first = [TextBlock(instructions, forms={NAME: {"instructions": True}})] if instructions is not None else []
    return (*first, *leading)


def _as_we_write(leading: list[Block]) -> bool:
    """Whether leading blocks are one message as we would write it: not plain text, without marks and residue."""
    heads = [block for block in leading if "item" in marks(NAME, block)]
    if len(heads) != 1 or heads[0] is not leading[0] or any(type(block) is OpaqueBlock for block in leading):
        return False
    plain = len(leading) == 1 and plain_text(bare(leading[0])) is not None
    return item_marks(heads[0]) == {"first": True} and "item" not in heads[0].extras.get(NAME, {}) and not plain

"""Reading the input: items to system blocks and messages.

A run of items that the model made is one assistant message; adjacent results are one ``tool`` message; a message of
anybody else is a message. An assistant message without a ``type`` right behind another begins a turn of its own: that
is how two turns are told from one. Items that are neither the user's nor the model's (``additional_tools``,
``configuration_update``, …) are carried whole in the nearest user message, so that no empty turn stands for them.

``instructions`` and leading system or developer messages are ``Request.system``. One plain block is written as
``instructions``, anything else as one developer message; marks on the blocks say where it was otherwise:
``instructions``, or ``item`` on the first block of a message and ``joined`` on the others. Marks on a message:
``content`` (a string, or a list of what stood there instead of parts, if anything), ``spelling`` (of its role and
type). On a result: ``tag`` (that of the other kind of calls).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...codec.history.rules import mark_orphans
from ...codec.json import Wire, is_array, is_empty, is_object
from ...codec.marks import kept, marks
from ...codec.rows.kinds import REFUSED
from ...codec.rows.plain_text import is_plain_text
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.messages import Message, Origin
from ...types.words import Role
from .facts import ADDED, FOR_NOBODY, LONGEST_ID, NAME, RESULTS, ROLES, kind_of
from .hosted import read_item
from .items import bare, item_marks, with_item
from .rows import EASY_ITEMS, INPUT, RESULTS as RESULT_TABLES, WORDS

ASSISTANT, SYSTEM, TOOL, USER = Role.assistant, Role.system, Role.tool, Role.user  # an Enum costs 40 ns to reach
NOTHING: dict[str, Any] = {}
EASY_TAGS = frozenset(EASY_ITEMS.by_tag)


class Draft(Struct, gc=False):
    """A message while it is read."""

    role: Role
    blocks: list[Block] = []
    fields: dict[str, Any] = NOTHING
    """Its ``extras`` and ``forms``."""
    for_nobody: bool = False
    """Whether it holds only items so far that are nobody's."""
    message_last: bool = False
    """Whether its last item is a message."""


class Reader:
    """Items in, messages out."""

    def __init__(self, provider: str | None) -> None:
        self.origin = Origin(provider, NAME)
        self.drafts: list[Draft] = []
        self.last: Draft | None = None
        self.calls: dict[str, str] = {}  # their kinds by id
        self.system: list[Block] = []
        self.added: list[list[Json]] = []  # the tools of each item that adds some
        self.orphans = False  # a result answers a call that is not here
        self.thought = False  # there was reasoning

    def read(self, items: list[Json]) -> None:
        if not all(map(is_object, items)):
            odd = next(index for index, item in enumerate(items) if not is_object(item))
            raise ParseError(f"input[{odd}] is not an object")
        for item in items:
            kind, role = item.get("type"), item.get("role")
            if type(kind) is not str or not kind:
                kind = kind_of(item)
            if kind in RESULTS:
                self.result(item, RESULTS[kind])
            elif kind == "message" and type(role) is str and role in ROLES:
                self.message(item, ROLES[role])
            elif kind in FOR_NOBODY:
                self.nobodys(item, kind)
            else:
                self.model(item, kind)
        if self.thought:
            self.mark_lonely()

    def add(self, role: Role) -> Draft:
        draft = Draft(role)
        self.drafts.append(draft)
        self.last = draft
        return draft

    def model(self, item: Wire, kind: str) -> None:
        """An item that the model made: it goes on with the turn, or begins one."""
        last = self.last
        message, border = kind == "message", False
        if last is None or last.role is not ASSISTANT:
            last = self.add(ASSISTANT)
        elif message and last.message_last and "type" not in item:
            last, border = self.add(ASSISTANT), True
        last.message_last = message
        if kind in EASY_TAGS and "id" not in item and not border:  # nearly all have nothing to remember
            block: Any = EASY_ITEMS.read(item)
            if not (block is REFUSED or block.extras or block.forms or item.get("call_id") == ""):
                last.blocks.append(block if message else self.call(block))
                return
        for block in read_item(item, None, len(last.blocks), border=border):
            last.blocks.append(self.call(block) if type(block) is ToolUseBlock else block)
        if kind == "reasoning":
            self.thought = True

    def call(self, block: ToolUseBlock) -> ToolUseBlock:
        """Note a call; an id that we would not write is marked to be kept."""
        id = block.id
        if id in self.calls or not 0 < len(id) <= LONGEST_ID:
            mark = marks(NAME, block)
            block = replace(block, forms={NAME: {**mark, "verbatim": [*mark.get("verbatim", ()), "id"]}})
        self.calls[id] = block.kind
        return block

    def message(self, item: Wire, role: Role) -> None:
        """A message of the user's or the system's. One of the system's at the very beginning is a system prompt."""
        _, rest, mark = WORDS.take(item)
        blocks = read_content(rest, mark)
        last = self.last
        if role is SYSTEM and last is None and blocks:
            self.system += with_item(blocks, rest, mark or {"first": True})
            return
        if last is None or not last.for_nobody:
            last = self.add(role)
        last.role, last.for_nobody = role, False
        last.blocks += blocks
        if rest or mark:
            last.fields = kept(NAME, rest, mark)

    def result(self, item: Wire, kind: str) -> None:
        """What a tool answered. Which kind of call it answers is told by the history, or marked."""
        block: Any = RESULT_TABLES[kind].read(item)
        if block is REFUSED:
            block = OpaqueBlock(NAME, item)
            self.orphans = True
        elif self.calls.get(block.tool_use_id) != kind:
            self.orphans = self.orphans or block.tool_use_id not in self.calls
            if self.calls.get(block.tool_use_id, "json") != kind:
                block = replace(block, forms={NAME: {**marks(NAME, block), "tag": item["type"]}})
        last = self.last
        if last is None or not (last.role is TOOL or last.for_nobody):
            last = self.add(TOOL)
        last.role, last.for_nobody = TOOL, False
        last.blocks.append(block)

    def nobodys(self, item: Wire, kind: str) -> None:
        """An item that is carried whole. The tools that it adds stand among the others."""
        if kind == ADDED and is_array(item.get("tools")) and item["tools"]:
            self.added.append(item["tools"])
            item = {key: value for key, value in item.items() if key != "tools"}
            if not self.drafts:
                self.system.append(OpaqueBlock(NAME, item))
                return
        last = self.last
        if last is None or last.role is ASSISTANT:
            last = self.add(USER)
            last.for_nobody = True
        last.blocks.append(OpaqueBlock(NAME, item))

    def mark_lonely(self) -> None:
        """Mark reasoning that nothing follows: it would not be written, but it was read here."""
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
    """The parts of a message. What is neither text nor parts stays residue."""
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
    """The text of a block that says nothing else, if there is any."""
    return (block.text or None) if is_plain_text(block) else None


def read_system(instructions: str | None, leading: list[Block]) -> tuple[Block, ...]:
    """The system prompt, marked where it did not stand as we would write it."""
    if instructions is not None and not leading:
        return (TextBlock(instructions),)
    if instructions is None and _as_we_write(leading):
        return tuple(map(bare, leading))
    first = [TextBlock(instructions, forms={NAME: {"instructions": True}})] if instructions is not None else []
    return (*first, *leading)


def _as_we_write(leading: list[Block]) -> bool:
    """Whether all of it is one message with nothing to remember, which is no plain text."""
    heads = [block for block in leading if "item" in marks(NAME, block)]
    if len(heads) != 1 or heads[0] is not leading[0] or any(type(block) is OpaqueBlock for block in leading):
        return False
    plain = len(leading) == 1 and plain_text(bare(leading[0])) is not None
    return item_marks(heads[0]) == {"first": True} and "item" not in heads[0].extras.get(NAME, {}) and not plain

"""The input: items to system blocks and messages, and back.

A run of items that the model made is one assistant message; adjacent results are one ``tool`` message; a message of
anybody else is a message. An assistant message without a ``type`` right behind another begins a turn of its own: that
is how two turns are told from one. Items that nobody says (``additional_tools``, ``configuration_update``, …) are
carried whole beside the caller's nearest words, so that no empty turn stands for them elsewhere.

``instructions`` and leading system or developer messages are ``Request.system``. One plain block is written as
``instructions``, anything else as one developer message; marks on the blocks say where it was otherwise:
``instructions``, or ``item`` on the first block of a message and ``joined`` on the others. Marks on a message:
``content`` (a string), ``type`` (present), ``role``.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...codec.history import is_plain, mark_orphans
from ...codec.tables import kept, marks, take
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message
from ...types.tools import Tool
from ...types.words import Role
from .item_fields import item_marks
from .items import read_item
from .names import CALL_ID, is_name
from .open_messages import Draft, Drafts
from .parts import read_input
from .tools import read_tools
from .usual_read import USUAL
from .wire import NAME, ROLES, Wire, is_array, is_object, kind_of

OUTPUTS = {"function_call_output": "json", "custom_tool_call_output": "text"}
NOBODY_SAYS = (
    "additional_tools",
    "configuration_update",
    "compaction_trigger",
    "mcp_approval_response",
)
ADDED = "additional_tools"


def is_added(item: Json) -> bool:
    """Whether an item adds tools, which stand among the others."""
    return is_object(item) and item.get("type") == ADDED and "tools" not in item


class Reader(Drafts):
    """Items in, messages out."""

    def __init__(self, provider: str | None, taken: set[str]) -> None:
        super().__init__(provider)
        self.system: list[Block] = []
        self.tools: list[Tool] = []
        self.taken = taken
        self.added = 0
        self.orphans = False  # a result answers a call that is not here

    def read(self, items: list[Json]) -> None:
        for index, item in enumerate(items):
            if not is_object(item):
                raise ParseError(f"input[{index}] is not an object")
            kind = item.get("type")
            usual = USUAL.get(kind) if kind is None or type(kind) is str else None
            if usual is None or not usual(item, self):
                self.item(item, kind_of(item))
        if self.thought:
            self.mark_lonely()

    def item(self, item: Wire, kind: str) -> None:
        role = item.get("role")
        if kind == "message" and type(role) is str and role in ROLES:
            self.message(item, ROLES[role])
        elif kind in OUTPUTS:
            self.result(item, kind)
        elif kind in NOBODY_SAYS:
            self.silent(item, kind)
        else:
            self.model(item, kind)

    @property
    def last(self) -> Draft | None:
        return self.drafts[-1] if self.drafts else None

    def model(self, item: Wire, kind: str) -> None:
        last = self.last
        message, border = kind == "message", False
        if last is None or last.role is not Role.assistant:
            last = self.add(Role.assistant)
        elif message and last.message_last and "type" not in item:
            last, border = self.add(Role.assistant), True
        self.thought = self.thought or kind == "reasoning"
        blocks = read_item(item, None, len(last.blocks), border=border)
        last.blocks += [self.call(block) if type(block) is ToolUseBlock else block for block in blocks]
        last.message_last = message

    def call(self, block: ToolUseBlock) -> ToolUseBlock:
        """Note a call; an id or a name that we would not write is marked to be kept."""
        odd: Wire = {}
        if block.id in self.calls or not CALL_ID.fullmatch(block.id):
            odd["id"] = "verbatim"
        if not is_name(block.name):
            odd["name"] = "verbatim"
        self.calls[block.id] = block.kind
        return replace(block, forms={NAME: {**marks(NAME, block), **odd}}) if odd else block

    def message(self, item: Wire, role: Role) -> None:
        rest = dict(item)
        forms: Wire = {}
        blanks: Wire = {}
        word = rest.pop("role")
        if rest.get("type") == "message":
            forms["type"] = bool(rest.pop("type"))
        if word != ("user" if role is Role.user else "developer"):
            forms["role"] = word
        blocks = read_content(rest, forms, blanks)
        if role is Role.system and not self.drafts and blocks and not blanks:
            self.leading(blocks, rest, forms)
            return
        last = self.last
        if last is None or not last.silent:
            last = self.add(role)
        last.role, last.silent = role, False
        last.blocks += blocks
        last.fields = kept(NAME, rest, forms, blanks)

    def leading(self, blocks: list[Block], rest: Wire, forms: Wire) -> None:
        """A message of the system prompt; which marks are needed is known when all of it is read."""
        for position, block in enumerate(blocks):
            extras, mine = block.extras.get(NAME, {}), marks(NAME, block)
            if position:
                mine = {**mine, "joined": True}
            else:
                extras = {**extras, "item": rest} if rest else extras
                mine = {**mine, "item": forms}
            self.system.append(replace(block, extras={NAME: extras} if extras else {}, forms={NAME: mine}))

    def result(self, item: Wire, kind: str) -> None:
        self.orphans = self.orphans or str(item.get("call_id")) not in self.calls
        self.behind(Role.tool).blocks.append(read_result(dict(item), kind, self.calls))

    def silent(self, item: Wire, kind: str) -> None:
        if kind == ADDED and is_array(item.get("tools")) and item["tools"]:
            tools = read_tools(item["tools"], self.taken)
            number = {"added": self.added}
            self.tools += [replace(t, forms={NAME: {**marks(NAME, t), **number}}) for t in tools]
            self.added += 1
            item = {key: value for key, value in item.items() if key != "tools"}
            if not self.drafts:
                self.system.append(OpaqueBlock(NAME, item))
                return
        last = self.last
        if last is None or last.role is Role.assistant:
            last = self.add(Role.user)
            last.silent = True
        last.blocks.append(OpaqueBlock(NAME, item))

    def mark_lonely(self) -> None:
        """Reasoning that nothing follows would not be written; it was read here, so it is."""
        for draft in self.drafts:
            if draft.role is Role.assistant and type(draft.blocks[-1]) is ThinkingBlock:
                head = next(
                    i for i in range(len(draft.blocks) - 1, -1, -1) if "joined" not in marks(NAME, draft.blocks[i])
                )
                block = draft.blocks[head]
                item = {**item_marks(block), "alone": True}
                draft.blocks[head] = replace(block, forms={NAME: {**marks(NAME, block), "item": item}})

    def messages(self) -> tuple[Message, ...]:
        messages = self.finished()
        return mark_orphans(messages, NAME) if self.orphans else messages


def read_content(rest: Wire, forms: Wire, blanks: Wire) -> list[Block]:
    content = take(rest, "content", blanks)
    if type(content) is str:
        forms["content"] = "string"
        return [TextBlock(content)]
    if is_array(content):
        return list(map(read_input, content))
    if content is not None:
        rest["content"] = content
    elif "content" not in blanks:
        forms["content"] = "absent"
    return []


def plain_text(block: Block) -> str | None:
    """The text of a block that says nothing else, if there is any."""
    return (block.text or None) if isinstance(block, TextBlock) and is_plain(block) else None


def read_result(rest: Wire, kind: str, calls: dict[str, str]) -> Block:
    """One result. Which kind of call it answers is told by the history, or marked."""
    raw = {"type": kind, **rest}
    forms: Wire = {}
    blanks: Wire = {}
    rest.pop("type", None)
    id, output = rest.pop("call_id", None), rest.pop("output", None)
    if not isinstance(id, str) or not (isinstance(output, str) or is_array(output)):
        return OpaqueBlock(NAME, raw)
    fields: dict[str, Any] = {"tool_use_id": id}
    if calls.get(id, "json") != OUTPUTS[kind]:
        forms["tag"] = kind
    if isinstance(output, str):
        fields["content"] = (TextBlock(output),) if output else ()
    else:
        blocks = tuple(map(read_input, output))
        fields["content"] = blocks
        if not blocks or (len(blocks) == 1 and plain_text(blocks[0])):
            forms["output"] = "list"
    if isinstance(rest.get("name"), str):
        fields["name"] = rest.pop("name")
    return ToolResultBlock(**fields, **kept(NAME, rest, forms, blanks))


def read_system(instructions: str | None, leading: list[Block]) -> tuple[Block, ...]:
    """The system prompt, marked where it did not stand as we would write it."""
    if instructions is not None and not leading:
        return (TextBlock(instructions),)
    if instructions is None and _as_we_write(leading):
        return tuple(_unmarked(block) for block in leading)
    first = [TextBlock(instructions, forms={NAME: {"instructions": True}})] if instructions is not None else []
    return (*first, *leading)


def _as_we_write(leading: list[Block]) -> bool:
    heads = [block for block in leading if "item" in marks(NAME, block)]
    if len(heads) != 1 or heads[0] is not leading[0] or any(type(block) is OpaqueBlock for block in leading):
        return False
    plain = len(leading) == 1 and plain_text(_unmarked(leading[0])) is not None
    return not item_marks(heads[0]) and "item" not in heads[0].extras.get(NAME, {}) and not plain


def _unmarked(block: Block) -> Block:
    mine = {key: value for key, value in marks(NAME, block).items() if key not in ("item", "joined")}
    return replace(block, forms={NAME: mine} if mine else {})

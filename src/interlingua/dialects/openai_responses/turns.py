"""Writing the input: system blocks and messages to items. The marks are those that ``history`` leaves."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...codec.history.rules import PLACEHOLDER, blocks_to_send
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger, is_blank
from ...codec.marks import marks
from ...codec.paths import merge
from ...types.base import Json
from ...types.blocks import (
    Block,
    OpaqueBlock,
    RedactedThinkingBlock,
    ServerToolResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ...types.messages import Message
from ...types.words import Role
from .facts import NAME, RESULTS, is_added, is_assistant_message, is_part
from .history import plain_text
from .hosted import groups_of, write_item, write_output
from .items import Placed, bare, is_proved, item_marks, item_residue
from .rows import EASY_ITEMS, INPUT, INPUT_MESSAGE, RESULTS as RESULT_TABLES
from .rules import Scribe

Where = tuple[str | int, ...]
ASSISTANT, SYSTEM, TOOL, USER = Role.assistant, Role.system, Role.tool, Role.user  # an Enum costs 40 ns to reach
ROLE_WORDS = {USER: "user", TOOL: "user", SYSTEM: "developer"}
REASONING = (ThinkingBlock, RedactedThinkingBlock)
ITEMS = (ToolResultBlock, ServerToolResultBlock, OpaqueBlock)
NO_LOSSES = Ledger()
"""For writing a role and a type, which never have losses."""
AS_ONE = f"{NAME} reads neighbouring items as one turn"
NO_EMPTY = f"{NAME} accepts no empty message; a placeholder was added"


class Writer:
    """Writes messages and the system prompt as the items of an input."""

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe
        self.added: list[list[Wire]] = []
        """The tools of each ``additional_tools`` item, already written."""
        self.items: list[Wire] = []

    # -------------------------------------------------------------------------------------------------------- system

    def write_system(self, placed: Sequence[tuple[Where, Block]]) -> str | None:
        """Write the system prompt as items, and return the text for ``instructions``, if any."""
        if not any(_has_place(block) for _, block in placed):
            text = plain_text(placed[0][1]) if len(placed) == 1 else None
            if text is None:
                self.write_leading(placed)
            return text
        instructions: str | None = None
        rest, first = list(placed), placed[0][1]
        if isinstance(first, TextBlock) and "instructions" in marks(NAME, first):
            instructions = first.text
            del rest[0]
        run: list[tuple[Where, Block]] = []
        for where, block in rest:
            if run and ("item" in marks(NAME, block) or _is_item(block) or _is_item(run[-1][1])):
                self.write_leading(run)
                run = []
            run.append((where, block))
        self.write_leading(run)
        return instructions

    def write_leading(self, placed: Sequence[tuple[Where, Block]]) -> None:
        """Write one message of the system prompt, or one of ``NEUTRAL_ITEMS``."""
        if not placed:
            return
        head = placed[0][1]
        if isinstance(head, OpaqueBlock) and _is_item(head):
            self.scribe.where = placed[0][0]
            self.write_neutral(head)
            return
        content = [part for where, block in placed if (part := self.write_part(bare(block), where)) is not None]
        self.scribe.where = ()
        if content:
            mark, residue = item_marks(head), item_residue(head)
            owner = Message(SYSTEM, forms={NAME: mark} if mark else {}, extras={NAME: residue} if residue else {})
            self.items.append(write_message_item(SYSTEM, content, [bare(block) for _, block in placed], owner))

    def write_part(self, block: Block, where: Where) -> Wire | None:
        self.scribe.where = where
        part: Wire | None = INPUT.write(block, self.scribe)
        return part

    # ------------------------------------------------------------------------------------------------------ messages

    def write_messages(self, messages: Sequence[Message], skip: int = 0) -> None:
        items, scribe, spoke, last = self.items, self.scribe, -1, None
        for index, message in enumerate(messages[skip:] if skip else messages, skip):
            before, role = len(items), message.role
            if role is ASSISTANT:
                if role is last or not self.add_easy_items(message.content):
                    after = messages[index + 1].role if index + 1 < len(messages) else None
                    self.write_turn(message, index, behind=role is last, continues=after is ASSISTANT)
            elif role is TOOL:
                self.write_results(message, index)
            else:
                self.write_message(message, index)
            if message.extras:
                self.declare_residue(message, index)
            if len(items) == before:
                continue
            if role is last and self.reads_as_one(role, before):
                scribe.where = ()
                scribe.lose_form("moved", AS_ONE, "messages", index)
                scribe.lose_form("added", AS_ONE, "messages", spoke, "content")
            spoke, last = index, role
        scribe.where = ()

    def declare_residue(self, message: Message, index: int) -> None:
        self.scribe.where = ("messages", index)
        self.scribe.lose_foreign_extras(message, NAME)
        if message.role in (ASSISTANT, TOOL) and not is_blank(message.extras.get(NAME)):
            self.scribe.lose_form("dropped", f"{NAME} has no item for the message itself", "extras", NAME)

    def reads_as_one(self, role: Role, before: int) -> bool:
        """Whether the turn written at ``before`` is read as one with the turn before it, which has the same role.

        Results always are; assistant turns are, unless a message without a type follows a message.
        """
        if role is ASSISTANT:
            last, first = self.items[before - 1], self.items[before]
            return "type" in first or not (is_assistant_message(last) and is_assistant_message(first))
        return role is TOOL

    def write_turn(self, message: Message, index: int, *, behind: bool, continues: bool) -> None:
        """Write an assistant turn. Reasoning at its end is left out: the provider wants the item that it led to.

        ``behind``: the message before is an assistant message, too; ``continues``: the next one is.
        """
        scribe, where, content = self.scribe, ("messages", index), message.content
        scribe.where = where
        loses_reasoning = False
        if scribe.trusts(message.origin):
            groups = groups_of(enumerate(content))
        else:
            groups = groups_of(blocks_to_send(message, NAME, scribe.reader, scribe))
            loses_reasoning = any(isinstance(block, REASONING) for block in content)
        if not loses_reasoning and ThinkingBlock in map(type, content):
            loses_reasoning = any(type(group[0][1]) is ThinkingBlock and not is_proved(group) for group in groups)
        written: list[tuple[Placed, Wire]] = []
        new_turn = behind and is_assistant_message(self.items[-1])
        for group in groups:
            scribe.where = (*where, "content", group[0][0])
            if loses_reasoning:
                group = [(place, self.without_id(block)) for place, block in group]
            item = write_item(group, None, scribe, new_turn=new_turn and not written)
            if item is not None:
                written.append((group, item))
        while written and isinstance(head := written[-1][0][0][1], REASONING) and "alone" not in item_marks(head):
            for place, _ in written.pop()[0]:
                scribe.where = (*where, "content", place)
                scribe.lose("dropped", f"{NAME} takes reasoning only before what it led to", weight="state")
        scribe.where = where
        if not written and continues:
            scribe.lose_form("dropped", f"an empty message has no item in {NAME}")
        elif not written:
            typed: Wire = {} if new_turn else {"type": "message"}
            self.items.append({**typed, "role": "assistant", "content": PLACEHOLDER})
            scribe.lose("added", NO_EMPTY, "content")
        self.items += [item for _, item in written]

    def add_easy_items(self, content: Sequence[Block]) -> bool:
        """Add the items of a common turn: only texts and calls without marks and residue. False for other turns."""
        items, scribe, writers = self.items, self.scribe, EASY_ITEMS.writers
        before = len(items)
        for block in content:
            item = None if block.extras or block.forms else writers[type(block)](block)
            if item is None or (type(block) is ToolUseBlock and not scribe.note_own_id(block)):
                scribe.forget(content[: len(items) - before])
                del items[before:]
                return False
            items.append(item)
        return len(items) > before

    def without_id(self, block: Block) -> Block:
        """The block without its item's id: with the id, the provider would ask for the reasoning that is left out."""
        own = block.extras.get(NAME, {})
        inner = own.get("item", own)
        if not isinstance(block, TextBlock | ToolUseBlock) or "id" not in inner:
            return block
        self.scribe.lose("dropped", f"{NAME} takes the id only after its reasoning", "extras", NAME, weight="state")
        left = {key: value for key, value in inner.items() if key not in ("id", "status")}
        residue = {**own, "item": left} if inner is not own else left
        return replace(block, extras={**block.extras, NAME: residue})

    def write_message(self, message: Message, index: int) -> None:
        """Write a user or system message. A block that is no part of a message is an item of its own."""
        usual = [INPUT.write_usual(block) for block in message.content]
        if usual and None not in usual:
            self.items.append(write_message_item(message.role, usual, message.content, message))
            return
        where, start, owner = ("messages", index, "content"), len(self.items), message
        run: list[tuple[int, Block]] = []
        used = False
        for place, block in enumerate(message.content):
            if is_part(block, in_input=True) or not isinstance(block, ITEMS):
                run.append((place, block))  # a block that cannot be written is a loss, too
                continue
            used = self.write_parts(run, message.role, None if used else owner, where) or used
            run = []
            self.scribe.where = (*where, place)
            self.write_other(block)
        used = self.write_parts(run, message.role, None if used else owner, where) or used
        came_empty = type(marks(NAME, message).get("content")) is list or "content" in message.extras.get(NAME, ())
        if not used and (len(self.items) == start or came_empty):
            self.scribe.where = ("messages", index)
            self.write_empty(message)

    def write_parts(self, run: Placed, role: Role, owner: Message | None, where: Where) -> bool:
        """Write one message item with these parts. ``owner``: the message whose marks and residue it gets."""
        content: list[Wire] = []
        for place, block in run:
            part = self.write_part(block, (*where, place))
            if part is not None:
                content.append(part)
        if content:
            self.items.append(write_message_item(role, content, [block for _, block in run], owner))
        return bool(content)

    def write_empty(self, message: Message) -> None:
        mark = marks(NAME, message).get("content")
        wire = write_message_item(message.role, [], (), message)
        if type(mark) is list and all(map(_is_item, message.content)):
            if mark:
                wire["content"] = mark[0]
        elif "content" not in wire:
            wire["content"] = [{"type": "input_text", "text": PLACEHOLDER}]
            self.scribe.lose("added", NO_EMPTY, "content")
        self.items.append(wire)

    def write_other(self, block: Block) -> None:
        """Write a block outside of assistant messages that is no part of a message."""
        if isinstance(block, ToolResultBlock):
            self.items.append(write_result(block, self.scribe))
        elif isinstance(block, OpaqueBlock):
            self.write_neutral(block)
        elif isinstance(block, ServerToolResultBlock):
            item = write_output(block, self.scribe)
            self.items += [item] if item is not None else []
        else:
            self.scribe.lose("dropped", f"{NAME} has no {block.type} blocks outside of assistant messages")

    def write_neutral(self, block: OpaqueBlock) -> None:
        """Write an item that is carried whole. Tools that it added come back from ``Request.tools``."""
        raw: Json = block.raw
        item: Wire = dict(raw) if is_object(raw) else {}
        if is_added(item):
            if not self.added:
                self.scribe.lose("dropped", "the tools that it added are not in this request")
                return
            item["tools"] = self.added.pop(0)
        self.items.append(item)

    def write_results(self, message: Message, index: int) -> None:
        scribe, where = self.scribe, ("messages", index, "content")
        moved: list[tuple[int, Block]] = []
        for place, block in enumerate(message.content):
            if type(block) is ToolResultBlock and scribe.note_plain_result(block):
                item = RESULT_TABLES["json"].writers[ToolResultBlock](block)
                if item is not None:
                    self.items.append(item)
                    continue
            scribe.where = (*where, place)
            if type(block) is ToolResultBlock:
                self.items.append(write_result(block, scribe))
            elif is_part(block, in_input=True):
                moved.append((place, block))
                scribe.lose("moved", f"tool results of {NAME} stand alone; the rest went to a user message")
            else:
                self.write_other(block)
        if moved:
            self.write_parts(moved, USER, None, where)


def _has_place(block: Block) -> bool:
    """Whether a block of the system prompt has a mark of where it was read, or is an item."""
    mark = marks(NAME, block)
    return "item" in mark or "joined" in mark or "instructions" in mark or _is_item(block)


def _is_item(block: Block) -> bool:
    return type(block) is OpaqueBlock and not is_part(block, in_input=True)


def write_message_item(role: Role, content: list[Wire], blocks: Sequence[Block], owner: Message | None) -> Wire:
    """The item of a user or system message: with parts, or with a string if it was one and still can be."""
    if owner is None or not (owner.forms or owner.extras):
        return {"role": ROLE_WORDS[role], "content": content} if content else {"role": ROLE_WORDS[role]}
    mark = marks(NAME, owner)
    wire: Wire = INPUT_MESSAGE.put(owner, NO_LOSSES) if "spelling" in mark else {"role": ROLE_WORDS[role]}
    if content:
        is_text = mark.get("content") == "string" and len(content) == 1 and _is_plain_text(blocks)
        wire["content"] = content[0]["text"] if is_text else content
    return merge(wire, owner.extras.get(NAME, {})) if owner.extras else wire


def _is_plain_text(blocks: Sequence[Block]) -> bool:
    only = blocks[0] if len(blocks) == 1 else None
    return type(only) is TextBlock and not (only.citations or only.cache or only.signature or only.extras)


def write_result(block: ToolResultBlock, scribe: Scribe) -> Wire:
    """The item of a tool result. Its type follows from the kind of its call, unless it was read otherwise."""
    id, free = scribe.answer(block.tool_use_id)
    tag = marks(NAME, block).get("tag") if block.forms else None
    table = RESULT_TABLES[RESULTS[tag] if tag is not None else "text" if free else "json"]
    own = block if id == block.tool_use_id else replace(block, tool_use_id=id)
    wire: Wire = table.writers[ToolResultBlock](own) or table.interpret_write(own, scribe)
    return wire


def write_messages(messages: Sequence[Message], scribe: Scribe) -> Json:
    writer = Writer(scribe)
    writer.write_messages(messages)
    return writer.items


def write_system(system: Sequence[tuple[tuple[str | int, ...], Block]], scribe: Scribe) -> Json:
    """A string for ``instructions``, or the items that open ``input``."""
    writer = Writer(scribe)
    instructions = writer.write_system(system)
    return writer.items if instructions is None else instructions

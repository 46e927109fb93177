"""Writing the input: system blocks and messages to items. The marks are those that ``history.py`` leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.history import PLACEHOLDER, is_plain, speakable
from ...codec.stream import dump
from ...codec.tables import is_blank, marks, merge, own
from ...types.base import Json
from ...types.blocks import (
    Block,
    CacheMark,
    JsonBlock,
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
from .history import is_added, plain_text
from .hosted import say_result as say_hosted_result
from .item_fields import Placed, bare, item_marks, item_residue
from .items import grouped, say_group
from .names import Scribe
from .parts import CACHE, INPUT, is_part, say_input
from .reasoning import is_proved
from .usual_say import say_results, say_system, say_turn, say_user
from .wire import NAME, NO_FLAG, Wire, is_object, is_spoken

Where = tuple[str | int, ...]
TYPED = {"type": "message"}
NOT_MINE = ("item", "joined", "instructions")
USER, ASSISTANT, TOOL = Role.user, Role.assistant, Role.tool  # an enum's members are slow to reach
USUAL: dict[Role, Callable[[Message, int, Scribe, list[Wire]], bool]] = {
    USER: say_user,
    ASSISTANT: say_turn,
    TOOL: say_results,
    Role.system: say_system,
}


class Writer:
    """Messages in, items out. ``added`` are the tools of each ``additional_tools`` item, already written."""

    def __init__(self, scribe: Scribe, added: Sequence[list[Wire]] = ()) -> None:
        self.scribe = scribe
        self.added = list(added)
        self.items: list[Wire] = []

    # -------------------------------------------------------------------------------------------------------- system

    def system(self, placed: Sequence[tuple[Where, Block]]) -> str | None:
        """Write the system prompt; what is said as ``instructions`` is returned."""
        if not any(_stands_somewhere(block) for _, block in placed):
            text = plain_text(placed[0][1]) if len(placed) == 1 else None
            if text is None:
                self.leading(placed)
            return text
        instructions: str | None = None
        rest, first = list(placed), placed[0][1]
        if isinstance(first, TextBlock) and "instructions" in marks(NAME, first):
            instructions = first.text
            del rest[0]
        run: list[tuple[Where, Block]] = []
        for where, block in rest:
            if run and ("item" in marks(NAME, block) or _is_item(block) or _is_item(run[-1][1])):
                self.leading(run)
                run = []
            run.append((where, block))
        self.leading(run)
        return instructions

    def leading(self, placed: Sequence[tuple[Where, Block]]) -> None:
        """One message of the system prompt, or one item that nobody says."""
        if not placed:
            return
        head = placed[0][1]
        if isinstance(head, OpaqueBlock) and _is_item(head):
            self.scribe.where = placed[0][0]
            self.silent(head)
            return
        forms = item_marks(head)
        said: list[Wire] = []
        for where, block in placed:
            self.scribe.where = where
            part = say_input(bare(block), self.scribe)
            if part is not None:
                said.append(part)
        self.scribe.where = ()
        if said:
            self.items.append(merge(say_words(Role.system, said, [b for _, b in placed], forms), item_residue(head)))

    # ------------------------------------------------------------------------------------------------------ messages

    def messages(self, messages: Sequence[Message], skip: int = 0) -> None:
        items, scribe, spoke, last = self.items, self.scribe, -1, None
        for index, message in enumerate(messages[skip:] if skip else messages, skip):
            before, role = len(items), message.role
            again = role is last
            if message.extras or (again and role is ASSISTANT) or not USUAL[role](message, index, scribe, items):
                self.message(message, index, messages, behind=again)
                if len(items) == before:
                    continue
            if again and self.reads_as_one(message, before):
                scribe.lose_form("moved", f"{NAME} reads neighbouring items as one turn", "messages", index)
                scribe.lose_form("added", f"{NAME} reads neighbouring items as one turn", "messages", spoke, "content")
            spoke, last = index, role

    def message(self, message: Message, index: int, messages: Sequence[Message], *, behind: bool) -> None:
        """By the tables. ``behind``: right behind another of the same role."""
        role, scribe = message.role, self.scribe
        scribe.where = ("messages", index)
        if role is ASSISTANT:
            after = messages[index + 1] if index + 1 < len(messages) else None
            self.turn(message, behind=behind, goes_on=after is not None and after.role is ASSISTANT)
        elif role is TOOL:
            self.results(message)
        else:
            self.words(message)
        scribe.where = ()
        if message.extras:
            self.residue(message, index)

    def residue(self, message: Message, index: int) -> None:
        self.scribe.foreign(message, NAME, "messages", index)
        if message.role in (ASSISTANT, TOOL) and not is_blank(message.extras.get(NAME)):
            self.scribe.lose_form(
                "dropped", f"{NAME} has no item for the message itself", "messages", index, "extras", NAME
            )

    def reads_as_one(self, message: Message, before: int) -> bool:
        """Whether two turns of one role have no border on the wire: only messages that the assistant says do."""
        if message.role is ASSISTANT:
            last, first = self.items[before - 1], self.items[before]
            return "type" in first or not (is_spoken(last) and is_spoken(first))
        return message.role is TOOL

    def turn(self, message: Message, *, behind: bool, goes_on: bool) -> None:
        """An assistant turn. Reasoning goes with what it led to, or not at all.

        ``behind``: the turn before is one too; ``goes_on``: the next is.
        """
        scribe, where = self.scribe, self.scribe.where
        placed = list(speakable(message, NAME, scribe.reader, scribe))
        kept = {index for index, _ in placed}
        unreasoned = any(isinstance(b, _REASONING) for i, b in enumerate(message.content) if i not in kept)
        groups = grouped(placed)
        unreasoned = unreasoned or any(type(group[0][1]) is ThinkingBlock and not is_proved(group) for group in groups)
        said: list[tuple[Placed, Wire]] = []
        border = behind and is_spoken(self.items[-1])
        for group in groups:
            scribe.where = (*where, "content", group[0][0])
            if unreasoned:
                group = [(index, self.without_id(block)) for index, block in group]
            item = say_group(group, None, scribe, border=border and not said)
            if item is not None:
                said.append((group, item))
        while said and isinstance(head := said[-1][0][0][1], _REASONING) and "alone" not in item_marks(head):
            for index, _ in said.pop()[0]:
                scribe.where = (*where, "content", index)
                scribe.lose("dropped", f"{NAME} takes reasoning only before what it led to", weight="state")
        scribe.where = where
        if not said and goes_on:
            scribe.lose_form("dropped", f"an empty message has no item in {NAME}")
        elif not said:
            self.items.append({**({} if border else TYPED), "role": "assistant", "content": PLACEHOLDER})
            scribe.lose("added", f"{NAME} accepts no empty message; a placeholder was added", "content")
        self.items += [item for _, item in said]

    def without_id(self, block: Block) -> Block:
        """An item whose reasoning stays behind may not be known by its id: the provider would ask for both."""
        mine = block.extras.get(NAME, {})
        inner = mine.get("item", mine)
        if not isinstance(block, TextBlock | ToolUseBlock) or "id" not in inner:
            return block
        self.scribe.lose("dropped", f"{NAME} takes the id only after its reasoning", "extras", NAME, weight="state")
        left = {key: value for key, value in inner.items() if key not in ("id", "status")}
        residue = {**mine, "item": left} if inner is not mine else left
        return replace(block, extras={**block.extras, NAME: residue})

    def words(self, message: Message) -> None:
        """A message of the user's or the system's; what is no part of one is an item of its own."""
        scribe, where, start = self.scribe, self.scribe.where, len(self.items)
        run: list[tuple[int, Block]] = []
        owner: Message | None = message
        for index, block in enumerate(message.content):
            scribe.where = (*where, "content", index)
            if is_part(block, put_in=True) or not isinstance(block, _ITEMS):
                run.append((index, block))  # what has no word is lost where it stands
                continue
            owner = self.parts(run, message.role, owner, where)
            run = []
            scribe.where = (*where, "content", index)
            self.other(block)
        owner = self.parts(run, message.role, owner, where)
        scribe.where = where
        if owner is not None and (len(self.items) == start or "blank" in marks(NAME, message)):
            self.empty(message)

    def parts(self, run: Placed, role: Role | str, owner: Message | None, where: Where) -> Message | None:
        """One message of the parts so far. The first of a message has its marks and residue."""
        said: list[Wire] = []
        for index, block in run:
            self.scribe.where = (*where, "content", index)
            part = say_input(block, self.scribe)
            if part is not None:
                said.append(part)
        if not said:
            return owner
        forms = marks(NAME, owner) if owner is not None else {}
        wire = say_words(Role(role), said, [block for _, block in run], forms)
        self.items.append(own(NAME, wire, owner) if owner is not None else wire)
        return None

    def empty(self, message: Message) -> None:
        mark = marks(NAME, message)
        wire = own(NAME, say_words(Role(message.role), [], (), mark), message)
        if "content" not in wire and (message.content or mark.get("content") != "absent"):
            wire["content"] = [{"type": "input_text", "text": PLACEHOLDER}]
            self.scribe.lose("added", f"{NAME} accepts no empty message; a placeholder was added", "content")
        self.items.append(wire)

    def other(self, block: Block) -> None:
        if isinstance(block, ToolResultBlock):
            self.items.append(say_tool_result(block, self.scribe))
        elif isinstance(block, OpaqueBlock):
            self.silent(block)
        elif isinstance(block, ServerToolResultBlock):
            item = say_hosted_result(block, self.scribe)
            self.items += [item] if item is not None else []
        else:
            self.scribe.lose("dropped", f"{NAME} has no {block.type} blocks outside of assistant messages")

    def silent(self, block: OpaqueBlock) -> None:
        """An item that is carried whole. Added tools stand among the others and come back to it."""
        raw: Json = block.raw
        item: Wire = dict(raw) if is_object(raw) else {}
        if is_added(item):
            if not self.added:
                self.scribe.lose("dropped", "the tools that it added are not in this request")
                return
            item["tools"] = self.added.pop(0)
        self.items.append(item)

    def results(self, message: Message) -> None:
        scribe, where = self.scribe, self.scribe.where
        moved: list[tuple[int, Block]] = []
        for index, block in enumerate(message.content):
            scribe.where = (*where, "content", index)
            if is_part(block, put_in=True):
                moved.append((index, block))
                scribe.lose("moved", f"tool results of {NAME} stand alone; the rest went to a user message")
            else:
                self.other(block)
        self.parts(moved, USER, None, where)
        scribe.where = where


_REASONING = (ThinkingBlock, RedactedThinkingBlock)
_ITEMS = (ToolResultBlock, ServerToolResultBlock, OpaqueBlock)


def _stands_somewhere(block: Block) -> bool:
    mine = marks(NAME, block)
    return any(key in mine for key in NOT_MINE) or _is_item(block)


def _is_item(block: Block) -> bool:
    return type(block) is OpaqueBlock and not is_part(block, put_in=True)


def say_words(role: Role, said: list[Wire], blocks: Sequence[Block], forms: Wire) -> Wire:
    """A message of the user's or the system's: parts, or a string where it was one and still can be."""
    wire: Wire = {"type": "message"} if "type" in forms else {}
    wire["role"] = forms.get("role") or ("user" if role is USER else "developer")
    if forms.get("content") == "string" and len(said) == 1 and _is_plain_text(blocks):
        wire["content"] = said[0]["text"]
    elif said:
        wire["content"] = said
    return wire


def _is_plain_text(blocks: Sequence[Block]) -> bool:
    return len(blocks) == 1 and type(blocks[0]) is TextBlock and is_plain(replace(bare(blocks[0]), forms={}))


# ---------------------------------------------------------------------------------------------------------- results


def say_tool_result(block: ToolResultBlock, scribe: Scribe) -> Wire:
    mark = marks(NAME, block)
    id, free = scribe.answers(block.tool_use_id)
    tag = mark.get("tag", "custom_tool_call_output" if free else "function_call_output")
    wire: Wire = {"type": tag, "call_id": id}
    wire["output"] = say_output(block, scribe)
    if block.name is not None:
        if tag == "function_call_output":
            wire["name"] = block.name
        else:
            scribe.lose_form("dropped", f"a custom tool's output in {NAME} has no name", "name")
    if block.signature is not None:
        scribe.lose("dropped", f"tool results of {NAME} have no signature", "signature", weight="state")
    scribe.foreign(block, NAME)
    return own(NAME, wire, block)


def say_output(block: ToolResultBlock, scribe: Scribe) -> Json:
    """A string where one plain text says it all, else parts. There is no error flag: the text says it."""
    content = list(block.content)
    if block.is_error:
        content = _as_error(content, scribe)
    elif block.is_error is False:
        scribe.lose_form("dropped", NO_FLAG, "is_error")
    if block.cache is None and marks(NAME, block).get("output") != "list":
        if not content:
            return ""
        text = _as_text(content, scribe)
        if text:
            return text
    where, last = scribe.where, 0
    said: list[Wire] = []
    for index, inner in enumerate(content):
        scribe.where = (*where, "content", index)
        part = say_input(inner, scribe)
        if part is not None:
            said.append(part)
            last = index
    scribe.where = where
    if block.cache is not None:
        _move_cache(block.cache, said, last, scribe)
    return said if said or marks(NAME, block).get("output") == "list" else ""


def _as_text(content: list[Block], scribe: Scribe) -> str | None:
    if len(content) != 1:
        return None
    only = content[0]
    if type(only) is JsonBlock and not (only.cache or only.signature or only.extras):
        scribe.lose_form("approximated", f"{NAME} has no JSON here; sent as JSON text", "content", 0)
        return dump(only.value).decode()
    return only.text if type(only) is TextBlock and is_plain(only) else None


def _as_error(content: list[Block], scribe: Scribe) -> list[Block]:
    """Decoding never guesses it back."""
    scribe.lose("approximated", f"{NAME} has no error flag; the text begins with 'Error: '", "is_error")
    head: Any = content[0] if content else None
    if type(head) is TextBlock:
        scribe.lose("approximated", f"{NAME} has no error flag; the text begins with 'Error: '", "content", 0, "text")
        return [replace(head, text=f"Error: {head.text}"), *content[1:]]
    if content:
        scribe.lose("approximated", f"{NAME} has no error flag; the text begins with 'Error: '", "content")
    return [TextBlock("Error: "), *content]


def _move_cache(mark: CacheMark, said: list[Wire], last: int, scribe: Scribe) -> None:
    if said and CACHE.key not in said[-1]:
        INPUT.say_cache(mark, said[-1], scribe)
        scribe.lose_form("moved", f"{NAME} has cache marks on a result's parts", "cache")
        scribe.lose_form("added", f"{NAME} has cache marks on a result's parts", "content", last, "cache")
    else:
        scribe.lose("dropped", f"{NAME} takes cache marks on content parts only", "cache")

"""Tool results, each a ``tool`` message of its own on the wire; adjacent ones are one canonical message.

What a wire message keeps for itself is kept on its result block. Media cannot be said in a result and move to a user
message behind it. Marks on a result: ``content`` (``list``, ``parts`` or ``absent``), ``role`` (``function``), ``id``
(it had none), ``named``, ``place`` (it answers no call right before it, and stays there), ``verbatim`` (an odd id).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.history import scattered
from ...codec.ids import IdMap
from ...codec.tables import Ledger, kept, marks, own, take
from ...types.blocks import Block, JsonBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message
from ...types.words import Role
from .calls import quirky_id
from .content import read_content, say_content
from .parts import NAME, Wire, read_cache, say_cache, say_part
from .quirks import OPENAI, Quirks


def read_result(word: str, rest: Wire, messages: list[Message]) -> None:
    """One result; it joins the results right before it."""
    forms, blanks = Wire(), Wire()
    fields: dict[str, Any] = {"content": read_content(rest, forms, blanks), "name": take(rest, "name", blanks)}
    if "content" in blanks and blanks["content"] == "":
        del blanks["content"]
    if any(not isinstance(block, TextBlock) for block in fields["content"]):
        forms["content"] = "parts"
    if word == "function":
        forms["role"] = word
        fields["tool_use_id"] = _last_call(messages)
    elif isinstance(rest.get("tool_call_id"), str):
        fields["tool_use_id"] = rest.pop("tool_call_id")
    else:
        forms["id"] = rest.pop("tool_call_id", "absent")
        fields["tool_use_id"] = _last_call(messages)
    if not isinstance(fields["name"], str | None):
        rest["name"] = fields.pop("name")
    if fields.get("name") is not None and word == "tool":
        forms["named"] = True
    if fields["tool_use_id"] not in open_calls(messages):
        forms["place"] = "kept"
    if quirky_id(fields["tool_use_id"]):
        forms["verbatim"] = True
    cache = read_cache(rest)
    join(ToolResultBlock(**fields, cache=cache, **kept(NAME, rest, forms, blanks)), messages)


def join(block: ToolResultBlock, messages: list[Message]) -> None:
    if messages and messages[-1].role is Role.tool:
        messages[-1] = replace(messages[-1], content=(*messages[-1].content, block))
    else:
        messages.append(Message(Role.tool, (block,)))


def open_calls(messages: list[Message]) -> set[str]:
    """The calls of the turn that results standing here answer."""
    turn = next((message for message in reversed(messages) if message.role is not Role.tool), None)
    return {block.id for block in turn.content if isinstance(block, ToolUseBlock)} if turn is not None else set()


def _last_call(messages: list[Message]) -> str:
    for message in reversed(messages):
        for block in reversed(message.content):
            if isinstance(block, ToolUseBlock):
                return block.id
    return "call_0"


def homeless(messages: Sequence[Message]) -> dict[tuple[int, int], int]:
    """Results to be brought home, but for those that this dialect itself read where they are."""
    return {
        (at, place): home
        for (at, place), home in scattered(messages).items()
        if "place" not in marks(NAME, messages[at].content[place])
    }


def bring_home(
    message: Message, at: int, place: int, ids: IdMap, quirks: Quirks, moved: list[Wire], ledger: Ledger
) -> Wire:
    block = message.content[place]
    assert isinstance(block, ToolResultBlock)
    where = ledger.where
    ledger.where = ("messages", at, "content", place)
    ledger.lose("moved", f"{NAME} wants tool results right after the message that called")
    wire = say_result(block, ids, quirks, moved, ledger)
    ledger.where = where
    return wire


def say_results(
    message: Message, ids: IdMap, quirks: Quirks, moved: list[Wire], ledger: Ledger, skip: Sequence[int]
) -> list[Wire]:
    said: list[Wire] = []
    where = ledger.where
    for index, block in enumerate(message.content):
        if index in skip:
            continue
        ledger.where = (*where, "content", index)
        if isinstance(block, ToolResultBlock):
            said.append(say_result(block, ids, quirks, moved, ledger))
        else:
            wire = say_part(block, quirks, ledger)
            if wire is not None:
                moved.append(wire)
                ledger.lose("moved", f"a tool message of {NAME} holds results only; the rest went to a user message")
    ledger.where = where
    return said


def say_result(block: ToolResultBlock, ids: IdMap, quirks: Quirks, moved: list[Wire], ledger: Ledger) -> Wire:
    mark = marks(NAME, block)
    wire: Wire = {"role": mark.get("role", "tool")}
    if "id" in mark:
        wire |= {} if mark["id"] == "absent" else {"tool_call_id": mark["id"]}
    elif wire["role"] == "tool":
        verbatim = "verbatim" in mark and ids.rule is OPENAI.ids
        wire["tool_call_id"] = block.tool_use_id if verbatim else ids.fit(block.tool_use_id)
        if wire["tool_call_id"] != block.tool_use_id:
            ledger.lose_form("approximated", "this server takes other ids; one was derived", "tool_use_id")
    if block.name is not None:
        if "named" in mark or wire["role"] == "function":
            wire["name"] = block.name
        else:
            ledger.lose_form("dropped", f"a tool message of {NAME} has no name", "name")
    wire |= say_result_content(block, mark, quirks, moved, ledger)
    say_cache(block.cache, wire, quirks, ledger, here=False)
    if block.signature is not None:
        ledger.lose("dropped", f"tool results of {NAME} have no signature", "signature", weight="state")
    ledger.foreign(block, NAME)
    own(NAME, wire, block)
    if "content" not in wire and mark.get("content") != "absent":
        wire["content"] = ""
    return wire


def say_result_content(block: ToolResultBlock, mark: Wire, quirks: Quirks, moved: list[Wire], ledger: Ledger) -> Wire:
    where, texts = ledger.where, list[tuple[int, Block]]()
    for index, inner in enumerate(block.content):
        ledger.where = (*where, "content", index)
        if isinstance(inner, TextBlock | JsonBlock) or mark.get("content") == "parts":
            texts.append((index, inner))
        elif (wire := say_part(inner, quirks, ledger)) is not None:
            moved.append(wire)
            ledger.lose("moved", f"a tool result of {NAME} is text; media were sent in a user message after it")
    ledger.where = where
    if block.is_error:
        texts = _as_error(texts, ledger)
    elif block.is_error is False:
        ledger.lose_form("dropped", f"{NAME} has no error flag; false says the same as none", "is_error")
    return say_content(texts, (*where, "content"), mark, quirks, ledger)


def _as_error(texts: list[tuple[int, Block]], ledger: Ledger) -> list[tuple[int, Block]]:
    """There is no flag, so the text says it. Decoding never guesses it back."""
    ledger.lose("approximated", f"{NAME} has no error flag; the text begins with 'Error: '", "is_error")
    index, head = texts[0] if texts else (0, None)
    if isinstance(head, TextBlock):
        ledger.lose("approximated", f"{NAME} has no error flag; the text begins with 'Error: '", "content", index)
        return [(index, replace(head, text=f"Error: {head.text}")), *texts[1:]]
    return [(0, TextBlock("Error: ")), *texts]

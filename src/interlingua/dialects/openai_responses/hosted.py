"""Items of tools that the provider runs or defines: web search, file search, code, shell, patches, MCP, programs.

A call is a ``ServerToolUseBlock``; what it found is a ``ServerToolResultBlock``, marked ``joined`` where both are one
item. What the table does not know is carried whole. Marks: ``absent`` (a status we would write), ``id`` (the item's own
stands for a call's), ``tag`` (the tool has a name of its own), ``text`` (arguments as the model wrote them), ``format``
(of a picture, though it is the usual one).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...arguments import read_arguments, write_arguments
from ...types.base import Json
from ...types.blocks import (
    Base64Source,
    Block,
    ImageBlock,
    OpaqueBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
)
from .._tables import Ledger, kept, marks, own
from .parts import NAME, Wire


class Call(NamedTuple):
    """How one item says a call: ``object`` is the key whose object is the input, ``keys`` are its single fields."""

    tag: str
    name: str
    id: str = "call_id"
    object: str | None = None
    keys: tuple[str, ...] = ()
    result: str | None = None
    """The key under which the same item says what was found."""
    client: bool = False
    """The caller has to run it and to answer."""


class Result(NamedTuple):
    tag: str
    name: str
    content: str
    id: str = "call_id"


CALLS = (
    # wire tag                canonical name     id        object       keys                             result
    Call("web_search_call", "web_search", "id", "action"),
    Call("file_search_call", "file_search", "id", None, ("queries",), "results"),
    Call("code_interpreter_call", "code_interpreter", "id", None, ("code", "container_id"), "outputs"),
    Call("mcp_call", "mcp", "id", None, (), "output"),
    Call("computer_call", "computer", "call_id", None, ("action", "actions", "pending_safety_checks"), client=True),
    Call("shell_call", "shell", "call_id", "action", client=True),
    Call("local_shell_call", "local_shell", "call_id", "action", client=True),
    Call("apply_patch_call", "apply_patch", "call_id", "operation", client=True),
    Call("tool_search_call", "tool_search", "call_id", "arguments", client=True),
    Call("program", "program", "call_id", None, ("code",)),
)
RESULTS = (
    Result("computer_call_output", "computer", "output"),
    Result("shell_call_output", "shell", "output"),
    Result("local_shell_call_output", "local_shell", "output", "id"),
    Result("apply_patch_call_output", "apply_patch", "output"),
    Result("tool_search_output", "tool_search", "tools"),
    Result("program_output", "program", "result"),
)
CALLS_BY_TAG = {call.tag: call for call in CALLS}
CALLS_BY_NAME = {call.name: call for call in CALLS if call.name != "mcp"}
RESULTS_BY_TAG = {result.tag: result for result in RESULTS}
RESULTS_BY_NAME = {result.name: result for result in RESULTS}
IMAGE = "image_generation_call"
JOINED: Wire = {"joined": True}


def read_hosted(item: Wire, place: int | None) -> list[Block]:
    """The blocks of an item that is neither a message, nor reasoning, nor a call of the caller's tools."""
    tag = item.get("type")
    try:
        if tag in CALLS_BY_TAG:
            return read_call(dict(item), CALLS_BY_TAG[tag])
        if tag in RESULTS_BY_TAG:
            return [read_result(dict(item), RESULTS_BY_TAG[tag])]
        if tag == IMAGE and isinstance(item.get("result"), str) and item["result"]:
            return [read_image(dict(item), place)]
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    return [OpaqueBlock(NAME, item)]


def read_call(rest: Wire, row: Call) -> list[Block]:
    forms: Wire = {}
    del rest["type"]
    name, id = row.name, _read_id(rest, row, forms)
    if row.tag == "mcp_call":
        name, forms["tag"] = rest.pop("name"), row.tag
        input = _read_text(rest, forms)
    elif row.object is not None:
        input = rest[row.object]
        if type(input) is not dict:
            raise TypeError
        del rest[row.object]
    else:
        input = {key: rest.pop(key) for key in row.keys if key in rest}
    found = _read_found(rest, row, id, name)
    _read_status(rest, forms)
    return [ServerToolUseBlock(id, name, input, NAME, **kept(NAME, rest, forms, {})), *found]


def _read_id(rest: Wire, row: Call, forms: Wire) -> str:
    """The id that a result answers to; a call that the provider answers itself may have none but the item's."""
    key = row.id
    if rest.get(key) is None:
        key = forms["id"] = "id"
    if not isinstance(rest[key], str):
        raise TypeError
    id: str = rest.pop(key)
    return id


def _read_text(rest: Wire, forms: Wire) -> dict[str, Any]:
    input, text = read_arguments(rest.pop("arguments"))
    if text is not None:
        forms["text"] = text
    return input


def _read_found(rest: Wire, row: Call, id: str, name: str) -> list[Block]:
    for key, failed in ((row.result, None), ("error", True)):
        if key is not None and row.result is not None and rest.get(key) is not None:
            content = rest.pop(key)
            return [ServerToolResultBlock(id, name, content, NAME, failed, forms={NAME: JOINED})]
    return []


def _read_status(rest: Wire, forms: Wire) -> None:
    if rest.get("status") == "completed":
        del rest["status"]
    elif "status" not in rest:
        forms["absent"] = ["status"]


def read_result(rest: Wire, row: Result) -> Block:
    del rest["type"]
    if rest.get(row.id) is None:
        raise KeyError(row.id)
    fields: dict[str, Any] = {"tool_use_id": rest.pop(row.id), "name": row.name, "dialect": NAME}
    fields["content"] = rest.pop(row.content, None)
    return ServerToolResultBlock(**fields, **kept(NAME, rest, {}, {}))


def read_image(rest: Wire, place: int | None) -> Block:
    """A picture the model made. Everything else of the item is residue."""
    forms: Wire = {}
    del rest["type"]
    if rest.get("output_format") == "png":
        forms["format"] = "png"
    kind = rest.pop("output_format", "png")
    if rest.get("id") == f"ig_{place}":
        del rest["id"]
    source = Base64Source(f"image/{kind}", rest.pop("result"))
    _read_status(rest, forms)
    return ImageBlock(source, **kept(NAME, rest, forms, {}))


# ---------------------------------------------------------------------------------------------------------- writing


def say_call(block: ServerToolUseBlock, found: ServerToolResultBlock | None, ledger: Ledger) -> Wire | None:
    """A call, with what it found where both are one item."""
    mark = marks(NAME, block)
    row = CALLS_BY_TAG.get(mark.get("tag", "")) or CALLS_BY_NAME.get(block.name)
    if block.dialect not in ("", NAME) or row is None:
        ledger.lose("dropped", f"only {block.dialect or 'its issuer'} runs this tool")
        return None
    wire: Wire = {"type": row.tag, mark.get("id", row.id): block.id}
    if row.tag == "mcp_call":
        wire |= {"name": block.name, "arguments": write_arguments(block.input, mark.get("text"))}
    elif row.object is not None:
        wire[row.object] = block.input
    else:
        wire |= block.input
    if row.result is not None and found is not None:
        wire["error" if found.is_error else row.result] = found.content
    _attributes(block, ledger)
    own(NAME, wire, block)
    _say_status(wire, mark)
    return wire


def _say_status(wire: Wire, mark: Wire) -> None:
    if "status" not in mark.get("absent", ()):
        wire.setdefault("status", "completed")


def _attributes(block: Block, ledger: Ledger) -> None:
    if block.signature is not None:
        ledger.lose("dropped", f"{NAME} does not sign {block.type} blocks", "signature")
    if block.cache is not None:
        ledger.lose("dropped", "cache marks stand on what is put in", "cache")
    ledger.foreign(block, NAME)


def say_result(block: ServerToolResultBlock, ledger: Ledger) -> Wire | None:
    row = RESULTS_BY_NAME.get(block.name)
    if block.dialect not in ("", NAME) or row is None:
        ledger.lose("dropped", f"only {block.dialect or 'its issuer'} ran this tool")
        return None
    wire: Wire = {"type": row.tag, row.id: block.tool_use_id}
    if block.content is not None:
        wire[row.content] = block.content
    if block.is_error is not None:
        ledger.lose("dropped", f"{NAME} has no error flag", "is_error")
    _attributes(block, ledger)
    return own(NAME, wire, block)


def say_image(block: ImageBlock, place: int | None, ledger: Ledger) -> Wire | None:
    """A picture the model made; without an id of the issuer's it can be said in an answer only."""
    residue = block.extras.get(NAME, {})
    if not isinstance(block.source, Base64Source) or (place is None and "id" not in residue):
        ledger.lose("dropped", "the assistant's own pictures are known by their ids")
        return None
    kind = block.source.media_type.removeprefix("image/")
    wire: Wire = {"type": IMAGE, "result": block.source.data}
    if kind != "png" or "format" in marks(NAME, block):
        wire["output_format"] = kind
    if block.detail is not None:
        ledger.lose("dropped", "a picture of the model's has no detail", "detail")
    _attributes(block, ledger)
    own(NAME, wire, block)
    if place is not None:
        wire.setdefault("id", f"ig_{place}")
    _say_status(wire, marks(NAME, block))
    return wire


def waits_for_caller(block: Block, answered: set[str]) -> bool:
    """A call that the caller has to run: the answer ends in it, as in any tool call."""
    if type(block) is not ServerToolUseBlock or block.dialect != NAME or block.id in answered:
        return False
    row = CALLS_BY_NAME.get(block.name)
    return row is not None and row.client and block.extras.get(NAME, {}).get("execution") != "server"

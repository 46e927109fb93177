"""Items of tools that the provider runs or defines: web search, file search, code, shell, patches, MCP, programs.

``web_search_call`` is a ``ServerToolUseBlock`` named ``web_search``: its input is what the item says of the call. What
a call found is a ``ServerToolResultBlock``, marked ``joined`` where both are one item. A picture the model made is an
``ImageBlock``. Other items are carried whole. Marks: ``absent`` (a status we would write), ``id`` (which id stands for
the call where it is not the usual one), ``tag`` and ``text`` (of an MCP call: the tool has a name of its own, and
arguments as the model wrote them), ``format`` (of a picture, though it is the usual one).
"""

from __future__ import annotations

from typing import Any

from ...codec.arguments import read_arguments, write_arguments
from ...codec.tables import Ledger, kept, marks, own
from ...types.base import Json
from ...types.blocks import (
    Base64Source,
    Block,
    ImageBlock,
    OpaqueBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
)
from .wire import NAME, NO_FLAG, Wire, take_text

# By canonical name; what is not here is "<name>_call", has an "id", and says what it found in an item of its own.
TAGS = {"program": "program"}
CALL_IDS = ("computer", "shell", "local_shell", "apply_patch", "tool_search", "program")
FOUND = {"file_search": "results", "code_interpreter": "outputs"}
OUTPUT_TAGS = {"tool_search": "tool_search_output", "program": "program_output"}
OUTPUT_KEYS = {"tool_search": "tools", "program": "result"}
CLIENT = ("computer", "shell", "local_shell", "apply_patch", "tool_search")
"""The caller has to run these and to answer, unless the item says that the provider does."""

NAMES = {tag: name for name, tag in TAGS.items()}
OUTPUT_NAMES = {tag: name for name, tag in OUTPUT_TAGS.items()}
MCP, IMAGE = "mcp_call", "image_generation_call"
MCP_KEYS = ("output", "error")
NOT_INPUT = ("id", "call_id", "status", "created_by")
JOINED: Wire = {"joined": True}


def call_tag(name: str) -> str:
    return TAGS.get(name, f"{name}_call")


def output_tag(name: str) -> str:
    return OUTPUT_TAGS.get(name, f"{name}_call_output")


def id_key(name: str) -> str:
    return "call_id" if name in CALL_IDS else "id"


def read_hosted(item: Wire, place: int | None) -> list[Block]:
    """The blocks of an item that is neither a message, nor reasoning, nor a call of the caller's tools."""
    tag: Json = item.get("type")
    try:
        if tag == MCP:
            return read_mcp(dict(item))
        if tag == IMAGE and isinstance(item.get("result"), str) and item["result"]:
            return [read_image(dict(item), place)]
        if tag in OUTPUT_NAMES or tag.endswith("_call_output"):
            return [read_output(dict(item), OUTPUT_NAMES.get(tag) or tag.removesuffix("_call_output"))]
        if tag in NAMES or tag.endswith("_call"):
            return read_call(dict(item), NAMES.get(tag) or tag.removesuffix("_call"))
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    return [OpaqueBlock(NAME, item)]


def read_call(rest: Wire, name: str) -> list[Block]:
    forms: Wire = {}
    del rest["type"]
    id = _read_id(rest, id_key(name), forms)
    found = FOUND.get(name)
    content = rest.pop(found) if found is not None and rest.get(found) is not None else None
    input = {key: rest.pop(key) for key in [*rest] if key not in NOT_INPUT and key != found}
    _read_status(rest, forms)
    call = ServerToolUseBlock(id, name, input, NAME, **kept(NAME, rest, forms, {}))
    if content is None:
        return [call]
    return [call, ServerToolResultBlock(id, name, content, NAME, forms={NAME: JOINED})]


def _read_id(rest: Wire, key: str, forms: Wire) -> str:
    """The id that a result answers to; an item of either kind may have only the other."""
    if not isinstance(rest.get(key), str) or not rest[key]:
        key = forms["id"] = "id" if key == "call_id" else "call_id"
    if not isinstance(rest[key], str):
        raise TypeError(key)
    id: str = rest.pop(key)
    return id


def _read_status(rest: Wire, forms: Wire) -> None:
    if rest.get("status") == "completed":
        del rest["status"]
    elif "status" not in rest:
        forms["absent"] = ["status"]


def read_mcp(rest: Wire) -> list[Block]:
    """A call of a tool that an MCP server has: its name and arguments are like any other's."""
    forms: Wire = {"tag": MCP}
    del rest["type"]
    id, name = take_text(rest, "id"), take_text(rest, "name")
    input, text = read_arguments(take_text(rest, "arguments"))
    if text is not None:
        forms["text"] = text
    found = next((key for key in MCP_KEYS if rest.get(key) is not None), None)
    content = rest.pop(found) if found is not None else None
    _read_status(rest, forms)
    call = ServerToolUseBlock(id, name, input, NAME, **kept(NAME, rest, forms, {}))
    if found is None:
        return [call]
    failed = True if found == "error" else None
    return [call, ServerToolResultBlock(id, name, content, NAME, failed, forms={NAME: JOINED})]


def read_output(rest: Wire, name: str) -> Block:
    forms: Wire = {}
    del rest["type"]
    fields: dict[str, Any] = {"tool_use_id": _read_id(rest, "call_id", forms), "name": name, "dialect": NAME}
    fields["content"] = rest.pop(OUTPUT_KEYS.get(name, "output"), None)
    return ServerToolResultBlock(**fields, **kept(NAME, rest, forms, {}))


def read_image(rest: Wire, place: int | None) -> Block:
    """Everything but the picture itself is residue."""
    forms: Wire = {}
    del rest["type"]
    if rest.get("output_format") == "png":
        forms["format"] = "png"
    kind = rest.pop("output_format", "png")
    source = Base64Source(f"image/{kind}", rest.pop("result"))
    _read_status(rest, forms)
    if place is not None and "id" not in rest:
        forms.setdefault("absent", []).append("id")
    elif rest.get("id") == f"ig_{place}":
        del rest["id"]
    return ImageBlock(source, **kept(NAME, rest, forms, {}))


# ---------------------------------------------------------------------------------------------------------- writing


def say_call(block: ServerToolUseBlock, found: ServerToolResultBlock | None, ledger: Ledger) -> Wire | None:
    """A call, with what it found where both are one item."""
    if not _ours(block, ledger):
        return None
    mark, name = marks(NAME, block), block.name
    if mark.get("tag") == MCP:
        wire: Wire = {"type": MCP, "id": block.id, "name": name}
        wire["arguments"] = write_arguments(block.input, mark.get("text"))
        key = MCP_KEYS[1] if found is not None and found.is_error else MCP_KEYS[0]
    else:
        wire = {"type": call_tag(name), mark.get("id") or id_key(name): block.id, **_say_input(block, ledger)}
        key = FOUND.get(name, "results")
    if found is not None:
        wire[key] = found.content
    _attributes(block, ledger)
    own(NAME, wire, block)
    _say_status(wire, mark)
    return wire


def _say_input(block: ServerToolUseBlock, ledger: Ledger) -> Wire:
    """The input stands beside what the item says of itself."""
    taken = [key for key in ("type", *NOT_INPUT, FOUND.get(block.name, "type")) if key in block.input]
    for key in taken:
        ledger.lose("dropped", f"the item of {NAME} has a field of this name itself", "input", key)
    return {key: value for key, value in block.input.items() if key not in taken} if taken else block.input


def declare_found(call: ServerToolUseBlock, found: ServerToolResultBlock, ledger: Ledger) -> None:
    """A result that is said inside its call's item has no id or name of its own."""
    for field, value in (("tool_use_id", call.id), ("name", call.name)):
        if getattr(found, field) != value:
            ledger.lose_form("dropped", f"{NAME} has the result inside the item of its call", field)
    if found.is_error is False or (found.is_error and marks(NAME, call).get("tag") != MCP):
        ledger.lose("dropped", NO_FLAG, "is_error", weight="content" if found.is_error else "form")
    _attributes(found, ledger)


def _ours(block: ServerToolUseBlock | ServerToolResultBlock, ledger: Ledger) -> bool:
    if block.dialect in ("", NAME):
        return True
    ledger.lose("dropped", f"the call of a hosted tool of {block.dialect} that is not translated to {NAME}")
    return False


def _say_status(wire: Wire, mark: Wire) -> None:
    if "status" not in mark.get("absent", ()):
        wire.setdefault("status", "completed")


def _attributes(block: Block, ledger: Ledger) -> None:
    if block.signature is not None:
        ledger.lose("dropped", f"{block.type} blocks of {NAME} have no signature", "signature", weight="state")
    if block.cache is not None:
        ledger.lose("dropped", f"{NAME} takes cache marks on input parts only", "cache")
    ledger.foreign(block, NAME)


def say_result(block: ServerToolResultBlock, ledger: Ledger) -> Wire | None:
    if not _ours(block, ledger):
        return None
    wire: Wire = {"type": output_tag(block.name), marks(NAME, block).get("id", "call_id"): block.tool_use_id}
    if block.content is not None:
        wire[OUTPUT_KEYS.get(block.name, "output")] = block.content
    if block.is_error is not None:
        ledger.lose("dropped", NO_FLAG, "is_error", weight="content" if block.is_error else "form")
    _attributes(block, ledger)
    return own(NAME, wire, block)


def say_image(block: ImageBlock, place: int | None, ledger: Ledger) -> Wire | None:
    """Without an id of the issuer's, a picture can be said in an answer only."""
    residue, mark = block.extras.get(NAME, {}), marks(NAME, block)
    if not isinstance(block.source, Base64Source) or (place is None and "id" not in residue):
        ledger.lose("dropped", f"an assistant's image in {NAME} needs its issuer's id", weight="state")
        return None
    kind = block.source.media_type.removeprefix("image/")
    wire: Wire = {"type": IMAGE, "result": block.source.data}
    if kind != "png" or "format" in mark:
        wire["output_format"] = kind
    if block.detail is not None:
        ledger.lose("dropped", f"an assistant's image in {NAME} has no `detail`", "detail")
    ledger.foreign(block.source, NAME, "source")
    _attributes(block, ledger)
    own(NAME, wire, block)
    if place is not None and "id" not in mark.get("absent", ()):
        wire.setdefault("id", f"ig_{place}")
    _say_status(wire, mark)
    return wire


def waits_for_caller(block: Block, answered: set[str]) -> bool:
    """A call that the caller has to run: the answer ends in it, as in any tool call."""
    return (
        type(block) is ServerToolUseBlock
        and block.dialect == NAME
        and block.name in CLIENT
        and block.id not in answered
        and block.input.get("execution") != "server"
    )

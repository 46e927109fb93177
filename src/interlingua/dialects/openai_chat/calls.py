"""Tool calls: an entry of ``tool_calls``, or the ``function_call`` of older clients.

Marks on a call: ``id`` (it had none: ours is never sent), ``type`` (absent or odd), ``arguments`` (they were an object,
null or absent), ``verbatim`` (an id that OpenAI would refuse), ``index`` (a whole answer numbered its calls),
``legacy`` (it was a ``function_call``).
"""

from __future__ import annotations

import re
from typing import Any

from ...codec.arguments import read_arguments, write_arguments
from ...codec.ids import IdMap
from ...codec.json import is_object
from ...codec.tables import Ledger, kept, marks, own
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, ToolUseBlock
from .parts import NAME, Wire
from .quirks import OPENAI

OURS = re.compile(r"call_\d+(?:_\d+)?")  # an id that stands for none; an edited one is sent


def is_derived(block: ToolUseBlock) -> bool:
    """The wire had no id for this call; ours is never sent."""
    mark = marks(NAME, block)
    return "id" in mark or "legacy" in mark


def quirky_id(id: str) -> bool:
    """An id that OpenAI itself would refuse; read here, it is written here."""
    return OPENAI.ids.pattern.fullmatch(id) is None


def read_call(wire: Json, index: int, position: int) -> Block:
    """One call. ``index`` is its place among the blocks, of which a missing id is made, ``position`` among calls."""
    if not is_object(wire):
        return OpaqueBlock(NAME, {"tool_call": wire})
    rest = dict(wire)
    forms: Wire = {}
    kind = rest.pop("type", "absent")
    if kind == "custom" and isinstance(rest.get("custom"), dict):
        fields = _read_custom(rest)
    elif isinstance(rest.get("function"), dict) and isinstance(rest["function"].get("name"), str):
        fields = _read_function(rest, forms)
        if kind != "function":
            forms["type"] = kind
    else:
        return OpaqueBlock(NAME, {"tool_call": wire})
    fields["id"] = _read_id(rest, forms, index)
    if quirky_id(fields["id"]):
        forms["verbatim"] = True
    if "index" in rest and rest["index"] == position:
        forms["index"] = rest.pop("index")
    return ToolUseBlock(**fields, **kept(NAME, rest, forms, {}))


def _read_id(rest: Wire, forms: Wire, index: int) -> str:
    found = rest.pop("id", "absent") if "id" in rest else "absent"
    if isinstance(found, str) and found and found != "absent":
        return found
    forms["id"] = found
    return f"call_{index}"


def _read_custom(rest: Wire) -> dict[str, Any]:
    inner = dict(rest.pop("custom"))
    fields = {"name": inner.pop("name"), "kind": "text", "input_text": inner.pop("input", "")}
    if inner:
        rest["custom"] = inner
    return fields


def _read_function(rest: Wire, forms: Wire) -> dict[str, Any]:
    inner = dict(rest.pop("function"))
    fields = {"name": inner.pop("name"), **_read_input(inner, forms)}
    if inner:
        rest["function"] = inner
    return fields


def _read_input(inner: Wire, forms: Wire) -> dict[str, Any]:
    arguments = inner.pop("arguments", "absent") if "arguments" in inner else None
    if isinstance(arguments, str):
        input, text = read_arguments(arguments)
        return {"input": input, "input_text": text}
    if isinstance(arguments, dict):
        forms["arguments"] = "object"
        return {"input": arguments}
    forms["arguments"] = "absent" if arguments is None and "arguments" not in inner else arguments
    return {}


def say_call(block: ToolUseBlock, ids: IdMap, ledger: Ledger) -> Wire:
    mark = marks(NAME, block)
    wire: Wire = {}
    _say_id(block, mark, wire, ids, ledger)
    if block.kind == "text":
        wire |= {"type": "custom", "custom": {"name": block.name, "input": block.input_text or ""}}
    else:
        wire |= {"type": mark.get("type", "function"), "function": {"name": block.name, **say_input(block, mark)}}
        if wire["type"] == "absent":
            del wire["type"]
    if "index" in mark:
        wire["index"] = mark["index"]
    _attributes(block, ledger)
    return own(NAME, wire, block)


def _say_id(block: ToolUseBlock, mark: Wire, wire: Wire, ids: IdMap, ledger: Ledger) -> None:
    if "id" in mark and OURS.fullmatch(block.id):
        if mark["id"] != "absent":
            wire["id"] = mark["id"]
        return
    wire["id"] = block.id if "verbatim" in mark and ids.rule is OPENAI.ids else ids.fit(block.id)
    if wire["id"] != block.id:
        ledger.lose_form("approximated", "this server takes other ids; one was derived", "id")


def _attributes(block: ToolUseBlock, ledger: Ledger) -> None:
    ledger.foreign(block, NAME)
    if block.signature is not None:
        ledger.lose("dropped", f"calls of {NAME} have no signature", "signature", weight="state")
    if block.cache is not None:
        ledger.lose("dropped", f"{NAME} takes cache marks on content parts only", "cache")


def say_input(block: ToolUseBlock, mark: Wire) -> Wire:
    form = mark.get("arguments", "text")
    if form == "object":
        return {"arguments": block.input}
    if form != "text" and not block.input:
        return {} if form == "absent" else {"arguments": form}
    return {"arguments": write_arguments(block.input, block.input_text)}


def read_legacy_call(wire: Wire, index: int) -> ToolUseBlock:
    rest, forms = dict(wire), Wire({"legacy": True})
    fields = {"name": rest.pop("name"), **_read_input(rest, forms)}
    return ToolUseBlock(id=f"call_{index}", **fields, **kept(NAME, rest, forms, {}))


def say_legacy_call(block: ToolUseBlock, ledger: Ledger) -> Wire:
    _attributes(block, ledger)
    if not OURS.fullmatch(block.id):
        ledger.lose_form("dropped", f"a legacy `function_call` of {NAME} has no id", "id")
    return own(NAME, {"name": block.name, **say_input(block, marks(NAME, block))}, block)

"""Tools. The server parses their schemas into a narrow type and drops the rest, so they are projected into it first.

Marks: ``type`` (none, or another), ``schema`` (it was not in the subset, and is written back as it came), ``absent``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...codec.json import is_object
from ...codec.schemas import Plan, say_changed
from ...codec.tables import Ledger, kept, marks, own
from ...types.base import Json
from ...types.tools import ServerTool, Tool, ToolChoice, ToolDefinition
from . import usual
from .blocks import NAME, Wire, take_typed
from .schemas import PLANS, is_ours

FREE_TEXT_SCHEMA: Wire = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def read_tool(wire: Json) -> Tool:
    if is_object(wire) and (tool := usual.read_tool(wire)) is not None:
        return tool
    if not is_object(wire) or wire.get("type", "function") != "function" or not is_object(wire.get("function")):
        return ServerTool(NAME, wire)
    inner: Wire = wire["function"]
    if type(inner.get("name")) is not str or not is_object(inner.get("parameters", {})):
        return ServerTool(NAME, wire)
    function, forms, blanks, empty = dict(inner), Wire(), Wire(), Wire()
    fields: dict[str, Any] = {"name": function.pop("name")}
    if type(function.get("description")) is str:
        fields["description"] = function.pop("description")
    else:
        take_typed(function, "description", str, empty)
    if "type" not in wire:
        forms["absent"] = ["type"]
    if "parameters" not in function:
        forms.setdefault("absent", []).append("parameters")
    fields["input_schema"] = function.pop("parameters", {})
    if not is_ours(fields["name"], fields["input_schema"]):
        forms["schema"] = "verbatim"
    if empty:
        blanks["function"] = empty
    rest = {key: value for key, value in wire.items() if key not in ("type", "function")}
    if function:
        rest["function"] = function
    return ToolDefinition(**fields, **kept(NAME, rest, forms, blanks))


def encode_tools(tools: Sequence[Tool], ledger: Ledger) -> list[Wire]:
    plans = PLANS.of(tools)
    if (usually := usual.say_tools(tools, plans, ledger.losses)) is not None:
        return usually
    said: list[Wire] = []
    for index, tool in enumerate(tools):
        ledger.where = ("tools", index)
        if isinstance(tool, ToolDefinition):
            said.append(say_tool(tool, plans[index], ledger))
        elif tool.dialect == NAME:
            said.append(tool.raw)
        else:
            ledger.lose("dropped", f"a hosted tool of {tool.dialect} that is not translated to {NAME}")
    ledger.where = ()
    return said


def say_tool(tool: ToolDefinition, plan: Plan, ledger: Ledger) -> Wire:
    absent = marks(NAME, tool).get("absent", ())
    function: Wire = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.input_schema or "parameters" not in absent:
        function["parameters"] = say_schema(tool, plan, ledger)
    for word in ("strict", "cache"):
        if getattr(tool, word) is not None:
            ledger.lose(
                "dropped",
                f"tools of {NAME} have no `{word}`",
                word,
                weight="content" if getattr(tool, word) else "form",
            )
    ledger.foreign(tool, NAME)
    wire: Wire = {"function": function} if "type" in absent else {"type": "function", "function": function}
    return own(NAME, wire, tool)


def say_schema(tool: ToolDefinition, plan: Plan, ledger: Ledger) -> Wire:
    if tool.kind == "text":
        ledger.lose("approximated", f"{NAME} has no free-text tools; sent as a function with one string", "kind")
        ledger.lose("added", f"{NAME} has no free-text tools; sent as a function with one string", "input_schema")
        return FREE_TEXT_SCHEMA
    if marks(NAME, tool).get("schema") == "verbatim":
        return tool.input_schema
    if plan.change is None:
        return tool.input_schema
    ledger.losses += plan.losses
    return say_changed(tool.input_schema, plan.change)


def lose_choice(choice: ToolChoice, ledger: Ledger) -> None:
    """The model always decides: there is no word for any choice."""
    ledger.lose(
        "dropped",
        f"{NAME} has no tool choice",
        "tool_choice",
        weight="form" if choice == ToolChoice.auto() else "content",
    )

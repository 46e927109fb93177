"""``toolConfig``: definitions, built-in tools, cache points behind them, and the choice.

There is no word for "no tool": the tools are withheld then, unless the history holds calls, which need definitions.
Marks: ``schema`` (``verbatim``) and ``verbatim`` on a definition, ``alone`` and ``verbatim`` on a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...codec.history import stub_tools
from ...codec.schemas import is_strict_form, say_strict
from ...codec.tables import Ledger, Words, keep, kept, marks, own, take
from ...types.base import Json
from ...types.blocks import ToolResultBlock, ToolUseBlock
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import ServerTool, Tool, ToolChoice, ToolDefinition
from .blocks import BLOCKS, CACHE, fit_tool_name, gather, scatter
from .names import NAME, TOOL_NAME, Scribe
from .usual import say_tool as say_usual
from .wire import Wire, is_array, is_object, leave, opened, pop_text, take_text

CHOICES = Words([("auto", "auto"), ("any", "any"), ("tool", "specific")])
FREE_TEXT_SCHEMA: Wire = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def read_tools(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    wire = rest.get("toolConfig")
    if not is_object(wire):
        return
    config, empty = opened(rest, "toolConfig"), Wire()
    tools = take(config, "tools", empty)
    if is_array(tools):
        fields["tools"] = tuple(map(read_tool, gather(tools)))
    elif tools is not None:
        config["tools"] = tools
    choice = config.get("toolChoice")
    tag = next(iter(choice), "") if is_object(choice) else ""
    if is_object(choice) and tag in CHOICES.read and is_object(choice[tag]):
        fields["tool_choice"] = read_choice(config.pop("toolChoice"), alone="tools" not in fields)
    leave(rest, "toolConfig", config)
    if empty or not wire:
        blanks["toolConfig"] = empty


def read_tool(wire: Json) -> Tool:
    try:
        return _definition(wire)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ServerTool(NAME, wire)


def _definition(wire: Wire) -> ToolDefinition:
    rest, forms, blanks = dict(wire), Wire(), Wire()
    spec = opened(rest, "toolSpec")
    schema = opened(spec, "inputSchema")
    name, json = pop_text(spec, "name"), opened(schema, "json")
    if not TOOL_NAME.fullmatch(name):
        forms["verbatim"] = True
    leave(spec, "inputSchema", schema)
    description, strict = take_text(spec, "description", blanks), take(spec, "strict", blanks)
    if strict is not None and type(strict) is not bool:
        raise TypeError("strict")
    if json.get("type") != "object" or (strict and not is_strict_form(json, NAME)):
        forms["schema"] = "verbatim"
    mark = CACHE.read(rest[CACHE.key]) if CACHE.key in rest else None
    if mark is not None:
        del rest[CACHE.key]
    leave(rest, "toolSpec", spec)
    extras, marked = keep(NAME, rest, forms, {"toolSpec": blanks} if blanks else {})
    return ToolDefinition(name, description, json, None, strict, mark, extras=extras, forms=marked)


def read_choice(wire: Wire, *, alone: bool) -> ToolChoice:
    rest, forms = dict(wire), Wire()
    tag = next(iter(rest))
    fields: dict[str, Any] = {"mode": CHOICES.read[tag]}
    inner = opened(rest, tag)
    if tag == "tool" and isinstance(inner.get("name"), str):
        fields["name"] = inner.pop("name")
        if not TOOL_NAME.fullmatch(fields["name"]):
            forms["verbatim"] = True
    leave(rest, tag, inner)
    if alone:
        forms["alone"] = True
    return ToolChoice(**fields, **kept(NAME, rest, forms, {}))


def say_tools(request: Request, mark: Wire, ledger: Scribe) -> Wire:
    """The whole of ``toolConfig``, or nothing."""
    history = speaks_of_tools(request.messages)
    choice = request.tool_choice
    if choice is not None and choice.mode == "none" and not history:
        ledger.lose_form("approximated", f"{NAME} has no tool choice none; no tools were sent", "tool_choice")
        for index, _ in enumerate(request.tools):
            ledger.lose_form("dropped", f"{NAME} has no tool choice none; no tools were sent", "tools", index)
        return {}
    tools = encode_tools(request.tools, ledger)
    if not tools and history and mark.get("tools") != "absent":
        tools = encode_tools(stub_tools(request.messages), Scribe(stub_tools(request.messages)))
        ledger.lose("added", f"{NAME} requires definitions of tools called before; stubs were added", "tools")
    config: Wire = {"tools": tools} if tools else {}
    if choice is not None and (tools or "alone" in marks(NAME, choice)):
        lost = any(isinstance(tool, ServerTool) and tool.dialect != NAME for tool in request.tools)
        said = say_choice(choice, ledger, offered=_names(tools) if lost else None)
        if said:
            config["toolChoice"] = said
    elif choice is not None:
        ledger.lose("dropped", f"{NAME} takes a tool choice only beside tools", "tool_choice")
    return config


def speaks_of_tools(messages: Sequence[Message]) -> bool:
    for message in messages:
        for block in message.content:
            if type(block) is ToolUseBlock or type(block) is ToolResultBlock:
                return True
    return False


def _names(tools: list[Wire]) -> list[Json]:
    specs = (wire.get("toolSpec") or wire.get("systemTool") for wire in tools if is_object(wire))
    return [spec.get("name") for spec in specs if is_object(spec)]


def encode_tools(tools: Sequence[Tool], ledger: Scribe) -> list[Wire]:
    said: list[Wire] = []
    for index, tool in enumerate(tools):
        usual = say_usual(tool)
        if usual is not None:
            said.append(usual)
            continue
        ledger.where = ("tools", index)
        if isinstance(tool, ToolDefinition):
            said.extend(scatter(say_tool(tool, ledger)))
        elif tool.dialect == NAME:
            said.extend(scatter(tool.raw))
        else:
            ledger.lose("dropped", f"a hosted tool of {tool.dialect} that is not translated to {NAME}")
    ledger.where = ()
    return said


def say_tool(tool: ToolDefinition, ledger: Scribe) -> Wire:
    mark = marks(NAME, tool)
    spec: Wire = {"name": tool.name if "verbatim" in mark else fit_tool_name(tool.name, ledger, "name")}
    if tool.description:
        spec["description"] = tool.description
    elif tool.description is not None:
        ledger.lose_form("dropped", f"{NAME} accepts no empty description", "description")
    schema, strict = tool.input_schema, tool.strict
    if mark.get("schema") != "verbatim":
        schema, strict = say_schema(tool, ledger)
    spec["inputSchema"] = {"json": schema}
    if strict is not None:
        spec["strict"] = strict
    wire: Wire = {"toolSpec": spec}
    if tool.cache is not None:
        BLOCKS.say_cache(tool.cache, wire, ledger)
    ledger.foreign(tool, NAME)
    return own(NAME, wire, tool)


def say_schema(tool: ToolDefinition, ledger: Ledger) -> tuple[Wire, bool | None]:
    if tool.kind == "text":
        ledger.lose("approximated", f"{NAME} has no free-text tools; sent as a function with one string", "kind")
        ledger.lose("added", f"{NAME} has no free-text tools; sent as a function with one string", "input_schema")
        return FREE_TEXT_SCHEMA, tool.strict
    schema, strict = tool.input_schema, tool.strict
    if strict:
        schema, able = say_strict(schema, NAME, ledger, "input_schema")
        strict = True if able else None
    if schema.get("type") != "object":
        ledger.lose_form("added", f"{NAME} requires `type: object`; it was added", "input_schema", "type")
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    return schema, strict


def say_choice(choice: ToolChoice, ledger: Scribe, offered: Sequence[Json] | None = None) -> Wire:
    """The choice, where there is something to say. ``offered``: the names left to choose from, where some were lost."""
    ledger.where = ("tool_choice",)
    wire = own(NAME, _choice(choice, offered, marks(NAME, choice), ledger), choice)
    ledger.foreign(choice, NAME)
    ledger.where = ()
    return wire


def _choice(choice: ToolChoice, offered: Sequence[Json] | None, mark: Wire, ledger: Scribe) -> Wire:
    wire: Wire = {}
    if choice.mode == "none":
        ledger.lose("dropped", f"{NAME} has no tool choice none", "mode")
    elif choice.mode is not None:
        wire = {CHOICES.write[choice.mode]: {}}
    if choice.name is not None and choice.mode == "specific":
        name = choice.name if "verbatim" in mark else fit_tool_name(choice.name, ledger, "name")
        wire = {"tool": {"name": name}}
        if offered is not None and name not in offered:
            wire = {}
            ledger.lose("dropped", "the chosen tool is not among the tools that are sent")
    elif choice.name is not None:
        ledger.lose("dropped", f"a tool choice of {NAME} has a name only if it is specific", "name")
    if choice.allowed:
        ledger.lose("dropped", f"{NAME} has no list of allowed tools", "allowed")
    if choice.parallel is not None:
        ledger.lose(
            "dropped",
            f"{NAME} has no setting for parallel calls",
            "parallel",
            weight="form" if choice.parallel else "content",
        )
    return wire

"""Tools and the choice among them: functions, custom (free-text) tools, namespaces, tools added by an item.

The tools of a namespace and of ``additional_tools`` are tools like any other to us: another protocol can offer them
too. Where they stood is kept beside: ``extras[…]["namespace"]`` is the namespace without its tools, the mark ``added``
the number of the item. A namespace that repeats a name is carried whole, since a call by name alone could not tell them
apart.

Marks on a tool: ``schema`` (``verbatim``: not as we would write it), ``strict``, ``parameters`` (no object), ``name``
(``verbatim``). On a choice: ``kind`` (of a tool that is not among the tools), ``alone`` (there are none).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.schemas import is_strict_form, say_strict
from ...codec.tables import Ledger, kept, marks, own, take, take_text
from ...types.base import Json
from ...types.tools import ServerTool, Tool, ToolChoice, ToolDefinition
from .names import Scribe, is_name
from .usual_read import read_tool as usual_tool
from .usual_say import say_tool as say_usual
from .wire import NAME, NOT_STRICT, Wire, is_array, is_object

MODES = {"auto": "auto", "required": "any", "none": "none"}
MODE_WORDS = {"auto": "auto", "any": "required", "none": "none"}


def read_tools(wire: Iterable[Json], taken: set[str]) -> list[Tool]:
    """The tools of a list, namespaces opened. ``taken`` are the names so far."""
    tools: list[Tool] = []
    for tool in wire:
        usual = usual_tool(tool, taken) if is_object(tool) else None
        if usual is not None:
            tools.append(usual)
            continue
        members = _read_namespace(tool, taken) if is_object(tool) and tool.get("type") == "namespace" else None
        tools += members if members is not None else [read_tool(tool)]
        taken.update(t.name for t in tools if isinstance(t, ToolDefinition))
    return tools


def _read_namespace(wire: Wire, taken: set[str]) -> list[Tool] | None:
    members = wire.get("tools")
    if not is_array(members) or not members or not all(is_object(member) for member in members):
        return None
    tools = list(map(read_tool, members))
    names = [tool.name for tool in tools if isinstance(tool, ToolDefinition)]
    if len(set(names)) < len(tools) or taken & set(names):
        return None
    space = {key: value for key, value in wire.items() if key not in ("type", "tools")}
    return [replace(t, extras={NAME: {**t.extras.get(NAME, {}), "namespace": space}}) for t in tools]


def read_tool(wire: Json) -> Tool:
    if is_object(wire) and type(wire.get("name")) is str:
        if wire.get("type") == "function":
            return _read_function(dict(wire))
        if wire.get("type") == "custom":
            return _read_custom(dict(wire))
    return ServerTool(NAME, wire)


def _read_function(rest: Wire) -> ToolDefinition:
    forms: Wire = {}
    blanks: Wire = {}
    del rest["type"]
    fields: dict[str, Any] = {"name": _read_name(rest, forms), "description": take_text(rest, "description", blanks)}
    if is_object(rest.get("parameters")):
        fields["input_schema"] = rest.pop("parameters")
    else:
        forms["parameters"] = rest.pop("parameters", "absent")
    schema = fields.get("input_schema", {})
    strict = rest.pop("strict", "absent")
    if type(strict) is bool:
        fields["strict"] = strict
    else:
        forms["strict"] = strict
    if _say_object(schema) != schema or (strict is True and not is_strict_form(schema, NAME)):
        forms["schema"] = "verbatim"
    return ToolDefinition(**fields, **kept(NAME, rest, forms, blanks))


def _read_name(rest: Wire, forms: Wire) -> str:
    name: str = rest.pop("name")
    if not is_name(name):
        forms["name"] = "verbatim"
    return name


def _read_custom(rest: Wire) -> ToolDefinition:
    forms: Wire = {}
    blanks: Wire = {}
    del rest["type"]
    fields: dict[str, Any] = {"name": _read_name(rest, forms), "description": take_text(rest, "description", blanks)}
    return ToolDefinition(**fields, kind="text", **kept(NAME, rest, forms, blanks))


# ---------------------------------------------------------------------------------------------------------- writing


def encode_tools(tools: Iterable[tuple[int, Tool]], scribe: Scribe) -> list[Wire]:
    """Tools with their places, those of one namespace together."""
    said: list[Wire] = []
    open_space: Wire | None = None
    for index, tool in tools:
        wire = say_usual(tool, index, scribe)
        if wire is not None:
            said.append(wire)
            open_space = None
            continue
        scribe.where = ("tools", index)
        wire = say_tool(tool, scribe)
        space = tool.extras.get(NAME, {}).get("namespace")
        if wire is None:
            continue
        if space is None:
            said.append(wire)
        elif open_space is not None and open_space == space:
            said[-1]["tools"].append(wire)
        else:
            said.append({"type": "namespace", **space, "tools": [wire]})
        open_space = space
    scribe.where = ()
    return said


def say_tool(tool: Tool, scribe: Scribe) -> Wire | None:
    if isinstance(tool, ServerTool):
        if tool.dialect == NAME:
            raw: Wire = tool.raw
            return raw
        scribe.lose("dropped", f"a hosted tool of {tool.dialect} that is not translated to {NAME}")
        return None
    wire = _say_custom(tool, scribe) if tool.kind == "text" else _say_function(tool, scribe)
    if tool.cache is not None:
        scribe.lose("dropped", f"{NAME} takes cache marks on content parts only", "cache")
    scribe.foreign(tool, NAME)
    own(NAME, wire, tool)
    wire.pop("namespace", None)
    return wire


def _head(tool: ToolDefinition, kind: str, scribe: Scribe) -> Wire:
    wire: Wire = {"type": kind, "name": scribe.tool_name(tool.name, tool)}
    if tool.description is not None:
        wire["description"] = tool.description
    return wire


def _say_custom(tool: ToolDefinition, scribe: Scribe) -> Wire:
    if tool.input_schema:
        scribe.lose("dropped", f"a free-text tool of {NAME} has no schema", "input_schema")
    if tool.strict is not None:
        scribe.lose("dropped", f"a free-text tool of {NAME} has no strict flag", "strict")
    return _head(tool, "custom", scribe)


def _say_function(tool: ToolDefinition, scribe: Scribe) -> Wire:
    wire, mark = _head(tool, "function", scribe), marks(NAME, tool)
    schema, strict = tool.input_schema, tool.strict
    if mark.get("schema") != "verbatim":
        schema, strict = _say_schema(tool, scribe)
    if schema or "parameters" not in mark:
        wire["parameters"] = schema
    elif mark["parameters"] != "absent":
        wire["parameters"] = mark["parameters"]
    if strict is not None:
        wire["strict"] = strict
    elif "strict" not in mark:
        wire["strict"] = False
        if tool.strict is None:
            scribe.lose_form("added", NOT_STRICT, "strict")
    elif mark["strict"] != "absent":
        wire["strict"] = mark["strict"]
    return wire


def _say_schema(tool: ToolDefinition, ledger: Ledger) -> tuple[Wire, bool | None]:
    schema, strict = tool.input_schema, tool.strict
    if strict:
        schema, able = say_strict(schema, NAME, ledger, "input_schema")
        strict = True if able else None
    said = _say_object(schema)
    for key in said:
        if key not in schema or said[key] != schema[key]:
            ledger.lose_form("added", f"{NAME} requires `{key}` of parameters", "input_schema", key)
    return said, strict


def _say_object(schema: Wire) -> Wire:
    """A schema as the provider takes it at all: of type object, naming its properties."""
    if schema.get("type") != "object":
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    if "properties" not in schema and schema.keys().isdisjoint(("anyOf", "oneOf", "allOf", "$ref")):
        schema = {**schema, "properties": {}}
    return schema


# ----------------------------------------------------------------------------------------------------------- choice


def read_choice(rest: Wire, fields: dict[str, Any], blanks: Wire) -> None:
    """``tool_choice`` and ``parallel_tool_calls`` are one thing to us; a choice of a hosted tool is only theirs."""
    tools: Sequence[Tool] = fields.get("tools", ())
    found: dict[str, Any] = {}
    forms: Wire = {}
    wire = take(rest, "tool_choice", blanks)
    if wire is not None:
        read = _read_mode(wire, tools, forms)
        if read is None:
            rest["tool_choice"] = wire
        else:
            found |= read
            if not tools:
                forms["alone"] = True
    parallel = take(rest, "parallel_tool_calls", blanks)
    if type(parallel) is bool:
        found["parallel"] = parallel
    elif parallel is not None:
        rest["parallel_tool_calls"] = parallel
    if found:
        fields["tool_choice"] = ToolChoice(**found, **kept(NAME, {}, forms, {}))


def _read_mode(wire: Json, tools: Sequence[Tool], forms: Wire) -> dict[str, Any] | None:
    match wire:
        case str() if wire in MODES:
            return {"mode": MODES[wire]}
        case {"type": "function" | "custom" as kind, "name": str(name), **rest} if not rest:
            if kind != _kind_of(name, tools):
                forms["kind"] = kind
            return {"mode": "specific", "name": name}
        case {"type": "allowed_tools", "mode": "auto" | "required" as mode, "tools": allowed, **rest} if not rest:
            names = [tool.get("name") for tool in allowed if is_object(tool)] if is_array(allowed) else []
            if all(isinstance(name, str) for name in names) and _allowed(names, tools) == allowed:
                return {"mode": MODES[mode], "allowed": tuple(names)}
        case _:
            pass
    return None


def _kind_of(name: str | None, tools: Sequence[Tool]) -> str:
    free = any(isinstance(tool, ToolDefinition) and tool.name == name and tool.kind == "text" for tool in tools)
    return "custom" if free else "function"


def _allowed(names: Iterable[Json], tools: Sequence[Tool]) -> list[Wire]:
    return [{"type": _kind_of(name, tools), "name": name} for name in names]


def say_choice(choice: ToolChoice, tools: Sequence[Tool], scribe: Scribe, *, offered: bool = True) -> Wire:
    """The keys that a choice becomes at the top of a request."""
    scribe.where = ("tool_choice",)
    wire: Wire = {}
    if choice.mode is None:
        if choice.name is not None or choice.allowed:
            scribe.lose(
                "dropped", f"{NAME} takes names only beside a mode", "name" if choice.name is not None else "allowed"
            )
    elif offered or "alone" in marks(NAME, choice):
        wire["tool_choice"] = _say_mode(choice, tools, scribe)
    else:
        for field in ("mode", "name", "allowed"):
            if getattr(choice, field):
                scribe.lose("dropped", f"{NAME} takes a tool choice only beside tools", field)
    if choice.parallel is not None:
        wire["parallel_tool_calls"] = choice.parallel
    scribe.foreign(choice, NAME)
    scribe.where = ()
    return wire


def _say_mode(choice: ToolChoice, tools: Sequence[Tool], scribe: Scribe) -> Json:
    mode = choice.mode or "auto"
    if mode == "specific":
        if choice.allowed:
            scribe.lose("dropped", "one tool is named, so no list of allowed tools was sent", "allowed")
        kind = marks(NAME, choice).get("kind") or _kind_of(choice.name, tools)
        return {"type": kind, "name": scribe.tool_name(choice.name or "", _named(choice.name, tools))}
    if choice.name is not None:
        scribe.lose("dropped", f"a tool choice {mode} of {NAME} names no tool", "name")
    if choice.allowed and mode != "none":
        names = [scribe.tool_name(n, _named(n, tools), "allowed", i) for i, n in enumerate(choice.allowed)]
        kinds = [_kind_of(name, tools) for name in choice.allowed]
        allowed = [{"type": kind, "name": name} for kind, name in zip(kinds, names, strict=True)]
        return {"type": "allowed_tools", "mode": MODE_WORDS[mode], "tools": allowed}
    if choice.allowed:
        scribe.lose("dropped", f"a tool choice {mode} of {NAME} has no list of allowed tools", "allowed")
    return MODE_WORDS[mode]


def _named(name: str | None, tools: Sequence[Tool]) -> Tool | None:
    return next((tool for tool in tools if isinstance(tool, ToolDefinition) and tool.name == name), None)

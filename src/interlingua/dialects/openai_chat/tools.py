"""Tools and the choice among them: functions, custom (free-text) tools, and the ``functions`` of older clients.

Marks on a tool: ``type`` (absent), ``schema`` (``verbatim``: strict, but not as we would write it), ``parameters``
(a blank where we would write none). On a choice: ``custom`` (whether it named a custom tool, where the tools say
otherwise), ``any`` (spelled ``any``), ``legacy`` (it was a ``function_call``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...codec.json import is_dict
from ...codec.schemas import is_strict_form, say_strict
from ...codec.tables import Ledger, is_plain_tool, keep, kept, marks, own, take, take_text
from ...types.base import Json
from ...types.tools import ServerTool, Tool, ToolChoice, ToolDefinition
from .parts import NAME, Wire, read_cache, say_cache
from .quirks import Quirks


def read_tool(wire: Wire) -> Tool:
    """One tool. What is no object is carried whole, like any that we do not know."""
    if type(wire) is dict:
        kind = wire.get("type", "function")
        if kind == "function" and _named(wire.get("function")):
            return _read_function(dict(wire))
        if kind == "custom" and _named(wire.get("custom")):
            return _read_custom(dict(wire))
    return ServerTool(NAME, wire)


def _named(wire: Json) -> bool:
    return is_dict(wire) and isinstance(wire.get("name"), str)


def _read_custom(rest: Wire) -> ToolDefinition:
    blanks: Wire = {}
    del rest["type"]
    inner = dict(rest.pop("custom"))
    fields = {"name": inner.pop("name"), "description": take_text(inner, "description", blanks)}
    if inner:
        rest["custom"] = inner
    return ToolDefinition(**fields, kind="text", **kept(NAME, rest, {}, {"custom": blanks} if blanks else {}))


def _read_function(rest: Wire) -> ToolDefinition:
    forms: Wire = {}
    if rest.pop("type", None) is None:
        forms["type"] = "absent"
    inner = dict(rest.pop("function"))
    cache = read_cache(rest) if rest else None
    fields, blanks = read_function(inner, forms)
    if inner:
        rest["function"] = inner
    extras, marked = keep(NAME, rest, forms, {"function": blanks} if blanks else blanks)
    return ToolDefinition(**fields, cache=cache, extras=extras, forms=marked)


def read_function(inner: Wire, forms: Wire) -> tuple[dict[str, Any], Wire]:
    blanks: Wire = {}
    fields: dict[str, Any] = {"name": inner.pop("name"), "description": take_text(inner, "description", blanks)}
    schema = take(inner, "parameters", blanks)
    if isinstance(schema, dict):
        fields["input_schema"] = schema
    elif schema is not None:
        inner["parameters"] = schema
    strict = take(inner, "strict", blanks) if inner else None
    if isinstance(strict, bool):
        fields["strict"] = strict
        if strict and not is_strict_form(fields.get("input_schema", {}), NAME):
            forms["schema"] = "verbatim"
    elif strict is not None:
        inner["strict"] = strict
    return fields, blanks


def encode_tools(tools: Sequence[Tool], quirks: Quirks, ledger: Ledger) -> list[Wire]:
    said: list[Wire] = []
    for index, tool in enumerate(tools):
        if type(tool) is ToolDefinition and tool.description is not None and tool.input_schema and is_plain_tool(tool):
            function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
            said.append({"type": "function", "function": function})
            continue
        ledger.where = ("tools", index)
        if isinstance(tool, ToolDefinition):
            said.append(say_tool(tool, quirks, ledger))
        elif tool.dialect == NAME:
            said.append(tool.raw)
        else:
            ledger.lose("dropped", f"a hosted tool of {tool.dialect} that is not translated to {NAME}")
    ledger.where = ()
    return said


def say_tool(tool: ToolDefinition, quirks: Quirks, ledger: Ledger) -> Wire:
    if tool.kind == "text":
        wire = _say_custom(tool, ledger)
    else:
        wire = {"type": "function", "function": say_function(tool, quirks, ledger)}
        if marks(NAME, tool).get("type") == "absent":
            del wire["type"]
    say_cache(tool.cache, wire, quirks, ledger, here=False)
    if tool.extras:
        ledger.foreign(tool, NAME)
    return own(NAME, wire, tool) if tool.extras or tool.forms else wire


def _say_custom(tool: ToolDefinition, ledger: Ledger) -> Wire:
    if tool.input_schema:
        ledger.lose("dropped", f"a free-text tool of {NAME} has no schema", "input_schema")
    if tool.strict is not None:
        ledger.lose("dropped", f"a free-text tool of {NAME} has no strict flag", "strict")
    inner = {"name": tool.name}
    if tool.description is not None:
        inner["description"] = tool.description
    return {"type": "custom", "custom": inner}


def say_function(tool: ToolDefinition, quirks: Quirks, ledger: Ledger) -> Wire:
    wire: Wire = {"name": tool.name}
    if tool.description is not None:
        wire["description"] = tool.description
    schema, strict = tool.input_schema, tool.strict
    if strict and not quirks.strict:
        ledger.lose("dropped", "this server has no strict tools", "strict")
        strict = None
    if strict and marks(NAME, tool).get("schema") != "verbatim":
        schema, able = say_strict(schema, NAME, ledger, "input_schema")
        strict = True if able else None
    if schema:
        wire["parameters"] = schema
    if strict is not None:
        wire["strict"] = strict
    return wire


def read_choice(rest: Wire, fields: dict[str, Any], blanks: Wire) -> None:
    """``tool_choice``, ``function_call`` and ``parallel_tool_calls`` are one thing to us."""
    found: dict[str, Any] = {}
    forms: Wire = {}
    residue: Wire = {}
    _read_mode(rest, found, forms, residue, blanks)
    if "custom" in forms and forms["custom"] is _is_free(found["name"], fields.get("tools", ())):
        del forms["custom"]
    parallel = take(rest, "parallel_tool_calls", blanks)
    if isinstance(parallel, bool):
        found["parallel"] = parallel
    elif parallel is not None:
        rest["parallel_tool_calls"] = parallel
    if found:
        fields["tool_choice"] = ToolChoice(**found, **kept(NAME, residue, forms, {}))


def _read_mode(rest: Wire, found: dict[str, Any], forms: Wire, residue: Wire, blanks: Wire) -> None:
    for key in ("tool_choice", "function_call"):
        choice = take(rest, key, blanks)
        if choice is None or "mode" in found:
            if choice is not None:
                rest[key] = choice
            continue
        read = _read_word(choice) if isinstance(choice, str) else _read_object(choice)
        if read is None:
            rest[key] = choice
            continue
        fields, marked = read
        found |= fields
        forms |= marked
        if key == "function_call":
            forms["legacy"] = True


def _read_word(word: str) -> tuple[dict[str, Any], Wire] | None:
    modes = {"auto": "auto", "none": "none", "required": "any", "any": "any"}
    if word not in modes:
        return None
    return {"mode": modes[word]}, {"any": "any"} if word == "any" else {}


def _read_object(wire: Json) -> tuple[dict[str, Any], Wire] | None:
    """A named tool, or some allowed ones. Anything with more to say than that stays residue."""
    match wire:
        case {"type": "function", "function": {"name": str(name), **inner}, **rest} if not inner and not rest:
            return {"mode": "specific", "name": name}, {"custom": False}
        case {"type": "custom", "custom": {"name": str(name), **inner}, **rest} if not inner and not rest:
            return {"mode": "specific", "name": name}, {"custom": True}
        case {"name": str(name), **rest} if not rest:
            return {"mode": "specific", "name": name}, {}
        case {"type": "allowed_tools", "allowed_tools": {"mode": "auto" | "required" as mode, "tools": list()}}:
            return _read_allowed(wire, mode, wire["allowed_tools"]["tools"])
        case _:
            return None


def _read_allowed(wire: Wire, mode: str, tools: list[Json]) -> tuple[dict[str, Any], Wire] | None:
    names = [tool["function"]["name"] for tool in tools if isinstance(tool.get("function"), dict)]
    ours = {"auto": "auto", "required": "any"}[mode]
    return ({"mode": ours, "allowed": tuple(names)}, {}) if _allowed(ours, names) == wire else None


def _allowed(mode: str, names: Sequence[str]) -> Wire:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": "required" if mode == "any" else "auto", "tools": tools}}


def say_choice(choice: ToolChoice, tools: Sequence[Tool], quirks: Quirks, bound: bool, ledger: Ledger) -> Wire:
    """The keys that a choice becomes at the top of a request. ``bound``: quirks are a named server's and win."""
    ledger.where = ("tool_choice",)
    mark = marks(NAME, choice)
    wire: Wire = {}
    if choice.mode is not None:
        key = "function_call" if "legacy" in mark else "tool_choice"
        wire[key] = _say_mode(choice, tools, mark, quirks, bound, ledger)
    elif choice.name is not None or choice.allowed:
        ledger.lose(
            "dropped", f"{NAME} takes names only beside a mode", "name" if choice.name is not None else "allowed"
        )
    if choice.parallel is not None:
        if quirks.parallel or not bound:
            wire["parallel_tool_calls"] = choice.parallel
        else:
            ledger.lose(
                "dropped",
                "this server has no `parallel_tool_calls`",
                "parallel",
                weight="form" if choice.parallel else "content",
            )
    ledger.foreign(choice, NAME)
    ledger.where = ()
    return wire


def _is_free(name: str | None, tools: Sequence[Tool]) -> bool:
    """Whether a tool takes free text."""
    return any(isinstance(tool, ToolDefinition) and tool.name == name and tool.kind == "text" for tool in tools)


def _say_mode(
    choice: ToolChoice, tools: Sequence[Tool], mark: Wire, quirks: Quirks, bound: bool, ledger: Ledger
) -> Json:
    if choice.mode == "specific":
        if "legacy" in mark:
            return {"name": choice.name}
        kind = "custom" if mark.get("custom", _is_free(choice.name, tools)) else "function"
        return {"type": kind, kind: {"name": choice.name}}
    if choice.name is not None:
        ledger.lose("dropped", f"a tool choice {choice.mode} of {NAME} names no tool", "name")
    if choice.allowed:
        if choice.mode in ("auto", "any"):
            return _allowed(choice.mode, choice.allowed)
        ledger.lose("dropped", f"a tool choice {choice.mode} of {NAME} has no list of allowed tools", "allowed")
    if choice.mode == "any":
        return quirks.any_word if bound else mark.get("any", quirks.any_word)
    return choice.mode

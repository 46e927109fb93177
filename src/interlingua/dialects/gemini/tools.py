"""Tools and the choice among them.

Declarations share one Tool object; every built-in tool has its own. Marks on a tool: ``place`` (the Tool object that it
stood in, where that is another layout), ``object`` (what else that object held), ``key`` (the spelling of
``functionDeclarations``), ``schema`` (schemas.py). On a choice: ``mode`` (the provider's word), ``alone`` (there was
nothing to choose from).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.schemas import Plan, say_changed
from ...codec.tables import Ledger, Words, kept, marks, own, take
from ...types.base import Json
from ...types.tools import ServerTool, Tool, ToolChoice, ToolDefinition
from .key_case import Wire, camel, is_array, is_object, respell
from .media import NAME
from .parts import BLOCKS
from .schemas import PARAMETERS, PLANS, read_schema, say_schema
from .usual import read_tools as read_usual, say_tools as say_usual

DECLARATIONS = ("functionDeclarations", "function_declarations")
MODES = Words([("AUTO", "auto"), ("ANY", "any"), ("NONE", "none"), ("VALIDATED", "auto")])
PLAIN: dict[str | None, ToolChoice] = {"auto": ToolChoice.auto(), "any": ToolChoice.any(), "none": ToolChoice.none()}
FREE_TEXT_SCHEMA: Wire = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


# ------------------------------------------------------------------------------------------------------------ reading


def read_tools(wire: list[Json]) -> tuple[Tool, ...]:
    told = read_usual(wire[0]) if len(wire) == 1 else None
    if told is not None:
        return told
    layout = [list(read_object(tool)) for tool in wire]
    usual = sum(any(isinstance(tool, ToolDefinition) for tool in group) for group in layout) <= 1 and all(
        len(group) == 1 or all(isinstance(tool, ToolDefinition) for tool in group) for group in layout
    )
    if usual:
        return tuple(tool for group in layout for tool in group)
    return tuple(_marked(tool, place=place) for place, group in enumerate(layout) for tool in group)


def _marked(tool: Tool, **forms: Json) -> Tool:
    return replace(tool, forms={NAME: {**marks(NAME, tool), **forms}})


def read_object(wire: Json) -> list[Tool]:
    """The tools of one Tool object; one that cannot be read is carried whole."""
    if not is_object(wire):
        return [ServerTool(NAME, wire)]
    tools: list[Tool] = []
    blanks: Wire = {}
    for key, value in wire.items():
        if key in DECLARATIONS and is_array(value) and value:
            tools += [read_declaration(item, key) for item in value]
        elif value is None:
            blanks[key] = None
        else:
            tools.append(ServerTool(NAME, {key: value}))
    if not tools:
        return [ServerTool(NAME, wire)]
    if blanks:
        tools[0] = _marked(tools[0], object=blanks)
    return tools


def read_declaration(wire: Json, key: str) -> Tool:
    if not is_object(wire) or type(wire.get("name")) is not str:
        return ServerTool(NAME, {key: [wire]})
    found: list[str] = []
    forms, blanks = Wire(), Wire()
    rest = camel(wire, found)
    if found:
        forms["snake"] = found
    if key != DECLARATIONS[0]:
        forms["key"] = key
    fields: dict[str, Any] = {"name": rest.pop("name"), "description": take(rest, "description", blanks)}
    if type(fields["description"]) not in (str, type(None)):
        rest["description"] = fields.pop("description")
    fields["input_schema"] = read_schema(rest, PARAMETERS, forms, blanks) or {}
    return ToolDefinition(**fields, **kept(NAME, rest, forms, blanks))


def read_choice(wire: Wire, *, alone: bool) -> ToolChoice | None:
    """``functionCallingConfig``; None where its mode is not a word."""
    word = wire.get("mode")
    if type(word) is not str or word.upper() not in MODES.read:
        return None
    rest, forms, blanks = dict(wire), Wire(), Wire()
    del rest["mode"]
    fields: dict[str, Any] = {"mode": MODES.read[word.upper()]}
    names = take(rest, "allowedFunctionNames", blanks)
    if is_array(names) and all(type(name) is str for name in names):
        fields |= {"mode": "specific", "name": names[0]} if len(names) == 1 and word.upper() == "ANY" else {}
        fields |= {"allowed": tuple(names)} if fields["mode"] != "specific" else {}
    elif names is not None:
        rest["allowedFunctionNames"] = names
    if alone:
        forms["alone"] = True
    choice = ToolChoice(**fields)
    if word != mode_word(choice):
        forms["mode"] = word
    return ToolChoice(**fields, **kept(NAME, rest, forms, blanks))


# ------------------------------------------------------------------------------------------------------------ writing


def encode_tools(tools: Sequence[Tool], ledger: Ledger) -> list[Wire]:
    plans = PLANS.of(tools)
    if (usual := say_usual(tools, plans, ledger.losses)) is not None:
        return [usual]
    objects: dict[Json, Wire] = {}  # by place, or in the order of first need
    for index, tool in enumerate(tools):
        ledger.where = ("tools", index)
        mark = marks(NAME, tool)
        if isinstance(tool, ToolDefinition):
            home = objects.setdefault(_home(objects, mark), {})
            if _is_late(tools, index, mark):
                ledger.lose_form("moved", f"{NAME} has all function declarations in one tool object")
            home.setdefault(mark.get("key", DECLARATIONS[0]), []).append(say_declaration(tool, plans[index], ledger))
        elif tool.dialect == NAME and not is_object(tool.raw):
            objects[mark.get("place", ("own", index))] = tool.raw
            continue
        elif tool.dialect == NAME:
            home = objects.setdefault(mark.get("place", ("own", index)), {})
            for key, value in tool.raw.items():
                home[key] = [*home[key], *value] if key in DECLARATIONS and key in home else value
        else:
            ledger.lose("dropped", f"a hosted tool of {tool.dialect} that is not translated to {NAME}")
            continue
        home |= mark.get("object", {})
    ledger.where = ()
    return list(objects.values())


def _home(objects: dict[Json, Wire], mark: Wire) -> Json:
    if "place" in mark:
        return mark["place"]
    declaring = (at for at, tool in objects.items() if is_object(tool) and not tool.keys().isdisjoint(DECLARATIONS))
    return next(declaring, "declarations")


def _is_late(tools: Sequence[Tool], index: int, mark: Wire) -> bool:
    """A declaration that stood behind a built-in tool, which is behind another declaration."""
    if "place" in mark or index == 0 or isinstance(tools[index - 1], ToolDefinition):
        return False
    before = tools[:index]
    own_tools = any(isinstance(tool, ServerTool) and tool.dialect == NAME for tool in before)
    return own_tools and any(isinstance(tool, ToolDefinition) for tool in before)


def say_declaration(tool: ToolDefinition, plan: Plan, ledger: Ledger) -> Wire:
    mark = marks(NAME, tool)
    wire: Wire = {"name": tool.name}
    if tool.description is not None:
        wire["description"] = tool.description
    schema = tool.input_schema
    if tool.kind == "text":
        why = f"{NAME} has no free-text tools; sent as a function with one string"
        ledger.lose("approximated", why, "kind")
        ledger.lose("approximated" if schema else "added", why, "input_schema")
        schema = FREE_TEXT_SCHEMA
    elif schema and "schema" not in mark:
        wire[PARAMETERS.json] = schema if plan.change is None else say_changed(schema, plan.change)
        ledger.losses += plan.losses
        schema = {}
    if schema:
        key, wire_schema = say_schema(schema, PARAMETERS, mark, ledger, "input_schema")
        wire[key] = wire_schema
    if tool.strict is not None:
        ledger.lose("dropped", f"{NAME} has no strict tools", "strict", weight="content" if tool.strict else "form")
    if tool.cache is not None:
        BLOCKS.say_cache(tool.cache, wire, ledger)
    ledger.foreign(tool, NAME)
    own(NAME, wire, tool)
    return respell(wire, mark["snake"]) if "snake" in mark else wire


def mode_word(choice: ToolChoice) -> str:
    """The mode that we would write: a narrowed choice that is free to call nothing is VALIDATED."""
    if choice.mode == "specific":
        return "ANY"
    return "VALIDATED" if choice.allowed and choice.mode in (None, "auto") else MODES.write[choice.mode or "auto"]


def say_choice(choice: ToolChoice, ledger: Ledger, tools: Sequence[Tool] | None = None) -> Wire | None:
    """``functionCallingConfig``, or None. ``tools``: what there is to choose from, where that is known."""
    if tools and type(tools[0]) is ToolDefinition and choice == PLAIN.get(choice.mode):
        return {"mode": mode_word(choice)}
    ledger.where = ("tool_choice",)
    mark, wire = marks(NAME, choice), None
    ledger.foreign(choice, NAME)
    if choice.parallel is not None:
        ledger.lose(
            "dropped",
            f"{NAME} has no setting for parallel calls",
            "parallel",
            weight="form" if choice.parallel else "content",
        )
    offered = tools is None or "alone" in mark or any(isinstance(tool, ToolDefinition) for tool in tools)
    if not offered:
        ledger.lose("dropped", f"{NAME} takes a tool choice only beside tools")
    elif choice.mode is not None or choice.allowed:
        wire = _choice(choice, mark, ledger, _unsayable(tools or ()))
    ledger.where = ()
    return wire


def _unsayable(tools: Sequence[Tool]) -> set[Json]:
    """The names of tools that only others have."""
    others = [tool.raw for tool in tools if isinstance(tool, ServerTool) and tool.dialect != NAME]
    return {raw.get(key) for raw in others for key in ("name", "type") if type(raw.get(key)) is str}


def _choice(choice: ToolChoice, mark: Wire, ledger: Ledger, unsayable: set[Json]) -> Wire | None:
    names = _names(choice, ledger)
    known = [name for name in names if name not in unsayable]
    if known != names:
        ledger.lose(
            "dropped", f"{NAME} chooses among declared functions", "name" if choice.mode == "specific" else "allowed"
        )
        if not known:
            ledger.lose("dropped", f"{NAME} chooses among declared functions")
            return None
    if choice.mode is None:
        ledger.lose_form("added", f"a tool choice of {NAME} needs a mode; auto was added", "mode")
    word, usual = mark.get("mode"), mode_word(choice)
    stands = isinstance(word, str) and MODES.read[word.upper()] == MODES.read[usual]
    wire: Wire = {"mode": word if stands else usual}
    if known:
        wire["allowedFunctionNames"] = known
    return own(NAME, wire, choice)


def _names(choice: ToolChoice, ledger: Ledger) -> list[str]:
    """The names that a choice allows, as far as its mode takes any."""
    names = list(choice.allowed)
    if choice.mode == "specific":
        if names and names != [choice.name]:
            ledger.lose("dropped", "one tool is named, so no list of allowed tools was sent", "allowed")
        return [choice.name] if choice.name is not None else []
    if choice.mode == "none" and names:
        ledger.lose_form("dropped", "no tool may be called, so no list of allowed tools was sent", "allowed")
        return []
    if choice.mode == "any" and len(names) == 1:
        ledger.lose_form("approximated", f"{NAME} reads a choice among one tool as that tool")
    return names

"""Tools and the choice among them.

The tools of a namespace and of ``additional_tools`` are tools like any other to us: another protocol can offer them
too. Where they stood is kept beside: ``extras[…]["namespace"]`` is the namespace without its tools, the mark ``added``
the number of the item. A namespace that repeats a name is carried whole, since a call by name alone could not tell them
apart. The mark ``alone`` on a choice: there are no tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

from msgspec.structs import replace

from ...codec.json import Wire, is_array, is_object
from ...codec.marks import marks, with_marks
from ...codec.rows.kinds import REFUSED
from ...types.base import Json
from ...types.blocks import OpaqueBlock
from ...types.loss import Loss
from ...types.request import Request
from ...types.tools import Tool, ToolChoice, ToolDefinition
from .facts import NAME, is_added
from .rows import CHOICES, TOOLS
from .rules import Scribe, is_verbatim

NOT_STRICT = f"`strict: false` was added, because {NAME} assumes `true`"


def namespaces(request: Request | None) -> dict[str, str]:
    """The namespace of each tool that has one: a call of it must name it."""
    found: dict[str, str] = {}
    for tool in request.tools if request is not None else ():
        space = tool.extras.get(NAME, {}).get("namespace")
        if isinstance(tool, ToolDefinition) and is_object(space) and isinstance(space.get("name"), str):
            found[tool.name] = space["name"]
    return found


# -------------------------------------------------------------------------------------------------------------- tools


def read_tools(wire: Iterable[Json], taken: set[str]) -> list[Tool]:
    """The tools of a list, namespaces opened. ``taken`` are the names so far."""
    tools: list[Tool] = []
    for tool in wire:
        read: Any = TOOLS.read(tool)
        if type(read) is ToolDefinition:
            taken.add(read.name)
        elif is_object(tool) and tool.get("type") == "namespace" and (members := _read_namespace(tool, taken)):
            taken.update([member.name for member in members])
            tools += members
            continue
        tools.append(read)
    return tools


def _read_namespace(wire: Wire, taken: set[str]) -> list[ToolDefinition] | None:
    members = wire.get("tools")
    if not is_array(members) or not members or not all(is_object(member) for member in members):
        return None
    tools = [tool for tool in map(TOOLS.read, members) if type(tool) is ToolDefinition]
    names = {tool.name for tool in tools}
    if len(names) < len(members) or taken & names:
        return None
    space = {key: value for key, value in wire.items() if key not in ("type", "tools")}
    return [replace(t, extras={NAME: {**t.extras.get(NAME, {}), "namespace": space}}) for t in tools]


@lru_cache(maxsize=1024)
def _not_strict(index: int) -> Loss:
    return Loss(f"tools/{index}/strict", "added", NOT_STRICT, weight="form")


def write_tools(tools: Iterable[tuple[int, Tool]], scribe: Scribe) -> list[Wire]:
    """Tools with their places, those of one namespace together."""
    writers = TOOLS.writers
    written: list[Wire] = []
    open_space: Wire | None = None
    for index, tool in tools:
        wire: Wire | None = writers[type(tool)](tool)
        if wire is None:
            scribe.where = ("tools", index)
            wire = TOOLS.interpret_write(tool, scribe)
        if wire is None:
            continue
        if type(tool) is ToolDefinition and tool.strict is None and wire.get("strict") is False:
            scribe.losses.append(_not_strict(index))
        space = tool.extras.get(NAME, {}).get("namespace") if tool.extras else None
        if space is None:
            written.append(wire)
        else:
            del wire["namespace"]
            if open_space == space:
                written[-1]["tools"].append(wire)
            else:
                written.append({"type": "namespace", **space, "tools": [wire]})
        open_space = space
    scribe.where = ()
    return written


Placed = Iterable[tuple[int, Tool]]


def placed_tools(request: Request) -> tuple[Placed, list[Placed]]:
    """The tools of the request itself, and those of each item that added some.

    A tool whose item is not there any more is one of the request.
    """
    numbers = [added_by(tool) if tool.forms else None for tool in request.tools]
    if numbers.count(None) == len(numbers):
        return enumerate(request.tools), []
    blocks = [*request.system, *(block for message in request.messages for block in message.content)]
    items = sum(isinstance(b, OpaqueBlock) and b.dialect == NAME and is_added(b.raw) for b in blocks)
    placed = list(zip(enumerate(request.tools), numbers, strict=True))
    here = [tool for tool, number in placed if number is None or number >= items]
    return here, [[tool for tool, number in placed if number == item] for item in range(items)]


def added_by(tool: Tool) -> int | None:
    """The number of the item that added a tool."""
    return marks(NAME, tool).get("added")


# ------------------------------------------------------------------------------------------------------------- choice


def read_choice(rest: Wire, fields: dict[str, Any]) -> None:
    """``tool_choice`` and ``parallel_tool_calls``; what has another shape stays residue."""
    tools: Sequence[Tool] = fields.get("tools", ())
    choice: Any = CHOICES.read(rest["tool_choice"], tools) if rest.get("tool_choice") is not None else REFUSED
    if choice is not REFUSED:
        del rest["tool_choice"]
        choice = choice if tools else with_marks(NAME, choice, alone=True)
    if type(rest.get("parallel_tool_calls")) is bool:
        choice = replace(ToolChoice() if choice is REFUSED else choice, parallel=rest.pop("parallel_tool_calls"))
    if choice is not REFUSED:
        fields["tool_choice"] = choice


def write_choice(choice: ToolChoice, tools: Sequence[Tool], scribe: Scribe, *, offered: bool = True) -> Wire:
    """The keys that a choice becomes at the top of a request."""
    scribe.where = ("tool_choice",)
    wire: Wire = {}
    if choice.mode is None:
        if choice.name is not None or choice.allowed:
            field = "name" if choice.name is not None else "allowed"
            scribe.lose("dropped", f"{NAME} takes names only beside a mode", field)
    elif offered or "alone" in marks(NAME, choice):
        wire["tool_choice"] = CHOICES.write(choice, tools, scribe, named=partial(_write_name, tools, scribe))
    else:
        for field in ("mode", "name", "allowed"):
            if getattr(choice, field):
                scribe.lose("dropped", f"{NAME} takes a tool choice only beside tools", field)
    if choice.parallel is not None:
        wire["parallel_tool_calls"] = choice.parallel
    scribe.foreign(choice, NAME)
    scribe.where = ()
    return wire


def _write_name(tools: Sequence[Tool], scribe: Scribe, name: str, *path: str | int) -> str:
    """The name of a tool as it is written; the tool may be marked to keep one that was read here."""
    owner = next((tool for tool in tools if isinstance(tool, ToolDefinition) and tool.name == name), None)
    return name if owner is not None and is_verbatim(owner, "name") else scribe.tool_name(name, *path)


def write_choice_alone(choice: ToolChoice, scribe: Scribe) -> Json:
    wire = write_choice(choice, (), scribe)
    if "parallel_tool_calls" in wire:
        scribe.lose("dropped", "`parallel_tool_calls` is a parameter of its own", "tool_choice", "parallel")
    return wire.get("tool_choice")

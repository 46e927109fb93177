"""Hosted tools under one name: tools that several providers run themselves, and how each dialect writes them.

A tool of the dialect ``ANY`` (``web_search()``) is written as the target's dialect writes it. So is a hosted tool of
another dialect, if both have it. Each dialect has its own rows (``Dialect.hosted``); nothing here knows a vendor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ...types.base import Json
from ...types.request import Request
from ...types.tools import ANY, ServerTool, Tool, ToolChoice
from ..history.incomplete import Adapted
from ..json import Wire, is_object
from ..ledger import Ledger

__all__ = ["HostedTool", "translated_hosted"]


class HostedTool(Struct, frozen=True):
    """A hosted tool of a dialect: our ``name`` for it, the ``wire`` to write, a ``pattern`` that matches the tags
    of all versions, and the wire keys of our ``settings``, dotted where they are nested."""

    name: str
    wire: Wire
    pattern: str
    settings: Mapping[str, str] = {}

    def body_of(self, raw: Json) -> Wire | None:
        """The settings of a wire tool, below its tag or beside its ``type``; None if this row does not describe it."""
        if not is_object(raw):
            return None
        tag = raw.get("type")
        if type(tag) is str:
            beside = {key: value for key, value in raw.items() if key not in ("type", "name")}
            return beside if re.fullmatch(self.pattern, tag) else None
        if len(raw) == 1 and re.fullmatch(self.pattern, next(iter(raw))):
            inner = next(iter(raw.values()))
            return inner if is_object(inner) else None
        return None

    def write(self, values: Mapping[str, Json]) -> Wire:
        """The tool on the wire with these settings of ours."""
        body = dict(self.body_of(self.wire) or {})
        for name, value in values.items():
            *inner, last = self.settings[name].split(".")
            place = body
            for step in inner:
                place = place.setdefault(step, {})
            place[last] = value
        if "type" in self.wire:
            return {**self.wire, **body}
        return {next(iter(self.wire)): body}


Rows = Sequence[HostedTool]
Known = Callable[[str], Rows]


def translated_hosted(request: Request, dialect: str, rows_of: Known) -> Adapted[Request] | None:
    """The request with hosted tools of other dialects as this one writes them; None if there are none, which is usual.

    ``rows_of`` returns the rows of a dialect by its name. A tool without a row is left as it is.
    """
    for tool in request.tools:
        if type(tool) is ServerTool and tool.dialect != dialect:
            return _hosted_here(request, dialect, rows_of)
    return None


def _hosted_here(request: Request, dialect: str, rows_of: Known) -> Adapted[Request]:
    ledger = Ledger()
    made: list[Tool] = []
    places: dict[str, str] = {}
    renamed: dict[str, str | None] = {}
    for index, tool in enumerate(request.tools):
        ledger.where = ("tools", index)
        ours = _translated(tool, dialect, rows_of, ledger) if type(tool) is ServerTool else tool
        if ours is not None:
            places[f"tools/{len(made)}"] = f"tools/{index}"
            made.append(ours)
        if ours is not tool and type(tool) is ServerTool:
            renamed |= dict.fromkeys(_names(tool), None if type(ours) is not ServerTool else _name(ours))
    ledger.where = ("tool_choice",)
    choice = None if request.tool_choice is None else _chosen(request.tool_choice, renamed, dialect, ledger)
    return Adapted(replace(request, tools=tuple(made), tool_choice=choice), places, ledger.losses)


def _names(tool: ServerTool) -> Iterator[str]:
    """The names by which a choice may name a hosted tool."""
    raw = tool.raw
    yield from (raw[key] for key in ("name", "type") if type(raw.get(key)) is str) if is_object(raw) else ()


def _name(tool: ServerTool) -> str | None:
    name = tool.raw.get("name")
    return name if type(name) is str else None


def _chosen(choice: ToolChoice, renamed: Mapping[str, str | None], dialect: str, ledger: Ledger) -> ToolChoice | None:
    """The choice with the names of translated tools. A tool that has no name now cannot be chosen."""
    if choice.mode == "specific" and choice.name is not None and choice.name in renamed:
        if (name := renamed[choice.name]) is not None:
            return replace(choice, name=name)
        ledger.lose("dropped", f"{dialect} has no choice of the hosted tool {choice.name}")
        return None
    if renamed.keys().isdisjoint(choice.allowed):
        return choice
    allowed = [renamed.get(name, name) for name in choice.allowed]
    if None in allowed:
        ledger.lose("dropped", f"{dialect} has no choice of hosted tools", "allowed")
    left = tuple(name for name in allowed if name is not None)
    return replace(choice, allowed=left) if left else None


def _translated(tool: ServerTool, dialect: str, rows_of: Known, ledger: Ledger) -> Tool | None:
    if tool.dialect == dialect or (meaning := _meaning(tool, rows_of)) is None:
        return tool
    name, settings = meaning
    row = next((row for row in rows_of(dialect) if row.name == name), None)
    if row is None:
        ledger.lose("dropped", f"{dialect} has no hosted tool like {name}")
        return None
    for setting in settings:
        if setting.name not in row.settings:
            ledger.lose("dropped", f"{name} of {dialect} has no such setting", "raw", *setting.path)
    if tool.dialect != ANY:
        ledger.lose_form(
            "approximated", f"{name} of {tool.dialect} was sent as {name} of {dialect}: each provider runs its own"
        )
    return ServerTool(dialect, row.write({each.name: each.value for each in settings if each.name in row.settings}))


class Setting(NamedTuple):
    """A setting of a hosted tool: our name, empty if we have none, its value, and where it stands in the tool."""

    name: str
    value: Json
    path: tuple[str, ...]


def _meaning(tool: ServerTool, rows_of: Known) -> tuple[str, list[Setting]] | None:
    """Our name of a tool, and its settings; None if no row describes it."""
    if tool.dialect == ANY:
        values = dict(tool.raw) if is_object(tool.raw) else {}
        name = str(values.pop("name", ""))
        return name, [Setting(key, value, (key,)) for key, value in values.items()]
    for row in rows_of(tool.dialect):
        body = row.body_of(tool.raw)
        if body is not None:
            usual = row.body_of(row.wire) or {}
            ours = {path: name for name, path in row.settings.items()}
            above = () if "type" in row.wire else tuple(row.wire)
            return row.name, [
                Setting(ours.get(path, ""), value, (*above, *path.split(".")))
                for path, value in _leaves(body, row)
                if value != _at(usual, path)
            ]
    return None


def _leaves(body: Wire, row: HostedTool, above: str = "") -> Iterator[tuple[str, Json]]:
    """The settings by their dotted paths, as deep as the paths of the row. A setting that is null means nothing."""
    for key, value in body.items():
        path = f"{above}{key}"
        if is_object(value) and any(known.startswith(f"{path}.") for known in row.settings.values()):
            yield from _leaves(value, row, f"{path}.")
        elif value is not None:
            yield path, value


def _at(body: Json, path: str) -> Json:
    for step in path.split("."):
        body = body.get(step) if is_object(body) else None
    return body

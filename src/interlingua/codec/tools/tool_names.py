"""Names that one request gives out: those of tools, derived where a protocol refuses the caller's own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...types.request import Request
from ...types.tools import Tool, ToolDefinition
from ..marks import marks

__all__ = ["GivenNames", "ToolNames", "original_names"]

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The names that most protocols take."""


class GivenNames:
    """Names that must differ by more than their case. One that is taken gets a number behind a ``gap``."""

    def __init__(self, longest: int, gap: str) -> None:
        self.longest, self.gap = longest, gap
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}  # the last number that a name was given with

    def add(self, name: str) -> None:
        """Take a name as it is."""
        self._taken.add(name.casefold())

    def free(self, name: str) -> str:
        """The name, or one like it that is not taken yet."""
        found = name = name[: self.longest]
        while found.casefold() in self._taken:
            number = self._numbers[name] = self._numbers.get(name, 1) + 1
            end = f"{self.gap}{number}"
            found = name[: self.longest - len(end)].rstrip(" ") + end
        self.add(found)
        return found


class ToolNames:
    """Tool names of one request, from ours to the protocol's. Names that fit are never given to another tool."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = tools
        self._given: dict[str, str] = {}
        self._names: GivenNames | None = None  # filled when the first name is refused

    def fit(self, name: str) -> str:
        """The name itself where the protocol takes it, else one like it."""
        if TOOL_NAME.fullmatch(name):
            return name
        names = self._names or self._settle()
        if name not in self._given:
            self._given[name] = names.free(re.sub(r"[^a-zA-Z0-9_-]+", "_", name) or "tool")
        return self._given[name]

    def _settle(self) -> GivenNames:
        names = self._names = GivenNames(64, "_")
        told = [tool.name for tool in self._tools if isinstance(tool, ToolDefinition)]
        for name in filter(TOOL_NAME.fullmatch, told):
            names.add(name)
        for name in told:
            self.fit(name)
        return names

    def originals(self) -> dict[str, str]:
        """What each derived name stands for."""
        if self._names is None:
            self._settle()
        return {derived: name for name, derived in self._given.items()}


def original_names(request: Request | None, dialect: str) -> dict[str, str]:
    """The derived tool names that a model was told, and the caller's own for each."""
    if request is None:
        return {}
    fitted = [tool for tool in request.tools if "name" not in marks(dialect, tool).get("verbatim", ())]
    return ToolNames(fitted).originals()

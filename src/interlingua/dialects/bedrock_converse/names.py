"""The names and ids that Bedrock takes, and those derived where it refuses one. No wire is read here.

A document's name reaches the prompt, so what is left of a foreign one is kept readable; the service wants every name
of a request to differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...codec.ids import IdMap, IdRule
from ...codec.tables import Ledger, marks
from ...types.request import Request
from ...types.tools import Tool, ToolDefinition

NAME = "bedrock-converse"

IDS = IdRule(re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), prefix="tooluse_", length=22)
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html; underscores as recorded.
DOCUMENT_NAME = re.compile(r"(?:[a-zA-Z0-9_()\[\]-]| (?! )){1,200}")
NO_NAME = "document"


class Scribe(Ledger):
    """A ledger that also keeps what one request has given out: call ids, tool names, document names."""

    __slots__ = ("documents", "ids", "tools")

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        super().__init__()
        self.ids = IdMap(IDS)
        self.tools = ToolNames(tools)
        self.documents: set[str] = set()


class ToolNames:
    """Tool names of one request, from ours to the service's. Names that fit are never given to another tool."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = tools
        self._given: dict[str, str] = {}
        self._taken: set[str] | None = None  # filled when the first name is refused

    def fit(self, name: str) -> str:
        """The name itself where the service takes it, else one like it."""
        if TOOL_NAME.fullmatch(name):
            return name
        if self._taken is None:
            self._settle()
        return self._given.get(name) or self._derive(name)

    def _settle(self) -> None:
        names = [tool.name for tool in self._tools if isinstance(tool, ToolDefinition)]
        self._taken = {name.casefold() for name in names if TOOL_NAME.fullmatch(name)}
        for name in names:
            self.fit(name)

    def _derive(self, name: str) -> str:
        like = re.sub(r"[^a-zA-Z0-9_-]+", "_", name) or "tool"
        found = self._given[name] = _free(like, 64, "_", self._taken or set())
        return found

    def originals(self) -> dict[str, str]:
        """What each derived name stands for."""
        if self._taken is None:
            self._settle()
        return {derived: name for name, derived in self._given.items()}


def originals(request: Request | None) -> dict[str, str]:
    """The derived tool names that a model was told, and the caller's own for each."""
    return ToolNames([t for t in request.tools if "verbatim" not in marks(NAME, t)]).originals() if request else {}


def document_name(wanted: str, taken: set[str]) -> str:
    """The name as the service takes it, unlike every other of the request."""
    name = wanted
    if not DOCUMENT_NAME.fullmatch(name):
        name = " ".join(re.sub(r"[^a-zA-Z0-9_()\[\]-]+", " ", name).split())
    return _free(name or NO_NAME, 200, " ", taken)


def _free(name: str, longest: int, gap: str, taken: set[str]) -> str:
    found, number = name[:longest], 1
    while found.casefold() in taken:
        number += 1
        end = f"{gap}{number}"
        found = name[: longest - len(end)].rstrip(" ") + end
    taken.add(found.casefold())
    return found

"""What one request gives out: call ids and tool names, derived where the protocol refuses the caller's own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...ids import IdMap, IdRule
from ...types.blocks import ToolUseBlock
from ...types.request import Request
from ...types.tools import Tool, ToolDefinition
from .._tables import Ledger, marks
from .wire import NAME, is_object

LONGEST_ID = 64
CALL_ID = re.compile(rf".{{1,{LONGEST_ID}}}", re.DOTALL)
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Scribe(Ledger):
    """A ledger that also keeps the names and ids of one request.

    Two calls of one history may bear the same id where their protocol numbers them anew in each turn: here an id is
    given once, and a result answers the latest call of its id.
    """

    __slots__ = ("_answer", "_calls", "_fit", "_ids", "_names", "_open", "_taken", "_tools", "namespaces")

    def __init__(self, tools: Iterable[Tool] = (), *, answer: bool = False) -> None:
        super().__init__()
        self._answer = answer
        """An answer speaks to who offered the tools: names and ids are already the reader's own."""
        self._tools = tools
        self._ids: IdMap | None = None
        self._names: ToolNames | None = None
        self._calls: dict[str, str] = {}
        self._taken: set[str] = set()
        self._fit: set[str] = set()
        self._open: dict[str, bool] = {}  # calls without a result so far, and whether they are of free text
        self.namespaces: dict[str, str] = {}

    def call_id(self, block: ToolUseBlock) -> str:
        """The id to write for a call."""
        id = block.id
        if not self._answer and marks(NAME, block).get("id") != "verbatim":
            id = self._derived_id(id) if id in self._taken or not 0 < len(id) <= LONGEST_ID else id
            if id != block.id:
                self.lose("approximated", "call ids are of up to 64 characters, and each is given once", "id")
        self._taken.add(id)
        self._calls[block.id] = id
        self._open[block.id] = block.kind == "text"
        return id

    def _derived_id(self, wanted: str) -> str:
        if self._ids is None:
            self._ids = IdMap(IdRule(CALL_ID))
        id, turn = self._ids.fit(wanted), 0
        while id in self._taken:
            turn += 1
            id = self._ids.fit(f"{wanted[:48]}_{turn}")
        return id

    def answers(self, id: str) -> tuple[str, bool]:
        """The id to write for a result, and whether it answers free text: a result of no known call, the open one."""
        free = self._open.pop(id, None)
        if free is None:
            free = id not in self._calls and any(self._open.values())
        found = self._calls.get(id, id)
        if found != id:
            self.lose("approximated", "the call was given another id", "tool_use_id")
        return found, free

    def took(self, id: str) -> None:
        """Note a call that is written with its own id."""
        self._taken.add(id)
        self._calls[id] = id
        self._open[id] = False

    def takes(self, id: str, name: str) -> bool:
        """Whether a call can be written with its own id and name."""
        return 0 < len(id) <= LONGEST_ID and id not in self._taken and self.fits(name)

    def knows(self, id: str) -> bool:
        """Whether a result answers a call that was written with its own id, and is not of free text."""
        return self._calls.get(id) == id and self._open.get(id) is False

    def answered(self, id: str) -> None:
        """Note a result of such a call."""
        self._open.pop(id, None)

    def fits(self, name: str) -> bool:
        """Whether a tool can be written with its own name."""
        if name in self._fit:
            return True
        if TOOL_NAME.fullmatch(name) is None:
            return False
        self._fit.add(name)
        return True

    def tool_name(self, name: str, owner: object = None, *path: str | int) -> str:
        """The name to write for a tool; ``owner`` may be marked to keep one that was read here."""
        kept = self._answer or (isinstance(owner, ToolUseBlock | ToolDefinition) and _verbatim(owner))
        if kept or TOOL_NAME.fullmatch(name):
            return name
        self.lose("approximated", "tool names are letters, digits, _ and -: one was derived", *(path or ("name",)))
        if self._names is None:
            self._names = ToolNames(self._tools)
        return self._names.fit(name)


def _verbatim(owner: ToolUseBlock | ToolDefinition) -> bool:
    return marks(NAME, owner).get("name") == "verbatim"


class ToolNames:
    """Tool names of one request, from ours to the protocol's. Names that fit are never given to another tool."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._given: dict[str, str] = {}
        names = [t.name for t in tools if isinstance(t, ToolDefinition) and not _verbatim(t)]
        self._taken = {name for name in names if TOOL_NAME.fullmatch(name)}
        for name in names:
            if not TOOL_NAME.fullmatch(name):
                self.fit(name)

    def fit(self, name: str) -> str:
        if name not in self._given:
            self._given[name] = self._free(re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[:64] or "tool")
        return self._given[name]

    def _free(self, wanted: str) -> str:
        found, number = wanted, 1
        while found in self._taken:
            number += 1
            end = f"_{number}"
            found = wanted[: 64 - len(end)] + end
        self._taken.add(found)
        return found

    def originals(self) -> dict[str, str]:
        """What each derived name stands for."""
        return {derived: name for name, derived in self._given.items()}


def originals(request: Request | None) -> dict[str, str]:
    """The derived tool names that a model was told, and the caller's own for each."""
    return ToolNames(request.tools).originals() if request is not None else {}


def namespaces(request: Request | None) -> dict[str, str]:
    """The namespace of each tool that has one: a call of it must name it."""
    found: dict[str, str] = {}
    for tool in request.tools if request is not None else ():
        space = tool.extras.get(NAME, {}).get("namespace")
        if isinstance(tool, ToolDefinition) and is_object(space) and isinstance(space.get("name"), str):
            found[tool.name] = space["name"]
    return found

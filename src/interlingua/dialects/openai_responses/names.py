"""What one request gives out: call ids and tool names, derived where the protocol refuses the caller's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ...codec.ids import IdMap, IdRule
from ...codec.issuer import same_issuer
from ...codec.tables import Ledger, marks
from ...types.blocks import ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Origin
from ...types.request import Request
from ...types.tools import Tool, ToolDefinition
from .wire import NAME, is_object

LONGEST_ID = 64
CALL_ID = re.compile(rf".{{1,{LONGEST_ID}}}", re.DOTALL)
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@lru_cache(maxsize=4096)
def is_name(name: str) -> bool:
    """Whether the provider takes this as the name of a tool. Every request brings the same ones."""
    return TOOL_NAME.fullmatch(name) is not None


class Scribe(Ledger):
    """A ledger that also keeps the names and ids of one request, and knows who reads it.

    A call goes under the id that this protocol's server gave it, where a conversation has ids of its own. Two calls of
    one history may bear the same id where their protocol numbers them anew in each turn: here an id is given once, and
    a result answers the latest call of its id.
    """

    __slots__ = (
        *("_answer", "_free", "_ids", "_names", "_tools", "_trusted", "_turns"),
        *("calls", "derived", "namespaces", "reader", "renamed", "taken"),
    )

    def __init__(self, tools: Iterable[Tool] = (), reader: Target | None = None, *, answer: bool = False) -> None:
        super().__init__()
        self.reader = reader
        self._answer = answer
        """An answer speaks to who offered the tools: names and ids are already the reader's own."""
        self._tools = tools
        self._ids: IdMap | None = None
        self._names: ToolNames | None = None
        self._trusted: Origin | None = None
        self._turns: dict[str, int] = {}  # how often an id was given anew
        self._free: set[str] = set()  # calls of free text that have no result
        self.calls: dict[str, bool | None] = {}
        """By id: a call without a result is False, or True if it is of free text. One with a result is None."""
        self.renamed: dict[str, str] = {}  # what a call is called here, where that is not its own id
        self.derived: set[str] = set()  # calls that have another name since the provider would refuse theirs
        self.taken: set[str] = set()  # names that are no call's own id
        self.namespaces: dict[str, str] = {}

    def call_id(self, block: ToolUseBlock) -> str:
        """The id to write for a call."""
        own = block.id
        id = wanted = own if self._answer else block.native_ids.get(NAME, own)
        if not self._answer and marks(NAME, block).get("id") != "verbatim" and not self.takes(wanted):
            id = self._derived_id(wanted)
        self.renamed.pop(own, None)
        self.derived.discard(own)
        if id != own:
            self.renamed[own] = id
            self.taken.add(id)
        if id != wanted:
            self.lose_form("approximated", f"{NAME} takes unique ids of up to 64 characters; one derived", "id")
            self.derived.add(own)
        self.calls[own] = free = block.kind == "text"
        (self._free.add if free else self._free.discard)(own)
        return id

    def takes(self, id: str) -> bool:
        """Whether a call can be written with this id."""
        return id not in self.calls and id not in self.taken and 0 < len(id) <= LONGEST_ID

    def _derived_id(self, wanted: str) -> str:
        if self._ids is None:
            self._ids = IdMap(IdRule(CALL_ID))
        id, head = self._ids.fit(wanted), wanted[:48]
        while not self.takes(id):
            self._turns[head] = turn = self._turns.get(head, 0) + 1
            id = self._ids.fit(f"{head}_{turn}")
        return id

    def answers(self, id: str) -> tuple[str, bool]:
        """The id to write for a result, and whether it answers free text: a result of no known call, the open one."""
        free = self.calls.get(id)
        if free is not None:
            self.calls[id] = None
            self._free.discard(id)
        else:
            free = id not in self.calls and bool(self._free)
        found = self.renamed.get(id, id)
        if id in self.derived:
            self.lose_form("approximated", "the call was given another id", "tool_use_id")
        return found, free

    def trusts(self, origin: Origin) -> bool:
        """Whether what this origin signed may be said to the reader. Most of a history is of one origin."""
        if origin is self._trusted:
            return True
        if not same_issuer(origin, NAME, self.reader):
            return False
        self._trusted = origin
        return True

    def tool_name(self, name: str, owner: object = None, *path: str | int) -> str:
        """The name to write for a tool; ``owner`` may be marked to keep one that was read here."""
        kept = self._answer or (isinstance(owner, ToolUseBlock | ToolDefinition) and _verbatim(owner))
        if kept or is_name(name):
            return name
        self.lose("approximated", f"{NAME} takes letters, digits, _ and -; a name was derived", *(path or ("name",)))
        if self._names is None:
            self._names = ToolNames(self._tools)
        return self._names.fit(name)


def _verbatim(owner: ToolUseBlock | ToolDefinition) -> bool:
    return marks(NAME, owner).get("name") == "verbatim"


class ToolNames:
    """Tool names of one request, from ours to the protocol's. Names that fit are never given to another tool."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._given: dict[str, str] = {}
        self._numbers: dict[str, int] = {}  # the last number that a name was given with
        names = [t.name for t in tools if isinstance(t, ToolDefinition) and not _verbatim(t)]
        self._taken = {name for name in names if is_name(name)}
        for name in names:
            if not is_name(name):
                self.fit(name)

    def fit(self, name: str) -> str:
        if name not in self._given:
            self._given[name] = self._free(re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[:64] or "tool")
        return self._given[name]

    def _free(self, wanted: str) -> str:
        found = wanted
        while found in self._taken:
            self._numbers[wanted] = number = self._numbers.get(wanted, 1) + 1
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

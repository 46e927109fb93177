"""Tools and the choice among them, and the names and ids that one request gives out.

Names of tools and ids of calls are derived where the protocol refuses the caller's own (``Scribe``).

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

from ...codec.history.issuer import same_issuer
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import marks, with_marks
from ...codec.rows.kinds import REFUSED
from ...codec.tools.ids import IdMap, IdRule
from ...codec.tools.tool_names import ToolNames
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.loss import Loss
from ...types.messages import Origin
from ...types.request import Request
from ...types.tools import Tool, ToolChoice, ToolDefinition
from .facts import CALL_ID, LONGEST_ID, NAME, is_added, is_name
from .rows import CHOICES, TOOLS

DERIVED_ID = f"{NAME} takes unique ids of up to {LONGEST_ID} characters; one was derived"
DERIVED_NAME = f"{NAME} takes letters, digits, _ and - in the name of a tool; a name was derived"
NOT_STRICT = f"`strict: false` was added, because {NAME} assumes `true`"

# ------------------------------------------------------------------------------------------------------ names and ids


def is_verbatim(value: ToolUseBlock | Tool, field: str) -> bool:
    """Whether a field was read here although the provider would refuse it."""
    return bool(value.forms) and field in marks(NAME, value).get("verbatim", ())


class Scribe(Ledger):
    """A ledger that also keeps the names and ids of one request, and knows who reads it.

    A call is written with the id that this protocol's server gave it, where a conversation has ids of its own. Two
    calls of one history may have the same id where their protocol numbers them anew in each turn: here an id is given
    once, and a result answers the latest call of its id.
    """

    __slots__ = (
        *("_free", "_ids", "_names", "_tools", "_trusted", "_turns"),
        *("calls", "derived", "namespaces", "reader", "renamed", "taken"),
    )

    def __init__(self, tools: Iterable[Tool] = (), reader: Target | None = None) -> None:
        super().__init__()
        self.reader = reader
        self._tools = tools
        self._ids: IdMap | None = None
        self._names: ToolNames | None = None
        self._trusted: Origin | None = None
        self._turns: dict[str, int] = {}  # how often an id was given anew
        self._free: set[str] = set()  # calls of free text that have no result
        self.calls: dict[str, bool | None] = {}
        """By id: a call without a result is False, or True if it is of free text. One with a result is None."""
        self.renamed: dict[str, str] = {}  # what a call is called here, where that is not its own id
        self.derived: set[str] = set()  # calls that have another id since the provider would refuse theirs
        self.taken: set[str] = set()  # ids that are given to a call under another id
        self.namespaces: dict[str, str] = {}

    def call_id(self, block: ToolUseBlock) -> str:
        """The id to write for a call."""
        own = block.id
        id = wanted = block.native_ids.get(NAME, own) if block.native_ids else own
        if not self.takes(wanted) and not is_verbatim(block, "id"):
            id = self._derived_id(wanted)
        if self.renamed or self.derived:
            self.renamed.pop(own, None)
            self.derived.discard(own)
        if id != own:
            self.renamed[own] = id
            self.taken.add(id)
        if id != wanted:
            self.lose_form("approximated", DERIVED_ID, "id")
            self.derived.add(own)
        self._note(own, block)
        return id

    def takes_as_it_is(self, block: ToolUseBlock) -> bool:
        """Note a call that is new and is written with its own id; False for another."""
        id = block.id
        if block.native_ids or id in self.calls or id in self.taken or not 0 < len(id) <= LONGEST_ID:
            return False
        self.calls[id] = free = block.kind == "text"
        if free or self._free:
            self._note(id, block)
        return True

    def forget(self, blocks: Iterable[Block]) -> None:
        """Take back what ``takes_as_it_is`` noted."""
        for block in blocks:
            if type(block) is ToolUseBlock:
                del self.calls[block.id]
                self._free.discard(block.id)

    def _note(self, id: str, block: ToolUseBlock) -> None:
        self.calls[id] = free = block.kind == "text"
        if free:
            self._free.add(id)
        elif self._free:
            self._free.discard(id)

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
            if free:
                self._free.discard(id)
        else:
            free = id not in self.calls and bool(self._free)
        if id in self.derived:
            self.lose_form("approximated", "the call was given another id", "tool_use_id")
        return self.renamed.get(id, id), free

    def answers_plainly(self, block: ToolResultBlock) -> bool:
        """Note a result of a call that is not of free text and was written with its own id; False for another."""
        id = block.tool_use_id
        if block.forms or self.renamed or self.derived or self.calls.get(id) is not False:
            return False
        self.calls[id] = None
        return True

    def trusts(self, origin: Origin | None) -> bool:
        """Whether what this origin signed may be sent to the reader. Most of a history is of one origin."""
        if origin is None or origin is self._trusted:
            return True
        if not same_issuer(origin, NAME, self.reader):
            return False
        self._trusted = origin
        return True

    def tool_name(self, name: str, *path: str | int) -> str:
        """The name to write for a tool."""
        if is_name(name):
            return name
        self.lose("approximated", DERIVED_NAME, *(path or ("name",)))
        if self._names is None:
            self._names = ToolNames([tool for tool in self._tools if not is_verbatim(tool, "name")])
        return self._names.fit(name)


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

"""Names of tools: changed where a protocol refuses the caller's own, and changed back in the calls of an answer.

This works on canonical values: the tools of a request are renamed before it is written (``with_wire_names``), and the
calls of its answer after it was read (``renamed_tools``). Readers and writers see only names that the protocol takes.

A name that was read from the protocol although it breaks the rule is written back: the rows of tools, calls and
results mark it (``verbatim_name``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from ...errors import AdapterError
from ...types.blocks import Block, ToolResultBlock, ToolUseBlock
from ...types.events import Event, MessageComplete, ToolUseEnd, ToolUseStart
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.tools import ServerTool, Tool, ToolChoice, ToolDefinition
from ..base import StreamDecoder
from ..history.incomplete import Adapted
from ..json import is_object
from ..ledger import Ledger
from ..marks import marks
from ..rows.row import Rule
from ..rules import Matches
from ..streams.converted import ConvertedEvents
from .output import OUTPUT_TOOL

__all__ = [
    "ANY_NAME",
    "UniqueNames",
    "NameRule",
    "RenamedTools",
    "choice_with_wire_names",
    "with_wire_names",
    "renamed_tools",
    "verbatim_name",
]

Named = TypeVar("Named", ToolDefinition, ToolUseBlock, ToolResultBlock)


class NameRule:
    """The names that a protocol takes: up to ``longest`` of the regex class ``letters``, the first one of ``first``.

    ``results``: whether results carry the names of their tools too.
    """

    def __init__(self, letters: str, longest: int, *, first: str = "", results: bool = False) -> None:
        self.letters, self.longest, self.results = letters, longest, results
        self.begin = " and begin with a letter or _" if first else ""
        head = f"(?=[{first}])" if first else ""
        self.fits = Matches(re.compile(f"{head}[{letters}]{{1,{longest}}}"))
        """For each name whether the protocol takes it; results are remembered."""
        self._latest: tuple[Tool, ...] = ()

    def all_fit(self, tools: tuple[Tool, ...]) -> bool:
        """Whether the protocol takes the names of all these tools, which is usual. The latest tools are remembered: the
        answer and the next request will need the same result."""
        if tools is self._latest:
            return True
        fits = self.fits
        for tool in tools:
            if type(tool) is ToolDefinition and not fits[tool.name]:
                return False
        self._latest = tools
        return True

    def like(self, name: str) -> str:
        """A name like this one that the protocol takes."""
        found = re.sub(f"[^{self.letters}]+", "_", name)[: self.longest] or "tool"
        return found if self.fits[found] else f"_{found}"[: self.longest]

    def why(self, dialect: str) -> str:
        """The reason of the loss for a name that was derived."""
        letters = " ".join(re.findall(r"\w-\w|.", self.letters))
        return f"tool names of {dialect} are up to {self.longest} of {letters}{self.begin}; one was derived"


class FreeNames(NameRule):
    """The rule of a protocol that takes any name."""

    def __init__(self) -> None:
        super().__init__(r"\s\S", 64)
        self.fits = Matches(re.compile("(?s).*"))

    def all_fit(self, tools: tuple[Tool, ...]) -> bool:
        return True


ANY_NAME = FreeNames()


def verbatim_name(names: NameRule, *, optional: bool = False) -> Rule:
    """A rule for rows: a name that was read although it is refused stays as it is. Others were replaced before.

    ``optional``: values may have no name.
    """
    fits = names.fits

    def holds(value: ToolDefinition | ToolUseBlock | ToolResultBlock) -> bool:
        return value.name is None or fits[value.name]

    source = "({0}.name is None or {fits}[{0}.name])" if optional else "{fits}[{0}.name]"
    return Rule("name", holds, _as_it_is, source, history=True, names={"fits": fits}, fitted_before=True)


def _as_it_is(value: Any, ledger: Ledger) -> Any:
    return value


class UniqueNames:
    """Names that must differ by more than their case. One that is used already gets a number behind a ``gap``."""

    def __init__(self, longest: int, gap: str) -> None:
        self.longest, self.gap = longest, gap
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}  # the last number that a name was given with

    def add(self, name: str) -> None:
        """Use a name as it is."""
        self._taken.add(name.casefold())

    def free(self, name: str) -> str:
        """The name, or one like it that is not used yet."""
        found = name = name[: self.longest]
        while found.casefold() in self._taken:
            number = self._numbers[name] = self._numbers.get(name, 1) + 1
            end = f"{self.gap}{number}"
            found = name[: self.longest - len(end)].rstrip(" ") + end
        self.add(found)
        return found


class ToolNames:
    """The names of one request, from the caller's to those on the wire. A tool never gets the fitting name of another.

    They depend on the tools alone, in their order, so that the same tools always have the same names.
    """

    def __init__(self, tools: Sequence[Tool], dialect: str, rule: NameRule) -> None:
        self.dialect, self.rule = dialect, rule
        self.ledger = Ledger()
        self.given: dict[str, str] = {}
        """The name on the wire by the caller's own name."""
        self._free = UniqueNames(rule.longest, "_")
        for name in _taken(tools):
            self._free.add(name)
        ours = [tool for tool in tools if isinstance(tool, ToolDefinition)]
        for tool in ours:
            if rule.fits[tool.name] or self._is_verbatim(tool):
                self._free.add(tool.name)
                self.given[tool.name] = tool.name
        for tool in ours:
            self.fit(tool.name)

    def _is_verbatim(self, value: ToolDefinition | ToolUseBlock | ToolResultBlock) -> bool:
        kept = marks(self.dialect, value).get("verbatim", ())
        return kept is True or "name" in kept

    def fit(self, name: str) -> str:
        """The name itself where the protocol takes it, else one like it."""
        if name not in self.given:
            self.given[name] = name if self.rule.fits[name] else self._free.free(self.rule.like(name))
        return self.given[name]

    def named(self, value: Named) -> Named:
        """A tool, a call or a result with its name on the wire; a difference is declared as a loss."""
        own = value.name
        if own is None or (own not in self.given and self._is_verbatim(value)) or self.fit(own) == own:
            return value
        self.lose("name")
        return replace(value, name=self.given[own])

    def lose(self, *path: str | int) -> None:
        """Declare the loss for a derived name."""
        self.ledger.lose("approximated", self.rule.why(self.dialect), *path)

    def message(self, message: Message) -> Message:
        """A turn with the names on the wire in its calls and results."""
        content = [self.block(block) for _, block in self.ledger.each(enumerate(message.content), "content")]
        same = all(new is old for new, old in zip(content, message.content, strict=True))
        return message if same else replace(message, content=tuple(content))

    def block(self, block: Block) -> Block:
        """A block of a turn, with its tool's name on the wire if it is a call or a result."""
        if type(block) is ToolUseBlock:
            return self.named(block)
        return self.named(block) if type(block) is ToolResultBlock and self.rule.results else block

    def choice(self, choice: ToolChoice) -> ToolChoice:
        """A choice of tools by their names on the wire. A tool that is not offered keeps its name."""
        if choice.name is not None and self.given.get(choice.name, choice.name) != choice.name:
            self.lose("name")
            choice = replace(choice, name=self.given[choice.name])
        allowed = [self.given.get(name, name) for name in choice.allowed]
        for place, name in enumerate(choice.allowed):
            if allowed[place] != name:
                self.lose("allowed", place)
        return replace(choice, allowed=tuple(allowed)) if allowed != list(choice.allowed) else choice


def _taken(tools: Sequence[Tool]) -> Iterator[str]:
    """The names that no tool of the caller may get: that of the output tool, and those of hosted tools."""
    yield OUTPUT_TOOL
    for tool in tools:
        if type(tool) is ServerTool and is_object(tool.raw) and type(tool.raw.get("name")) is str:
            yield tool.raw["name"]


# ------------------------------------------------------------------------------------------------------------- requests


def with_wire_names(request: Request, dialect: str, rule: NameRule) -> Adapted[Request] | None:
    """The request with tool names that the protocol takes; None if no name has to change, which is usual."""
    if rule.all_fit(request.tools) and _all_used_fit(request.messages, rule):
        return None
    names = ToolNames(request.tools, dialect, rule)
    ledger = names.ledger
    tools = [names.named(tool) if type(tool) is ToolDefinition else tool
             for _, tool in ledger.each(enumerate(request.tools), "tools")]  # fmt: skip
    messages = [names.message(message) for _, message in ledger.each(enumerate(request.messages), "messages")]
    ledger.where = ("tool_choice",)
    choice = None if request.tool_choice is None else names.choice(request.tool_choice)
    if not ledger.losses:
        return None
    named = replace(request, tools=tuple(tools), messages=tuple(messages), tool_choice=choice)
    return Adapted(named, {}, ledger.losses)


def _all_used_fit(messages: Sequence[Message], rule: NameRule) -> bool:
    """Whether the protocol takes the names of all calls and results in a history."""
    fits = rule.fits
    for message in messages:
        for block in message.content:
            if type(block) is ToolUseBlock and not fits[block.name]:
                return False
            if type(block) is ToolResultBlock and rule.results and block.name is not None and not fits[block.name]:
                return False
    return True


def choice_with_wire_names(choice: ToolChoice, dialect: str, rule: NameRule) -> Adapted[ToolChoice] | None:
    """A choice that is encoded without its tools, with names that the protocol takes; None if no name has to change."""
    chosen = [*choice.allowed] if choice.name is None else [choice.name, *choice.allowed]
    if all(rule.fits[name] for name in chosen):
        return None
    names = ToolNames([ToolDefinition(name) for name in dict.fromkeys(chosen)], dialect, rule)
    return Adapted(names.choice(choice), {}, names.ledger.losses)


# -------------------------------------------------------------------------------------------------------------- answers


class RenamedTools(NamedTuple):
    """How tools were renamed: the request as the model got it, and ``own``, the caller's names by the changed ones."""

    request: Request
    own: Mapping[str, str]

    def block(self, block: Block) -> Block:
        """A block of the answer, under the caller's own name if it is a call."""
        if type(block) is not ToolUseBlock or block.name not in self.own:
            return block
        return replace(block, name=self.own[block.name])

    def response(self, response: Response) -> Response:
        """A whole answer, its calls under the caller's own names."""
        return replace(response, content=tuple(map(self.block, response.content)))


def renamed_tools(request: Request | None, dialect: str, rule: NameRule) -> RenamedTools | None:
    """How the tools were renamed for the model that answers; None if no name had to change, which is usual."""
    if request is None or rule.all_fit(request.tools):
        return None
    names = ToolNames(request.tools, dialect, rule)
    own = {derived: name for name, derived in names.given.items() if derived != name}
    if not own:
        return None
    tools = [names.named(tool) if type(tool) is ToolDefinition else tool for tool in request.tools]
    return RenamedTools(replace(request, tools=tuple(tools)), own)


class OriginalNames(ConvertedEvents):
    """A stream in which calls have the caller's own names."""

    def __init__(self, decoder: StreamDecoder, renamed_tools: RenamedTools) -> None:
        super().__init__(decoder)
        self.told = renamed_tools

    def convert(self, event: Event) -> Event:
        match event:
            case ToolUseStart():
                own = self.told.own.get(event.name, event.name)
                return replace(event, name=own, block=replace(event.block, name=own))
            case ToolUseEnd():
                return replace(event, block=self.told.block(event.block))
            case MessageComplete():
                whole = self.told.response(event.response)
                if isinstance(event.error, AdapterError):
                    event.error.response = whole
                return replace(event, response=whole)
            case _:
                return event

"""What OpenAI's two protocols have in common for tools: the tool choice, and results that are errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ..codec.json import Wire
from ..codec.ledger import Ledger
from ..codec.marks import marks
from ..codec.rows.kinds import OMIT, REFUSED, FunctionKind, Vocabulary
from ..codec.rows.row import Row, Rule, lost, must
from ..codec.rows.table import Table
from ..codec.rules import lacking, rule
from ..codec.streams.stream import dump
from ..types.base import Json
from ..types.blocks import JsonBlock, TextBlock, ToolResultBlock
from ..types.tools import Tool, ToolChoice, ToolDefinition

# -------------------------------------------------------------------------------------------------- the choice of tools


def type_of(name: str | None, tools: Sequence[Tool]) -> str:
    """The wire type of the tool of this name: ``custom`` if it takes free text, else ``function``."""
    is_text = any(isinstance(tool, ToolDefinition) and tool.name == name and tool.kind == "text" for tool in tools)
    return "custom" if is_text else "function"


class Choices:
    """Reads and writes ``tool_choice``: a word, one tool, or a list of allowed tools.

    ``nested``: the fields of a tool stand in an object under the name of its type. Marks on a choice: ``word`` (the
    synonym that was read), ``tag`` (the type of the named tool, where its definition has another type).
    """

    modes = Vocabulary({"auto": "auto", "none": "none", "required": "any", "any": "any"})

    def __init__(self, dialect: str, *, nested: bool) -> None:
        self.dialect, self.nested = dialect, nested
        of_function, of_custom, of_allowed = ("function.", "custom.", "allowed_tools.") if nested else ("", "", "")
        modes, names = Vocabulary({"auto": "auto", "required": "any"}), FunctionKind(self.read_names, self.write_names)
        no_list = lost(f"a tool choice specific of {dialect} has no list of allowed tools")
        one: dict[str, Any] = {"fixed": {"mode": "specific"}, "allowed": no_list, "elsewhere": "parallel"}
        # fmt: off
        self.table = Table(dialect, "type",
            Row(ToolChoice, "function",      name=must(f"{of_function}name"), **one),
            Row(ToolChoice, "custom",        name=must(f"{of_custom}name"), **one),
            Row(ToolChoice, "allowed_tools", mode=must(f"{of_allowed}mode", modes),
                allowed=must(f"{of_allowed}tools", names), elsewhere="parallel",
                name=lost(f"a tool choice of {dialect} names no tool beside a list")),
        )
        # fmt: on

    def take(self, rest: Wire, tools: Sequence[Tool]) -> ToolChoice | None:
        """Take ``tool_choice`` and ``parallel_tool_calls`` as one ``ToolChoice``. Unknown shapes stay residue."""
        choice: Any = self.read(rest["tool_choice"], tools) if "tool_choice" in rest else REFUSED
        if choice is REFUSED:
            choice = None
        else:
            del rest["tool_choice"]
        if type(rest.get("parallel_tool_calls")) is bool:
            choice = replace(choice or ToolChoice(), parallel=rest.pop("parallel_tool_calls"))
        found: ToolChoice | None = choice
        return found

    def tool(self, name: str, tag: str = "function") -> Wire:
        return {"type": tag, tag: {"name": name}} if self.nested else {"type": tag, "name": name}

    def read_names(self, wire: Json) -> Any:
        """The names of the allowed tools; ``REFUSED`` if the list holds anything else."""
        try:
            names = tuple([(tool[tool["type"]] if self.nested else tool)["name"] for tool in wire])
        except (KeyError, TypeError):
            return REFUSED
        return names if names and {str} == set(map(type, names)) else REFUSED

    def write_names(self, names: Sequence[str], ledger: Ledger) -> Json:
        """Write every tool as a function; ``_write_tools`` replaces them with the right types."""
        return list(map(self.tool, names))

    def read(self, wire: Json, tools: Sequence[Tool]) -> Any:
        """Read a choice; ``REFUSED`` if its shape is unknown."""
        if type(wire) is str:
            mode = self.modes.reads.get(wire)
            word = {} if self.modes.writes.get(mode) == wire else {self.dialect: {"word": wire}}
            return REFUSED if mode is None else ToolChoice(mode, forms=word)
        choice: Any = self.table.read(wire)
        if choice is REFUSED or (choice.allowed and self.write(choice, tools, Ledger()) != wire):
            return REFUSED
        if choice.mode != "specific":
            return choice
        mark = marks(self.dialect, choice)
        tag = mark.get("tag", "function")
        kept = {key: value for key, value in mark.items() if key != "tag"}
        if tag != type_of(choice.name, tools):
            kept["tag"] = tag
        return replace(choice, forms={self.dialect: kept} if kept else {})

    def write(self, choice: ToolChoice, tools: Sequence[Tool], ledger: Ledger, any_word: str = "") -> Json:
        """Write a choice; ``OMIT`` without a mode. ``any_word``: the server's word for "some tool must be called"."""
        mode, mark = choice.mode, marks(self.dialect, choice)
        if mode is None:
            if choice.name is not None or choice.allowed:
                field = "allowed" if choice.name is None else "name"
                ledger.lose("dropped", f"{self.dialect} takes names only beside a mode", field)
            return OMIT
        if mode == "specific" or (choice.allowed and mode != "none"):
            return self._write_tools(choice, tools, ledger)
        if choice.name is not None:
            ledger.lose("dropped", f"a tool choice {mode} of {self.dialect} names no tool", "name")
        if choice.allowed:
            ledger.lose("dropped", f"a tool choice {mode} of {self.dialect} has no list of allowed tools", "allowed")
        if not any_word and self.modes.reads.get(mark.get("word", "")) == mode:
            return mark["word"]
        return any_word if any_word and mode == "any" else self.modes.writes[mode]

    def _write_tools(self, choice: ToolChoice, tools: Sequence[Tool], ledger: Ledger) -> Json:
        mark = marks(self.dialect, choice)
        choice = replace(choice, extras={self.dialect: choice.extras.get(self.dialect, {})})
        if choice.mode == "specific":
            tag = mark.get("tag") or type_of(choice.name, tools)
            forms = {self.dialect: {**mark, "tag": tag}}
            return self.table.write(replace(choice, name=choice.name or "", forms=forms), ledger)
        wire: Wire = self.table.write(choice, ledger)
        inner = wire["allowed_tools"] if self.nested else wire
        inner["tools"] = [self.tool(name, type_of(name, tools)) for name in choice.allowed]
        return wire


def choice_alone(wire: Wire, ledger: Ledger) -> Json:
    """The value of ``tool_choice`` alone; ``parallel_tool_calls``, which stands beside it, is declared lost."""
    if "parallel_tool_calls" in wire:
        ledger.lose("dropped", "`parallel_tool_calls` is a parameter of its own", "tool_choice", "parallel")
    return wire.get("tool_choice", wire.get("function_call"))


# ------------------------------------------------------------------------------------------------------------ results


def no_error_flag(dialect: str, *changed: str) -> Rule:
    """The rule for results that are errors: there is no flag, so the text begins with "Error: ". Decoding keeps that.

    ``changed`` is the path within a text block that is declared as changed; by default it is the whole block.
    """
    in_text = f"{dialect} has no error flag; the text begins with 'Error: '"

    def fit(block: ToolResultBlock, ledger: Ledger) -> ToolResultBlock:
        if not block.is_error:
            why = f"{dialect} has no error flag; false means the same as leaving it out"
            ledger.lose_form("dropped", why, "is_error")
            return replace(block, is_error=None)
        ledger.lose("approximated", in_text, "is_error")
        content = list(block.content)
        place = next((i for i, inner in enumerate(content) if isinstance(inner, TextBlock | JsonBlock)), None)
        if place is None:
            return replace(block, is_error=None, content=(*content, TextBlock("Error: ")))
        head: Any = content[place]
        is_text = type(head) is TextBlock
        ledger.lose("approximated", in_text, "content", place, *(changed if is_text else ()))
        text, forms = (head.text, head.forms) if is_text else (dump(head.value).decode(), {})
        content[place] = TextBlock(f"Error: {text}", cache=head.cache, extras=head.extras, forms=forms)
        return replace(block, is_error=None, content=tuple(content))

    return rule(lacking("is_error"), fit)

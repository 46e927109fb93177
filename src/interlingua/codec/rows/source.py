"""The source code of compiled rows: lines, the objects that they name, and the function that they become.

The text of a function is in ``linecache``, so that tracebacks and debuggers show it, and ``source_of`` returns it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any, cast

from ..paths import ABSENT, merge
from .kinds import OMIT, REFUSED

__all__ = ["INDENT", "Source", "source_of"]

MISSING = object()
NO_MARKS: dict[str, Any] = {}
INDENT = "    "
SOURCES: dict[Callable[..., Any], str] = {}


def source_of(function: Callable[..., Any]) -> str:
    """The source code of a compiled reader or writer."""
    return SOURCES[function]


def literal(value: Any) -> str | None:
    """A value as a literal, which makes a new object at each use; None where the code must refer to it by a name."""
    if value is None or type(value) in (bool, int, str):
        return repr(value)
    if type(value) is tuple:
        items = [literal(item) for item in cast("Sequence[Any]", value)]
        return None if None in items else f"({''.join([f'{item}, ' for item in items])})"
    return repr(value) if type(value) in (list, dict) and not value else None


class Source:
    """The lines of a function, and the objects that they name. ``fail`` is the statement that gives up."""

    def __init__(self, fail: str) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.fail = fail
        self.shapes: dict[str, str] = {}
        self.taking = False
        """Whether the code of a reader deletes from ``rest`` what it read. Otherwise it counts, in ``known``."""
        self.spells = False
        """Whether the code of a reader notes spellings, in ``spelled``."""
        self.can_stop = False
        """Whether the code of a reader is in a loop that it may leave once all keys are known."""
        self.has_marks = False
        """Whether the code of a writer is for values that remember something about their shape or spelling."""
        self.made: dict[tuple[str, ...], str] = {}
        """The paths and names of the objects inside of the wire object that a writer makes at once."""
        self.groups: dict[str, dict[str, str]] = {}
        """The variables of the keys of groups, by group and by path."""
        self.bound: dict[str, Any] = {"MISSING": MISSING, "REFUSED": REFUSED, "OMIT": OMIT, "merge": merge}
        self.bound |= {"ABSENT": ABSENT, "marks": NO_MARKS}

    def line(self, text: str) -> None:
        """Add one line of code."""
        self.lines.append(INDENT * self.depth + text)

    def fail_if(self, condition: str) -> None:
        """Add a line that gives up where the condition holds."""
        self.line(f"if {condition}: {self.fail}")

    def bind(self, value: Any) -> str:
        """The expression for an object in the code: a literal if possible, else a name that is bound to it."""
        if (text := literal(value)) is not None:
            return text
        for name, bound in self.bound.items():
            if bound is value or (bound == value and type(bound) is type(value) and callable(value)):
                return name
        name = f"x{len(self.bound)}"
        self.bound[name] = value
        return name

    def equals(self, var: str, value: Any) -> str:
        """The condition that a wire value equals this one and has its type, since ``True == 1``."""
        same = f"{var} == {self.bind(value)}"
        return f"type({var}) is {type(value).__name__} and {same}" if type(value) in (int, float, bool) else same

    def spell(self, name: str, wire: str) -> None:
        """Add code that notes how the wire spelled a field. ``wire`` is the source of a list, as in ``row``."""
        self.spells = True
        self.line(f"if spelled is None: spelled = {{{name!r}: {wire}}}")
        self.line(f"else: spelled[{name!r}] = {wire}")

    def shape(self, mark: str) -> str:
        """The variable for a mark of the value being read; it stays None if there is nothing to remember."""
        return self.shapes.setdefault(mark, f"mark{len(self.shapes)}")

    def is_marked(self, mark: str, word: str, usual: str) -> str:
        """The condition that a mark of the value being written is this word; without a mark it is the usual one."""
        return f"marks.get({mark!r}, {usual!r}) == {word!r}" if self.has_marks else repr(word == usual)

    def record_key(self, key: str, wire: str) -> None:
        """Add code that records that a key of an object was read."""
        if wire != "wire":
            self.line(f"{wire}n += 1")
        else:
            self.line(f"del rest[{key!r}]" if self.taking else "known += 1")

    def compile(self, name: str, argument: str) -> Callable[[Any], Any]:
        """Compile the lines written so far into a function."""
        variables = [*self.shapes.values(), *(["spelled"] if self.spells else [])]
        begins = [f"{INDENT}{variable} = None" for variable in variables]
        text = "\n".join([f"def {name}({argument}):", *begins, *self.lines, ""])
        file = f"<rows {len(SOURCES)}: {name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        made: dict[str, Any] = {}
        exec(compile(text, file, "exec"), dict(self.bound), made)
        function: Callable[[Any], Any] = made[name]
        SOURCES[function] = text
        return function

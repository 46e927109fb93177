"""The source code of compiled rows: lines, the objects that they name, and the function that they become.

The text of a function is in ``linecache``, so that tracebacks and debuggers show it, and ``source_of`` gives it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from .kinds import OMIT, REFUSED
from .paths import ABSENT, merge

__all__ = ["INDENT", "Source", "source_of"]

MISSING = object()
INDENT = "    "
SOURCES: dict[Callable[..., Any], str] = {}


def source_of(function: Callable[..., Any]) -> str:
    """The source code of a compiled reader or writer."""
    return SOURCES[function]


class Source:
    """The lines of a function, and the objects that they name. ``fail`` is the statement that gives up."""

    def __init__(self, fail: str) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.fail = fail
        self.shapes: dict[str, str] = {}
        self.taking = False
        self.inner: list[str] = []
        """The keys of the objects in a frame that hold fields."""
        self.groups: dict[str, dict[str, str]] = {}
        """The variables of the keys of groups, by group and by path."""
        self.bound: dict[str, Any] = {"MISSING": MISSING, "REFUSED": REFUSED, "OMIT": OMIT, "merge": merge}
        self.bound["ABSENT"] = ABSENT

    def line(self, text: str) -> None:
        """One line of code."""
        self.lines.append(INDENT * self.depth + text)

    def fail_if(self, condition: str) -> None:
        """Give up where this holds."""
        self.line(f"if {condition}: {self.fail}")

    def bind(self, value: Any) -> str:
        """A name for an object; what can be written as a literal is."""
        if value is None or value is True or value is False or value in ((), "") or type(value) is int:
            return repr(value)
        for name, bound in self.bound.items():
            if bound is value or (bound == value and type(bound) is type(value) and callable(value)):
                return name
        name = f"x{len(self.bound)}"
        self.bound[name] = value
        return name

    def shape(self, mark: str) -> str:
        """The variable that takes a mark of the value being read; None says that there is nothing to remember."""
        return self.shapes.setdefault(mark, f"mark{len(self.shapes)}")

    def done(self, key: str, wire: str) -> None:
        """A key of an object was read."""
        if wire != "wire":
            self.line(f"{wire}n += 1")
        else:
            self.line(f"del rest[{key!r}]" if self.taking else "known += 1")

    def compile(self, name: str, argument: str) -> Callable[[Any], Any]:
        """The function."""
        shapes = [f"{INDENT}{variable} = None" for variable in self.shapes.values()]
        text = "\n".join([f"def {name}({argument}):", *shapes, *self.lines, ""])
        file = f"<rows {len(SOURCES)}: {name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        made: dict[str, Any] = {}
        exec(compile(text, file, "exec"), dict(self.bound), made)
        function: Callable[[Any], Any] = made[name]
        SOURCES[function] = text
        return function

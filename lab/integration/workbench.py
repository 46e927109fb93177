"""The tools of the matrix: real functions that write files, fail, wait for each other, and note their arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any, Literal

import msgspec

from interlingua.agent.tools import ToolSource, tool
from interlingua.agent.tools.binding import BoundTool

__all__ = ["MANY", "Workbench"]

PATIENCE = 20.0
"""Seconds after which a row fails because its calls do not run at the same time. This is not a measurement."""

MANY = 30
_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass
class Todo:
    """One step of a task."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


@dataclass
class Traveller:
    """Who goes."""

    name: str
    age: int | None
    card: str = "none"


@dataclass
class Stop:
    """Where to stay."""

    city: str
    nights: int = 1
    wishes: list[str] = field(default_factory=list[str])


class Workbench:
    """The tools and the folder of one conversation. ``noted`` is what the tools noted of their arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.noted: list[str] = []
        self._together = Barrier(3)

    def note(self, what: Any) -> None:
        """Add something to ``noted``."""
        self.noted.append(what if isinstance(what, str) else _encode(what).decode())

    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    def station(self, city: str) -> str:
        """Ask a weather station. It answers when all three are asked at once."""
        self._together.wait(PATIENCE)
        return f"{city}: {len(city)} °C"

    def divide(self, a: float, b: float) -> float:
        """Divide one number by another."""
        return a / b

    def todo_write(self, todos: list[Todo]) -> str:
        """Put down the steps of a task and their state."""
        self.note([todo.status for todo in todos])
        return f"{len(todos)} steps"

    def write(self, path: str, content: str) -> str:
        """Write a file."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
        return f"wrote {path}"

    def read(self, path: str) -> str:
        """Read a file."""
        return (self.folder / path).read_text(encoding="utf-8")

    def find(self, word: str) -> list[str]:
        """Find the files that hold a word."""
        files = sorted(place for place in self.folder.rglob("*") if place.is_file())
        return [place.name for place in files if word in place.read_text(encoding="utf-8")]

    def book(
        self,
        traveller: Traveller,
        stops: list[Stop],
        note: str | None,
        seat: int | None = 5,
        comfort: Literal["first", "second"] = "second",
        discount: float = 0.0,
    ) -> str:
        """Book a journey."""
        people = {"traveller": asdict(traveller), "stops": [asdict(stop) for stop in stops]}
        self.note({**people, "note": note, "seat": seat, "comfort": comfort, "discount": discount})
        return "booked"

    # ---------------------------------------------------------------------------------------------- as they are offered

    def adding(self) -> list[ToolSource]:
        """One tool."""
        return [self.add]

    def asking(self) -> list[ToolSource]:
        """One tool whose calls wait for each other."""
        return [self.station]

    def dividing(self) -> list[ToolSource]:
        """One tool that may fail."""
        return [self.divide]

    def working(self) -> list[ToolSource]:
        """Tools of coding agents, under their usual names."""
        named: dict[str, Callable[..., Any]] = {"TodoWrite": self.todo_write, "Write": self.write, "Read": self.read}
        return [tool(function, name=name) for name, function in named.items()]

    def searching(self) -> list[ToolSource]:
        """Tools that are called in turn, each with the result of the one before."""
        return [*self.working(), self.find, self.add]

    def many(self) -> list[ToolSource]:
        """More tools than most requests have."""
        return [self._numbered(number) for number in range(MANY)]

    def _numbered(self, number: int) -> BoundTool[..., str]:
        def act(text: str, times: int = 1) -> str:
            return f"{number}: " + " ".join([text] * times)

        return tool(act, name=f"tool_{number:02}", description=f"Does the thing of number {number}.")

    def booking(self) -> list[ToolSource]:
        """One tool with a schema that is difficult in strict mode."""
        return [tool(self.book, strict=True)]

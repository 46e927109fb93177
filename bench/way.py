"""Counts the functions of the package that one warm ``Session.send`` runs, for each top-level folder (room).

The scripted model answers in memory, and the session has answered before. Functions that the scripted model itself runs
are counted separately: over a network, they would be the provider's work. A comprehension counts with the function
around it; a function compiled from a dialect's rows counts as a function of the file ``<rows>``.

``python bench/way.py [-v] [model]`` prints the counts; ``-v`` names every function.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

import interlingua
from interlingua import ProviderManager, Session
from interlingua.client.embedded import handler
from interlingua.client.http import HttpRequest
from interlingua.client.transport.memory import Answer, AsyncMemoryTransport

PACKAGE = Path(interlingua.__file__).parent
COMPILED = "<rows "
OURS = (str(PACKAGE), COMPILED)
COMPREHENSIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
WARM = 3


class Recorder:
    """Notes which functions run: in the call itself, and in the scripted model that answers it."""

    def __init__(self) -> None:
        self.call: set[CodeType] = set()
        self.model: set[CodeType] = set()
        self._noted = self.call
        self._answer = handler()

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Note the function of a call; this is the callback for ``sys.setprofile``."""
        code = frame.f_code
        if event == "call" and code.co_name not in COMPREHENSIONS and code.co_filename.startswith(OURS):
            self._noted.add(code)

    def answer(self, request: HttpRequest) -> Answer:
        """The scripted model's answer; the functions that it runs are noted separately."""
        self._noted = self.model
        try:
            return self._answer(request)
        finally:
            self._noted = self.call


async def record(model: str) -> Recorder:
    """Send to a session that has been used before, and note what runs."""
    recorder = Recorder()
    async with (
        ProviderManager(transport=AsyncMemoryTransport(recorder.answer)) as manager,
        Session(model, manager=manager) as session,
    ):
        for _ in range(WARM):
            await session.send("Hello")
        sys.setprofile(recorder.note)
        try:
            await session.send("Hello")
        finally:
            sys.setprofile(None)
    return recorder


def report(found: set[CodeType], *, names: bool) -> str:
    """One line for each room, with its functions and files; with ``names``, one more for each file."""
    rooms: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for code in found:
        file = file_of(code)
        rooms[file.partition("/")[0]][file].append(code.co_qualname)
    lines: list[str] = []
    for room, files in sorted(rooms.items()):
        lines.append(count_line(room, sum(map(len, files.values())), len(files)))
        if names:
            lines += [f"    {path}: {', '.join(sorted(functions))}" for path, functions in sorted(files.items())]
    return "\n".join([*lines, count_line("all", len(found), len(set(map(file_of, found))))])


def file_of(code: CodeType) -> str:
    """The file of a function, relative to the package."""
    name = code.co_filename
    return "<rows>" if name.startswith(COMPILED) else Path(name).relative_to(PACKAGE).as_posix()


def count_line(name: str, functions: int, files: int) -> str:
    """``agent   49 functions in 12 files``."""
    return f"{name:<10}{functions:4} functions in {files:2} files"


if __name__ == "__main__":
    named = [argument for argument in sys.argv[1:] if argument != "-v"]
    recorded = asyncio.run(record(*named or ["embedded:"]))
    print(report(recorded.call, names="-v" in sys.argv))
    print(f"\nin the scripted model\n{report(recorded.model, names='-v' in sys.argv)}")

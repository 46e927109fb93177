"""The tools of the chat: files of one folder, a shell, Python.

All are marked destructive, so that the user is asked before each call: what is read is sent to a provider, and nothing
else limits what a shell can do.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...agent.tools import BoundTool, tool
from ...types.tools import ToolAnnotations
from ..failures import CommandError
from ..parsing import suggest

__all__ = ["tools_for"]

LONGEST = 20_000
"""The most characters of a result. The rest is left out, and the result says so."""
SECONDS = 300.0
ASK = ToolAnnotations(destructive=True)


def tools_for(names: str | None, folder: str) -> list[BoundTool[..., Any]]:
    """The tools of these names, separated by commas."""
    wanted = [name.strip() for name in (names or "").split(",") if name.strip()]
    place = Path(folder).expanduser().resolve()
    if wanted and not place.is_dir():
        raise CommandError(f"--folder {folder}: there is no such folder")
    for name in wanted:
        if name not in MAKERS:
            raise CommandError(f"--tools: {name!r} is unknown; {suggest(name, MAKERS)}")
    return [tool(function, annotations=ASK) for name in wanted for function in MAKERS[name](place)]


# --------------------------------------------------------------------------------------------------------------- files


def _files(folder: Path) -> Sequence[Callable[..., Any]]:
    def inside(path: str) -> Path:
        found = (folder / path).resolve()
        if not found.is_relative_to(folder):
            raise ValueError(f"{path} is outside of the folder {folder}")
        return found

    def list_files(pattern: str = "*") -> str:
        """List the files of the folder that a pattern like `**/*.py` finds."""
        found = sorted(path for path in folder.glob(pattern) if path.resolve().is_relative_to(folder))
        return _short(
            "\n".join(f"{path.relative_to(folder)}{'/' if path.is_dir() else ''}" for path in found) or "none"
        )

    def read_file(path: str) -> str:
        """Read a text file of the folder."""
        return _short(inside(path).read_text(encoding="utf-8"))

    def write_file(path: str, text: str) -> str:
        """Write a text file of the folder; what it held is replaced."""
        place = inside(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return f"{len(text)} characters written to {path}"

    def edit_file(path: str, old: str, new: str) -> str:
        """Replace a piece of text that stands once in a file of the folder."""
        place = inside(path)
        text = place.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"the text to replace stands {text.count(old)} times in {path}, and not once")
        place.write_text(text.replace(old, new), encoding="utf-8")
        return f"{path} is changed"

    return list_files, read_file, write_file, edit_file


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[{len(text) - LONGEST} more characters were left out]"


# ----------------------------------------------------------------------------------------------------------- processes


def _shell(folder: Path) -> Sequence[Callable[..., Any]]:
    async def shell(command: str) -> str:
        """Run a command line in the folder, and return what it writes."""
        return await _output(await asyncio.create_subprocess_shell(command, **_settings(folder)))

    return (shell,)


def _python(folder: Path) -> Sequence[Callable[..., Any]]:
    async def python(code: str) -> str:
        """Run a Python program in the folder, and return what it prints."""
        return await _output(await asyncio.create_subprocess_exec(sys.executable, "-c", code, **_settings(folder)))

    return (python,)


def _settings(folder: Path) -> dict[str, Any]:
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    return {
        "cwd": folder,
        "stdin": nothing,
        "stdout": pipe,
        "stderr": asyncio.subprocess.STDOUT,
        "start_new_session": os.name == "posix",  # Ctrl-C must not reach it, and its children must be ended with it
    }


async def _output(process: asyncio.subprocess.Process) -> str:
    """The output of a process, and its exit code if that is not 0. It is killed after ``SECONDS`` or with the turn."""
    try:
        data, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    except TimeoutError:
        raise TimeoutError(f"it was ended after {SECONDS:g} seconds") from None
    finally:
        if process.returncode is None:
            _end(process)
    text = _short(data.decode(errors="replace"))
    return text if process.returncode == 0 else f"{text}\n[exit code {process.returncode}]"


def _end(process: asyncio.subprocess.Process) -> None:
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


MAKERS: dict[str, Callable[[Path], Sequence[Callable[..., Any]]]] = {
    "files": _files,
    "shell": _shell,
    "python": _python,
}

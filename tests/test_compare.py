"""The programs of the comparison: ours lose nothing, and those of other libraries run where they are installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "compare"


def load(name: str) -> ModuleType:
    """A module of the comparison, under the name by which its modules import each other."""
    found = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


TASKS = load("tasks").TASKS
runner = load("run")
PEERS = [library for library in runner.LIBRARIES if library != "interlingua"]


@pytest.mark.parametrize("task", TASKS, ids=[task.name for task in TASKS])
def test_our_program_loses_nothing(task: object) -> None:
    assert runner.program(task, "interlingua").exists()
    assert runner.run(task, "interlingua", runner.Peers(None), 1).lost == ()


@pytest.mark.parametrize("library", PEERS)
def test_the_programs_of_another_library_report(library: str) -> None:
    """Not what they lose, which is their own affair, but that they run and are judged."""
    peers = runner.Peers(Path(sys.prefix, "compare"))
    if peers.command(library, FOLDER / "stream" / f"with_{library}.py") is None:
        pytest.skip(f"{library} is not installed; `make compare` installs it")
    results = [runner.run(task, library, peers, 1) for task in TASKS if runner.program(task, library).exists()]
    assert all(result.lines for result in results)


@pytest.mark.parametrize("task", TASKS, ids=[task.name for task in TASKS])
def test_a_program_that_says_nothing_loses_something(task: object) -> None:
    assert list(task.judge({}, task.script()))  # type: ignore[attr-defined]

"""The pytest plugin of the mutants: it records which test runs which line, or replaces a module by a mutant.

Environment variables choose: ``MUTANTS_TIMES`` and ``MUTANTS_LINES`` name the folder of the record, ``MUTANTS_RUN`` the
folder of one mutant, with the details in ``order.json``. Without these variables the plugin does nothing.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from time import process_time
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

import hypothesis
import pytest
from coverage import Coverage
from hypothesis import Phase

from .sites import mutated_tree

if TYPE_CHECKING:
    from _typeshed import StrPath

TIMES = "MUTANTS_TIMES"
LINES = "MUTANTS_LINES"
RUN = "MUTANTS_RUN"
MEMORY_LIMIT = 6 * 1024**3  # a mutant that never stops may also never stop growing


def module_name(path: Path) -> str:
    """The name of a module: ``interlingua.framing`` for ``src/interlingua/framing/__init__.py``."""
    parts = path.with_suffix("").parts
    parts = parts[parts.index("src") + 1 :] if "src" in parts else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Mutated(importlib.machinery.SourceFileLoader):
    """Loads one module with one change."""

    def __init__(self, name: str, path: str, number: int) -> None:
        super().__init__(name, path)
        self.number = number

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(mutated_tree(source, self.number), self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the one module that is changed."""

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.number = number
        self.name = module_name(path)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        location: StrPath = self.path.resolve()
        loader = Mutated(fullname, str(location), self.number)
        return importlib.util.spec_from_file_location(fullname, location, loader=loader)


class MutantRun:
    """Runs the chosen tests against a mutant."""

    def __init__(self, folder: Path) -> None:
        order = json.loads((folder / "order.json").read_text())
        self.killer = folder / "killer"
        self.tests = set(order["tests"])
        if order["file"] is not None:
            sys.meta_path.insert(0, Finder(Path(order["file"]), order["number"]))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        resource.setrlimit(resource.RLIMIT_CPU, (order["limit"], order["limit"] + 1))
        os.nice(5)

    def pytest_sessionstart(self) -> None:
        """Let hypothesis stop at the first failing example: looking for the shortest one takes minutes."""
        hypothesis.settings.register_profile("mutants", hypothesis.settings(phases=(Phase.explicit, Phase.generate)))
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.tests]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.killer.write_text(report.nodeid)


class TimeRecorder:
    """Records the CPU seconds of each test, and those of the shared fixtures of each test file."""

    def __init__(self, folder: Path) -> None:
        self.times = (folder / f"times.{os.getpid()}.jsonl").open("w", encoding="utf-8")
        self.passed = True  # whether every part of the current test has passed
        self.shared = 0.0  # the seconds of the current test that were spent in shared fixtures

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.passed, self.shared, started = True, 0.0, process_time()
        result = yield
        if self.shared:
            self.write(item.nodeid.partition("::")[0], self.shared)
        if self.passed:  # a test that fails or is skipped is never chosen for a mutant
            self.write(item.nodeid, process_time() - started - self.shared)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        started = process_time()
        try:
            return (yield)
        finally:
            if is_shared(fixturedef):
                self.shared += process_time() - started

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed &= report.passed

    def write(self, name: str, seconds: float) -> None:
        self.times.write(json.dumps([name, round(seconds, 4)]) + "\n")

    def pytest_sessionfinish(self) -> None:
        self.times.close()


class LineRecorder:
    """Records the lines of each test as contexts of coverage. Lines of a shared fixture count for its test file."""

    def __init__(self, folder: Path) -> None:
        order = json.loads((folder / "order.json").read_text())
        self.test = ""
        self.coverage = Coverage(
            data_file=folder / "coverage", data_suffix=True, include=order["files"], config_file=False, messages=False
        )
        self.coverage.start()
        self.trace = sys.gettrace()
        for file in order["files"]:  # import them now, so that lines run by the import count for no test
            importlib.import_module(module_name(Path(file)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.test = item.nodeid
        sys.settrace(self.trace)  # set it again, since the test before may have changed it
        self.coverage.switch_context(self.test)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        if is_shared(fixturedef):
            self.coverage.switch_context(self.test.partition("::")[0])
        try:
            return (yield)
        finally:
            self.coverage.switch_context(self.test)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()


def is_shared(fixture: pytest.FixtureDef[object]) -> bool:
    return fixture.scope != "function"


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    if folder := os.environ.get(RUN):
        early_config.pluginmanager.register(MutantRun(Path(folder)))


def pytest_configure(config: pytest.Config) -> None:
    is_controller = bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")
    for variable, recorder in ((TIMES, TimeRecorder), (LINES, LineRecorder)):
        if (folder := os.environ.get(variable)) and not is_controller:
            config.pluginmanager.register(recorder(Path(folder)))

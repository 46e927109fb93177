"""The record: how long each test takes, and which test runs which line.

It is made by two runs of the suite, because a test takes several times as long while its lines are recorded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from coverage import Coverage, CoverageData

from .plugin import LINES, TIMES

HERE = Path(__file__).resolve().parents[2]  # the folder that holds lab/


def environment(**more: str) -> dict[str, str]:
    """Our environment, with the plugin importable. ``CI`` makes hypothesis draw the same examples in each run."""
    path = os.pathsep.join(part for part in (str(HERE), os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "CI": "1", "PYTHONPATH": path, **more}


def pytest_command(*arguments: str) -> list[str]:
    plugins = ("-p", "lab.mutants.plugin", "-p", "no:cacheprovider")
    return [sys.executable, "-m", "pytest", "-q", *plugins, *arguments]


class Record:
    """Which test runs which line, and how long each takes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, files: Sequence[Path], tests: Sequence[str], workers: int) -> None:
        """Run the tests, once for each part that the folder does not have yet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = pytest_command("--tb=short", *(["-n", str(workers)] if workers > 1 else []), *tests)
        if not (self.folder / "times.json").exists():
            self.note(TIMES, command)
            self.collect_times()
        if not (self.folder / "coverage").exists():
            (self.folder / "order.json").write_text(json.dumps({"files": [str(file.resolve()) for file in files]}))
            self.note(LINES, command)
            coverage = Coverage(data_file=self.folder / "coverage", config_file=False, messages=False)
            coverage.combine([str(path) for path in self.folder.glob("coverage.*")], strict=True)
            coverage.save()

    def note(self, variable: str, command: Sequence[str]) -> None:
        with (self.folder / f"{variable}.log").open("w") as log:
            surroundings = environment(**{variable: str(self.folder.resolve())})
            subprocess.run(command, env=surroundings, stdout=log, check=False)

    def collect_times(self) -> None:
        times: dict[str, float] = defaultdict(float)
        for part in self.folder.glob("times.*.jsonl"):
            for line in part.read_text().splitlines():
                name, seconds = json.loads(line)
                times[name] = max(times[name], seconds)
        (self.folder / "times.json").write_text(json.dumps(times))

    @cached_property
    def seconds(self) -> Mapping[str, float]:
        """The seconds of each test that passed, and for each test file those of its shared fixtures."""
        times: dict[str, float] = json.loads((self.folder / "times.json").read_text())
        return times

    @cached_property
    def by_file(self) -> Mapping[str, list[str]]:
        """The tests of each test file."""
        found: dict[str, list[str]] = defaultdict(list)
        for test in self.seconds:
            if "::" in test:
                found[test_file(test)].append(test)
        return found

    @cached_property
    def data(self) -> CoverageData:
        data = CoverageData(str(self.folder / "coverage"))
        data.read()
        return data

    @lru_cache(maxsize=16)  # noqa: B019, the record lives as long as the run
    def by_line(self, file: Path) -> dict[int, list[str]]:
        return self.data.contexts_by_lineno(str(file.resolve()))

    def tests_of(self, file: Path, lines: Iterable[int] | None = None) -> set[str]:
        """The tests that run one of the lines, or any line of the file; lines run by its import do not count."""
        by_line = self.by_line(file)
        found = {name for line in (by_line if lines is None else lines) for name in by_line.get(line, ())}
        shared = {test for name in found for test in self.by_file.get(name, ())}
        return shared | {name for name in found if "::" in name and name in self.seconds}


def test_file(test: str) -> str:
    return test.partition("::")[0]

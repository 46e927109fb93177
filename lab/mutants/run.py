"""Draw mutants, run each against its tests, and keep the results in one JSON file that a later run continues."""

from __future__ import annotations

import ast
import json
import os
import random
import signal
import subprocess
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from .choose import choose_tests, covering_tests
from .plugin import RUN
from .record import Record, environment, pytest_command, test_file
from .sites import Site, find_sites

PATIENCE = 3  # times the limit, for a mutant that did not end in time
LONGEST_WAIT = 8  # times the limit, by the clock
PASSED, NOTHING_RUN = 0, 5  # exit codes of pytest with which a mutant survives


@dataclass(frozen=True)
class Group:
    """Files of which a number of mutants is drawn together; one line of the summary."""

    name: str
    files: tuple[Path, ...]
    number: int


@dataclass
class Mutant:
    group: str
    file: str
    number: int  # of the site in its file
    line: int
    operator: str
    before: str
    after: str
    verdict: str = ""  # killed, survived, timeout
    tries: int = 0  # each with other tests
    killer: str = ""
    seconds: float = 0.0
    covered_by: int = 0  # how many tests run the line; those that were chosen stand in `tests`
    tests: list[str] = field(default_factory=list[str])

    def after_tries(self, tries: int) -> Mutant:
        """The mutant as it was after that number of tries."""
        return self if self.tries <= tries else replace(self, verdict="survived")

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.file, self.number, self.before, self.after


def draw(group: Group, seed: int) -> list[Mutant]:
    """Draw mutants at random, equally many for each operator as far as there are enough sites for it."""
    chance = random.Random(f"{seed} {group.name}")
    by_operator: dict[str, list[Mutant]] = defaultdict(list)
    for file in group.files:
        for number, site in enumerate(find_sites(ast.parse(file.read_text(encoding="utf-8")))):
            mutant = Mutant(group.name, str(file), number, site.line, site.operator, site.before, site.after)
            by_operator[site.operator].append(mutant)
    for operator in sorted(by_operator):
        chance.shuffle(by_operator[operator])
    drawn: list[Mutant] = []
    while len(drawn) < group.number and any(by_operator.values()):
        for operator in sorted(by_operator, key=lambda _: chance.random()):
            if by_operator[operator] and len(drawn) < group.number:
                drawn.append(by_operator[operator].pop())
    return drawn


class Run:
    """One measurement: the mutants, their results so far, and the file that keeps them."""

    def __init__(self, output: Path, record: Record, files: Collection[Path], limit: int) -> None:
        self.output = output
        self.record = record
        self.files = files
        self.limit = limit
        self.lock = threading.Lock()

    def measure(self, mutants: Sequence[Mutant], workers: int, tries: int) -> list[Mutant]:
        """Try every mutant until it is killed or was tried ``tries`` times."""
        known = {mutant.key: mutant for mutant in read_results(self.output)}
        results = [known.get(mutant.key, mutant) for mutant in mutants]
        for number in range(1, tries + 1):
            self.measure_once(results, number, workers)
        return results

    def measure_once(self, results: Sequence[Mutant], number: int, workers: int) -> None:
        waiting = [mutant for mutant in results if mutant.tries < number and mutant.verdict in {"", "survived"}]
        with ThreadPoolExecutor(workers) as pool:
            for done, _ in enumerate(pool.map(self.one, waiting), 1):
                self.save(results)
                print(f"\rtry {number}: {done} of {len(waiting)}", end="", flush=True)
        self.save(results)
        print()

    def one(self, mutant: Mutant) -> None:
        """Try a mutant with tests that it was not tried with before."""
        with self.lock:
            covering = covering_tests(Path(mutant.file), site_of(mutant), self.record, self.files)
            tests = choose_tests(covering.difference(mutant.tests), self.record, self.limit / 2)
        started = monotonic()
        verdict, killer = self.judge(mutant, tests)
        with self.lock:
            mutant.verdict, mutant.killer, mutant.covered_by = verdict, killer, len(covering)
            mutant.tests += tests
            mutant.tries += 1
            mutant.seconds += round(monotonic() - started, 1)

    def judge(self, mutant: Mutant, tests: Sequence[str]) -> tuple[str, str]:
        """The verdict, and the test that killed the mutant. After a timeout there is a second run with more time."""
        for limit in (self.limit, PATIENCE * self.limit) if tests else ():
            verdict, killer = run_tests(tests, limit, mutant.file, mutant.number)
            if verdict != "timeout":
                return verdict, killer
        return ("timeout" if tests else "survived"), ""

    def save(self, results: Sequence[Mutant]) -> None:
        with self.lock:
            text = json.dumps([asdict(mutant) for mutant in results if mutant.verdict], indent=1)
        draft = self.output.with_suffix(".draft")
        draft.write_text(text + "\n")
        draft.replace(self.output)


def read_results(path: Path) -> list[Mutant]:
    return [Mutant(**values) for values in json.loads(path.read_text())] if path.exists() else []


def site_of(mutant: Mutant) -> Site:
    return find_sites(ast.parse(Path(mutant.file).read_text(encoding="utf-8")))[mutant.number]


def run_tests(tests: Sequence[str], limit: int, file: str | None, number: int = 0) -> tuple[str, str]:
    """The verdict, and the first test that failed. Without a file nothing is changed.

    The limit is in CPU seconds, so that a busy machine gives the same verdicts. A process that only waits is stopped,
    too, after ``LONGEST_WAIT`` times the limit.
    """
    command = pytest_command("-x", "--tb=no", *dict.fromkeys(map(test_file, tests)))
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "order.json").write_text(json.dumps({"file": file, "number": number, "tests": tests, "limit": limit}))
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                command, env=environment(**{RUN: name}), stdout=log, stderr=log, start_new_session=True
            )
            try:
                code = process.wait(LONGEST_WAIT * limit)
            except subprocess.TimeoutExpired:
                return "timeout", ""
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with the processes that a test left behind
                process.wait()
        if code in {PASSED, NOTHING_RUN}:
            return "survived", ""
        if code == -signal.SIGXCPU:
            return "timeout", ""
        killer = folder / "killer"
        return "killed", killer.read_text() if killer.exists() else "import"


# ------------------------------------------------------------------------------------------------ the summary


def summary(results: Sequence[Mutant]) -> Iterator[str]:
    """The lines of the summary: the shares killed by group, by operator and in all, and the survivors."""
    for key in ("group", "operator"):
        yield f"{key:40} mutants  killed  timeout  survived  share"
        for name in sorted({getattr(mutant, key) for mutant in results}):
            yield share_line(name, [mutant for mutant in results if getattr(mutant, key) == name])
        yield ""
    survivors = [mutant for mutant in results if mutant.verdict == "survived"]
    yield f"survivors ({sum(not mutant.tests for mutant in survivors)} of {len(survivors)} are run by no test):"
    for mutant in sorted(survivors, key=lambda mutant: (mutant.file, mutant.line)):
        ran = f"{len(mutant.tests)} of {mutant.covered_by} tests" if mutant.tests else "no test"
        yield f"{mutant.file}:{mutant.line} [{mutant.operator}, {ran}] {mutant.before}  ->  {mutant.after}"
    yield ""
    for tries in sorted({mutant.tries for mutant in results}):
        name = "all, with one try" if tries == 1 else f"all, with {tries} tries"
        yield share_line(name, [mutant.after_tries(tries) for mutant in results])


def share_line(name: str, mutants: Sequence[Mutant]) -> str:
    """One line of counts. A mutant that did not end in time is counted as killed."""
    killed, timeout, survived = (
        sum(mutant.verdict == verdict for mutant in mutants) for verdict in ("killed", "timeout", "survived")
    )
    share = 100 * (killed + timeout) / max(1, len(mutants))
    return f"{name:40} {len(mutants):7} {killed:7} {timeout:8} {survived:9}  {share:.1f} %"


def failing_unchanged(results: Sequence[Mutant], limit: int) -> list[str]:
    """The tests that killed a mutant and fail without one too: their kills do not count."""
    killers = sorted({mutant.killer for mutant in results} - {"", "import"})
    guilty: list[str] = []
    while killers:
        verdict, killer = run_tests(killers, limit, None)
        if verdict == "survived" or not killer:
            break
        guilty.append(killer)
        killers = [test for test in killers if test != killer]
    return guilty

"""Which tests are run against a mutant: those that run its line, the fast and specific ones first.

A line that runs when its module is imported, for instance a row of a table, has no test of its own. Its tests are those
that run the lines in which the name of the table is used.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

from .record import Record, test_file
from .sites import Place, Site

# The folders of tests, in the order in which one test file of each is taken. Then the remaining files follow.
ORDER = ("cases", "unit", "pairs", "conformance", "oracles", "unit", "corpus", "properties", "unit")

MOST_FILES = 8
MOST_OF_ONE_FILE = 0.4  # of the budget


def choose_tests(covering: Collection[str], record: Record, budget: float) -> list[str]:
    """Covering tests of at most ``MOST_FILES`` files, the fastest first, that take at most ``budget`` seconds."""
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in sorted(covering, key=lambda test: (record.seconds[test], test)):
        by_file[test_file(test)].append(test)
    chosen: list[str] = []
    files, left = 0, budget
    for file in ordered_files(by_file, record):
        shared = record.seconds.get(file, 0.0)
        taken = list(fitting(by_file[file], record, min(left, MOST_OF_ONE_FILE * budget) - shared))
        if taken:
            left -= shared + sum(record.seconds[test] for test in taken)
            chosen += taken
            files += 1
        if files == MOST_FILES:
            break
    return chosen


def ordered_files(by_file: dict[str, list[str]], record: Record) -> Iterator[str]:
    """The test files, specific ones first: those with the largest share of tests that run the line."""
    left = sorted(by_file, key=lambda file: (-len(by_file[file]) / len(record.by_file[file]), file))
    for kind in ORDER:
        if (file := next((file for file in left if Path(file).parts[1] == kind), None)) is not None:
            left.remove(file)
            yield file
    yield from left


def fitting(tests: Iterable[str], record: Record, budget: float) -> Iterator[str]:
    for test in tests:
        budget -= record.seconds[test]
        if budget < 0:
            return
        yield test


# --------------------------------------------------------------------------------------- which tests run a site


def covering_tests(file: Path, site: Site, record: Record, files: Collection[Path]) -> set[str]:
    """Every test that runs the site; ``files`` are the files in which the name of a table may be used."""
    for line in (site.line, site.place.statement.lineno):
        if tests := record.tests_of(file, [line]):
            return tests
    if site.place.in_function:
        return set()
    tests = {test for user, lines in uses(file, site.place, files) for test in record.tests_of(user, lines)}
    if not tests:
        tests = record.tests_of(file)
    if not tests:
        tests = {test for user in files if imports(user, file) for test in record.tests_of(user)}
    return tests


def uses(file: Path, place: Place, files: Collection[Path]) -> Iterator[tuple[Path, set[int]]]:
    """The lines inside functions that use a name bound by a statement of the module, or a table made with it."""
    if isinstance(place.top, ast.FunctionDef | ast.AsyncFunctionDef):  # a default value
        yield file, set(range(place.top.lineno, (place.top.end_lineno or place.top.lineno) + 1))
    waiting = [(file, name) for name in bound_names(place.top)]
    seen = set(waiting)
    while waiting:
        home, name = waiting.pop()
        for user in files:
            if user != home and not imports(user, home):
                continue
            lines, rebound = users_of(user).get(name, (set(), set()))
            yield user, lines
            for other in {(user, other) for other in rebound} - seen:
                seen.add(other)
                waiting.append(other)


def bound_names(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {statement.name}
        case ast.Assign(targets=targets):
            return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            return set()


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def users_of(file: Path) -> dict[str, tuple[set[int], set[str]]]:
    """For each name: the lines inside functions that use it, and the module's names whose values use it."""
    found: dict[str, tuple[set[int], set[str]]] = defaultdict(lambda: (set(), set()))
    for top in parsed(file).body:
        inside = {id(node) for function in functions(top) for node in ast.walk(function)}
        for node in ast.walk(top):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if name is None:
                continue
            if id(node) in inside:
                found[name][0].add(node.lineno)  # type: ignore[attr-defined]
            else:
                found[name][1].update(bound_names(top))
    return found


def functions(top: ast.stmt) -> Iterator[ast.AST]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    return (node for node in ast.walk(top) if isinstance(node, kinds))


@cache
def imported_names(file: Path) -> frozenset[str]:
    """The last parts of the modules that a file imports, and the names it takes from them."""
    found: set[str] = set()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").rpartition(".")[2], *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name.rpartition(".")[2] for alias in node.names}
    return frozenset(found)


def imports(user: Path, file: Path) -> bool:
    """Whether a file seems to import another, judged by names only. Modules of a dialect are private to its folder."""
    name = file.parent.name if file.stem == "__init__" else file.stem
    related = user.parent.is_relative_to(file.parent) or file.parent.is_relative_to(user.parent)
    return name in imported_names(user) and (related or not is_private(file))


def is_private(file: Path) -> bool:
    """Whether a file is a module of one dialect, which no other dialect imports."""
    return file.parent.parent.name == "dialects"

"""The mutants of a toy module: what is changed, what is left alone, and which of the toy's tests find it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.mutants.run import Group, draw, read_results
from lab.mutants.sites import find_sites, mutated_tree

TOY = '''
"""A docstring is left alone."""
from typing import cast
__all__ = ["STOP"]
STOP: dict[str, str] = {"end": "done"}
def f(wire: "dict[str, object]", limit=1):
    if wire:
        wire["seen"] = True
    if not wire.get("a") or limit < 2:
        raise ValueError("a message is left alone")
    g(wire)
    return cast("int", limit) + 2
'''

TOY_OF_THE_COMMAND = """
WORDS = {"end": None}
def word(key):
    global found; found = WORDS[key]
def same(n):
    return n
def unused():
    return 1
"""
TESTS_OF_THE_TOY = """
import toy
def test_word():
    toy.word("end")
def test_same():
    toy.same(2)
"""

ROOT = Path(__file__).resolve().parents[2]

CHANGES = {
    ("key", "'end'", "'end_x'"),
    ("string", "'done'", "'done_x'"),
    ("number", "1", "2"),
    ("condition", "wire", "not wire"),
    ("remove", "wire['seen'] = True", "pass"),
    ("key", "'seen'", "'seen_x'"),
    ("boolean", "True", "False"),
    ("and-or", "not wire.get('a') or limit < 2", "not wire.get('a') and limit < 2"),
    ("condition", "not wire.get('a') or limit < 2", "not (not wire.get('a') or limit < 2)"),
    ("not", "not wire.get('a')", "wire.get('a')"),
    ("key", "'a'", "'a_x'"),
    ("comparison", "limit < 2", "limit <= 2"),
    ("number", "2", "3"),
    ("remove", "g(wire)", "pass"),
    ("return", "return cast('int', limit) + 2", "return None"),
    ("arithmetic", "cast('int', limit) + 2", "cast('int', limit) - 2"),
}


def test_every_operator_and_nothing_else() -> None:
    assert {(site.operator, site.before, site.after) for site in find_sites(ast.parse(TOY))} == CHANGES


def test_each_mutant_differs_and_compiles() -> None:
    numbers = range(len(find_sites(ast.parse(TOY))))
    trees = {ast.unparse(mutated_tree(TOY, number)) for number in numbers}
    assert len(trees) == len(numbers)
    for number in numbers:
        compile(mutated_tree(TOY, number), "toy.py", "exec")


def test_a_seed_draws_the_same_sample(tmp_path: Path) -> None:
    file = tmp_path / "toy.py"
    file.write_text(TOY)
    group = Group("toy", (file,), 9)
    assert draw(group, 11) == draw(group, 11) != draw(group, 12)
    assert len({mutant.operator for mutant in draw(group, 11)}) == 9  # of ten, each once


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table's row is judged by the tests of its users. A test that only passes through kills nothing."""
    (tmp_path / "src").mkdir()
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "src" / "toy.py").write_text(TOY_OF_THE_COMMAND)
    (tmp_path / "tests" / "unit" / "test_toy.py").write_text(TESTS_OF_THE_TOY)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = src\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(tmp_path / "src")]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "lab.mutants", "src=100", "--workers", "1", "--output", "out.json"]
    subprocess.run(command, check=True, capture_output=True)
    found = {(mutant.before, mutant.verdict, tuple(mutant.tests)) for mutant in read_results(Path("out.json"))}
    test = "tests/unit/test_toy.py::"
    assert found == {
        ("'end'", "killed", (f"{test}test_word",)),
        ("return n", "survived", (f"{test}test_same",)),
        ("return 1", "survived", ()),
        ("1", "survived", ()),
    }

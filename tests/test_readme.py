"""What the README and the docs show runs: every Python block by itself, in a folder of its own.

A YAML block whose first line is ``# name.yaml`` lies there as that file.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import interlingua

HOME = Path(__file__).resolve().parents[1]
PAGES = [HOME / "README.md", *sorted((HOME / "docs").rglob("*.md"))]
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
YAML = re.compile(r"```yaml\n# (\S+\.yaml)\n(.*?)```", re.DOTALL)
ALIASES = ("Json", "OutputType")
IMPORT = re.compile(r"^from (interlingua(?:\.\w+)+) import (.+)$", re.MULTILINE)


def blocks() -> list[tuple[Path, str, int]]:
    """Every Python block, with its page and the line where it starts."""
    found: list[tuple[Path, str, int]] = []
    for page in PAGES:
        text = page.read_text()
        found += [(page, block[1], text.count("\n", 0, block.start()) + 2) for block in PYTHON.finditer(text)]
    return found


BLOCKS = [pytest.param(page, code, line, id=f"{page.relative_to(HOME)}:{line}") for page, code, line in blocks()]


@pytest.mark.parametrize(("page", "code", "line"), BLOCKS)
def test_a_block_runs_alone(page: Path, code: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever copies one block needs no other."""
    monkeypatch.chdir(tmp_path)
    for name, yaml in YAML.findall(page.read_text()):
        (tmp_path / name).write_text(yaml)
    shown = "\n" * (line - 1) + code  # so that a traceback names the line of the page
    dialects = dict(interlingua.DIALECTS)
    try:
        exec(compile(shown, page.name, "exec"), {"__name__": "__main__"})
    finally:  # a block may register one
        interlingua.DIALECTS.clear()
        interlingua.DIALECTS.update(dialects)


def test_the_agent_of_the_readme_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.search(
        r"```python\n(.*?)```\n\nIt prints:\n\n```text\n(.*?)```", (HOME / "README.md").read_text(), re.DOTALL
    )
    assert found is not None
    assert len([line for line in found[1].splitlines() if line.strip()]) <= 10
    exec(compile(found[1], "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == found[2]


def test_the_readme_shows_something() -> None:
    assert sum(page.name == "README.md" for page, _, _ in blocks()) >= 3


def test_what_blocks_import_is_public() -> None:
    """From the package, or from a module that its docstring calls public."""
    named = set(re.findall(r"``(interlingua\.[\w.]+)``", interlingua.__doc__ or ""))
    imported = {(page.name, *found) for page, code, _ in blocks() for found in IMPORT.findall(code)}
    assert named
    assert [found for found in sorted(imported) if found[1] not in named] == []


def test_modules_that_are_called_public_say_what_is_public_in_them() -> None:
    for name in re.findall(r"``(interlingua\.[\w.]+)``", interlingua.__doc__ or ""):
        module = importlib.import_module(name)
        assert [word for word in module.__all__ if not hasattr(module, word)] == []


def test_the_readme_says_how_to_install_the_package_and_its_extras() -> None:
    text = (HOME / "README.md").read_text()
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    assert "pip install " in text
    assert [extra for extra in project["optional-dependencies"] if extra != "dev" and f"`{extra}`" not in text] == []


def test_every_public_name_stands_in_a_block() -> None:
    """Whoever looks for a name finds it used. Aliases that only describe types are left out."""
    shown = "\n".join(code for _, code, _ in blocks())
    assert [name for name in interlingua.__all__ if not re.search(rf"\b{name}\b", shown) and name not in ALIASES] == []

"""The help of each command: in the documentation, and without surprises."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from cli.support import command
from interlingua.cli import output
from interlingua.cli.app import available
from interlingua.cli.parsing import parser_for
from lab.command_help import BLOCK, with_help

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def test_the_page_has_the_help_of_every_command() -> None:
    """``make docs`` writes it anew."""
    page = PAGE.read_text()
    assert {found[2] for found in BLOCK.finditer(page)} == {"interlingua", *available()}
    assert with_help(page) == page


@pytest.mark.parametrize("name", available())
def test_help_teaches_by_example(name: str) -> None:
    row = available()[name]
    text = parser_for(name, row.summary, import_module(f"interlingua.{row.module}")).format_help()
    assert f"interlingua {name}" in text.partition("examples:")[2]
    assert "--json" in text
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", [("--help",), ("help",), ("-h",), ("translate", "--help")])
def test_help_is_no_error(
    words: tuple[str, ...], capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = command(capsysbinary, monkeypatch, *words)
    assert (done.code, done.err) == (0, "")
    assert b"examples:" in done.out
    assert [line for line in done.out.decode().splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(("columns", "shown"), [(120, ("words", "name", "number")), (38, ("name", "number"))])
def test_a_table_fits_on_its_terminal(
    columns: int, shown: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "is_rich", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    output.write_table(("words", "name", "number"), [("some " * 6, "a name that is wider than that", 17)], ("words",))
    lines = capsys.readouterr().out.splitlines()
    assert tuple(lines[0].split()) == shown
    assert max(map(len, lines[:3])) <= columns
    assert lines[2].rstrip().endswith("17")
    assert ("Left out, because the terminal is too narrow: words" in "".join(lines)) == (columns == 38)


def test_a_misspelt_command(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    done = command(capsysbinary, monkeypatch, "trnslate")
    assert done.code == 2
    assert "did you mean 'translate'?" in done.err

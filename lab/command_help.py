"""``python -m lab.command_help docs/cli.md``: replaces the help texts in the page by those that the commands print."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from interlingua.cli.app import available, overview
from interlingua.cli.parsing import parser_for

__all__ = ["with_help"]

BLOCK = re.compile(r"(<!-- help: (\S+) -->\n```text\n)(?:(?!```).*\n)*(```\n)")


def help_of(name: str) -> str:
    """The text of ``interlingua NAME --help``; for ``interlingua`` itself, the overview."""
    if name == "interlingua":
        return overview().rstrip()
    row = available()[name]
    return parser_for(name, row.summary, import_module(f"interlingua.{row.module}")).format_help().rstrip()


def with_help(page: str) -> str:
    """The page with the present help texts of the commands."""
    return BLOCK.sub(lambda found: f"{found[1]}{help_of(found[2])}\n{found[3]}", page)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.write_text(with_help(place.read_text()))

"""The parser of a subcommand: argparse, with help that teaches by example and errors of one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import NoReturn

from .failures import CommandError

__all__ = ["Parser", "add_json", "near", "number", "parser_for"]

WIDTH = 80
GAP = r"(?<=\S) {2,}(?=\S)"
"""Between an example and what it does."""
UNKNOWN = "unrecognized arguments: "


class Formatter(argparse.RawDescriptionHelpFormatter):
    """The same help on every terminal and every Python, so that it can be compared with the documentation."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        value = "" if action.nargs == 0 else f" {self._format_args(action, action.dest.upper())}"
        return ", ".join(action.option_strings) + value


class Parser(argparse.ArgumentParser):
    """As argparse's, with one line for a mistake, which is raised."""

    color = False

    def error(self, message: str) -> NoReturn:
        message = self._instead(message)
        end = "" if message.endswith(("?", ".")) else "."
        raise CommandError(f"{message}{end} `{self.prog} --help` shows examples.")

    def _instead(self, message: str) -> str:
        """The message; for an option that nobody knows, with one that is spelt alike."""
        told, found, word = message.partition(UNKNOWN)
        options = [name for action in self._actions for name in action.option_strings]
        close = alike(word.split()[0], options) if found and not told else []
        return f"{message}; did you mean {close[0]}?" if close else message

    def format_help(self) -> str:
        before = self.description, self.epilog
        self.description, self.epilog = narrowed(before[0] or ""), narrowed(before[1] or "")
        try:
            return f"{super().format_help().rstrip()}\n"
        finally:
            self.description, self.epilog = before

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"{value!r} is unknown; {near(str(value), map(str, action.choices))}")


def alike(value: str, words: list[str]) -> list[str]:
    """The one that is spelt most alike, if any is."""
    from difflib import get_close_matches  # slow to import, and rarely needed

    return get_close_matches(value, words, n=1)


def narrowed(text: str) -> str:
    """A text for terminals of 80 columns: what examples do stands below them, if there is no room beside one."""
    import re
    import textwrap

    examples = [line for line in text.splitlines() if line.startswith("  ")]
    is_wide = any(len(line) >= WIDTH for line in examples)
    told: list[str] = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.splitlines()
        if not any(line in examples for line in lines):
            told.append(textwrap.fill(" ".join(lines), WIDTH - 1, break_on_hyphens=False))
        else:
            told.append("\n".join(re.sub(GAP, "\n      ", line, count=1) if is_wide else line for line in lines))
    return "\n\n".join(told)


def near(value: str, known: Iterable[str]) -> str:
    """The end of a sentence about a word that is not known."""
    words = list(known)
    found = alike(value, words)
    return f"did you mean {found[0]!r}?" if found else f"known: {', '.join(words)}"


def number(least: int = 1, most: int | None = None) -> Callable[[str], int]:
    """The type of an option that takes a whole number."""
    known = f"a whole number from {least}" + (f" to {most}" if most is not None else "")

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"{text!r} is not {known}")
        return value

    return read


def parser_for(name: str, summary: str, module: ModuleType) -> Parser:
    """The parser of a subcommand, as its module describes it."""
    parser = Parser(f"interlingua {name}", formatter_class=Formatter, allow_abbrev=False)
    parser.description = f"{summary[0].upper()}{summary[1:]}."
    module.add_arguments(parser)
    return parser


def add_json(parser: argparse.ArgumentParser, what: str = "JSON on stdout, for programs") -> None:
    """``--json``, which every subcommand has."""
    parser.add_argument("--json", action="store_true", help=what)

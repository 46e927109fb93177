"""The parser of a subcommand: argparse, with examples in the help and errors in one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import NoReturn

from .failures import CommandError

__all__ = ["Parser", "add_json", "suggest", "whole_number", "parser_for"]

WIDTH = 80
GAP = r"(?<=\S) {2,}(?=\S)"
"""The gap between an example and its explanation."""
UNKNOWN = "unrecognized arguments: "


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Formats help the same on every terminal and Python, so that it can be compared with the documentation."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        value = "" if action.nargs == 0 else f" {self._format_args(action, action.dest.upper())}"
        return ", ".join(action.option_strings) + value


class Parser(argparse.ArgumentParser):
    """argparse's parser, which raises a ``CommandError`` for a mistake instead of ending the process."""

    color = False

    def error(self, message: str) -> NoReturn:
        message = self._with_suggestion(message)
        end = "" if message.endswith(("?", ".")) else "."
        raise CommandError(f"{message}{end} `{self.prog} --help` shows examples.")

    def _with_suggestion(self, message: str) -> str:
        """argparse's message; for an unknown option, with a known one that is spelt alike."""
        message = message.replace("invalid int value:", "not a whole number:")
        before, found, word = message.partition(UNKNOWN)
        options = [name for action in self._actions for name in action.option_strings]
        close = closest(word.split()[0], options) if found and not before else []
        return f"{message}; did you mean {close[0]}?" if close else message

    def format_help(self) -> str:
        before = self.description, self.epilog
        self.description, self.epilog = fit_width(before[0] or ""), fit_width(before[1] or "")
        try:
            return f"{super().format_help().rstrip()}\n"
        finally:
            self.description, self.epilog = before

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            advice = suggest(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"{value!r} is unknown; {advice}")


def closest(value: str, words: list[str]) -> list[str]:
    """A list of the word that is spelt most like the value; empty if none is close."""
    from difflib import get_close_matches  # slow to import, and rarely needed

    return get_close_matches(value, words, n=1)


def fit_width(text: str) -> str:
    """A text of the help for 80 columns. If an example is too wide, all explanations go below their examples."""
    import re
    import textwrap

    examples = [line for line in text.splitlines() if line.startswith("  ")]
    is_wide = any(len(line) >= WIDTH for line in examples)
    fitted: list[str] = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.splitlines()
        if not any(line in examples for line in lines):
            fitted.append(textwrap.fill(" ".join(lines), WIDTH - 1, break_on_hyphens=False))
        else:
            fitted.append("\n".join(re.sub(GAP, "\n      ", line, count=1) if is_wide else line for line in lines))
    return "\n\n".join(fitted)


def suggest(value: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: the word that was probably meant, else all known words."""
    words = list(dict.fromkeys(known))
    found = closest(value, words)
    return f"did you mean {found[0]!r}?" if found else f"known: {', '.join(words)}"


def whole_number(least: int = 1, most: int | None = None) -> Callable[[str], int]:
    """The ``type`` of an option that takes a whole number from ``least`` to ``most``."""
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
    """The parser of a subcommand, with the arguments that its module adds."""
    parser = Parser(f"interlingua {name}", formatter_class=Formatter, allow_abbrev=False)
    parser.description = f"{summary[0].upper()}{summary[1:]}."
    module.add_arguments(parser)
    return parser


def add_json(parser: argparse.ArgumentParser, what: str = "JSON on stdout, for programs") -> None:
    """Add the option ``--json``, which every subcommand has."""
    parser.add_argument("--json", action="store_true", help=what)

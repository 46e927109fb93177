"""The entry point: the table of subcommands, and how their errors are reported.

Nothing is imported before a subcommand is known, so that ``interlingua --help`` starts quickly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from .failures import FAILED, INTERRUPTED, USAGE, CommandError, explain, is_full

__all__ = ["COMMANDS", "Command", "available", "main", "overview", "run_command"]


class Command(NamedTuple):
    """One subcommand: its module, and one line about it for the help."""

    module: str
    summary: str


COMMANDS = {
    "chat": Command("cli.chat", "talk with a model in the terminal, with tools"),
    "ask": Command("cli.ask", "ask one question and write the answer; for scripts"),
    "translate": Command("cli.translate", "translate a request, answer, error or stream into another protocol"),
    "inspect": Command("cli.inspect", "say what a file holds and what other protocols would lose of it"),
    "models": Command("cli.models", "list models: limits, what they accept, prices, whether usable"),
    "serve": Command("gateway.serve", "serve every protocol to any client, on any provider"),
    "launch": Command("gateway.launch", "start Claude Code, Codex, Gemini CLI, … on any model"),
    "check": Command("cli.check", "say what is configured; with --live, whether it works"),
    "local": Command("cli.local", "list the models that run in this process, and fetch a small one"),
    "sessions": Command("cli.sessions", "list, show, export and reprice the conversations that were kept"),
    "record": Command("cli.record", "run a command and keep what it and the provider say on a cassette"),
    "replay": Command("cli.record", "run a command again from a cassette, without network and key"),
    "completion": Command("cli.completion", "write the completion script for a shell"),
}

USAGE_LINE = "usage: interlingua COMMAND [OPTION …]"
EXAMPLES = """examples:
  interlingua chat
  interlingua ask -m anthropic:sonnet "What is the capital of Peru?"
  interlingua translate --to gemini request.json
  interlingua inspect session.har

`interlingua COMMAND --help` says more, with examples.

exit codes: 0 done · 1 the call or a check failed · 2 the command line or a
file is wrong · 3 a key, a provider or an extra is missing · 4 something would
be lost (--strict) · 130 interrupted
"""


def available() -> dict[str, Command]:
    """The subcommands whose module is installed: a distribution may leave out the gateway."""
    return {name: row for name, row in COMMANDS.items() if find_spec(f"interlingua.{row.module}") is not None}


def overview() -> str:
    """The text of ``interlingua --help``."""
    lines = [f"  {name:<11} {row.summary}" for name, row in available().items()]
    first = "One language for conversations with language models, and exact translators\nto every provider's protocol."
    return "\n".join([USAGE_LINE, "", first, "", "commands:", *lines, "", EXAMPLES])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code. A user's mistake is reported in one line on stderr."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = run_command(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output has closed it
        _discard_output()
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        failure = explain(error)
        if failure is None:
            raise
        if is_full(error):
            _discard_output()
        sys.stderr.write(failure.line("--json" in words))
        return failure.code


def _discard_output() -> None:
    """Send what is still buffered to the null device; else the interpreter would fail to write it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_command(words: Sequence[str]) -> int:
    """Run a command line and return its exit code. Errors are raised."""
    name = words[0] if words else "--help"
    if name in ("-h", "--help", "help"):
        sys.stdout.write(overview())
        return 0 if words else USAGE
    if name in ("-V", "--version"):
        sys.stdout.write(f"interlingua {import_module('interlingua').__version__}\n")
        return 0
    if name not in available():
        raise CommandError(_unknown_command(name))
    module = import_module(f"interlingua.{COMMANDS[name].module}")
    from .parsing import parser_for

    parser = parser_for(name, COMMANDS[name].summary, module)
    rest = words[1:]
    mark = rest.index("--") if "--" in rest and hasattr(module, "hand_on") else len(rest)
    try:
        parsed = parser.parse_args(rest[:mark])
    except SystemExit as exit:  # argparse has already written the help
        return int(exit.code or 0)
    if mark < len(rest):
        module.hand_on(parsed, rest[mark + 1 :])
    return int(module.run(parsed) or 0)


def _unknown_command(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, available(), n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(available())}."
    return f"there is no command {name!r}; {advice} `interlingua --help` says what each does."

"""``interlingua record`` and ``replay``: keeps the calls of a command on a cassette, or takes them from it."""

from __future__ import annotations

import argparse

from .failures import FAILED, CommandError
from .parsing import add_json

__all__ = ["add_arguments", "run"]

CAN = ("ask", "chat", "check")
EXAMPLES = """examples:
  interlingua record hello.json ask -m anthropic:fast "Hello!"
  interlingua replay hello.json ask -m anthropic:fast "Hello!"     no network, no key, the same answer
  interlingua record run.json check --live openai
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    name = parser.prog.split()[-1]
    parser.usage = f"interlingua {name} CASSETTE {'|'.join(CAN)} [ARGUMENT …]"
    parser.description = (
        f"{parser.description}\nA cassette is plain JSON without keys; `inspect` and tests can read it."
    )
    parser.epilog = EXAMPLES
    parser.set_defaults(mode="all" if name == "record" else "none")
    parser.add_argument("cassette", metavar="CASSETTE", help="the file; `record` replaces what it holds")
    parser.add_argument("command", choices=CAN, metavar="COMMAND", help="what to run: " + ", ".join(CAN))
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="its arguments")
    add_json(parser, "say errors as JSON; the command has a --json of its own")


def run(arguments: argparse.Namespace) -> int:
    """Run the command with the cassette between it and the network."""
    import warnings
    from pathlib import Path

    from ..testing.cassettes import Cassette, CassetteError, UnusedRecordings
    from .app import run_command
    from .calling import recording

    if arguments.mode == "none" and not Path(arguments.cassette).is_file():
        raise CommandError(f"{arguments.cassette}: there is no such cassette; `interlingua record` makes one")
    try:
        with warnings.catch_warnings(), Cassette(arguments.cassette, mode=arguments.mode) as tape:
            warnings.simplefilter("ignore", UnusedRecordings)
            with recording(tape):
                return run_command([arguments.command, *arguments.words])
    except CassetteError as error:
        raise CommandError(str(error), FAILED) from None

"""``interlingua ask``: one question, one answer; for scripts."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from .failures import FAILED, CommandError
from .parsing import add_json, whole_number

if TYPE_CHECKING:
    from ..agent.session import SyncSession
    from ..types.blocks import Block
    from ..types.response import Response

__all__ = ["add_arguments", "run"]

EXAMPLES = """examples:
  interlingua ask "What is the capital of Peru?"
  interlingua ask -m anthropic:opus -f photo.jpg "What is in this picture?"
  git diff | interlingua ask "Write a commit message for this."
  interlingua ask --schema person.json -f letter.pdf "Who wrote it?" | jq .name
  interlingua ask -m embedded: hello           a scripted model that echoes: no key, no network
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.usage = "interlingua ask [-m MODEL] [-f FILE …] [OPTION …] [QUESTION]"
    parser.description = (
        f"{parser.description}\nThe answer is written as it comes. Text on stdin is the question, or follows it."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("question", nargs="?", metavar="QUESTION", help="what to ask; without it, the text on stdin")
    parser.add_argument("-m", "--model", metavar="MODEL", help="provider:model, an alias or a tier; see `models`")
    parser.add_argument(
        "-f", "--file", action="append", default=[], metavar="FILE", help="a picture, PDF, text … to send"
    )
    parser.add_argument("-s", "--system", metavar="TEXT", help="the system prompt")
    parser.add_argument("--schema", metavar="FILE", help="a JSON Schema that the answer keeps to; `-` is stdin")
    parser.add_argument("--max-tokens", type=whole_number(), metavar="N", help="the most tokens of the answer")
    parser.add_argument("--effort", metavar="WORD", help="how much to think: none, low, medium, high, …")
    parser.add_argument("--config", metavar="FILE", help="the models.yaml to read")
    parser.add_argument("--quiet", action="store_true", help="do not report losses and warnings")
    add_json(parser, "the answer, its usage, cost and losses as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send the question, write the answer and return the exit code."""
    from ..agent.session import SyncSession
    from .calling import manager_of, print_report

    options = _options(arguments)
    content = _content(arguments)
    with (
        manager_of(arguments.config) as manager,
        SyncSession(arguments.model, system=arguments.system, manager=manager, **options) as session,
    ):
        response = _answer(session, content, shown=not arguments.json)
        if arguments.json:
            _write_json(session, response)
        if not arguments.quiet:
            print_report(session.report, response)
        return _judge(response, arguments)


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    from ..types.request import Thinking

    options: dict[str, Any] = {"max_output_tokens": arguments.max_tokens}
    if arguments.effort is not None:
        options["thinking"] = Thinking(effort=arguments.effort)
    if arguments.schema is not None:
        options["output_schema"] = _schema(arguments.schema)
    return {name: value for name, value in options.items() if value is not None}


def _schema(name: str) -> dict[str, Any]:
    from ..codec.json import is_object
    from .reading import open_input, parse

    with open_input(name) as source:
        found = parse(source.read(), "JSON")
    if not is_object(found):
        raise CommandError(f"{name} is no JSON Schema: it is not an object")
    return found


def _content(arguments: argparse.Namespace) -> list[Block]:
    from ..types.blocks import TextBlock
    from .attaching import file_block

    content = [file_block(name) for name in arguments.file]
    texts = [arguments.question, None if arguments.schema == "-" else _piped()]
    content += [TextBlock(text) for text in texts if text and text.strip()]
    if not content:
        raise CommandError('there is no question: interlingua ask "…", or send it to stdin')
    return content


def _piped() -> str | None:
    """The text on stdin; None if stdin is a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    return sys.stdin.read()


def _answer(session: SyncSession, content: list[Block], *, shown: bool) -> Response:
    """Wait for the answer and return it. If ``shown``, write its text as it arrives."""
    from ..types.events import TextDelta

    with session.stream(content) as stream:
        for event in stream:
            if shown and isinstance(event, TextDelta):
                sys.stdout.write(event.text)
                sys.stdout.flush()
    if shown:
        sys.stdout.write("\n")
    assert stream.response is not None
    return stream.response


def _write_json(session: SyncSession, response: Response) -> None:
    from .output import write_json

    write_json(
        {
            "text": response.text,
            "model": response.model,
            "provider": response.origin.provider if response.origin is not None else None,
            "stop_reason": response.stop_reason,
            "usage": response.usage,
            "cost_usd": session.report.cost_usd,
            "losses": session.report.losses,
        }
    )


def _judge(response: Response, arguments: argparse.Namespace) -> int:
    """The exit code: an answer that was refused or cut off, or is not JSON despite a schema, is a failure."""
    import msgspec

    reason = str(response.stop_reason)
    if reason in ("refusal", "max_tokens", "context_overflow"):
        sys.stderr.write(f"interlingua: {REASONS[reason]}\n")
        return FAILED
    if arguments.schema is not None:
        try:
            msgspec.json.decode(response.text)
        except msgspec.DecodeError as error:
            sys.stderr.write(f"interlingua: the answer is no JSON: {error}; another model may keep to the schema\n")
            return FAILED
    return 0


REASONS = {
    "refusal": "the model refused to answer",
    "max_tokens": "the answer was cut off at its limit of tokens; --max-tokens raises it",
    "context_overflow": "the answer was cut off: the context window is full",
}

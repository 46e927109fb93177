"""``interlingua translate``: a filter from one protocol to another, from stdin to stdout, with losses on stderr."""

from __future__ import annotations

import argparse

from .parsing import add_json, whole_number

__all__ = ["add_arguments", "run"]

DIALECTS = "anthropic-messages, openai-chat, openai-responses, gemini, ollama, bedrock-converse"
KINDS = ("request", "response", "stream", "error")

EXAMPLES = """examples:
  interlingua translate --to anthropic-messages request.json        the source dialect is found out
  curl -N … | interlingua translate --from openai-chat --to gemini  a stream, as it comes
  interlingua translate --to mistral --model mistral-large-latest request.json
  interlingua translate --to ollama --strict request.json || echo "not all"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.usage = "interlingua translate --to DIALECT [--from DIALECT] [OPTION …] [FILE]"
    parser.description = (
        f"{parser.description}\nDialects: {DIALECTS};\n"
        "the name of a provider means its dialect with the provider's quirks. Losses are written to stderr."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="?", metavar="FILE", help="what to translate; without it, stdin")
    parser.add_argument("--to", required=True, metavar="DIALECT", help="the dialect to write")
    parser.add_argument("--from", dest="source", metavar="DIALECT", help="the dialect that is read")
    parser.add_argument("--kind", choices=KINDS, metavar="KIND", help="if it cannot be found out: " + ", ".join(KINDS))
    parser.add_argument("--model", metavar="NAME", help="the model of the request that is written")
    parser.add_argument("--stream", action="store_true", help="the request asks for a stream (where the URL says so)")
    parser.add_argument("--status", type=whole_number(100, 599), metavar="CODE", help="the HTTP status of an error")
    parser.add_argument(
        "--strict", action="store_true", help="write nothing if content or state would be lost (exit 4)"
    )
    parser.add_argument("--quiet", action="store_true", help="do not report losses")
    add_json(parser, "body, path, headers and losses as one JSON object; losses of a stream as JSON lines")


def run(arguments: argparse.Namespace) -> int:
    """Translate the input and return the exit code."""
    from .translating import translate

    return translate(arguments)

"""``interlingua chat``: a conversation in the terminal."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from ..failures import CommandError, missing_extra
from ..parsing import add_json

__all__ = ["add_arguments", "run"]

EXAMPLES = """examples:
  interlingua chat                              with the first provider that has a key
  interlingua chat anthropic:opus
  interlingua chat --continue                   the last conversation goes on
  interlingua chat --tools files,shell --folder ~/project openai:gpt-5
  interlingua chat --mcp 'npx -y @modelcontextprotocol/server-time'

In the chat: /help lists the commands; @photo.jpg in a message sends the file; Esc Enter begins a new line;
Ctrl-C ends an answer and keeps its text so far; pressed twice, it leaves.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.usage = "interlingua chat [--continue] [--tools NAMES] [OPTION …] [MODEL]"
    parser.description = f"{parser.description}\nYou are asked before each call of a tool; conversations are kept."
    parser.epilog = EXAMPLES
    parser.add_argument("model", nargs="?", metavar="MODEL", help="provider:model, an alias or a tier; see `models`")
    parser.add_argument("-c", "--continue", dest="resume", action="store_true", help="go on with the last conversation")
    parser.add_argument("--session", metavar="ID", help="go on with this one; `interlingua sessions` lists them")
    parser.add_argument("-s", "--system", metavar="TEXT", help="the system prompt")
    parser.add_argument("--tools", metavar="NAMES", help="what the model may ask for: files,shell,python")
    parser.add_argument("--folder", default=".", metavar="FOLDER", help="where the tools work (default: here)")
    parser.add_argument("--mcp", action="append", default=[], metavar="SERVER", help="URL or command of an MCP server")
    parser.add_argument("--store", metavar="FILE", help="where conversations are kept; a SQLite file")
    parser.add_argument("--config", metavar="FILE", help="the models.yaml to read")
    add_json(parser, "at the end, the conversation as JSON on stdout, unless that is a terminal")


def run(arguments: argparse.Namespace) -> int:
    """Run the chat until the user leaves, and return the exit code."""
    if not sys.stdin.isatty():
        raise CommandError("chat needs a terminal; `interlingua ask` is for pipes and scripts")
    for module in ("prompt_toolkit", "rich"):
        if find_spec(module) is None:
            raise missing_extra("chat", "cli")
    import asyncio

    from .conversation import converse

    return asyncio.run(converse(arguments))

"""``interlingua launch``: a client on a model of one's choice, in one line.

A gateway of its own is started on a free port of loopback with a key of its own; the client gets its address, the key
and a configuration in a temporary folder, and runs in the foreground. The user's own files are left alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from .clients import CLIENTS, Client
from .config import Route, Settings, Snapshot, StartError
from .receipts import Receipt
from .serve import filled, prepare, server_module
from .state import State

__all__ = ["add_arguments", "environment_of", "hand_on", "run", "summary"]

NOT_FOUND = 127
"""The exit code of a shell for a program that is not there."""
EXAMPLES = """examples:
  interlingua launch claude --model openai:gpt-5
  interlingua launch codex --model anthropic:sonnet -- exec "Explain this file"
  interlingua launch gemini --model llamacpp:local
  interlingua launch llm --model embedded: -- "hello"     without any key: a scripted model that echoes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.epilog = EXAMPLES
    parser.usage = "%(prog)s CLIENT --model NAME [OPTION …] [-- ARGUMENT …]"
    parser.add_argument("client", choices=tuple(CLIENTS), metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--model", metavar="NAME", required=True, help="the model that answers: provider:model, …")
    parser.add_argument("--models", metavar="FILE", help="the models.yaml to read")
    parser.add_argument("--json", action="store_true", help="say at the end what was used, as a line of JSON")
    parser.set_defaults(handed_on=[])


def hand_on(arguments: argparse.Namespace, words: Sequence[str]) -> None:
    """What stands behind ``--`` is the client's."""
    arguments.handed_on = list(words)


def run(arguments: argparse.Namespace) -> int:
    """Run a client. Returns its exit code."""
    client = CLIENTS[arguments.client]
    program = shutil.which(client.command)
    if program is None:
        raise StartError(f"{client.title} is not installed: {client.install}", NOT_FOUND)
    server = server_module("launch")
    settings = Settings(port=0, models=arguments.models)
    state = State(Snapshot(settings=settings, routes={"*": Route(arguments.model)}))
    key = prepare(state)
    assert key is not None
    with server.in_background(state) as base, tempfile.TemporaryDirectory(prefix="interlingua-") as folder:
        code = _run(program, client, arguments, base, key, folder)
    receipts = state.priced()
    sys.stderr.write(json.dumps(totals(receipts)) + "\n" if arguments.json else summary(receipts))
    return code


def _run(program: str, client: Client, arguments: argparse.Namespace, base: str, key: str, folder: str) -> int:
    for name, text in client.files.items():
        file = Path(folder) / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(filled(text, base, key, arguments.model, folder), encoding="utf-8")
    own = [filled(word, base, key, arguments.model, folder) for word in client.arguments]
    environment = environment_of(client, os.environ, base, key, arguments.model, folder)
    with subprocess.Popen([program, *own, *arguments.handed_on], env=environment) as process, _signals_to(process):
        code = process.wait()
    return 128 - code if code < 0 else code


def environment_of(
    client: Client, environment: Mapping[str, str], base: str, key: str, model: str, folder: str
) -> dict[str, str]:
    """The client's environment: the user's, without what leads elsewhere, and with what leads here."""
    kept = {name: value for name, value in environment.items() if name not in client.without}
    told = {**client.quiet, **client.variables}
    return {**kept, **{name: filled(value, base, key, model, folder) for name, value in told.items()}}


@contextmanager
def _signals_to(process: subprocess.Popen[Any]) -> Generator[None]:
    """Ctrl-C is the client's own business, which gets it from the terminal; a request to end is handed on to it."""

    def hand_on(sig: int, frame: FrameType | None) -> None:
        process.send_signal(sig)

    def leave(sig: int, frame: FrameType | None) -> None:
        """Not ignored, or the client would ignore it too."""

    before = signal.signal(signal.SIGINT, leave), signal.signal(signal.SIGTERM, hand_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])


# ------------------------------------------------------------------------------------------------------- what was used


def totals(receipts: Sequence[Receipt]) -> dict[str, Any]:
    """The sums of all calls. The cost is None where a call has no known price."""
    used = [receipt.usage for receipt in receipts if receipt.usage is not None]
    costs = [receipt.cost_usd for receipt in receipts if receipt.usage is not None]
    lost = {loss.reason for receipt in receipts for loss in receipt.losses if loss.weight != "form"}
    return {
        "requests": len(receipts),
        "failed": sum(receipt.status != 200 for receipt in receipts),
        "input_tokens": sum(usage.total_input_tokens for usage in used),
        "output_tokens": sum(usage.output_tokens for usage in used),
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        "losses": sorted(lost),
    }


def summary(receipts: Sequence[Receipt]) -> str:
    """The same for people."""
    sums = totals(receipts)
    cost = "price unknown" if sums["cost_usd"] is None else f"${sums['cost_usd']:.4f}"
    failed = f", {sums['failed']} failed" if sums["failed"] else ""
    tokens = f"{sums['input_tokens']:,} tokens in, {sums['output_tokens']:,} out"
    lines = [
        f"{sums['requests']} requests{failed}; {tokens}; {cost}",
        *(f"  lost: {reason}" for reason in sums["losses"][:10]),
    ]
    return "\n".join(lines) + "\n"

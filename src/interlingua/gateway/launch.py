"""``interlingua launch``: run a client with any model, in one line.

A new gateway is started on a free port of loopback, with a new key; the client gets its address, the key and a
configuration in a temporary folder, and runs in the foreground. The user's own files are not changed.
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
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from ..client.local import Ability, loaded, models_folder
from ..models.providers import IN_PROCESS, PROVIDERS
from .clients import CLIENTS, Client
from .config import Route, Settings, Snapshot, StartError
from .pointing import environment_of, shortcomings, small_variables, trust_variables
from .serve import fill, prepare, server_module
from .state import State
from .used import count_calls

__all__ = ["add_arguments", "hand_on", "run"]

NOT_FOUND = 127
"""The exit code by which a shell says that a program was not found."""
EXAMPLES = """examples:
  interlingua launch claude --model openai:gpt-5
  interlingua launch codex --model anthropic:sonnet -- exec "Explain this file"
  interlingua launch gemini --model llamacpp:local
  interlingua launch claude --model local:smollm2 -- -p "hello"   without any key: `interlingua local get smollm2`
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
    """Keep the words behind ``--`` as arguments for the client."""
    arguments.handed_on = list(words)


def run(arguments: argparse.Namespace) -> int:
    """Run the client and return its exit code."""
    client = CLIENTS[arguments.client]
    program = shutil.which(client.command)
    if program is None:
        raise StartError(f"{client.title} is not installed: {client.install}", NOT_FOUND)
    server = server_module("launch")
    settings = Settings(port=0, models=arguments.models)
    state = State(Snapshot(settings=settings, routes={"*": Route(arguments.model)}))
    key = prepare(state)
    assert key is not None
    total = count_calls(state)
    with ExitStack() as stack:
        ability = stack.enter_context(loading(state, arguments.model))
        for sentence in shortcomings(client, arguments.model, ability):
            sys.stderr.write(f"interlingua launch: {sentence}\n")
        trust = trust_variables(client, Path.cwd(), Path.home().resolve())
        more = {**small_variables(client, ability), **trust}
        base = stack.enter_context(server.in_background(state))
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="launched-", dir=_parent_folder(), ignore_cleanup_errors=True)
        )
        code = _run(program, client, arguments, base, key, folder, more)
    used = total()
    sys.stderr.write(json.dumps(used.totals()) + "\n" if arguments.json else used.summary())
    return code


@contextmanager
def loading(state: State, model: str) -> Generator[Ability | None]:
    """Load a model that runs in this process before the first request, and give its abilities; None for others."""
    id, name = state.manager.locate(model)
    provider = PROVIDERS.get(id)
    if provider is None or not provider.base_url.startswith(IN_PROCESS):
        yield None
        return
    with loaded(name, state.manager.get_config(id).options, os.environ) as ability:
        yield ability


def _parent_folder() -> Path | None:
    """Interlingua's data folder, if it can be written. Codex disables its helpers in the system's temporary folder."""
    models = models_folder(os.environ)
    if models is None:
        return None
    try:
        models.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return models.parent if os.access(models.parent, os.W_OK) else None


def _run(
    program: str,
    client: Client,
    arguments: argparse.Namespace,
    base: str,
    key: str,
    folder: str,
    more: Mapping[str, str],
) -> int:
    for name, text in client.files.items():
        file = Path(folder) / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(fill(text, base, key, arguments.model, folder), encoding="utf-8")
    words = [fill(word, base, key, arguments.model, folder) for word in client.arguments]
    environment = environment_of(client, {**more, **os.environ}, base, key, arguments.model, folder)
    with subprocess.Popen([program, *words, *arguments.handed_on], env=environment) as process, _signals_to(process):
        code = process.wait()
    return 128 - code if code < 0 else code


@contextmanager
def _signals_to(process: subprocess.Popen[Any]) -> Generator[None]:
    """While the client runs, leave Ctrl-C to it, which gets it from the terminal, and send it each SIGTERM."""

    def hand_on(sig: int, frame: FrameType | None) -> None:
        process.send_signal(sig)

    def leave(sig: int, frame: FrameType | None) -> None:
        """Do nothing. SIG_IGN would be inherited by the client."""

    before = signal.signal(signal.SIGINT, leave), signal.signal(signal.SIGTERM, hand_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])

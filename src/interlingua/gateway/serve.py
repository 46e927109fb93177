"""``interlingua serve``: read the configuration, print how each client can use the gateway, serve until stopped."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec
from msgspec.structs import replace

from ..client.manager import ProviderManager
from .admission import Key, hash_key
from .choose import NOT_CONFIGURED, advise_keys, require_models
from .clients import CLIENTS
from .config import Route, Settings, Snapshot, StartError, load
from .state import State

__all__ = ["add_arguments", "fill", "instructions", "new_key", "prepare", "run", "server_module"]

EXAMPLES = """examples:
  interlingua serve                                   the providers whose keys are in the environment
  interlingua serve --model anthropic:sonnet          one model answers whatever clients ask for
  interlingua serve --config gateway.yaml
  interlingua serve --model embedded:                 without any key: a scripted model that echoes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.usage = "interlingua serve [--model NAME] [--config FILE] [OPTION …]"
    parser.epilog = EXAMPLES
    parser.add_argument("--config", metavar="FILE", help="a gateway.yaml with routes, keys and settings")
    parser.add_argument("--model", metavar="NAME", help="the model that answers, whatever name a client asks for")
    parser.add_argument("--host", help="the address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port (default 4000; 0 takes a free one)")
    parser.add_argument("--workers", type=int, metavar="N", help="processes that serve together (default 1)")
    parser.add_argument("--no-key", action="store_true", help="let everybody on this machine in without a key")
    parser.add_argument("--json", action="store_true", help="say where it listens, and the key, as a line of JSON")


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal ends the gateway, and return the exit code."""
    snapshot = with_arguments(load(arguments.config) if arguments.config else Snapshot(), arguments)
    state = State(snapshot)
    key = prepare(state, keyless=arguments.no_key)
    server = server_module("serve")

    def announce(base: str) -> None:
        text = json.dumps({"url": base, "key": key}) + "\n" if arguments.json else instructions(base, key)
        sys.stdout.write(text)
        sys.stdout.flush()

    def read() -> Snapshot:
        return with_arguments(load(arguments.config), arguments)

    code: int = server.serve(state, announce, read if arguments.config else None)
    return code


def server_module(command: str) -> Any:
    """Import the module of the server. Raises ``StartError`` if uvicorn, which it needs, is not installed."""
    try:
        return import_module(".server", __package__)
    except ImportError as error:
        advice = "pip install 'interlingua[gateway]'"
        raise StartError(f"{command} needs the extra `gateway`: {advice} ({error})", NOT_CONFIGURED) from None


def with_arguments(snapshot: Snapshot, arguments: Any) -> Snapshot:
    """The configuration, changed by the options of the command line."""
    names = ("host", "port", "workers")
    given = {name: value for name in names if (value := getattr(arguments, name, None)) is not None}
    for name, value in given.items():
        try:
            msgspec.convert({name: value}, Settings)
        except msgspec.ValidationError as error:
            reason = str(error).partition(" - at")[0]
            raise StartError(f"--{name} {value}: {reason[0].lower()}{reason[1:]}") from None
    settings: Settings = replace(snapshot.settings, **given)
    routes = {"*": Route(arguments.model)} if arguments.model else snapshot.routes
    return replace(snapshot, settings=settings, routes=routes)


def prepare(state: State, *, keyless: bool = False) -> str | None:
    """Check that a model can be served, and who may call it. Returns the key that was generated, if one was needed."""
    snapshot = state.snapshot
    if not snapshot.routes:
        require_provider(state.manager)
    require_models(snapshot, state.manager)
    snapshot.require_keys()
    if snapshot.keys or keyless:
        return None
    key, entry = new_key("local")
    state.generated_keys = (entry,)
    state.replace(snapshot)
    return key


def require_provider(manager: ProviderManager) -> None:
    """Raise if no provider has a key, or if the address of one with a key is no URL."""
    ready = [id for id, adapter in manager.configuration.adapters.items() if adapter.config.api_key]
    if not ready and not manager.configuration.models:
        advice = f"{advise_keys()}, or serve --model embedded: (a scripted model)"
        raise StartError(f"no provider has a key: {advice}", NOT_CONFIGURED)
    for id in ready:
        manager.get_config(id)  # raises if its address is no URL


def new_key(name: str) -> tuple[str, Key]:
    """A new key, and its entry, which holds only its hash."""
    key = f"il-{secrets.token_urlsafe(24)}"
    return key, Key(name=name, sha256=hash_key(key))


def instructions(base: str, key: str | None) -> str:
    """The text that says how to point each known client at the gateway."""
    shown = key or "any-text"
    lines = [f"Interlingua gateway at {base}", ""]
    if key is not None:
        lines += [f"key: {key}   (made for this run, and shown only here)", ""]
    for client in CLIENTS.values():
        if any("{folder}" in value or "\n" in value for value in client.variables.values()):
            continue  # needs a configuration of its own: `interlingua launch` writes it
        values = {name: fill(value, base, shown, "NAME", "") for name, value in client.variables.items()}
        lines.append(f"{client.title:<12} {' '.join(f'{name}={value}' for name, value in values.items())}")
    lines += [
        f"{'OpenAI SDKs':<12} OPENAI_BASE_URL={base}/v1 OPENAI_API_KEY={shown}",
        f"{'Google SDKs':<12} GOOGLE_GEMINI_BASE_URL={base} GEMINI_API_KEY={shown}",
        f"{'Ollama':<12} OLLAMA_HOST={base}",
        f"{'Bedrock':<12} AWS_ENDPOINT_URL_BEDROCK_RUNTIME={base} AWS_BEARER_TOKEN_BEDROCK={shown}",
        "",
        f"or: interlingua launch {'|'.join(CLIENTS)} --model NAME",
        "",
    ]
    return "\n".join(lines)


def fill(text: str, base: str, key: str, model: str, folder: str) -> str:
    """Fill in a text of a client's row. ``str.format`` cannot be used: JSON is full of braces."""
    values: Mapping[str, str] = {"{base}": base, "{key}": key, "{model}": model, "{folder}": folder}
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text

"""``gateway.yaml``: routes, keys and settings, read into one snapshot, which is replaced when the file changes."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from ..agent.routing.routes_file import FileReader, NamedRoute as Route, Policy, file_schema, find_route
from ..client.models_file.watching import read_text
from ..codec.json import is_list
from .admission import CLAUDE_NAMES, Key

__all__ = ["Policy", "Route", "Settings", "Snapshot", "StartError", "gateway_schema", "load", "read_settings"]

Count = Annotated[int, Meta(gt=0)]
Seconds = Annotated[float, Meta(gt=0)]


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the server. Each may be left out."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 4000
    body_limit: Count = 32 * 1024 * 1024
    """The largest body of a request, in bytes after decompression."""
    keep_alive_seconds: Seconds = 15.0
    """After this silence in a stream, something is sent that clients skip."""
    not_ready_seconds: Annotated[float, Meta(ge=0)] = 5.0
    """After SIGTERM, requests are accepted for this long, so that a balancer can notice that ``/readyz`` says no."""
    stream_seconds: Annotated[float, Meta(ge=0)] = 25.0
    """After that, answers may go on for this long."""
    workers: Count = 1
    """The number of processes that serve together; each can use one core."""
    origins: tuple[str, ...] = ()
    """Pages of these origins may call the gateway from a browser; ``*`` allows all."""
    losses: Policy = "allow"
    """The loss policy of routes that have none."""
    secret_env: str | None = None
    """The environment variable that holds the secret of envelopes; without one, each start makes a new secret."""
    models: str | None = None
    """The ``models.yaml`` that says what the names of models mean; without it, the usual places are searched."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """The checked content of the file. A call uses the snapshot with which it began until its end."""

    settings: Settings = Settings()
    routes: dict[str, Route] = {}
    keys: tuple[Key, ...] = ()
    source: str | None = None
    lines: dict[str, int] = {}
    """The line of the file in which each route begins."""

    def require_keys(self) -> None:
        """Raise ``StartError`` if other machines could connect without a key."""
        host = self.settings.host
        if not self.keys and not is_loopback(host):
            raise StartError(
                f"{host} can be reached from other machines, and there are no keys:"
                " give a gateway.yaml with `keys`, or listen on 127.0.0.1"
            )

    def route(self, name: str | None) -> Route | None:
        """The route of that name, else of the first pattern that matches it; None if there is none."""
        if name is None:
            return self.routes.get("*")
        return find_route(self.routes, name.removeprefix(CLAUDE_NAMES))


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class StartError(Exception):
    """The gateway cannot start. The message says what is wrong and what to do; ``code`` is the exit code."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


def load(path: str | Path) -> Snapshot:
    """Read a file. Raises ``ConfigError``, which names all its errors."""
    return read_settings(read_text(path), str(path))


SECTIONS = ("settings", "routes", "keys")
SHA256 = "^[0-9a-fA-F]{64}$"


def read_settings(text: str, source: str = "gateway.yaml") -> Snapshot:
    """Read the text of a file. ``source`` is its name in error messages."""
    reader = FileReader(text, source, SECTIONS)
    snapshot = Snapshot(
        settings=reader.read(reader.value.get("settings") or {}, Settings, ("settings",)) or Settings(),
        routes=reader.routes(),
        keys=_keys(reader),
        source=source,
        lines={str(path[1]): line for path, line in reader.lines.items() if len(path) == 2 and path[0] == "routes"},
    )
    reader.finish()
    return snapshot


def gateway_schema() -> dict[str, Any]:
    """JSON Schema of ``gateway.yaml``; committed beside this module as ``gateway.schema.json``."""
    schema = file_schema("gateway.yaml", {"settings": Settings, "keys": tuple[Key, ...]})
    schema["$defs"]["Key"]["properties"]["sha256"]["pattern"] = SHA256
    return schema


def _keys(reader: FileReader) -> tuple[Key, ...]:
    value: Any = reader.value.get("keys") or []
    if not is_list(value):
        reader.complain(("keys",), "`keys` must be a list, each with `name` and `sha256`")
        return ()
    found: list[Key | None] = [reader.read(entry, Key, ("keys", index)) for index, entry in enumerate(value)]
    for index, key in enumerate(found):
        if key is not None and re.fullmatch(SHA256, key.sha256) is None:
            reader.complain(("keys", index), "keys: `sha256` is not 64 hexadecimal digits; it is not the key itself")
    return tuple(key for key in found if key is not None)

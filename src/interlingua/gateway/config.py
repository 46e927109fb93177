"""``gateway.yaml``: routes, keys and settings, as one snapshot that is replaced when the file changes."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from ..client.models_file import ConfigError
from ..client.models_file.yaml_lines import Lines, Problem, read_yaml
from ..codec.json import is_dict, is_list
from .admission import Key

__all__ = ["CLAUDE_NAMES", "Policy", "Route", "Settings", "Snapshot", "StartError", "load", "read_settings"]

Policy = Literal["strict", "warn", "allow"]
Count = Annotated[int, Meta(gt=0)]
Seconds = Annotated[float, Meta(gt=0)]

CLAUDE_NAMES = "claude--"
"""Some clients list only models whose name contains ``claude``: others are offered to them under this prefix too."""


class Route(Struct, frozen=True, forbid_unknown_fields=True):
    """Where requests for a name go: a model, models in order of preference, or models with weights."""

    to: str | tuple[str, ...] | dict[str, float]
    losses: Policy | None = None
    """``strict``: a request that could not be said whole is refused; ``warn``: it is logged; ``allow``."""

    @property
    def names(self) -> tuple[str, ...]:
        """The models."""
        return (self.to,) if isinstance(self.to, str) else tuple(self.to)

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The models with their weights, if they have any."""
        return self.to if isinstance(self.to, dict) else None


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the server. Each may be left out."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 4000
    body_limit: Count = 32 * 1024 * 1024
    """Bytes of a request's body, after it was unpacked."""
    keep_alive_seconds: Seconds = 15.0
    """After so much silence in a stream, something is sent that clients skip."""
    not_ready_seconds: Annotated[float, Meta(ge=0)] = 5.0
    """At SIGTERM: how long it still accepts, so that a balancer notices that it is not ready."""
    stream_seconds: Annotated[float, Meta(ge=0)] = 25.0
    """And how long answers may go on after that."""
    workers: Count = 1
    """Processes that serve together, on a core each."""
    origins: tuple[str, ...] = ()
    """Pages of these origins may call from a browser; ``*`` are all."""
    losses: Policy = "allow"
    """For routes that do not say it."""
    secret_env: str | None = None
    """The environment variable with the secret of envelopes; without one, each start makes its own."""
    models: str | None = None
    """The ``models.yaml`` that says what the names of models mean; without it, the usual places are searched."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """The file, checked. A call keeps the snapshot that it began with."""

    settings: Settings = Settings()
    routes: dict[str, Route] = {}
    keys: tuple[Key, ...] = ()
    source: str | None = None
    lines: dict[str, int] = {}
    """Where in the file each route begins."""

    def require_keys(self) -> None:
        """Raise where other machines could connect without a key."""
        host = self.settings.host
        if not self.keys and not is_loopback(host):
            raise StartError(
                f"{host} can be reached from other machines, and there are no keys:"
                " give a gateway.yaml with `keys`, or listen on 127.0.0.1"
            )

    def route(self, name: str | None) -> Route | None:
        """The route of a name: its own, else the first pattern that fits; None if no route fits."""
        if name is None:
            return self.routes.get("*")
        name = name.removeprefix(CLAUDE_NAMES)
        exact = self.routes.get(name)
        if exact is not None:
            return exact
        return next((route for pattern, route in self.routes.items() if fnmatchcase(name, pattern)), None)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class StartError(Exception):
    """The gateway cannot be run like this: what is wrong, and what to do."""


def load(path: str | Path) -> Snapshot:
    """The snapshot of a file, or ``ConfigError`` with everything that is wrong in it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [Problem(0, f"cannot be read: {type(error).__name__}")]) from None
    return read_settings(text, str(path))


SECTIONS = ("settings", "routes", "keys")


def read_settings(text: str, source: str = "gateway.yaml") -> Snapshot:
    """The same for the text of a file."""
    value, lines = read_yaml(text, source)
    reader = _Reader(lines)
    found = value if is_dict(value) else {}
    if value is not None and not is_dict(value):
        reader.problems.append(Problem(1, f"the file must be a mapping with {', '.join(f'`{s}`' for s in SECTIONS)}"))
    for key in found:
        if key not in SECTIONS:
            reader.complain((key,), f"unknown key `{key}`; {_instead(key, SECTIONS)}")
    snapshot = Snapshot(
        settings=reader.read(found.get("settings") or {}, Settings, ("settings",)) or Settings(),
        routes=reader.routes(found.get("routes") or {}),
        keys=reader.keys(found.get("keys") or []),
        source=source,
        lines={str(path[1]): line for path, line in lines.items() if len(path) == 2 and path[0] == "routes"},
    )
    if reader.problems:
        raise ConfigError(source, reader.problems)
    return snapshot


class _Reader:
    """Checks values, and collects every problem with its line."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.problems: list[Problem] = []

    def complain(self, path: tuple[str | int, ...], message: str) -> None:
        line = next((self._lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self._lines), 0)
        self.problems.append(Problem(line, message))

    def routes(self, value: Any) -> dict[str, Route]:
        if not is_dict(value):
            self.complain(("routes",), "`routes` must be a mapping: the name that clients ask for, then a model")
            return {}
        made: dict[str, Route] = {}
        for name, entry in value.items():
            at = ("routes", name)
            found: Route | None = self.read(entry if is_dict(entry) and "to" in entry else {"to": entry}, Route, at)
            if found is not None and self._is_sound(found, at):
                made[name] = found
        return made

    def _is_sound(self, route: Route, at: tuple[str, ...]) -> bool:
        if not route.names:
            self.complain(at, f"{'.'.join(at)}: a route needs at least one model")
        elif route.weights is not None and min(route.weights.values()) <= 0:
            self.complain(at, f"{'.'.join(at)}: weights are numbers above 0")
        else:
            return True
        return False

    def keys(self, value: Any) -> tuple[Key, ...]:
        if not is_list(value):
            self.complain(("keys",), "`keys` must be a list, each with `name` and `sha256`")
            return ()
        found: list[Key | None] = [self.read(entry, Key, ("keys", index)) for index, entry in enumerate(value)]
        for index, key in enumerate(found):
            if key is not None and re.fullmatch("[0-9a-fA-F]{64}", key.sha256) is None:
                self.complain(("keys", index), "keys: `sha256` is not 64 hexadecimal digits; it is not the key itself")
        return tuple(key for key in found if key is not None)

    def read(self, value: Any, kind: type[Any], at: tuple[str | int, ...]) -> Any:
        try:
            return msgspec.convert(value, kind, str_keys=True)
        except msgspec.ValidationError as error:
            reason, _, where = str(error).partition(" - at `")
            steps = tuple(re.findall(r"\.(\w+)", where))
            unknown = re.fullmatch(r"Object contains unknown field `(.*)`", reason)
            if unknown:
                steps = (*steps, unknown[1])
                reason = f"unknown key `{unknown[1]}`; {_instead(unknown[1], [field.name for field in fields(kind)])}"
            dotted = ".".join(map(str, (*at, *steps)))
            self.complain((*at, *steps), f"{dotted}: {reason[0].lower()}{reason[1:]}")
            return None


def _instead(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"

"""The environment in which a client is launched: it calls the gateway, asks no questions, and fits a small context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..client.local import Ability
from .clients import Client
from .serve import fill

__all__ = ["environment_of", "shortcomings", "small_variables", "trust_variables"]

HERE = ("127.0.0.1", "localhost")


def environment_of(
    client: Client, environment: Mapping[str, str], base: str, key: str, model: str, folder: str
) -> dict[str, str]:
    """The client's environment: the user's, without variables for other servers, and with those for the gateway."""
    kept = {name: value for name, value in environment.items() if name not in client.unset}
    added = {**client.quiet, **client.variables}
    return {**kept, **_no_proxy(kept), **{n: fill(v, base, key, model, folder) for n, v in added.items()}}


def _no_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which a client reaches the gateway without a proxy; empty if no proxy is set."""
    if not any(name.lower().endswith("_proxy") and value for name, value in environment.items()):
        return {}
    given = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    hosts = ",".join(dict.fromkeys([*filter(None, given.split(",")), *HERE]))
    return {"no_proxy": hosts, "NO_PROXY": hosts}


def trust_variables(client: Client, folder: Path, home: Path) -> dict[str, str]:
    """The variables by which a client does not ask whether the folder can be trusted; empty if it should ask.

    Trust lets the folder's settings start servers, run commands and set variables. If neither the folder nor one above
    it, below the user's home, has such settings, trust allows nothing and the question is not needed.
    """
    has_settings = any((place / name).exists() for place in _upwards(folder, home) for name in client.folder_settings)
    return {} if has_settings else client.trust


def _upwards(folder: Path, home: Path) -> Iterator[Path]:
    """The folder and its parents, up to the user's home and without it."""
    for place in (folder, *folder.parents):
        if place == home:
            return
        yield place


def small_variables(client: Client, ability: Ability | None) -> dict[str, str]:
    """The variables that shorten a client's first request, if the model's context is too small for it; else empty."""
    return client.small if ability is not None and ability.context < client.first_tokens else {}


def shortcomings(client: Client, model: str, ability: Ability | None) -> Iterator[str]:
    """Sentences for the user about what this model cannot do for this client."""
    if ability is None or not client.first_tokens:
        return
    if ability.context < client.first_tokens:
        small = " ".join(f"{name}={value}" for name, value in client.small.items())
        does = f"so it is started with {small}" if small else "which may not fit"
        yield (
            f"{model} has room for {ability.context:,} tokens; "
            f"{client.title} begins with about {client.first_tokens:,}, {does}"
        )
    if not ability.tools:
        yield f"{model} was not made to call tools: {client.title} can talk with it, and will not get anything done"

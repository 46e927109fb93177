"""What a client is given so that it asks the gateway, and begins without a question or a request that cannot fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..client.local import Ability
from .clients import Client
from .serve import filled

__all__ = ["environment_of", "fitted", "shortcomings", "trusted"]

HERE = ("127.0.0.1", "localhost")


def environment_of(
    client: Client, environment: Mapping[str, str], base: str, key: str, model: str, folder: str
) -> dict[str, str]:
    """The client's environment: the user's, without what leads elsewhere, and with what leads here."""
    kept = {name: value for name, value in environment.items() if name not in client.without}
    told = {**client.quiet, **client.variables}
    return {**kept, **_past_proxies(kept), **{n: filled(v, base, key, model, folder) for n, v in told.items()}}


def _past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """No proxy is asked for the gateway."""
    if not any(name.lower().endswith("_proxy") and value for name, value in environment.items()):
        return {}
    told = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    without = ",".join(dict.fromkeys([*filter(None, told.split(",")), *HERE]))
    return {"no_proxy": without, "NO_PROXY": without}


def trusted(client: Client, folder: Path, home: Path) -> dict[str, str]:
    """What spares a client the question whether the folder can be trusted, where that would give nobody power.

    Trust lets settings of the folder act: servers to start, commands to run, variables. Where it has none, there is
    nothing to ask. The user's home is the user's.
    """
    brings = any((place / name).exists() for place in _upwards(folder, home) for name in client.settings)
    return {} if brings else client.trusting


def _upwards(folder: Path, home: Path) -> Iterator[Path]:
    """The folder and those that it is in, up to the user's home."""
    for place in (folder, *folder.parents):
        if place == home:
            return
        yield place


def fitted(client: Client, ability: Ability | None) -> dict[str, str]:
    """What lets a client begin with less, if the model has no room for its first request."""
    return client.small if ability is not None and ability.context < client.begins else {}


def shortcomings(client: Client, model: str, ability: Ability | None) -> Iterator[str]:
    """What cannot be expected of this model with this client, in sentences."""
    if ability is None or not client.begins:
        return
    if ability.context < client.begins:
        small = " ".join(f"{name}={value}" for name, value in client.small.items())
        does = f"so it is started with {small}" if small else "which may not fit"
        yield (
            f"{model} has room for {ability.context:,} tokens; "
            f"{client.title} begins with about {client.begins:,}, {does}"
        )
    if not ability.tools:
        yield f"{model} was not made to call tools: {client.title} can talk with it, and will not get anything done"

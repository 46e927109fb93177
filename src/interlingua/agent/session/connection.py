"""How a session reaches its models: the manager that it is given, or one of its own, made from a few words."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ...client.adapter import ProviderAdapter
from ...client.client_parts import WHICH_PROTOCOL, Partial, and_words
from ...client.embedded import Choice
from ...client.fitting import Unsupported
from ...client.limiter import Limiter
from ...client.loss_policy import OnLoss
from ...client.manager import ProviderManager
from ...client.sync_client import Client
from ...errors import InvalidRequestError
from ...models.catalogue.names import our_spelling
from ..routing import Router
from ..routing.router import Models

__all__ = ["ConnectionArguments", "connected"]


class ConnectionArguments(TypedDict, total=False):
    """What a session without a manager is told of its models, as in ``connect``."""

    base_url: str | None
    api_key: str | None
    config: Partial | None
    """Settings of the provider that answers, laid over its usual ones."""
    models: str | Path | None
    """The path of a ``models.yaml``."""
    on_loss: OnLoss
    unsupported: Unsupported | None
    limiter: Limiter | None
    """Requests and tokens a minute, and calls at once; several sessions and clients may share one."""
    script: Choice
    """What the model ``"embedded:"`` answers, one line per request; without one it echoes."""
    client: ProviderAdapter | Client | None
    """The client that answers. The caller closes it."""


def connected(
    manager: ProviderManager | None, model: Models | Router | None, **words: Unpack[ConnectionArguments]
) -> tuple[ProviderManager, Models | Router | None]:
    """The manager of a session, and the names of its models for this manager."""
    given: dict[str, Any] = {name: value for name, value in words.items() if value is not None}
    if given and (manager is not None or isinstance(model, Router)):
        owner = "manager" if manager is not None else "router"
        raise TypeError(f"a session with a {owner} takes no {', '.join(given)}: give it to ProviderManager(…)")
    if isinstance(model, Router):
        return manager or model.manager, model
    if manager is not None:
        return manager, model
    if "client" in given:
        return _with_client(given.pop("client"), model, given)
    config = and_words(given.pop("config", None), given.pop("base_url", None), given.pop("api_key", None))
    made = ProviderManager(**given)
    if config is not None:
        made.register(_the_provider(made, model), None, config)
    return made, model


def _with_client(
    client: ProviderAdapter | Client, model: Models | None, others: dict[str, Any]
) -> tuple[ProviderManager, Models]:
    if others:
        raise TypeError(f"a session with a client takes no {', '.join(others)}: the client has its own")
    made = ProviderManager()
    made.register(client.name, client, keeps_open=True)
    if model is None:
        return made, f"{client.name}:{getattr(client, 'model', None) or ''}"
    if isinstance(model, str) and ":" not in our_spelling(model, made.ids()):
        return made, f"{client.name}:{model}"  # a bare name is one of this client's models
    return made, model


def _the_provider(manager: ProviderManager, model: Models | None) -> str:
    """The one provider that ``base_url``, ``api_key`` and ``config`` are for."""
    names: Iterable[str | None] = (model,) if model is None or isinstance(model, str) else model
    try:
        ids = sorted({manager.locate(name)[0] for name in names})
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{error.message}; {WHICH_PROTOCOL}") from None
    if len(ids) != 1:
        raise TypeError(
            f"base_url, api_key and config are for one provider, and the models are of {', '.join(ids)}: use a"
            " ProviderManager, and register() for each"
        )
    return ids[0]

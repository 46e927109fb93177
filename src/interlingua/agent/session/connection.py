"""How a session reaches its models: by a manager that it is given, or by one that is made from connection arguments."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ...client.adapter import ProviderAdapter
from ...client.client_parts import WHICH_PROTOCOL, Partial, with_url_and_key
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

__all__ = ["ConnectionArguments", "manager_and_model"]


class ConnectionArguments(TypedDict, total=False):
    """How a session without a manager reaches its models; the same arguments as those of ``connect``."""

    base_url: str | None
    api_key: str | None
    config: Partial | None
    """Settings of the provider that answers. They replace its built-in settings one by one."""
    models: str | Path | None
    """The path of a ``models.yaml``."""
    on_loss: OnLoss
    unsupported: Unsupported | None
    limiter: Limiter | None
    """Limits requests and tokens a minute, and calls at once. Sessions and clients may share one."""
    script: Choice
    """What the model ``"embedded:"`` answers, one line per request; without one it echoes."""
    client: ProviderAdapter | Client | None
    """The client that answers. The caller closes it."""


def manager_and_model(
    manager: ProviderManager | None, model: Models | Router | None, **arguments: Unpack[ConnectionArguments]
) -> tuple[ProviderManager, Models | Router | None]:
    """The manager of a session, and the model in a form that this manager knows."""
    given: dict[str, Any] = {name: value for name, value in arguments.items() if value is not None}
    if given and (manager is not None or isinstance(model, Router)):
        owner = "manager" if manager is not None else "router"
        raise TypeError(f"a session with a {owner} takes no {', '.join(given)}: give it to ProviderManager(…)")
    if isinstance(model, Router):
        return manager or model.manager, model
    if manager is not None:
        return manager, model
    if "client" in given:
        return _with_client(given.pop("client"), model, given)
    config = with_url_and_key(given.pop("config", None), given.pop("base_url", None), given.pop("api_key", None))
    made = ProviderManager(**given)
    if config is not None:
        made.register(_only_provider(made, model), None, config)
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


def _only_provider(manager: ProviderManager, model: Models | None) -> str:
    """The provider that ``base_url``, ``api_key`` and ``config`` are for. Raises if the models have more than one."""
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

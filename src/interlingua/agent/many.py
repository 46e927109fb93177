"""``map_requests``: many requests, a few at a time, to one model, to several models, or to a client."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from typing import Any, Unpack, cast

from ..client.async_client import AsyncClient
from ..client.manager import ProviderManager
from ..client.many import AsyncMap, MapOptions, MapSettings, SyncMap
from ..client.many.settings import Input
from ..client.secrets import as_secret
from ..client.sync_client import Client
from ..models.pricing import Pricing
from ..types.output import OutputType, T
from ..types.request import Request
from ..types.response import Response
from .routing import Router
from .routing.router import Models
from .session.connection import ConnectionArguments, manager_and_model

__all__ = ["map_requests", "map_requests_sync"]


class Arguments(MapOptions, ConnectionArguments, total=False):
    """The options of a map, and the arguments of ``connect``."""


def map_requests(
    inputs: Iterable[Input] | AsyncIterable[Input],
    model: Models | Router | AsyncClient | None = None,
    *,
    output: OutputType[T] = None,
    **arguments: Unpack[Arguments],
) -> AsyncMap[T]:
    """The answers to many requests or prompts: ``async for result in map_requests(prompts, "openai:fast")``, or a list
    of all results with ``await``.

    ``model`` is a name as for ``connect``, several as for ``Router``, a router or a client. ``docs/many.md`` has the
    options; ``base_url``, ``api_key`` and the other arguments of ``connect`` may be given too.
    """
    _hide_key(arguments)
    if isinstance(model, AsyncClient):
        return model.map(inputs, output=output, **_only_options(arguments))
    router, options, is_own = _router_and_settings(model, output, arguments)
    limiters = options.limiters()

    async def complete(request: Request) -> Response:
        return await router.complete(request, limiters=limiters, output=output)

    return AsyncMap(complete, inputs, options, ", ".join(router.models), router.close if is_own else None)


def map_requests_sync(
    inputs: Iterable[Input],
    model: Models | Router | Client | None = None,
    *,
    output: OutputType[T] = None,
    **arguments: Unpack[Arguments],
) -> SyncMap[T]:
    """Like ``map_requests``, but blocking, in threads: ``for result in map_requests_sync(prompts, "openai:fast")``."""
    _hide_key(arguments)
    if isinstance(model, Client):
        return model.map(inputs, output=output, **_only_options(arguments))
    router, options, is_own = _router_and_settings(model, output, arguments)
    limiters = options.limiters()

    def complete(request: Request) -> Response:
        return router.complete_sync(request, limiters=limiters, output=output)

    close = router.manager.close_sync if is_own else None
    return SyncMap(complete, router.cancel_sync, inputs, options, ", ".join(router.models), close)


def _hide_key(arguments: Arguments) -> None:
    """Wrap the API key, so that tracebacks with local variables do not show it."""
    if "api_key" in arguments:
        arguments["api_key"] = as_secret(arguments["api_key"])


def _only_options(arguments: Arguments) -> MapOptions:
    others = sorted(set(arguments) - set(MapOptions.__annotations__))
    if others:
        raise TypeError(f"a map with a client takes no {', '.join(others)}: the client has its own")
    return cast("MapOptions", arguments)


def _router_and_settings(
    model: Models | Router | None, output: Any, arguments: Arguments
) -> tuple[Router, MapSettings, bool]:
    """The router that answers, the settings, and whether the router is closed at the end."""
    options: Any = {name: value for name, value in arguments.items() if name in MapOptions.__annotations__}
    connection: Any = {name: value for name, value in arguments.items() if name not in options}
    options.setdefault("pricing", None)
    unknown = sorted(set(connection) - set(ConnectionArguments.__annotations__))
    if unknown:
        raise TypeError(f"a map has no {', '.join(unknown)}; it has {', '.join(MapOptions.__annotations__)}")
    if isinstance(model, Router) and not connection:
        router, is_own = model, False
    else:
        manager, named = manager_and_model(None, model, **connection)
        assert not isinstance(named, Router)
        router, is_own = Router(_first_model(manager) if named is None else named, manager), True
    for name in router.models:
        router.manager.locate(name)  # an unknown name raises here, before the first request
    if options["pricing"] is None:
        options["pricing"] = Pricing(router.manager.configuration.prices)
    return router, MapSettings(**options, output=output), is_own


def _first_model(manager: ProviderManager) -> str:
    id, name = manager.locate(None)
    return f"{id}:{name or ''}"

"""The transports of ``local:``: a request goes to the server of the model that it names, started if need be."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from importlib import import_module
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...models.providers import IN_PROCESS
from ..http import HttpRequest
from ..transport.base import Abort, AsyncReply, AsyncTransport, Reply, Transport
from .finding import find_model
from .forcing import ForcedCall, forced_call
from .servers import release, url_of

__all__ = ["AsyncLocalTransport", "LocalTransport"]


class _ModelName(Struct):
    """The name of the model, which has the same key in the bodies of all three protocols."""

    model: str | None = None


class _Local:
    def __init__(self, options: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._options, self._environ = options or {}, os.environ if environ is None else environ

    def _to_server(self, request: HttpRequest) -> HttpRequest:
        """The request with the URL of its model's server. Blocks until that server is ready."""
        model = msgspec.json.decode(request.body, type=_ModelName).model
        path = find_model(model, self._environ)
        url = url_of(path, self, self._options)
        return replace(request, url=request.url.replace(IN_PROCESS, url, 1))


class LocalTransport(_Local):
    """The transport of ``Client`` for local models."""

    _inner: Transport | None = None

    def send(self, request: HttpRequest, abort: Abort) -> Reply:
        """Send a request to the server of its model."""
        addressed = self._to_server(request)
        forced = forced_call(addressed)
        if self._inner is None:
            made: Transport = import_module("..transport.blocking", __package__).BlockingTransport()
            self._inner = made
        reply = self._inner.send(addressed if forced is None else forced.http, abort)
        return reply if forced is None or reply.status != OK else _ForcedReply(reply, forced)

    def close(self) -> None:
        """Close the connections, and end the servers that nobody else uses."""
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()
        release(self)


class AsyncLocalTransport(_Local):
    """The transport of ``AsyncClient`` for local models. It loads a model in a thread."""

    _inner: AsyncTransport | None = None

    async def send(self, request: HttpRequest) -> AsyncReply:
        """Send a request to the server of its model."""
        addressed = await asyncio.to_thread(self._to_server, request)
        forced = forced_call(addressed)
        if self._inner is None:
            made: AsyncTransport = import_module("..transport.aio", __package__).AioTransport()
            self._inner = made
        reply = await self._inner.send(addressed if forced is None else forced.http)
        return reply if forced is None or reply.status != OK else _AsyncForcedReply(reply, forced)

    async def close(self) -> None:
        """Close the connections, and end the servers that nobody else uses."""
        inner, self._inner = self._inner, None
        if inner is not None:
            await inner.close()
        await asyncio.to_thread(release, self)


OK = 200
STREAM, WHOLE = {"content-type": "text/event-stream"}, {"content-type": "application/json"}


class _ForcedReply:
    """The reply to a forced call, which is converted when all of it was received."""

    def __init__(self, reply: Reply, forced: ForcedCall) -> None:
        self._reply, self._forced = reply, forced
        self.status = reply.status
        self.headers: Mapping[str, str] = STREAM if forced.request.stream else WHOLE

    def chunks(self) -> Iterator[bytes]:
        yield from self._forced.answer(b"".join(self._reply.chunks()))

    def drain(self) -> None:
        self._reply.drain()

    def close(self) -> None:
        self._reply.close()


class _AsyncForcedReply:
    def __init__(self, reply: AsyncReply, forced: ForcedCall) -> None:
        self._reply, self._forced = reply, forced
        self.status = reply.status
        self.headers: Mapping[str, str] = STREAM if forced.request.stream else WHOLE

    async def chunks(self) -> AsyncIterator[bytes]:
        data = b"".join([chunk async for chunk in self._reply.chunks()])
        for chunk in self._forced.answer(data):
            yield chunk

    async def drain(self) -> None:
        await self._reply.drain()

    def close(self) -> None:
        self._reply.close()

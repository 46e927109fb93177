"""What all replies share: chunks one after another, decompressed, and our errors for those of the library."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import aiohttp
from aiohttp.http import HttpProcessingError

from ...errors import AdapterError, NetworkError, RequestTimeoutError
from .base import DRAIN_SECONDS, AsyncReply
from .compression import Decompressor, decompressor_for
from .failures import Failures
from .timeouts import TimedRequest

__all__ = ["CAUGHT", "FAILURES", "TimedReply", "host_of", "unpacked"]

FAILURES = Failures(
    (aiohttp.ConnectionTimeoutError, RequestTimeoutError, "no connection in time"),
    (aiohttp.SocketTimeoutError, RequestTimeoutError, "the provider fell silent for too long"),
    (asyncio.TimeoutError, RequestTimeoutError, "no answer in time"),
    (aiohttp.ClientConnectorDNSError, NetworkError, "the host name is not known"),
    (aiohttp.ClientSSLError, NetworkError, "no secure connection"),
    (aiohttp.ClientProxyConnectionError, NetworkError, "the proxy cannot be reached"),
    (aiohttp.ClientHttpProxyError, NetworkError, "the proxy refused"),
    (aiohttp.ClientConnectorError, NetworkError, "no connection"),
    (aiohttp.ServerDisconnectedError, NetworkError, "the server closed the connection without an answer"),
    (aiohttp.ClientPayloadError, NetworkError, "the answer was cut"),
    (aiohttp.ClientError, NetworkError, "the connection broke"),
    (HttpProcessingError, NetworkError, "the answer is not HTTP"),
    (OSError, NetworkError, "the connection broke"),
)
CAUGHT = (aiohttp.ClientError, asyncio.TimeoutError, HttpProcessingError, OSError)


def host_of(url: str) -> str:
    """The host and port of a URL, for messages."""
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2]


class TimedReply:
    """An answer, one chunk after another. Not an async generator: asyncio closes one that is not read to its end in a
    task of its own."""

    __slots__ = ("headers", "status", "timed", "url")

    def __init__(self, status: int, headers: dict[str, str], timed: TimedRequest, url: str) -> None:
        self.status, self.headers, self.timed, self.url = status, headers, timed, url

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise NotImplementedError

    async def drain(self) -> None:
        """Read the last bytes, so that the connection can be reused."""
        raise NotImplementedError

    def close(self) -> None:
        """Keep the connection if the answer was read to its end, else close it."""
        raise NotImplementedError

    def failed(self, error: BaseException) -> AdapterError:
        """Our error for one of the library's. If the request was late, it is a timeout."""
        if self.timed.is_late:
            error = TimeoutError() if self.timed.patience is None else aiohttp.SocketTimeoutError()
        return FAILURES.as_error(error, host_of(self.url))

    async def read_on(self) -> None:
        """Read the rest of the answer, if it comes soon."""
        with suppress(AdapterError, TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _ in self:
                    pass


class UnpackedReply(TimedReply):
    """An answer that is decompressed as it comes, in pieces."""

    def __init__(self, packed: TimedReply, decompressor: Decompressor) -> None:
        super().__init__(packed.status, packed.headers, packed.timed, packed.url)
        self._packed, self._decompressor = packed, decompressor
        self._pieces: Iterator[bytes] = iter(())

    async def __anext__(self) -> bytes:
        try:
            while (piece := next(self._pieces, None)) is None:
                self._pieces = self._decompressor.pieces(await self._packed.__anext__())
        except StopAsyncIteration:
            if not self._decompressor.is_cut:
                raise
        except zlib.error:
            self.close()
            raise NetworkError(f"{host_of(self.url)}: the answer cannot be decompressed") from None
        else:
            return piece
        raise NetworkError(f"{host_of(self.url)}: the answer was cut")

    async def drain(self) -> None:
        await self._packed.drain()

    def close(self) -> None:
        self._packed.close()


def unpacked(reply: TimedReply) -> AsyncReply:
    """The reply itself, or one that decompresses it."""
    if "content-encoding" not in reply.headers:
        return reply
    try:
        decompressor = decompressor_for(reply.headers)
    except NetworkError:
        reply.close()
        raise
    return reply if decompressor is None else UnpackedReply(reply, decompressor)

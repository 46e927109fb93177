"""The interface of transports: ``send`` a request, read the reply as it comes, ``close`` it at any time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from threading import Event
from typing import Any, Protocol

from ...errors import NetworkError
from ..http import HttpRequest

__all__ = [
    "DRAIN_SECONDS",
    "SLOWEST",
    "Abort",
    "AsyncReply",
    "AsyncTransport",
    "Backlog",
    "Reply",
    "Transport",
    "Write",
    "body_with_head",
    "no_url",
    "pour",
]

DRAIN_SECONDS = 0.25
"""How long the end of the body is waited for after the answer is complete."""
SLOWEST = 2**16
"""Bytes per second of a slow connection. The time limit for the headers is extended by the time to send the body."""


class AsyncReply(Protocol):
    """An answer whose body is still to be read. Header names are in lower case."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. A broken connection raises ``NetworkError`` or ``RequestTimeoutError``."""
        ...

    async def drain(self) -> None:
        """After a complete answer: read the last bytes for a short time, so that the connection can be reused."""
        ...

    def close(self) -> None:
        """Keep the connection if the body was read to its end, else close it at once."""
        ...


Backlog = Awaitable[object] | None
Write = Callable[[bytes], Backlog]
"""A consumer of the chunks of a body. It returns an awaitable if it cannot keep up, else None."""


def pour(reply: AsyncReply, write: Write, chunks: AsyncIterator[bytes] | None = None) -> Coroutine[Any, Any, None]:
    """Pass the body of a reply to ``write`` as it arrives. A reply with a method ``pour`` does it itself; for others,
    ``chunks`` are read, which are ``reply.chunks()`` if the caller has not begun to read it."""
    own: Callable[[Write], Coroutine[Any, Any, None]] | None = getattr(reply, "pour", None)
    return _pour(chunks or reply.chunks(), write) if own is None else own(write)


def body_with_head(reply: AsyncReply) -> bytes | None:
    """The whole body if it was received together with the head and the reply can tell, else None."""
    own: Callable[[], bytes | None] | None = getattr(reply, "body_with_head", None)
    return None if own is None else own()


async def _pour(chunks: AsyncIterator[bytes], write: Write) -> None:
    async for chunk in chunks:
        if (behind := write(chunk)) is not None:
            await behind


class AsyncTransport(Protocol):
    """Sends requests. Cancelling the task that waits closes the connection."""

    def send(self, request: HttpRequest) -> Coroutine[Any, Any, AsyncReply]: ...

    async def close(self) -> None: ...


class Abort:
    """Ends a blocking call from another thread: the registered function is called at once, and ``wait`` returns."""

    def __init__(self) -> None:
        self._is_set = Event()
        self._closer: Callable[[], None] | None = None

    def closes(self, closer: Callable[[], None] | None) -> None:
        """Register the function that ``set`` calls. If ``set`` was called before, it is called now."""
        self._closer = closer
        if closer is not None and self._is_set.is_set():
            closer()

    def set(self) -> None:
        """Call the registered function."""
        self._is_set.set()
        closer = self._closer
        if closer is not None:
            closer()

    def wait(self, seconds: float) -> None:
        """Sleep until the time is over or ``set`` is called."""
        self._is_set.wait(seconds)


class Reply(Protocol):
    """As ``AsyncReply``, blocking."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> Iterator[bytes]: ...

    def drain(self) -> None: ...

    def close(self) -> None: ...


class Transport(Protocol):
    """As ``AsyncTransport``, blocking. ``abort`` closes the connection from another thread, at any time."""

    def send(self, request: HttpRequest, abort: Abort) -> Reply: ...

    def close(self) -> None: ...


def no_url() -> NetworkError:
    """The error for a base URL that is not a URL."""
    return NetworkError("the base URL is not a URL", retryable=False)

"""What a transport is: ``send`` a request, get a reply whose bytes are read as they come, ``close`` it at any time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from threading import Event
from typing import TYPE_CHECKING, Protocol

from ...errors import NetworkError
from ..http import HttpRequest

if TYPE_CHECKING:
    from ssl import SSLCertVerificationError

__all__ = [
    "DRAIN_SECONDS",
    "SLOWEST",
    "Abort",
    "AsyncReply",
    "AsyncTransport",
    "Reply",
    "Transport",
    "certificate_error",
    "no_url",
]


DRAIN_SECONDS = 0.25
"""How long the end of an answer is waited for after its last word."""
SLOWEST = 2**16
"""Bytes that a slow line sends in a second. The time for the head of an answer is longer by what the request needs."""


class AsyncReply(Protocol):
    """An answer whose body is still to be read. Header names are lower-case."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. A broken connection raises ``NetworkError`` or ``RequestTimeoutError``."""
        ...

    async def drain(self) -> None:
        """After the last word: read what little is left, for a moment, so that the connection can be kept."""
        ...

    def close(self) -> None:
        """Let go: a connection whose body was read to the end is kept, any other is closed at once."""
        ...


class AsyncTransport(Protocol):
    """Sends requests; cancelling the task that waits closes the connection."""

    async def send(self, request: HttpRequest) -> AsyncReply: ...

    async def close(self) -> None: ...


class Abort:
    """A bell that another thread may ring: what is registered is closed at once, and sleepers wake."""

    def __init__(self) -> None:
        self._rung = Event()
        self._closer: Callable[[], None] | None = None

    def closes(self, closer: Callable[[], None] | None) -> None:
        """From now on ringing calls ``closer``; if it was rung before, it is called now."""
        self._closer = closer
        if closer is not None and self._rung.is_set():
            closer()

    def ring(self) -> None:
        """Close what is registered."""
        self._rung.set()
        closer = self._closer
        if closer is not None:
            closer()

    def wait(self, seconds: float) -> None:
        """Sleep, unless rung."""
        self._rung.wait(seconds)


class Reply(Protocol):
    """The synchronous twin of ``AsyncReply``."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> Iterator[bytes]: ...

    def drain(self) -> None: ...

    def close(self) -> None: ...


class Transport(Protocol):
    """The synchronous twin; ``abort`` closes the connection from another thread, before and after the headers."""

    def send(self, request: HttpRequest, abort: Abort) -> Reply: ...

    def close(self) -> None: ...


def certificate_error(host: str, error: SSLCertVerificationError) -> NetworkError:
    """What is wrong with a server's certificate. Trying again would not help."""
    why = error.verify_message or str(error.reason)
    told = "if you trust it, give the transport tls=ssl.create_default_context(cafile=...)"
    return NetworkError(f"{host}: its certificate was not accepted: {why}; {told}", retryable=False)


def no_url() -> NetworkError:
    """The base URL is none."""
    return NetworkError("the base URL is not a URL", retryable=False)

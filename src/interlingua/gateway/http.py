"""One HTTP exchange: the request, read within limits, and the answer, written as it is produced."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from http import HTTPStatus
from importlib import import_module
from typing import Any, Protocol
from urllib.parse import unquote

from httptools import parse_url

from ..errors import AdapterError, ContextOverflowError, InvalidRequestError, ServerError

__all__ = ["NOT_FORWARDED", "Answer", "Headers", "Inbound", "stopping", "write_head"]

NOT_FORWARDED = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade expect host"
    " content-length content-encoding accept-encoding".split()
)
"""Headers that are never passed on, in either direction: they concern one connection or one encoding of the body."""
UNSUPPORTED, TOO_LARGE, UNAVAILABLE = 415, 413, 503
READ_AHEAD = 64 * 1024
"""How many bytes of a body are read before ``body`` is called, and how many of an answer are held back at most."""
NO_BODY = frozenset({204, 304})
NOTHING: Mapping[str, str] = {}


class ClientConnection(Protocol):
    """What a request and its answer need of their connection."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...

    @property
    def is_ending(self) -> bool: ...

    @property
    def default_head(self) -> bytes: ...

    @property
    def drained(self) -> asyncio.Future[None] | None: ...

    def resume_reading(self) -> None: ...

    def pause_reading(self) -> None: ...

    def send_continue(self) -> None: ...

    def write(self, data: bytes) -> None: ...


def stopping() -> AdapterError:
    """The error for requests that cannot be answered because the server stops."""
    return ServerError("the gateway is shutting down; try again", provider_status=UNAVAILABLE)


class Headers(dict[str, str]):
    """The headers of a request, with names in lower case, without the length of the body.

    Consecutive requests with equal headers share one object, which must not be changed. Its ``cache`` holds what was
    computed from them: the key that was found, and the headers of the provider's request.
    """

    __slots__ = ("cache",)

    def __init__(self, headers: Mapping[str, str] = NOTHING) -> None:
        super().__init__(headers)
        self.cache: dict[object, Any] = {}


class Inbound:
    """A request. Names of headers are in lower case; the body is read when ``body`` is called."""

    __slots__ = (
        *("_chunks", "_is_complete", "_is_dropped", "_size", "_waiter", "_connection", "awaits_continue"),
        *("headers", "is_gone", "is_http10", "length", "method", "path", "query", "keeps_alive"),
    )

    def __init__(
        self, method: str, url: bytes, headers: Headers, length: str, connection: ClientConnection, *, keeps_alive: bool
    ) -> None:
        self.method, self.headers, self._connection = method, headers, connection
        self.length = length
        """The header ``content-length``; empty if there is none."""
        self.path, self.query = _split(url)
        self.keeps_alive = keeps_alive
        """Whether the connection may be used again after the answer."""
        self.is_http10 = False
        """Whether the client speaks HTTP/1.0, which has no chunked bodies."""
        self.is_gone = False
        """Whether the client has left before its answer was complete."""
        self.awaits_continue = "expect" in headers and headers["expect"].lower() == "100-continue"
        self._chunks: list[bytes] = []
        self._size = 0
        self._is_complete = self._is_dropped = False
        self._waiter: asyncio.Future[None] | None = None

    def small_body(self, limit: int) -> bytes | None:
        """The whole body if it has come in one piece, without compression; else None, and ``body`` must be awaited."""
        if not self._is_complete or len(self._chunks) != 1 or self._size > limit or "content-encoding" in self.headers:
            return None
        return self._chunks.pop()

    async def body(self, limit: int) -> bytes:
        """The whole body, decompressed. Raises as soon as it exceeds ``limit``, compressed or not."""
        if not self._is_complete and self.length.isdecimal() and int(self.length) > limit:
            raise _too_large(limit)
        while not self._is_complete and self._size <= limit:
            if self.awaits_continue:
                self.awaits_continue = False
                self._connection.send_continue()
            self._connection.resume_reading()
            self._waiter = self._connection.loop.create_future()
            await self._waiter
        if self._size > limit:
            raise _too_large(limit)
        body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks = []
        if "content-encoding" not in self.headers:
            return body
        encoding = self.headers["content-encoding"].strip().lower()
        return unpack(body, encoding, limit) if encoding not in ("", "identity") else body

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of the body. The connection calls this."""
        if self._is_dropped:
            return
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._waiter is not None:
            self._wake()
        elif self._size > READ_AHEAD:
            self._connection.pause_reading()

    def complete(self) -> None:
        """Mark the body as complete. The connection calls this."""
        self._is_complete, self.awaits_continue = True, False
        if self._waiter is not None:
            self._wake()

    def drop(self) -> None:
        """Discard the rest of the body, because the request was answered."""
        self._is_dropped, self._chunks = True, []

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


@lru_cache(maxsize=256)
def _split(url: bytes) -> tuple[str, str]:
    """The path and query of a request line's URL, which contains the server if it was written for a proxy."""
    if not url.startswith(b"/"):
        parsed = parse_url(url)
        url, query = parsed.path or b"/", parsed.query or b""
    elif b"?" in url or b"#" in url:
        url, _, query = url.partition(b"#")[0].partition(b"?")
    else:
        query = b""
    path = url.decode("ascii")
    return unquote(path) if "%" in path else path, query.decode("latin-1")


def _too_large(limit: int) -> AdapterError:
    return ContextOverflowError(f"the body is larger than {limit} bytes", provider_status=TOO_LARGE)


def _unsupported(why: str) -> AdapterError:
    return InvalidRequestError(why, provider_status=UNSUPPORTED)


def _zlib(bits: int) -> Callable[[bytes, int], bytes]:
    def unpacked(body: bytes, most: int) -> bytes:
        return zlib.decompressobj(bits).decompress(body, most)

    return unpacked


def _zstd(body: bytes, most: int) -> bytes:
    try:
        zstandard: Any = import_module("zstandard")
    except ImportError:
        raise _unsupported("bodies in zstd need the package zstandard on the server; send gzip") from None
    with zstandard.ZstdDecompressor().stream_reader(body) as reader:
        unpacked: bytes = reader.read(most)
    return unpacked


def _brotli(body: bytes, most: int) -> bytes:
    try:
        brotli: Any = import_module("brotli")
    except ImportError:
        raise _unsupported("bodies in br need the package brotli on the server; send gzip") from None
    unpacked: bytes = brotli.Decompressor().process(body, output_buffer_limit=most)
    return unpacked


UNPACKERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _zlib(zlib.MAX_WBITS | 16),
    "x-gzip": _zlib(zlib.MAX_WBITS | 16),
    "deflate": _zlib(zlib.MAX_WBITS),
    "zstd": _zstd,
    "br": _brotli,
}


def unpack(body: bytes, encoding: str, limit: int) -> bytes:
    """Decompress a body. Raises if that gives more than ``limit`` bytes."""
    unpacker = UNPACKERS.get(encoding)
    if unpacker is None:
        raise _unsupported(f"bodies in {encoding[:40]!r} are not read; send one of {', '.join(UNPACKERS)}")
    try:
        unpacked = unpacker(body, limit + 1)
    except AdapterError:
        raise
    except Exception as error:  # noqa: BLE001  # the libraries have no common error
        raise InvalidRequestError(f"the body is not {encoding}: {type(error).__name__}") from None
    if len(unpacked) > limit:
        raise _too_large(limit)
    return unpacked


class Frames(Protocol):
    """Rewrites the chunks of a stream into another framing."""

    content_type: str

    def __call__(self, chunk: bytes) -> bytes: ...


class Answer:
    """The answer to a request: sent at once, or begun with ``start``, written in pieces and ended with ``end``.

    If an answer is begun and never ended, the connection is closed, so that no client takes it for complete. The
    headers and what follows ``start`` in the same turn of the event loop are sent in one write.
    """

    __slots__ = (
        *("_head", "_held", "_inbound", "_is_chunked", "_status", "_connection"),
        *("finished", "frames", "headers", "is_head", "started"),
    )

    def __init__(self, connection: ClientConnection, inbound: Inbound) -> None:
        self._connection, self._inbound, self.is_head = connection, inbound, inbound.method == "HEAD"
        self.started = self.finished = self._is_chunked = False
        self.headers: dict[str, str] = {}
        """Headers that are added to the answer, whichever it will be."""
        self.frames: Frames | None = None
        """Rewrites each chunk of a stream, if it is set."""
        self._held: list[bytes] | None = None

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send status and headers."""
        self._begin(status, headers)
        self._connection.loop.call_soon(self.flush)

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.started, self._held = True, []
        self._status, self._head = status, {**headers, **self.headers}
        if self.frames is not None:
            self._head["content-type"] = self.frames.content_type

    def write(self, chunk: bytes) -> None:
        """Send a piece of the body. After it, a caller with more to send should await ``drained``."""
        body = chunk if self.frames is None else self.frames(chunk)
        if not body:
            return
        if self._held is not None:
            self._held.append(body)
            if len(body) >= READ_AHEAD:
                self.flush()
        elif self._is_chunked:
            self._connection.write(b"%x\r\n%b\r\n" % (len(body), body))
        else:
            self._connection.write(body)

    @property
    def drained(self) -> asyncio.Future[None] | None:
        """The future to await while the client reads too slowly; None if it keeps up."""
        return self._connection.drained

    def end(self) -> None:
        """End the body."""
        self.finished = True
        if self._held is not None:
            self.flush()
        elif self._is_chunked:
            self._connection.write(b"0\r\n\r\n")

    def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send status, headers and the complete body."""
        self.started = self.finished = True
        self._status, self._head, self.frames = status, {**headers, **self.headers}, None
        self._held = [body]
        self.flush()

    def flush(self) -> None:
        """Write what was held back since ``start``. Only a body that is complete by now gets a length."""
        held, self._held = self._held, None
        if held is None:
            return
        body = held[0] if len(held) == 1 else b"".join(held)
        head, inbound = self._head, self._inbound
        if self._status in NO_BODY:
            body = b""
        elif self.finished:
            head["content-length"] = str(len(body))
        elif not self.is_head:
            if inbound.is_http10:
                inbound.keeps_alive = False
            else:
                self._is_chunked = True
                head["transfer-encoding"] = "chunked"
                body = body and b"%x\r\n%b\r\n" % (len(body), body)
        if self._connection.is_ending or not inbound.keeps_alive:
            head["connection"] = "close"
        lines = write_head(self._status, head, self._connection.default_head)
        self._connection.write(lines if self.is_head else lines + body)


def write_head(status: int, headers: Mapping[str, str], more: bytes = b"") -> bytes:
    """The status line and headers as bytes; ``more`` are ready header lines. Line breaks in values become spaces."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if text.count("\r") > len(headers) or text.count("\n") > len(headers):
        lines = (f"{name}: {value}".replace("\r", " ").replace("\n", " ") for name, value in headers.items())
        text = "".join(f"{line}\r\n" for line in lines)
    return b"%b%b%b\r\n" % (_status_line(status), more, text.encode("latin-1", "replace"))


@lru_cache(maxsize=256)
def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()

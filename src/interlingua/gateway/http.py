"""One HTTP exchange over ASGI: the request read within limits, the answer written as it comes."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, Protocol

from ..errors import AdapterError, ContextOverflowError, InvalidRequestError, ServerError

__all__ = ["Answer", "Inbound", "NOT_FORWARDED", "stopping"]

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

NOT_FORWARDED = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade expect host"
    " content-length content-encoding accept-encoding".split()
)
"""Headers that are about one connection or one way of writing the body, in either direction."""
UNSUPPORTED, TOO_LARGE, UNAVAILABLE = 415, 413, 503


def stopping() -> AdapterError:
    """What callers are told whom the server cannot answer any more."""
    return ServerError("the gateway is shutting down; try again", provider_status=UNAVAILABLE)


class Inbound:
    """A request. Names of headers are in lower case; the body is read when it is asked for."""

    __slots__ = ("_receive", "headers", "method", "path", "query")

    def __init__(self, scope: Mapping[str, Any], receive: Receive) -> None:
        self._receive = receive
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

    async def body(self, limit: int) -> bytes:
        """The whole body, unpacked. What is larger than ``limit``, packed or unpacked, is refused before it is read."""
        told = self.headers.get("content-length", "")
        if told.isdecimal() and int(told) > limit:
            raise _too_large(limit)
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise asyncio.CancelledError
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            chunks.append(chunk)
            if not message.get("more_body"):
                break
        encoding = self.headers.get("content-encoding", "").strip().lower()
        body = b"".join(chunks)
        return unpack(body, encoding, limit) if encoding not in ("", "identity") else body

    async def gone(self) -> None:
        """Wait until the client has left. Only after the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _too_large(limit: int) -> AdapterError:
    return ContextOverflowError(f"the body is larger than {limit} bytes", provider_status=TOO_LARGE)


def _refused(why: str) -> AdapterError:
    return InvalidRequestError(why, provider_status=UNSUPPORTED)


def _zlib(bits: int) -> Callable[[bytes, int], bytes]:
    def unpacked(body: bytes, most: int) -> bytes:
        return zlib.decompressobj(bits).decompress(body, most)

    return unpacked


def _zstd(body: bytes, most: int) -> bytes:
    try:
        zstandard: Any = import_module("zstandard")
    except ImportError:
        raise _refused("bodies in zstd need the package zstandard on the server; send gzip") from None
    with zstandard.ZstdDecompressor().stream_reader(body) as reader:
        unpacked: bytes = reader.read(most)
    return unpacked


def _brotli(body: bytes, most: int) -> bytes:
    try:
        brotli: Any = import_module("brotli")
    except ImportError:
        raise _refused("bodies in br need the package brotli on the server; send gzip") from None
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
    """A body unpacked, at most ``limit`` bytes of it."""
    unpacker = UNPACKERS.get(encoding)
    if unpacker is None:
        raise _refused(f"bodies in {encoding[:40]!r} are not read; send one of {', '.join(UNPACKERS)}")
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
    """What makes a stream of another form of the chunks of one."""

    content_type: str

    def __call__(self, chunk: bytes) -> bytes: ...


class Answer:
    """The answer to a request: at once, or begun with ``start`` and ended with ``end``.

    An answer that was begun and never ended is broken off, so that no client takes it for complete.
    """

    __slots__ = ("_send", "finished", "frames", "headers", "is_head", "started")

    def __init__(self, send: Send, *, is_head: bool = False) -> None:
        self._send, self.is_head = send, is_head
        self.started = self.finished = False
        self.headers: dict[str, str] = {}
        """Headers of whatever is answered."""
        self.frames: Frames | None = None
        """What makes a stream of another form of the chunks."""

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send status and headers."""
        self.started = True
        told = {**headers, **self.headers}
        if self.frames is not None:
            told["content-type"] = self.frames.content_type
        wire = [(name.encode("latin-1", "replace"), _line(value)) for name, value in told.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": wire})

    async def send(self, chunk: bytes) -> None:
        """Send some of the body. Waits while the client is slower than we are."""
        body = chunk if self.frames is None else self.frames(chunk)
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self) -> None:
        """The body is complete."""
        self.finished = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def whole(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Everything at once."""
        self.finished, self.frames = True, None
        await self.start(status, {**headers, "content-length": str(len(body))})
        await self._send({"type": "http.response.body", "body": b"" if self.is_head else body, "more_body": False})


def _line(value: str) -> bytes:
    """A header's value. What would begin another line is written as a space."""
    return value.encode("latin-1", "replace").replace(b"\r", b" ").replace(b"\n", b" ")

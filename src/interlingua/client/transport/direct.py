"""Requests straight over a session's connections: its pool and the library's parser, and nothing between.

A session prepares every request anew, for cookies, redirects, authentication, middlewares and bodies of any length,
none of which a model call has; that is most of what a call costs (``docs/adr/0006-straight-to-the-connection.md``).
Here the head of a request is spelled once, and a call is a connection, one write and the answer. What needs more
(a proxy, a body that may be long under way, a library that is not the one we know) goes through the session.
"""

from __future__ import annotations

import asyncio

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http import RawResponseMessage
from multidict import CIMultiDict
from yarl import URL

from ..http import HttpRequest
from .base import SLOWEST
from .packing import ACCEPTED
from .timeouts import TimedRequest

__all__ = ["Answer", "BUFFER", "Head", "LONGEST", "converse", "goes_direct", "spell", "wire_of"]

BUFFER = 2**18
"""Bytes of an answer that are read ahead."""
LONGEST = 2**20
"""Bytes of a body that is handed over at once. Of longer ones the library, too, warns if they are plain bytes."""
TESTED = (
    # minor  what is used of it: connect, set_response_params, transport.write, read, on_eof, release
    "3.11",
    "3.12",
    "3.13",
    "3.14",
)
"""The minor versions of aiohttp whose connections were tested. With any other, requests go through its session."""

_IS_TESTED = ".".join(aiohttp.__version__.split(".")[:2]) in TESTED


class Head:
    """All of a request but its body: for the pool, whom to connect to; for the wire, its text up to the length.

    The key is in both, so it is no tuple and no struct, which would show them.
    """

    __slots__ = ("text", "whom")

    def __init__(self, whom: aiohttp.ClientRequest, text: bytes) -> None:
        self.whom, self.text = whom, text


class Answer:
    """What ``aiohttp.ClientResponse`` is to us: read to its end, it gives the connection back."""

    __slots__ = ("connection", "content", "headers", "status")

    def __init__(self, connection: Connection, message: RawResponseMessage, content: aiohttp.StreamReader) -> None:
        self.connection, self.content = connection, content
        self.status, self.headers = message.code, message.headers
        content.on_eof(connection.release)

    def close(self) -> None:
        """Close the connection, unless it was given back."""
        if self.connection.protocol is not None:
            self.content.set_exception(aiohttp.ClientConnectionError("Connection closed"))
            self.connection.close()


def wire_of(connection: Connection | None) -> asyncio.Transport | None:
    """What a connection is made of, unless it was given back. ``abort`` ends it at once.

    ``close`` would wait until all was sent, and in TLS for the other end's farewell.
    """
    return None if connection is None else connection.transport


def goes_direct(request: HttpRequest) -> bool:
    """Whether such a request may."""
    return _IS_TESTED and len(request.body) <= LONGEST and request.method == "POST"


def spell(request: HttpRequest, url: URL) -> Head:
    """The head, with the headers that the library adds to all requests."""
    headers = CIMultiDict({"Accept-Encoding": ACCEPTED})
    headers.update(request.headers)
    whom = aiohttp.ClientRequest(request.method, url, headers=headers, loop=asyncio.get_running_loop())
    lines = [f"{name}: {value}" for name, value in whom.headers.items() if name.lower() != "content-length"]
    lines = [f"{request.method} {url.raw_path_qs} HTTP/1.1", *lines, "Content-Length: "]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("there is a line break in a header")
    return Head(whom, "\r\n".join(lines).encode())


async def converse(
    connector: aiohttp.BaseConnector, head: Head, body: bytes, limit: aiohttp.ClientTimeout, timed: TimedRequest
) -> Answer:
    """Send, and wait for the head of the answer. Raises what a session would."""
    try:
        connection = await connector.connect(head.whom, [], limit)
    except TimeoutError:
        raise aiohttp.ConnectionTimeoutError from None
    if limit.sock_read is not None:
        timed.head_within(limit.sock_read + len(body) / SLOWEST)
    try:
        message, content = await _ask(connection, b"%b%d\r\n\r\n%b" % (head.text, len(body), body))
        return Answer(connection, message, content)
    except BaseException:
        wire = wire_of(connection)
        if wire is not None:
            wire.abort()
        connection.close()
        raise


async def _ask(connection: Connection, text: bytes) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
    protocol = connection.protocol
    if protocol is None or protocol.transport is None:
        raise aiohttp.ServerDisconnectedError
    protocol.set_response_params(read_until_eof=True, auto_decompress=False, read_bufsize=BUFFER)
    protocol.transport.write(text)
    while True:
        message, content = await protocol.read()
        if not 100 <= message.code < 200 or message.code == 101:  # else more is to come
            return message, content

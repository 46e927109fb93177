"""Requests directly on connections of aiohttp's pool, with its parser, but without its ``ClientSession.request``.

A session prepares every request for cookies, redirects, authentication, middlewares and streamed bodies, which no
model call has; that is most of the cost of a call (``docs/adr/0006-straight-to-the-connection.md``). Here the head of
a request is written once, and a call is a connection, one write and the answer. What needs more (a proxy, a long body,
a version of aiohttp that was not tested) goes through the session.
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
from .compression import ACCEPTED
from .timeouts import TimedRequest

__all__ = ["Answer", "BUFFER", "Head", "LONGEST", "send_directly", "goes_direct", "write_head", "transport_of"]

BUFFER = 2**18
"""Bytes of an answer that are read ahead."""
LONGEST = 2**20
"""The longest body that is written at once, in bytes. The library warns of longer ones too."""
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
    """A request without its body: for the pool, the server to connect to; for the wire, the text up to the length.

    Both contain the key. So this is neither a tuple nor a struct, whose repr would show it.
    """

    __slots__ = ("origin", "server", "text")

    def __init__(self, server: aiohttp.ClientRequest, text: bytes) -> None:
        self.server, self.text = server, text
        self.origin = str(server.url.origin())


class Answer:
    """The part of ``aiohttp.ClientResponse`` that we use. Read to its end, it returns the connection to the pool."""

    __slots__ = ("connection", "content", "headers", "status")

    def __init__(self, connection: Connection, message: RawResponseMessage, content: aiohttp.StreamReader) -> None:
        self.connection, self.content = connection, content
        self.status, self.headers = message.code, message.headers
        content.on_eof(connection.release)

    def close(self) -> None:
        """Close the connection, unless it was returned to the pool."""
        if self.connection.protocol is not None:
            self.content.set_exception(aiohttp.ClientConnectionError("Connection closed"))
            self.connection.close()


def transport_of(connection: Connection | None) -> asyncio.Transport | None:
    """The transport of a connection; None if it was returned to the pool. Its ``abort`` ends the connection at once.

    ``close`` would wait until all is sent, and in TLS until the other end has closed too.
    """
    return None if connection is None else connection.transport


def goes_direct(request: HttpRequest) -> bool:
    """Whether a request can be sent directly."""
    return _IS_TESTED and len(request.body) <= LONGEST and request.method == "POST"


def write_head(request: HttpRequest, url: URL) -> Head:
    """The head of a request, with the headers that the library adds to every request."""
    headers = CIMultiDict({"Accept-Encoding": ACCEPTED})
    headers.update(request.headers)
    server = aiohttp.ClientRequest(request.method, url, headers=headers, loop=asyncio.get_running_loop())
    lines = [f"{name}: {value}" for name, value in server.headers.items() if name.lower() != "content-length"]
    lines = [f"{request.method} {url.raw_path_qs} HTTP/1.1", *lines, "Content-Length: "]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("there is a line break in a header")
    return Head(server, "\r\n".join(lines).encode())


async def send_directly(
    connector: aiohttp.BaseConnector, head: Head, body: bytes, limit: aiohttp.ClientTimeout, timed: TimedRequest
) -> Answer:
    """Send a request, and wait for the headers of the answer. Raises what a session would raise."""
    try:
        connection = await connector.connect(head.server, [], limit)
    except TimeoutError:
        raise aiohttp.ConnectionTimeoutError from None
    if limit.sock_read is not None:
        timed.head_within(limit.sock_read + len(body) / SLOWEST)
    try:
        message, content = await _exchange(connection, b"%b%d\r\n\r\n%b" % (head.text, len(body), body))
        return Answer(connection, message, content)
    except BaseException:
        transport = transport_of(connection)
        if transport is not None:
            transport.abort()
        connection.close()
        raise


async def _exchange(connection: Connection, text: bytes) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
    protocol = connection.protocol
    if protocol is None or protocol.transport is None:
        raise aiohttp.ServerDisconnectedError
    protocol.set_response_params(read_until_eof=True, auto_decompress=False, read_bufsize=BUFFER)
    protocol.transport.write(text)
    while True:
        message, content = await protocol.read()
        if not 100 <= message.code < 200 or message.code == 101:  # else it is an interim answer
            return message, content

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
from yarl import URL

from ..http import HttpRequest

__all__ = ["BUFFER", "LONGEST", "Answer", "Head", "converse", "goes_straight", "spell"]

BUFFER = 2**18
"""Bytes of an answer that are read ahead."""
LONGEST = 2**20
"""Bytes of a body that is handed over at once. Of longer ones the library, too, warns if they are plain bytes."""
SLOWEST = 2**16
"""Bytes that a slow line sends in a second. The limit on silence runs from the write on, and is longer by that."""
KNOWN = (3, 11), (4, 0)
"""The library's versions, from and before, whose connections are as we use them."""

_VERSION = tuple(int(part) for part in aiohttp.__version__.split(".")[:2])
_IS_KNOWN = KNOWN[0] <= _VERSION < KNOWN[1]


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


def goes_straight(request: HttpRequest) -> bool:
    """Whether such a request may."""
    return _IS_KNOWN and len(request.body) <= LONGEST and request.method == "POST"


def spell(request: HttpRequest, url: URL) -> Head:
    """The head, with the headers that the library adds to all requests."""
    whom = aiohttp.ClientRequest(request.method, url, headers=request.headers, loop=asyncio.get_running_loop())
    lines = [f"{name}: {value}" for name, value in whom.headers.items() if name.lower() != "content-length"]
    lines = [f"{request.method} {url.raw_path_qs} HTTP/1.1", *lines, "Content-Length: "]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("there is a line break in a header")
    return Head(whom, "\r\n".join(lines).encode())


async def converse(connector: aiohttp.BaseConnector, head: Head, body: bytes, limit: aiohttp.ClientTimeout) -> Answer:
    """Send, and wait for the head of the answer. Raises what a session would."""
    try:
        connection = await connector.connect(head.whom, [], limit)
    except TimeoutError:
        raise aiohttp.ConnectionTimeoutError from None
    try:
        patience = None if limit.sock_read is None else limit.sock_read + len(body) / SLOWEST
        message, content = await _ask(connection, b"%b%d\r\n\r\n%b" % (head.text, len(body), body), patience)
        return Answer(connection, message, content)
    except BaseException:
        connection.close()
        raise


async def _ask(
    connection: Connection, text: bytes, patience: float | None
) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
    protocol = connection.protocol
    if protocol is None or protocol.transport is None:
        raise aiohttp.ServerDisconnectedError
    protocol.set_response_params(read_until_eof=True, read_timeout=patience, read_bufsize=BUFFER)
    protocol.transport.write(text)
    protocol.start_timeout()
    while True:
        message, content = await protocol.read()
        if not 100 <= message.code < 200 or message.code == 101:  # else more is to come
            return message, content

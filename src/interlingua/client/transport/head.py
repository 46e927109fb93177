"""The head of a request, written once for each address and set of headers.

A session of aiohttp prepares every request for cookies, redirects, authentication, middlewares and streamed bodies,
which no model call has; that is most of the cost of a call (``docs/adr/0006-straight-to-the-connection.md``).
"""

from __future__ import annotations

import asyncio

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from ..http import HttpRequest
from .compression import ACCEPTED

__all__ = ["BUFFER", "Head", "IS_TESTED", "LONGEST", "TESTED", "write_head"]

BUFFER = 2**18
"""Bytes of an answer that are read ahead."""
LONGEST = 2**20
"""The longest body that is written at once, in bytes. The library warns of longer ones too."""
TESTED = (
    # minor  what is used of it: ClientRequest, connect, and a connection's protocol, transport and close
    "3.11",
    "3.12",
    "3.13",
    "3.14",
)
"""The minor versions of aiohttp whose connections were tested. With any other, requests go through its session."""

IS_TESTED = ".".join(aiohttp.__version__.split(".")[:2]) in TESTED


class Head:
    """A request without its body: ``server`` is what the pool connects to, ``text`` the head up to the body's length.

    Both contain the key. So this is neither a tuple nor a struct, whose repr would show it.
    """

    __slots__ = ("origin", "server", "text")

    def __init__(self, server: aiohttp.ClientRequest, text: bytes) -> None:
        self.server, self.text = server, text
        self.origin = str(server.url.origin())


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

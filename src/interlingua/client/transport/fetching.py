"""Fetch a URL that may come from anybody: only checked addresses, within limits; no cookies, no keys, no proxies.

``fetch`` is async, ``fetch_blocking`` blocks; the rules are in ``guard.py``. A host is looked up once for each
redirect, and the connection goes to the addresses that were checked, with the host's own ``Host`` and certificate.
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..deadline import Deadline
from .connection import Connection
from .guard import Address, Allowance, Hop, Refusal, check_addresses, check_head, is_public

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

__all__ = ["Fetch", "FetchBlocking", "Fetched", "Network", "fetch", "fetch_blocking"]

CHUNK = 2**16
HEADERS = {"user-agent": "interlingua", "accept": "*/*", "accept-encoding": "identity", "connection": "close"}
BROKEN = (OSError, http.client.HTTPException, ValueError)


class Fetched(Struct, frozen=True):
    """The data, and its content type as the server says."""

    data: bytes
    content_type: str


class Network(Struct, frozen=True):
    """Which addresses may be reached and how: for tests, and for media in a private network.

    ``allowed`` checks an address. ``lookup`` returns the addresses of a host and a port; None is the system's lookup.
    """

    allowed: Callable[[Address], bool] = is_public
    lookup: Callable[[str, int], Sequence[str]] | None = None
    tls: ssl.SSLContext | None = None


PUBLIC = Network()

Fetch = Callable[[str, Allowance], Awaitable[Fetched]]
FetchBlocking = Callable[[str, Allowance], Fetched]


def _timeout_refusal(seconds: float | None) -> Refusal:
    return Refusal(f"it took more than {seconds or 0:.3g} seconds")


def _address_texts(found: Sequence[Any]) -> list[str]:
    return [str(place[4][0]) for place in found]


# ------------------------------------------------------------------------------------------------------------ async


async def fetch(url: str, allowance: Allowance, network: Network = PUBLIC) -> Fetched:
    """Fetch a URL. Anything that goes wrong is raised as a ``Refusal`` with the reason."""
    seconds = allowance.deadline().left()
    try:
        async with asyncio.timeout(seconds):
            return await _follow(Hop.of(url), allowance, network)
    except TimeoutError:
        raise _timeout_refusal(seconds) from None


async def _follow(hop: Hop, allowance: Allowance, network: Network) -> Fetched:
    for _ in range(allowance.limits.redirects + 1):
        addresses = check_addresses(await _look_up(hop, network), network.allowed)
        outcome = await _visit(hop, addresses, allowance, network)
        if isinstance(outcome, Fetched):
            return outcome
        hop = outcome
    raise Refusal(f"it is redirected more than {allowance.limits.redirects} times")


async def _look_up(hop: Hop, network: Network) -> Sequence[str]:
    if network.lookup is not None:
        return network.lookup(hop.host, hop.port)
    loop = asyncio.get_running_loop()
    try:
        return _address_texts(await loop.getaddrinfo(hop.host, hop.port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        raise Refusal(f"the host {hop.host} is not known") from None


async def _visit(hop: Hop, addresses: Sequence[str], allowance: Allowance, network: Network) -> Fetched | Hop:
    aiohttp = import_module("aiohttp")
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=network.tls or True, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    )
    async with session:
        try:
            async with await _connect(session, hop, addresses) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                onward = check_head(response.status, headers, hop, allowance.limits)
                return onward or Fetched(await _read(response, allowance), headers.get("content-type", ""))
        except (aiohttp.ClientError, *BROKEN) as error:
            raise Refusal(f"{hop.host} cannot be reached ({type(error).__name__})") from None


async def _connect(session: ClientSession, hop: Hop, addresses: Sequence[str]) -> ClientResponse:
    """Connect to the first address that answers. Addresses are numbers, so the library looks nothing up."""
    url = import_module("yarl").URL
    name = hop.host if hop.scheme == "https" else None
    problem: Exception = OSError()
    for address in addresses:
        try:
            return await session.get(
                url(hop.at(address), encoded=True),
                headers={**HEADERS, "host": hop.place},
                allow_redirects=False,
                server_hostname=name,
            )
        except OSError as error:
            problem = error
    raise problem


async def _read(response: ClientResponse, allowance: Allowance) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_chunked(CHUNK):
        size += len(chunk)
        allowance.spend(len(chunk), size)
        chunks.append(chunk)
    return b"".join(chunks)


# --------------------------------------------------------------------------------------------------------- blocking


def fetch_blocking(url: str, allowance: Allowance, network: Network = PUBLIC) -> Fetched:
    """As ``fetch``, blocking. The time of the system's name lookup is not limited."""
    hop, whole = Hop.of(url), allowance.deadline()
    seconds = whole.left()
    try:
        for _ in range(allowance.limits.redirects + 1):
            addresses = check_addresses(_look_up_blocking(hop, network), network.allowed)
            outcome = _visit_blocking(hop, addresses, allowance, network, whole)
            if isinstance(outcome, Fetched):
                return outcome
            hop = outcome
    except TimeoutError:
        raise _timeout_refusal(seconds) from None
    except BROKEN as error:
        raise Refusal(f"{hop.host} cannot be reached ({type(error).__name__})") from None
    raise Refusal(f"it is redirected more than {allowance.limits.redirects} times")


def _look_up_blocking(hop: Hop, network: Network) -> Sequence[str]:
    if network.lookup is not None:
        return network.lookup(hop.host, hop.port)
    try:
        return _address_texts(socket.getaddrinfo(hop.host, hop.port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        raise Refusal(f"the host {hop.host} is not known") from None


def _visit_blocking(
    hop: Hop, addresses: Sequence[str], allowance: Allowance, network: Network, whole: Deadline
) -> Fetched | Hop:
    connection = Connection()
    connection.whole = connection.until = whole
    try:
        connection.connect([_place(address, hop.port) for address in addresses])
        if hop.scheme == "https":
            connection.secure(network.tls or ssl.create_default_context(), hop.host)
        answer = connection.send_request("GET", hop.path, {**HEADERS, "host": hop.place})
        headers = {name: _utf8(value) for name, value in answer.fields().items()}
        onward = check_head(answer.status, headers, hop, allowance.limits)
        return onward or Fetched(_read_blocking(connection.chunks(answer), allowance), headers.get("content-type", ""))
    finally:
        connection.close()


def _place(address: str, port: int) -> tuple[Any, ...]:
    """An address in the form of ``getaddrinfo``; nothing is looked up."""
    return socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)[0]


def _utf8(value: str) -> str:
    """A header as UTF-8, as aiohttp decodes it. ``http.client`` decodes headers as Latin-1."""
    return value.encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def _read_blocking(chunks: Iterator[bytes], allowance: Allowance) -> bytes:
    size = 0
    found: list[bytes] = []
    for chunk in chunks:
        size += len(chunk)
        allowance.spend(len(chunk), size)
        found.append(chunk)
    return b"".join(found)

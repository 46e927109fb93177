"""Deadlines hold for every read. The servers send byte by byte: the head, interim answers, chunk sizes, trailers, …

Each test checks the error, and that the client closed the connection: the server would continue for half a minute.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from client.loopback import Loopback, Play, drip, hear
from client.support import ask, config, run
from interlingua import RequestTimeoutError, TextBlock
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.deadline import Deadline
from interlingua.client.http import HttpRequest, Timeouts
from interlingua.client.transport.aio import AioTransport
from interlingua.client.transport.base import Abort
from interlingua.client.transport.blocking import BlockingTransport
from interlingua.client.transport.fetching import Network, fetch, fetch_blocking
from interlingua.client.transport.guard import Allowance, FetchLimits, Refusal

TRANSPORTS = ("aio", "session", "blocking")
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def again(part: bytes) -> Iterator[bytes]:
    return itertools.repeat(part)


def slowly(begin: bytes, parts: Callable[[], Iterator[bytes]]) -> Play:
    def play(connection: socket.socket) -> None:
        hear(connection)
        connection.sendall(begin)
        drip(connection, parts())

    return play


# What is sent slowly; none of it is a part of the body.
DRIPS = {
    "the head": slowly(b"HTTP/1.1 200 OK\r\nX-Long: ", lambda: again(b"a")),
    "headers": slowly(b"HTTP/1.1 200 OK\r\n", lambda: (b"X-%d: a\r\n" % number for number in range(90))),
    "interim answers": slowly(b"", lambda: again(b"HTTP/1.1 103 Early Hints\r\n\r\n")),
    "go-aheads": slowly(b"", lambda: again(b"HTTP/1.1 100 Continue\r\n\r\n")),
    "a chunk's size": slowly(CHUNKED, lambda: again(b"0")),
    "trailers": slowly(CHUNKED + b"2\r\n{}\r\n0\r\n", lambda: (b"X-%d: a\r\n" % number for number in range(90))),
}
BODY = slowly(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n", lambda: again(b"a"))


def get(kind: str, url: str, limits: Timeouts) -> None:
    request = HttpRequest("POST", url, {}, b"{}", limits)
    if kind == "blocking":
        transport = BlockingTransport()
        try:
            reply = transport.send(request, Abort())
            try:
                list(reply.chunks())
            finally:
                reply.close()
        finally:
            transport.close()
        return

    async def scene() -> None:
        transport = AioTransport()
        transport._owns_connections = kind == "aio"
        try:
            reply = await transport.send(request)
            try:
                async for _ in reply.chunks():
                    pass
            finally:
                reply.close()
        finally:
            await transport.close()

    run(scene())


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("what", [*DRIPS, "the body"])
def test_a_deadline_ends_a_slow_answer(what: str, kind: str) -> None:
    with Loopback(DRIPS.get(what, BODY)) as server:
        with pytest.raises(RequestTimeoutError) as caught:
            get(kind, server.url, Timeouts(5, 30, 0.3))
        assert caught.value.retryable
    assert (server.accepted, server.left) == (1, 1)


# a stream has no deadline, but each step of it has a limit
@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("what", DRIPS)
def test_the_silence_limit_ends_a_slow_head(what: str, kind: str) -> None:
    with Loopback(DRIPS[what]) as server, pytest.raises(RequestTimeoutError):
        get(kind, server.url, Timeouts(0.1, 0.3, None))
    assert (server.accepted, server.left) == (1, 1)


@pytest.mark.parametrize("kind", ["async", "sync"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("what", ["the head", "interim answers", "a chunk's size"])
def test_both_clients_give_up(what: str, stream: bool, kind: str) -> None:
    """The client's ``timeout_seconds`` is enough."""
    with Loopback(DRIPS[what]) as server:
        options: dict[str, Any] = {"connect_timeout": 0.1}
        settings = config(base_url=server.url, timeout_seconds=0.3, max_retries=0, options=options)
        with pytest.raises(RequestTimeoutError):
            ask_client(kind, settings, stream=stream)
    assert (server.accepted, server.left) == (1, 1)


def ask_client(kind: str, settings: Any, *, stream: bool) -> list[Any]:
    """The content of an answer, or its events."""

    async def scene() -> list[Any]:
        async with AsyncClient("openai-chat", settings) as client:
            if not stream:
                return list((await client.complete(ask())).content)
            async with client.stream(ask()) as events:
                return [event async for event in events]

    if kind == "async":
        return list(run(scene()))
    with Client("openai-chat", settings) as client:
        if not stream:
            return list(client.complete(ask()).content)
        with client.stream(ask()) as events:
            return list(events)


HI = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":'
    b'[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}\n\n'
)
DONE = b"".join(b"%x\r\n%b\r\n" % (len(line), line) for line in (HI, b"data: [DONE]\n\n"))


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_bytes_after_the_end_of_a_stream_are_not_waited_for(kind: str) -> None:
    ping = b": still here\n\n"
    with Loopback(slowly(CHUNKED + DONE, lambda: again(b"%x\r\n%b\r\n" % (len(ping), ping)))) as server:
        events = ask_client(kind, config(base_url=server.url), stream=True)
        assert events[-1].response.content == (TextBlock("Hi"),)
    assert (server.accepted, server.left) == (1, 1)


def fetch_one(way: str, url: str, allowance: Allowance) -> None:
    network = Network(lambda _: True)
    if way == "async":
        asyncio.run(fetch(url, allowance, network))
    else:
        fetch_blocking(url, allowance, network)


@pytest.mark.parametrize("way", ["async", "sync"])
@pytest.mark.parametrize("what", [*DRIPS, "the body"])
def test_the_media_fetcher_gives_up(what: str, way: str) -> None:
    with Loopback(DRIPS.get(what, BODY)) as server, pytest.raises(Refusal, match=r"it took more than 0\.3 seconds"):
        fetch_one(way, server.url, Allowance(FetchLimits(seconds=0.3)))
    assert (server.accepted, server.left) == (1, 1)


@pytest.mark.parametrize("way", ["async", "sync"])
def test_media_are_fetched_within_the_calls_deadline(way: str) -> None:
    with Loopback(BODY) as server, pytest.raises(Refusal, match="it took more than"):
        fetch_one(way, server.url, Allowance(FetchLimits(), Deadline(0.3, time.monotonic)))
    assert (server.accepted, server.left) == (1, 1)


def test_a_deadline() -> None:
    now = 100.0
    whole = Deadline(10, lambda: now)
    assert (whole.left(), Deadline(None, lambda: now).left()) == (10, None)
    assert [whole.within(seconds).left() for seconds in (None, 3, 30)] == [10, 3, 10]
    now = 108.0
    assert (whole.left(), whole.within(3).left()) == (2, 2)
    now = 120.0
    assert whole.left() == 0

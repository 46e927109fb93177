"""A Gemini stream without a finish reason, over real sockets: finished only if its HTTP body has an explicit end."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from client.loopback import Loopback, hear
from client.support import Outcome, ask, config, run
from interlingua import AsyncClient, Client, MessageComplete, NetworkError, StopReason, TextBlock
from interlingua.client.transport.aio import AioTransport

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
EVENT = {"candidates": [{"content": {"parts": [{"text": "one"}], "role": "model"}}], "modelVersion": "m"}
BODY = b"data: " + json.dumps(EVENT).encode() + b"\r\n\r\n"
CHUNK = b"%x\r\n%b\r\n" % (len(BODY), BODY)
CHUNKED, LENGTH = b"Transfer-Encoding: chunked\r\n\r\n", b"Content-Length: %d\r\n\r\n"

ANSWERS = {
    # the answer, after which the connection is closed            finished
    "chunks and their end":     (CHUNKED + CHUNK + b"0\r\n\r\n",       True),
    "all of its length":        (LENGTH % len(BODY) + BODY,           True),
    "chunks without an end":    (CHUNKED + CHUNK,                     False),
    "half a chunk":             (CHUNKED + CHUNK[:-20],               False),
    "less than its length":     (LENGTH % (len(BODY) + 9) + BODY,     False),
    "until the connection ends": (b"Connection: close\r\n\r\n" + BODY, False),
    "half an event in all of its length": (LENGTH % (len(BODY) - 20) + BODY[:-20], False),
}  # fmt: skip


def answering(answer: bytes) -> Loopback:
    """A server that sends this answer to every request, and closes the connection."""

    def play(connection: socket.socket) -> None:
        hear(connection)
        connection.sendall(answer)

    return Loopback(play)


def read(url: str, outcome: Outcome) -> None:
    with Client("google", config(base_url=url, max_retries=0), model="m") as client:
        for event in client.stream(ask()):
            outcome.events.append(event)


def read_async(url: str, outcome: Outcome, transport: Callable[[], Any] = AioTransport) -> None:
    async def scene() -> None:
        settings = config(base_url=url, max_retries=0)
        async with AsyncClient("google", settings, model="m", transport=transport()) as client:
            async for event in client.stream(ask()):
                outcome.events.append(event)

    run(scene())


def read_through_session(url: str, outcome: Outcome) -> None:
    """Read with aiohttp's session, as for requests that cannot use our own connections."""
    read_async(url, outcome, lambda: AioTransport(trust_env=True))


def read_at_once(url: str, outcome: Outcome, transport: Callable[[], Any] = AioTransport) -> None:
    """Read as the gateway does, which takes events as they arrive."""

    async def scene() -> None:
        settings = config(base_url=url, max_retries=0)
        async with AsyncClient("google", settings, model="m", transport=transport()) as client:
            stream = client.stream(ask())
            while events := await stream.next_events(outcome.events.extend):
                outcome.events += events

    run(scene())


def read_at_once_through_session(url: str, outcome: Outcome) -> None:
    read_at_once(url, outcome, lambda: AioTransport(trust_env=True))


WAYS = [read, read_async, read_through_session, read_at_once, read_at_once_through_session]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ANSWERS)
def test_only_a_body_with_an_explicit_end_finishes_a_stream(how: str, way: Any) -> None:
    answer, finished = ANSWERS[how]
    outcome = Outcome()
    with answering(HEAD + answer) as server:
        if finished:
            way(server.url, outcome)
        else:
            with pytest.raises(NetworkError):
                way(server.url, outcome)
    outcome.check_grammar()
    last = outcome.events[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.stop_reason is (StopReason.end_turn if finished else StopReason.error)
    if "half" not in how:
        assert last.response.content == (TextBlock("one", incomplete=not finished),)

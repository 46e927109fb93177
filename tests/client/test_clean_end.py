"""A Gemini stream without a finish reason, over real sockets: finished only if its HTTP body says where it ends."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from interlingua import AsyncClient, Client, MessageComplete, NetworkError, StopReason, TextBlock
from interlingua.client.transport.aio import AioTransport

from .support import Outcome, ask, config, run

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


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The URL of a server that answers every request so, and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_serve, args=(server, answer))
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _serve(server: socket.socket, answer: bytes) -> None:
    while True:
        try:
            caller, _ = server.accept()
        except OSError:
            return
        with caller:
            _read_request(caller)
            caller.sendall(answer)


def _read_request(caller: socket.socket) -> None:
    asked = b""
    while b"\r\n\r\n" not in asked:
        asked += caller.recv(65536)
    head, _, body = asked.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].split(b":")[1])
    while len(body) < length:
        body += caller.recv(65536)


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
    """As requests go that the shortcut to the connection does not take."""
    read_async(url, outcome, lambda: AioTransport(trust_env=True))


@pytest.mark.parametrize("way", [read, read_async, read_through_session])
@pytest.mark.parametrize("how", ANSWERS)
def test_only_a_body_that_says_its_end_finishes_a_stream(how: str, way: Any) -> None:  # S5
    answer, finished = ANSWERS[how]
    outcome = Outcome()
    with answering(HEAD + answer) as url:
        if finished:
            way(url, outcome)
        else:
            with pytest.raises(NetworkError):
                way(url, outcome)
    outcome.check_grammar()
    last = outcome.events[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.stop_reason is (StopReason.end_turn if finished else StopReason.error)
    if "half" not in how:
        assert last.response.content == (TextBlock("one", incomplete=not finished),)

"""Events that are taken as they arrive: what ends an answer, and what does not."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from client.loopback import Loopback, hear
from client.support import PROVIDERS, ask, config, run
from interlingua import AsyncClient, Event, MessageComplete
from interlingua.client.transport.aio import AioTransport

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG = 10.0


def event(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: %b\n\n" % json.dumps({"id": "1", "model": "m", "choices": [choice]}).encode()


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


PARTS = [event({"role": "assistant", "content": "one"}), event({"content": " two"}), event({}, "stop")]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("shortcut", [True, False])
def test_a_complete_answer_ends_though_its_body_goes_on(together: bool, shortcut: bool) -> None:
    def play(connection: socket.socket) -> None:
        hear(connection)
        parts = [*map(chunk, PARTS), chunk(b"data: [DONE]\n\n")]
        for part in [b"".join([HEAD, *parts])] if together else [HEAD, *parts]:
            connection.sendall(part)
            time.sleep(0.01)
        connection.settimeout(LONG)
        connection.recv(1)

    async def scene(url: str) -> list[Event]:
        found: list[Event] = []
        transport = AioTransport(trust_env=not shortcut)
        settings = config(base_url=url, max_retries=0)
        async with AsyncClient(PROVIDERS["openai-chat"], settings, model="m", transport=transport) as client:
            stream = client.stream(ask())
            while events := await stream.next_events(found.extend):
                found += events
        return found

    with Loopback(play) as server:
        began = time.monotonic()
        found = run(scene(server.url))
        assert time.monotonic() - began < LONG / 2
    last = found[-1]
    assert isinstance(last, MessageComplete)
    assert last.error is None
    assert last.response.text == "one two"

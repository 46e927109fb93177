"""Servers that answer an official client with the same bytes each time and remember what they were asked; and streams.

A client that is not installed skips the test that wants it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st

from interlingua import (
    BlockComplete,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    RefusalBlock,
    Request,
    Response,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    dialect,
    fold,
)
from shared_data import corpus, stream_bytes

__all__ = [
    "JSON",
    "Answer",
    "InMemory",
    "Loopback",
    "bedrock",
    "gemini",
    "interleaved",
    "ollama",
    "recorded",
    "said",
    "want",
]

Json = Any
Answer = tuple[int, dict[str, str], bytes]
JSON = {"content-type": "application/json"}


def want(module: str) -> Any:
    return pytest.importorskip(module, reason="the oracle is the official client: pip install 'interlingua[dev]'")


def said(name: str, events: Iterable[Event], request: Request | None = None) -> bytes:
    """A stream of ours."""
    encoder = dialect(name).stream_encoder(request)
    return b"".join(map(encoder.feed, events)) + encoder.close()


# ------------------------------------------------------------------------------------------------------------ servers


class InMemory:
    """A transport for clients that take an HTTP client; ``make`` is their class."""

    def __init__(self, make: Callable[..., Any], status: int, headers: dict[str, str], body: bytes) -> None:
        self.make = make
        self.answer = (status, headers, body)
        self.asked: list[Any] = []

    def __call__(self, request: Any) -> Any:
        self.asked.append(request)
        status, headers, body = self.answer
        return want("httpx2").Response(status, headers=headers, content=body)

    @property
    def client(self) -> Any:
        httpx = want("httpx2")
        return self.make(api_key="k", max_retries=0, http_client=httpx.Client(transport=httpx.MockTransport(self)))

    @property
    def body(self) -> Json:
        """What was asked last."""
        return json.loads(self.asked[-1].content)


class Loopback(ThreadingHTTPServer):
    """A server on loopback for clients with an HTTP client of their own; ``make`` connects one to an address."""

    daemon_threads = True

    def __init__(self, make: Callable[[str], Any], answer: Answer = (500, {}, b"{}")) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.asked: list[tuple[str, Json]] = []
        self.client = make(f"http://127.0.0.1:{self.server_port}")

    def __enter__(self) -> Any:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers in small pieces."""

    server: Loopback
    protocol_version: ClassVar[str] = "HTTP/1.0"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.append((self.path, json.loads(body)))
        status, headers, answer = self.server.answer
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(answer))}.items():
            self.send_header(name, value)
        self.end_headers()
        for start in range(0, len(answer), 37):
            self.wfile.write(answer[start : start + 37])

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def ollama(url: str) -> Any:
    return want("ollama").Client(host=url, trust_env=False)


def gemini(url: str) -> Any:
    genai = want("google.genai")
    return genai.Client(api_key="none", vertexai=False, http_options=genai.types.HttpOptions(base_url=url))


def bedrock(url: str) -> Any:
    session = want("botocore.session").Session()
    session.set_credentials("AKIDEXAMPLE", "secret")
    config = want("botocore.config").Config(retries={"max_attempts": 0}, proxies={})
    return session.create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=url, config=config)


# ------------------------------------------------------------------------------------------------------------ streams


def interleaved(data: st.DataObject, kinds: Sequence[str], end: Callable[[tuple[Any, ...]], Response]) -> Any:
    """Blocks, and the events of a stream in which any of them are open together; ``end`` makes the answer of them."""
    pieces = st.lists(st.text("ab é", min_size=1, max_size=3), max_size=3)
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(kinds), pieces), max_size=5))
    lives = [life(index, kind, words) for index, (kind, words) in enumerate(drawn)]
    queues = [list(events) for _, events in lives]
    events: list[Event] = [MessageStart("msg_1", "m")]
    opened = 0
    while any(queues):
        ready = [i for i, queue in enumerate(queues) if queue and i < opened]
        if opened < len(queues):
            ready.append(opened)
        index = data.draw(st.sampled_from(ready))
        opened = max(opened, index + 1)
        events.append(queues[index].pop(0))
    blocks = tuple(block for block, _ in lives)
    events.append(MessageComplete(end(blocks)))
    fold(events)  # legal, and adds up
    return blocks, events


def life(index: int, kind: str, pieces: list[str]) -> tuple[Any, list[Event]]:
    """A block and its events."""
    whole = "".join(pieces)
    if kind == "call":
        text = json.dumps({"said": whole})
        block = ToolUseBlock(f"toolu_{index}", f"f{index}", input=json.loads(text), input_text=text)
        start = ToolUseStart(index, block.id, block.name, ToolUseBlock(block.id, block.name))
        deltas = [ToolUseInputDelta(index, cut) for cut in (text[:5], text[5:])]
        return block, [start, *deltas, ToolUseEnd(index, block.input, block)]
    empty, delta, done = {
        "thinking": (ThinkingBlock(), ThinkingDelta, ThinkingBlock(whole, signature=f"sig{index}")),
        "refusal": (RefusalBlock(""), TextDelta, RefusalBlock(whole)),
        "text": (TextBlock(""), TextDelta, TextBlock(whole)),
    }[kind]
    return done, [BlockStart(index, empty), *(delta(index, piece) for piece in pieces), BlockComplete(index, done)]


SAMPLE = 100


@cache
def recordings(file: str) -> tuple[tuple[str, bytes], ...]:
    """About SAMPLE recorded streams, spread over the whole file."""
    found = [(r["id"], body) for r in corpus(file) if r["stream"] and r["status"] == 200 and (body := stream_bytes(r))]
    found = [(id, body) for id, body in found if b"data:" in body]
    return tuple(found[:: max(1, len(found) // SAMPLE)])


def recorded(file: str, name: str) -> Iterator[tuple[str, bytes, Response]]:
    """Those that end well, with what our own fold makes of them."""
    for id, body in recordings(file):
        decoder = dialect(name).stream_decoder()
        events = decoder.feed(body) + decoder.close()
        if decoder.error is None:
            yield id, body, fold(events)

"""How much a client accepts: one less and one more than each limit, in both clients, and None for no limit."""

from __future__ import annotations

import gzip
import itertools
import json
import socket
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from client.loopback import Loopback, answer, drip, hear
from client.support import DIALECTS, PROVIDERS, WAYS, ask, call, config, run
from interlingua import (
    Event,
    Limits,
    ParseError,
    Response,
    ServerError,
    StopReason,
    TextBlock,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    dialect,
    unfold,
)
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import Script, Step
from interlingua.client.http import HttpRequest
from interlingua.client.transport.compression import Decompressor
from interlingua.client.transport.memory import Answer, Handler

KINDS = ("async", "sync")


def whole(text: str = "Hi", **more: Any) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps({**body, **more}).encode()


def answering(body: bytes, status: int = 200, kind: str = "application/json", piece: int = 7) -> Handler:
    """An answer in small pieces."""
    pieces = [body[at : at + piece] for at in range(0, len(body), piece)]

    def answer(_: HttpRequest) -> Answer:
        return Answer(status, {"content-type": kind}, pieces)

    return answer


def over_http(kind: str, server: Loopback, limits: Limits, **more: Any) -> Response:
    """A whole answer over a real socket."""
    settings = config(base_url=server.url, limits=limits, **more)

    async def scene() -> Response:
        async with AsyncClient("openai-chat", settings) as client:
            return await client.complete(ask())

    if kind == "async":
        return run(scene())  # type: ignore[no-any-return]
    with Client("openai-chat", settings) as client:
        return client.complete(ask())


# ------------------------------------------------------------------------------------------------------ whole bodies


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spare", [None, 0, -1])
def test_a_whole_answer_has_a_limit(spare: int | None, way: str) -> None:
    """Also if it comes in place of a stream."""
    body = whole()
    limits = Limits(body=None if spare is None else len(body) + spare)
    outcome = call(way, "openai-chat", answering(body), ask(), config(limits=limits))
    if spare != -1:
        assert outcome.response is not None
        assert outcome.response.content == (TextBlock("Hi"),)
        return
    assert isinstance(outcome.error, ParseError)
    assert f"longer than the limit of {limits.body} bytes" in str(outcome.error)
    assert "AdapterConfig(limits=Limits(body=None))" in str(outcome.error)
    assert (outcome.error.retryable, outcome.transport.cut) == (False, 1)  # the rest was not read


def test_the_default_is_64_mib() -> None:
    assert Limits() == Limits(body=64 * 2**20, error=2**20, event=16 * 2**20, arguments=8 * 2**20, depth=128)


PACKINGS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "deflate ": lambda data: zlib.compress(data, wbits=-zlib.MAX_WBITS),
    "x-gzip": lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("coding", PACKINGS)
@pytest.mark.parametrize("spare", [0, -1])
def test_what_counts_is_the_unpacked_size(spare: int, coding: str, kind: str) -> None:
    body = whole("Hi" * 1000)
    packed = PACKINGS[coding](body)

    def play(connection: socket.socket) -> None:
        hear(connection)
        connection.sendall(answer(packed, f"Content-Encoding: {coding.strip()}"))

    with Loopback(play) as server:
        if spare == 0:
            assert over_http(kind, server, Limits(body=len(body))).content == (TextBlock("Hi" * 1000),)
        else:
            with pytest.raises(ParseError, match=f"limit of {len(body) - 1} bytes"):
                over_http(kind, server, Limits(body=len(body) - 1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_is_not_unpacked(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gigabyte of zeros in a megabyte."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    bomb = b"".join([packer.compress(bytes(2**20)) for _ in range(1024)]) + packer.flush()
    unpacked = 0
    real = Decompressor.pieces

    def counted(self: Decompressor, chunk: bytes) -> Any:
        nonlocal unpacked
        for piece in real(self, chunk):
            unpacked += len(piece)
            assert len(piece) <= 2**16
            yield piece

    def play(connection: socket.socket) -> None:
        hear(connection)
        connection.sendall(answer(bomb, "Content-Encoding: gzip"))

    monkeypatch.setattr(Decompressor, "pieces", counted)
    with Loopback(play) as server, pytest.raises(ParseError, match="1048576"):
        over_http(kind, server, Limits(body=2**20))
    assert unpacked <= 2**20 + 2**16


# ----------------------------------------------------------------------------------------------------- error bodies


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spare", [None, 0, -1])
def test_an_error_body_is_read_up_to_its_limit(spare: int | None, way: str) -> None:
    """A longer body is still an error with its status; it is only read up to the limit."""
    body = b'{"error": {"message": "boom", "type": "server_error"}}'
    limits = Limits(error=None if spare is None else len(body) + spare)
    outcome = call(way, "openai-chat", answering(body, 500), ask(), config(limits=limits, max_retries=0))
    assert isinstance(outcome.error, ServerError)
    assert outcome.error.provider_status == 500
    assert outcome.error.response is not None
    raw = outcome.error.response.raw
    assert raw == (json.loads(body) if spare != -1 else body[:-1].decode())
    assert outcome.transport.cut == (spare == -1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_endless_error_body_is_not_read_to_its_end(kind: str) -> None:
    def play(connection: socket.socket) -> None:
        hear(connection)
        connection.sendall(b"HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nContent-Length: 999999999999\r\n\r\n")
        drip(connection, itertools.repeat(b"x" * 2**20))

    with Loopback(play) as server, pytest.raises(ServerError):
        over_http(kind, server, Limits(), max_retries=0)
    assert server.left == server.accepted == 1


# ----------------------------------------------------------------------------------------------------- stream events


def streamed(text: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode()


@pytest.mark.parametrize("way", ["async-stream", "stream"])
@pytest.mark.parametrize("piece", [7, 10_000])
@pytest.mark.parametrize("spare", [None, 0, -1])
def test_an_event_has_a_limit(spare: int | None, piece: int, way: str) -> None:
    event = streamed("Hi" * 50)
    limits = Limits(event=None if spare is None else len(event) + spare)
    handler = answering(event + b"\n\ndata: [DONE]\n\n", kind="text/event-stream", piece=piece)
    outcome = call(way, "openai-chat", handler, ask(), config(limits=limits))
    if spare == -1:
        assert isinstance(outcome.error, ParseError)
        assert "AdapterConfig(limits=Limits(event=None))" in str(outcome.error)
        assert not outcome.error.retryable
    else:
        assert outcome.response is not None
        assert outcome.response.content == (TextBlock("Hi" * 50),)


@pytest.mark.parametrize("way", ["async-stream", "stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_keeps_the_limit_on_events(dialect: str, way: str) -> None:
    script = Script(Step(act="echo"))
    short = call(way, PROVIDERS[dialect], script, ask(), config(limits=Limits(event=20)))
    assert isinstance(short.error, ParseError)
    assert "limit of 20 bytes" in str(short.error)
    lifted = call(way, PROVIDERS[dialect], Script(Step(act="echo")), ask(), config(limits=Limits(event=None)))
    assert lifted.error is None


# ------------------------------------------------------------------------------------------------------------ nesting


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("depth", "most"), [(128, 128), (129, 128), (129, None), (20_000, 128), (20_000, None)])
def test_nesting_has_a_limit(depth: int, most: int | None, way: str) -> None:
    deep = b"[" * (depth - 1) + b"]" * (depth - 1)  # one level is the body's own
    body = whole()[:-1] + b', "odd": ' + deep + b"}"
    outcome = call(way, "openai-chat", answering(body, piece=9999), ask(), config(limits=Limits(depth=most)))
    if depth == 20_000 or (most is not None and depth > most):
        assert isinstance(outcome.error, ParseError)
    else:
        assert outcome.response is not None
        assert outcome.response.content == (TextBlock("Hi"),)
    if depth == 129 and most == 128:
        assert "AdapterConfig(limits=Limits(depth=None))" in str(outcome.error)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("depth", [128, 129, 20_000])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_deep_error_is_an_error_like_any_other(dialect: str, depth: int, way: str) -> None:
    body = b'{"error": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    settings = config(max_retries=0)
    outcome = call(way, PROVIDERS[dialect], answering(body, 500, piece=9999), ask(), settings)
    assert isinstance(outcome.error, ServerError)
    assert outcome.error.response is not None
    assert isinstance(outcome.error.response.raw, dict) is (depth == 128)


# -------------------------------------------------------------------------------------------------- arguments of a call

IN_PIECES = ("anthropic-messages", "openai-chat", "openai-responses", "bedrock-converse")


def stream_of(name: str, arguments: str) -> list[bytes]:
    """A stream with one call, whose arguments come letter by letter."""
    block = ToolUseBlock(id="call_1", name="f", input=json.loads(arguments))
    said = stream_of_events(Response((block,), StopReason.tool_use))
    encoder = dialect(name).stream_encoder()
    return [*filter(None, map(encoder.feed, said)), encoder.close()]


def stream_of_events(response: Response) -> Iterator[Event]:
    for event in unfold(response):
        if isinstance(event, ToolUseInputDelta):
            yield from (ToolUseInputDelta(event.index, letter) for letter in event.partial_json)
        else:
            yield event


@pytest.mark.parametrize("name", IN_PIECES)
@pytest.mark.parametrize("spare", [None, 0, -1])
def test_the_arguments_of_a_call_have_a_limit(spare: int | None, name: str) -> None:
    arguments = json.dumps({"text": "ä" * 300}, ensure_ascii=False, separators=(",", ":"))
    most = len(arguments.encode())
    decoder = dialect(name).stream_decoder()
    decoder.accept(Limits(arguments=None if spare is None else most + spare))
    events = [event for chunk in stream_of(name, arguments) for event in decoder.feed(chunk)] + decoder.close()
    call = next(event for event in events if isinstance(event, ToolUseEnd)).block
    assert call.incomplete is (spare == -1)
    if spare == -1:
        assert isinstance(decoder.error, ParseError)
        assert "AdapterConfig(limits=Limits(arguments=None))" in str(decoder.error)
    else:
        assert (decoder.error, call.input) == (None, json.loads(arguments))

"""Recorded answers over real sockets, with headers as providers' proxies send them.

A plain server sends the recording in pieces of any length. Both clients must return what the dialect decodes from the
recording itself.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

import msgspec
import pytest

from client.support import DIALECTS, PROVIDERS, config
from interlingua import AdapterError, Message, MessageComplete, Request, Response, dialect
from interlingua.client.connect import AsyncClient, Client
from interlingua.models.catalogue import Catalogue
from shared_data import corpus, needs_shared, stream_bytes

COUNTS = re.compile(r"count.?tokens", re.IGNORECASE)  # another endpoint, whose answers are numbers
MOST = 40  # of a dialect's recordings, spread over all
# Cookies and hints come several times, names in any case, some values are empty or not ASCII.
FRONT = (
    b"Date: Mon, 16 Nov 2026 00:00:00 GMT", b"Set-Cookie: __cf_bm=a; HttpOnly", b"set-cookie: _cfuvid=b; Secure",
    b"Vary: Origin", b"vary: X-Origin", b"Server: cloudflare", b"CF-RAY: 9c0-AMS", b"alt-svc: h3=\":443\"; ma=86400",
    b"X-Empty:", b"x-name: \xc3\xa9", b"Strict-Transport-Security: max-age=31536000",
)  # fmt: skip


def some(name: str, wanted: Any) -> list[dict[str, Any]]:
    found = [record for record in corpus(name) if wanted(record)]
    return found[:: max(1, len(found) // MOST)]


def body_of(record: dict[str, Any]) -> bytes:
    told = stream_bytes(record)
    return told if told is not None else msgspec.json.encode(record["response"])


def heard(record: dict[str, Any], chance: random.Random) -> bytes:
    """The answer as it goes over the wire."""
    kept = {k: v for k, v in record["response_headers"].items() if k not in ("content-length", "content-encoding")}
    lines = [f"{name}: {value}".encode() for name, value in kept.items() if name != "transfer-encoding"]
    left, pieces = body_of(record), list[bytes]()
    while left:
        size = chance.randint(1, 4000)
        pieces.append(b"%x\r\n%b\r\n" % (len(left[:size]), left[:size]))
        left = left[size:]
    head = [b"HTTP/1.1 %d Some Words" % record["status"], *FRONT, *lines, b"Transfer-Encoding: chunked", b"", b""]
    return b"\r\n".join(head) + b"".join(pieces) + b"0\r\n\r\n"


@contextmanager
def served(answers: list[bytes]) -> Iterator[str]:
    """A server that gives these answers, one to each request, in this order."""
    left, ready, over = iter(answers), Event(), asyncio.Event()
    place: list[tuple[str, asyncio.AbstractEventLoop]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
                length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
                await reader.readexactly(length)
                writer.write(next(left))
                await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        place.append((url, asyncio.get_running_loop()))
        ready.set()
        await over.wait()
        server.close()

    thread = Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield place[0][0]
    finally:
        place[0][1].call_soon_threadsafe(over.set)
        thread.join(10)


def settings(name: str, url: str) -> dict[str, Any]:
    return {"provider": PROVIDERS[name], "config": config(base_url=url, max_retries=0), "catalogue": Catalogue(())}


ASK = Request([Message("user", "?")], model="some-model", max_output_tokens=9)


def listen(kind: str, name: str, url: str, streams: list[bool]) -> list[Response | AdapterError]:
    if kind == "sync":
        with Client(**settings(name, url), on_loss="allow") as client:
            return [once(client, stream) for stream in streams]

    async def scene() -> list[Response | AdapterError]:
        async with AsyncClient(**settings(name, url), on_loss="allow") as client:
            return [await once_async(client, stream) for stream in streams]

    return asyncio.run(scene())


def once(client: Client, stream: bool) -> Response | AdapterError:
    try:
        if not stream:
            return client.complete(ASK)
        with client.stream(ASK) as events:
            return [event.response for event in events if isinstance(event, MessageComplete)][-1]
    except AdapterError as error:
        return error


async def once_async(client: AsyncClient, stream: bool) -> Response | AdapterError:
    try:
        if not stream:
            return await client.complete(ASK)
        async with client.stream(ASK) as events:
            return [event.response async for event in events if isinstance(event, MessageComplete)][-1]
    except AdapterError as error:
        return error


def expected(record: dict[str, Any], name: str) -> Response | AdapterError:
    """What the dialect itself makes of the recording."""
    speaker, body = dialect(name, PROVIDERS[name]), body_of(record)
    if record["status"] != 200:
        return speaker.decode_error(record["status"], record["response_headers"], body)
    if stream_bytes(record) is None:
        response = speaker.decode_response(record["response"], record["response_headers"], ASK)
        return response.error if isinstance(response.error, AdapterError) else response
    decoder = speaker.stream_decoder(ASK)
    last = [*decoder.feed(body), *decoder.close()][-1]
    assert isinstance(last, MessageComplete)
    return last.error if isinstance(last.error, AdapterError) else last.response


def same(ours: Response | AdapterError, theirs: Response | AdapterError) -> bool:
    if isinstance(theirs, AdapterError) or isinstance(ours, AdapterError):
        both = isinstance(theirs, AdapterError) and isinstance(ours, AdapterError)
        return both and (ours.error_class, ours.provider_status) == (theirs.error_class, theirs.provider_status)  # type: ignore[union-attr]
    told = (ours.content, ours.stop_reason, ours.id, ours.model or None, ours.extras)
    usage = theirs.usage is None or ours.usage == theirs.usage
    return usage and told == (theirs.content, theirs.stop_reason, theirs.id, theirs.model or ours.model, theirs.extras)


@needs_shared
@pytest.mark.parametrize("kind", ["async", "sync"])
@pytest.mark.parametrize("name", DIALECTS)
def test_answers_and_errors(name: str, kind: str) -> None:
    files = [name, *(["bedrock-converse-stream"] if name == "bedrock-converse" else [])]
    wanted = (
        lambda r: r["status"] == 200 and isinstance(r.get("response"), dict) and not COUNTS.search(r["url_path"]),
        lambda r: r["status"] == 200 and stream_bytes(r) and r.get("stream"),
        lambda r: r["status"] >= 400 and (r.get("response") is not None or stream_bytes(r)),
    )
    records = [record for file in files for kind_of in wanted for record in some(file, kind_of)]
    chance = random.Random(7)
    with served([heard(record, chance) for record in records]) as url:
        found = listen(kind, name, url, [bool(stream_bytes(r) and r["status"] == 200) for r in records])
    wrong = [r["id"] for r, ours in zip(records, found, strict=True) if not same(ours, expected(r, name))]
    assert len(records) > 20
    assert wrong == []

"""The two real transports over loopback: time limits per phase, proxies, TLS, and errors of broken connections."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import random
import socket
import ssl
import subprocess
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from client.support import run
from interlingua import AdapterError, NetworkError, RequestTimeoutError
from interlingua.client.http import HttpRequest, Timeouts
from interlingua.client.transport.aio import AioTransport
from interlingua.client.transport.base import Abort
from interlingua.client.transport.blocking import BlockingTransport
from interlingua.client.transport.head import write_head

TRANSPORTS = ("aio", "session", "blocking")
Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def fetch(kind: str, request: HttpRequest, **settings: Any) -> tuple[int, dict[str, str], bytes]:
    """Send and read to the end, with either transport."""
    if kind == "blocking":
        return await asyncio.to_thread(fetch_blocking, request, **settings)
    transport = AioTransport(**settings)
    take_way(transport, kind)
    try:
        reply = await transport.send(request)
        try:
            body = b"".join([chunk async for chunk in reply.chunks()])
        finally:
            reply.close()
        return reply.status, dict(reply.headers), body
    finally:
        await transport.close()


def take_way(transport: AioTransport, kind: str) -> None:
    """Our own connections (``aio``), or aiohttp's session: the way of long bodies and proxies."""
    transport._owns_connections = transport._owns_connections and kind == "aio"


def fetch_blocking(request: HttpRequest, **settings: Any) -> tuple[int, dict[str, str], bytes]:
    transport = BlockingTransport(**settings)
    try:
        reply = transport.send(request, Abort())
        try:
            return reply.status, reply.headers, b"".join(reply.chunks())
        finally:
            reply.close()
    finally:
        transport.close()


def against(play: Play, kind: str, **more: Any) -> tuple[int, dict[str, str], bytes]:
    """One request to a server that does what ``play`` says."""
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await play(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            done.set()

    async def scene() -> Any:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        settings = {key: value.format(port=port) if key == "proxy" else value for key, value in more.items()}
        url = settings.pop("url", f"http://127.0.0.1:{port}/v1/x?a=b")
        limits = settings.pop("timeouts", Timeouts(5, 5, 5))
        try:
            return await fetch(kind, HttpRequest("POST", url, {"x-key": "k"}, b"{}", limits), **settings)
        finally:
            server.close()
            await asyncio.wait_for(done.wait(), 10)

    return run(scene())


async def head(reader: asyncio.StreamReader) -> str:
    text = (await reader.readuntil(b"\r\n\r\n")).decode()
    await reader.readexactly(2 if "content-length: 2" in text.lower() else 0)
    return text


async def fine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    asked = (await head(reader)).splitlines()
    body = asked[0].encode()
    writer.write(b"HTTP/1.1 200 OK\r\nX-Answer: 1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_an_answer(kind: str) -> None:
    status, headers, body = against(fine, kind)
    assert (status, headers["x-answer"], body) == (200, "1", b"POST /v1/x?a=b HTTP/1.1")


def framed(body: bytes, *headers: bytes, before: bytes = b"") -> Play:
    """A server that sends this answer and closes the connection."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(before + b"\r\n".join([b"HTTP/1.1 200 OK", *headers, b"", body]))
        await writer.drain()

    return play


FRAMED = {
    "length": framed(b"words", b"Content-Length: 5"),
    "chunks": framed(b"3\r\nwor\r\n2\r\nds\r\n0\r\n\r\n", b"Transfer-Encoding: chunked"),
    "until it closes": framed(b"words", b"Connection: close"),
    "after hints": framed(b"words", b"Content-Length: 5", before=b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
    "after a go-ahead": framed(b"words", b"Content-Length: 5", before=b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("how", FRAMED)
def test_framings(how: str, kind: str) -> None:
    status, _, body = against(FRAMED[how], kind)
    assert (status, body) == (200, b"words")


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_headers_may_come_several_times(kind: str) -> None:
    play = framed(b"words", b"Set-Cookie: a=1", b"set-cookie: b=2", b"X-Id: 7", b"Content-Length: 5")
    _, headers, body = against(play, kind)
    assert (headers["x-id"], body) == ("7", b"words")
    assert headers["set-cookie"] in ("a=1", "b=2")


def garbled(chance: random.Random) -> bytes:
    """A broken answer: a byte changed, bytes left out or put in, or the rest cut off."""
    text = bytearray(chance.choice(ANSWERS))
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(text) or 1)
        match chance.randrange(4):
            case 0:
                text[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del text[at : at + chance.randrange(1, 8)]
            case 2:
                text[at:at] = chance.choice([b"\r\n", b"0", b":", b"\0", b"Content-Length: 5\r\n"])
            case _:
                del text[at:]
    return bytes(text)


PACKED = gzip.compress(b"words")
ANSWERS = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a":"b"}',
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    b"HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nConnection: close\r\n\r\n{}",
    b"HTTP/1.0 200 OK\r\n\r\nuntil it closes",
    b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\nX-A: 2\r\n\r\n{}",
    b"HTTP/1.1 302 Found\r\nLocation: /y\r\nSet-Cookie: a=b\r\nContent-Length: 3\r\n\r\nabcand more",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(PACKED), PACKED),
)


def test_both_ways_read_broken_answers_alike() -> None:
    """Our own connections must read broken answers as the library's session does."""
    chance, text = random.Random(2026), b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await head(reader)
            writer.write(text)
            await writer.drain()
        writer.close()

    async def outcome(transport: AioTransport, url: str) -> object:
        try:
            reply = await transport.send(HttpRequest("POST", url, {}, b"{}", Timeouts(5, 5, 5)))
        except AdapterError as error:
            return type(error)
        try:
            return reply.status, reply.headers, b"".join([chunk async for chunk in reply.chunks()])
        except AdapterError as error:
            return reply.status, type(error)
        finally:
            reply.close()

    async def scene() -> list[tuple[bytes, object, object]]:
        nonlocal text
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"
        straight, through, found = AioTransport(), AioTransport(), list[tuple[bytes, object, object]]()
        take_way(through, "session")
        for _ in range(300):
            text = garbled(chance)
            found.append((text, await outcome(straight, url), await outcome(through, url)))
        await straight.close()
        await through.close()
        server.close()
        return found

    found = asyncio.run(scene())
    assert [case for case in found if case[1] != case[2]] == []
    kinds = {type(case[1]) for case in found}
    assert kinds == {tuple, type}  # answers and errors


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize(("word", "pack"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress)])
def test_compressed_answers_are_decompressed(word: bytes, pack: Callable[[bytes], bytes], kind: str) -> None:
    packed = pack(b"words")
    play = framed(packed, b"Content-Encoding: %b" % word, b"Content-Length: %d" % len(packed))
    assert against(play, kind)[2] == b"words"


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_an_answer_that_cannot_be_decompressed(kind: str) -> None:
    with pytest.raises(NetworkError):
        against(framed(b"no gzip at all", b"Content-Encoding: gzip", b"Content-Length: 14"), kind)


def test_a_compressed_answer_that_is_cut() -> None:
    """Only for the blocking transport: aiohttp returns the part received, and decoding it finds the cut."""
    body = gzip.compress(b"words" * 99)[:-12]
    with pytest.raises(NetworkError, match="cut"):
        against(framed(body, b"Content-Encoding: gzip", b"Content-Length: %d" % len(body)), "blocking")


async def heads_of(body: bytes, times: int, **settings: Any) -> tuple[list[list[str]], int]:
    """The heads that a server reads of ``times`` requests, and over how many connections they came."""
    seen: list[list[str]] = []
    connections, gone = 0, asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()[:-1]
                length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length"))
                assert await reader.readexactly(length) == body
                seen.append(lines)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()
        gone.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/x"
    transport = AioTransport()
    take_way(transport, settings.get("kind", "aio"))
    try:
        for turn in range(times):
            headers = {"content-type": "application/json", "x-turn": str(turn // 2)}
            reply = await transport.send(HttpRequest("POST", url, headers, body, Timeouts(5, 5, 5)))
            assert [chunk async for chunk in reply.chunks()] == [b"{}"]
            reply.close()
    finally:
        await transport.close()
        server.close()
        await asyncio.wait_for(gone.wait(), 10)
    return seen, connections


def test_both_ways_send_the_same_over_one_connection() -> None:
    straight, connections = run(heads_of(b"{}", 4, kind="aio"))
    through, _ = run(heads_of(b"{}", 4, kind="session"))
    assert connections == 1
    ports = [[line for line in lines if not line.startswith("Host:")] for lines in straight]
    assert [sorted(lines) for lines in ports] == [
        sorted(line for line in lines if not line.startswith("Host:")) for lines in through
    ]
    assert [next(line for line in lines if line.startswith("x-turn")) for lines in straight] == [
        "x-turn: 0", "x-turn: 0", "x-turn: 1", "x-turn: 1",
    ]  # fmt: skip


@pytest.mark.parametrize("length", [2**20, 2**20 + 1, 3 * 2**20])
def test_long_bodies_arrive_whole(length: int) -> None:
    seen, _ = run(heads_of(b"x" * length, 2))  # the server compares
    assert len(seen) == 2


@pytest.mark.parametrize("kind", ["aio", "session"])
def test_a_header_with_a_line_break_is_refused(kind: str) -> None:
    request = HttpRequest("POST", "http://127.0.0.1:9/x", {"x-key": "k\r\nx-other: 1"}, b"{}", Timeouts(5, 5, 5))
    with pytest.raises((ValueError, NetworkError)):
        run(fetch(kind, request))


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_a_plain_proxy_gets_the_whole_url(kind: str) -> None:
    _, _, body = against(fine, kind, url="http://models.example/v1/x", proxy="http://127.0.0.1:{port}")
    assert body == b"POST http://models.example/v1/x HTTP/1.1"


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_the_environments_proxy_counts_only_if_asked(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert against(fine, kind)[0] == 200
    with pytest.raises(NetworkError):
        run(fetch(kind, HttpRequest("POST", "http://192.0.2.1/x", timeouts=Timeouts(5, 5, 5)), trust_env=True))


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_a_tunnel_through_a_proxy(kind: str) -> None:
    seen: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await head(reader)).splitlines()[0])
        writer.write(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    with pytest.raises(NetworkError):
        against(refuse, kind, url="https://models.example/v1/x", proxy="http://127.0.0.1:{port}")
    assert seen[0].startswith("CONNECT models.example:443 ")


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await head(reader)
    await reader.read(1)


async def silent_after_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
    await reader.read(1)


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n")
    while True:
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(0.02)


async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await head(reader)


async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
    await writer.drain()


async def cut_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    await writer.drain()


async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await head(reader)
    writer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
    await writer.drain()


BROKEN = (
    # play              limits                      becomes
    (silent,            Timeouts(5, 0.05, None),    RequestTimeoutError),
    (silent_after_head, Timeouts(5, 0.05, None),    RequestTimeoutError),
    (silent,            Timeouts(5, None, 0.05),    RequestTimeoutError),
    (dripping,          Timeouts(5, 5, 0.2),        RequestTimeoutError),
    (mute,              Timeouts(5, 5, 5),          NetworkError),
    (cut,               Timeouts(5, 5, 5),          NetworkError),
    (cut_chunks,        Timeouts(5, 5, 5),          NetworkError),
    (nonsense,          Timeouts(5, 5, 5),          NetworkError),
)  # fmt: skip


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize(("play", "limits", "becomes"), BROKEN)
def test_broken_connections(play: Play, limits: Timeouts, becomes: type[AdapterError], kind: str) -> None:
    with pytest.raises(becomes) as caught:
        against(play, kind, timeouts=limits)
    assert caught.value.retryable
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "http://no-such-host.invalid/x"])
def test_nobody_listens(url: str, kind: str) -> None:
    with pytest.raises(NetworkError):
        run(fetch(kind, HttpRequest("POST", url, timeouts=Timeouts(5, 5, 5))))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("tls")
    key, cert = place / "key.pem", place / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    try:
        subprocess.run([*command.split(), *names], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no certificate could be made: {error}")
    return key, cert


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_tls(kind: str, certificate: tuple[Path, Path]) -> None:
    key, cert = certificate
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(cert, key)
    trusting = ssl.create_default_context(cafile=str(cert))
    assert tls_fetch(kind, server, tls=trusting)[0] == 200
    assert tls_fetch(kind, server, tls=False)[0] == 200
    with pytest.raises(NetworkError):
        tls_fetch(kind, server)


def tls_fetch(kind: str, server_tls: ssl.SSLContext, **settings: Any) -> Any:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await fine(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def scene() -> Any:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_tls)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"
        try:
            return await fetch(kind, HttpRequest("POST", url, {}, b"{}", Timeouts(5, 5, 5)), **settings)
        finally:
            server.close()
            await asyncio.sleep(0.05)

    return asyncio.run(scene())


def test_an_abort_before_registration_closes_at_once() -> None:
    closed: list[int] = []
    abort = Abort()
    abort.set()
    abort.closes(lambda: closed.append(1))
    abort.wait(100)
    assert closed == [1]


def test_a_cached_head_does_not_show_its_key() -> None:
    async def scene() -> str:
        request = HttpRequest("POST", "http://127.0.0.1:9/x", {"authorization": "Bearer sk-canary"}, b"{}")
        head = write_head(request, URL(request.url))
        assert b"sk-canary" in head.text
        return repr(head) + repr(vars(AioTransport())) + str(head)

    assert "canary" not in run(scene())


@pytest.fixture
def full_house() -> Iterator[int]:
    """The port of a server that accepts no connection, and whose queue is full."""
    with contextlib.ExitStack() as open_sockets:
        server = open_sockets.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            caller = open_sockets.enter_context(socket.socket())
            caller.settimeout(0.05)
            try:
                caller.connect(server.getsockname())
            except TimeoutError:
                yield server.getsockname()[1]
                return
        pytest.skip("this system lets callers in whom nobody accepts")


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_no_connection_in_time(kind: str, full_house: int) -> None:
    request = HttpRequest("POST", f"http://127.0.0.1:{full_house}/x", {}, b"{}", Timeouts(0.1, 30, 30))
    with pytest.raises(RequestTimeoutError) as caught:
        run(fetch(kind, request))
    assert caught.value.retryable

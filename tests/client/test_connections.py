"""Connections over real sockets: which are reused, proxies in TLS, certificates, early answers."""

from __future__ import annotations

import io
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from client.loopback import Loopback, answer, hear, make_certificate, until_left
from client.support import ask, config, run
from interlingua import ContextOverflowError, NetworkError
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.http import HttpRequest, Timeouts
from interlingua.client.transport import aio, head
from interlingua.client.transport.aio import AioTransport
from interlingua.client.transport.base import Abort
from interlingua.client.transport.blocking import BlockingTransport
from interlingua.client.transport.connection import Answer
from interlingua.client.transport.http1_reply import Http1Reply

TRANSPORTS = ("aio", "session", "blocking")
LIMITS = Timeouts(10, 10, 30)
Between = Callable[[], object]


def post(url: str, body: bytes = b"{}") -> HttpRequest:
    return HttpRequest("POST", url, {"authorization": "Bearer k"}, body, LIMITS)


def fetch(
    kind: str, requests: list[HttpRequest], between: Between = lambda: None, **settings: Any
) -> list[tuple[int, bytes]]:
    """The answers to several requests of one transport, one after the other."""
    if kind == "blocking":
        return _fetch_blocking(requests, between, **settings)

    async def scene() -> list[tuple[int, bytes]]:
        transport, found = AioTransport(**settings), list[tuple[int, bytes]]()
        transport._owns_connections = transport._owns_connections and kind == "aio"
        try:
            for request in requests:
                reply = await transport.send(request)
                found.append((reply.status, b"".join([chunk async for chunk in reply.chunks()])))
                reply.close()
                between()
        finally:
            await transport.close()
        return found

    return list(run(scene()))


def _fetch_blocking(requests: list[HttpRequest], between: Between, **settings: Any) -> list[tuple[int, bytes]]:
    transport, found = BlockingTransport(**settings), list[tuple[int, bytes]]()
    try:
        for request in requests:
            reply = transport.send(request, Abort())
            found.append((reply.status, b"".join(reply.chunks())))
            reply.close()
            between()
    finally:
        transport.close()
    return found


# ------------------------------------------------------------------------------------------------------ stale answers


class Chatty:
    """Answers each request with the number of its connection. On the first one it sends an answer too many."""

    def __init__(self, extra: bytes, late: bool) -> None:
        self._extra, self._late = extra, late
        self._connections = 0
        self.may_say, self.has_said = threading.Event(), threading.Event()

    def __call__(self, connection: socket.socket) -> None:
        self._connections += 1
        number = b"%d" % self._connections
        while True:
            hear(connection)
            said = answer(number)
            if number == b"1" and not self._late:
                said += self._extra
            connection.sendall(said)
            if number == b"1" and self._late:
                self.may_say.wait(10)
                connection.sendall(self._extra)
                self.has_said.set()

    def between(self) -> None:
        """Called when an answer was read. When it returns, the late second answer has arrived too."""
        self.may_say.set()
        if self._late:
            self.has_said.wait(10)


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("secure", [False, True])
def test_an_unrequested_answer_is_never_used(secure: bool, late: bool, kind: str, tls: Tls) -> None:
    """A second answer that came with the first one, or while the connection was idle, is not used for a request."""
    chatty = Chatty(answer(b"stale"), late)
    with Loopback(chatty, tls.server if secure else None) as server:
        found = fetch(kind, [post(server.url)] * 3, chatty.between, tls=tls.client)
    assert found == [(200, b"1"), (200, b"2"), (200, b"2")]


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("secure", [False, True])
def test_a_quiet_connection_is_kept(secure: bool, kind: str, tls: Tls) -> None:
    """The proof that the test above can fail: without a second answer, the connection is reused."""
    with Loopback(Chatty(b"", late=False), tls.server if secure else None) as server:
        assert fetch(kind, [post(server.url)] * 3, tls=tls.client) == [(200, b"1")] * 3
    assert server.accepted == 1


@pytest.mark.parametrize(("version", "straightly"), [("3.11", True), ("3.14", True), ("3.15", False), ("4.0", False)])
def test_own_connections_only_with_tested_versions(version: str, straightly: bool) -> None:
    """Any other minor version of aiohttp is used through its session."""
    assert (version in head.TESTED) is straightly


def test_an_untested_version_uses_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("driven by hand")

    monkeypatch.setattr(aio, "IS_TESTED", False)
    monkeypatch.setattr(aio, "send_http1", never)
    with Loopback(Chatty(b"", late=False)) as server:
        assert fetch("aio", [post(server.url)]) == [(200, b"1")]


# -------------------------------------------------------------------------------------------------------- TLS proxies


class Tls:
    """A certificate for 127.0.0.1, and contexts that trust it."""

    def __init__(self, place: Path, name: str = "IP:127.0.0.1") -> None:
        key, cert = make_certificate(place, name)
        self.server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.server.load_cert_chain(cert, key)
        self.client = ssl.create_default_context(cafile=str(cert))


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    return Tls(tmp_path_factory.mktemp("tls"))


class Proxy:
    """A proxy that tunnels and forwards; ``heard`` are the heads of its requests."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def __call__(self, connection: socket.socket) -> None:
        head = hear(connection)
        while not head.startswith(b"CONNECT "):
            self.heard.append(head)
            connection.sendall(answer(b"forwarded"))
            head = hear(connection)
        self.heard.append(head)
        target = head.split(b" ", 2)[1]
        host, _, port = target.decode().rpartition(":")
        with socket.create_connection((host, int(port))) as onward:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(onward, connection))
            back.start()
            try:
                _copy(connection, onward)
            finally:
                onward.shutdown(socket.SHUT_RDWR)
                back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while chunk := source.recv(2**16):
            sink.sendall(chunk)
    except OSError:
        pass


@pytest.mark.parametrize("kind", ["session", "blocking"])
@pytest.mark.parametrize("secure", [False, True])
def test_a_proxy_in_tls(secure: bool, kind: str, tls: Tls) -> None:
    """``https://`` proxies are reached by TLS, also for credentials, and TLS to the server goes through that."""
    proxy, big = Proxy(), b"x" * 300_000

    def serve(connection: socket.socket) -> None:
        while True:
            connection.sendall(answer(hear(connection).partition(b"\r\n\r\n")[2]))

    with Loopback(serve, tls.server if secure else None) as server, Loopback(proxy, tls.server) as door:
        where = f"https://me:secret@127.0.0.1:{door.port}"
        found = fetch(kind, [post(f"{server.url}/x", big)] * 2, proxy=where, tls=tls.client)
    if secure:
        assert found == [(200, big)] * 2
        assert proxy.heard[0].startswith(b"CONNECT 127.0.0.1:%d " % server.port)
        assert len(proxy.heard) == 1  # the tunnel serves both
    else:
        assert found == [(200, b"forwarded")] * 2
        assert proxy.heard[0].startswith(b"POST http://127.0.0.1:%d/x " % server.port)
    assert b"basic bwu6c2vjcmv0" in proxy.heard[0].lower()


@pytest.mark.parametrize("kind", ["session", "blocking"])
def test_nothing_is_sent_to_a_proxy_without_tls(kind: str) -> None:
    said: list[bytes] = []

    def listen(connection: socket.socket) -> None:
        said.append(connection.recv(2**16))
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with Loopback(listen) as door, pytest.raises(NetworkError):
        fetch(kind, [post("http://models.example/x")], proxy=f"https://me:secret@127.0.0.1:{door.port}")
    assert said[0][:1] == b"\x16"  # a TLS handshake
    assert b"POST" not in said[0]
    assert b"proxy-authorization" not in said[0].lower()


@pytest.mark.parametrize("kind", ["session", "blocking"])
def test_a_proxys_certificate_is_checked(kind: str, tls: Tls) -> None:
    with Loopback(Proxy(), tls.server) as door, pytest.raises(NetworkError):
        fetch(kind, [post("http://models.example/x")], proxy=f"https://127.0.0.1:{door.port}")


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(NetworkError, match="http or https") as caught:
        fetch("blocking", [post("http://models.example/x")], proxy="socks5://me:secret@127.0.0.1:9")
    assert not caught.value.retryable
    assert "secret" not in str(caught.value)


# -------------------------------------------------------------------------------------------------------- certificates


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize(("name", "trusted", "why"), [
    ("IP:127.0.0.1", False, "self-signed certificate"),
    ("DNS:other.example", True, "not valid for '127.0.0.1'"),
])  # fmt: skip
def test_a_certificate_that_is_not_accepted_is_named(
    name: str, trusted: bool, why: str, kind: str, tmp_path: Path
) -> None:
    made = Tls(tmp_path, name)
    with Loopback(until_left, made.server) as server, pytest.raises(NetworkError) as caught:
        fetch(kind, [post(server.url)], tls=made.client if trusted else True)
    assert not caught.value.retryable
    assert f"127.0.0.1:{server.port}: its certificate was not accepted: " in str(caught.value)
    assert why in str(caught.value)


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_a_certificate_error_is_not_repeated(kind: str, tls: Tls) -> None:
    with Loopback(until_left, tls.server) as server, pytest.raises(NetworkError) as caught:
        call(kind, server)
    assert caught.value.attempts == server.accepted == 1


def call(kind: str, server: Loopback, text: str = "Hi", **settings: Any) -> Any:
    fields = config(base_url=server.url, **settings)

    async def scene() -> Any:
        async with AsyncClient("openai-chat", fields) as client:
            return await client.complete(ask(text))

    if kind == "async":
        return run(scene())
    with Client("openai-chat", fields) as client:
        return client.complete(ask(text))


# -------------------------------------------------------------------------------------------------------- early answers

TOO_LARGE = answer(b'{"error":{"message":"too large","type":"invalid_request_error"}}', status="413 Too Large")


def refuse(connection: socket.socket) -> None:
    """Answer after the head, read nothing more, and close. Unread bytes make the system reset the connection."""
    connection.recv(100)
    connection.sendall(TOO_LARGE)


@pytest.mark.parametrize("kind", ["async", "sync"])
@pytest.mark.parametrize("size", [100, 200_000, 8_000_000])
@pytest.mark.parametrize("stays", [False, True])
def test_an_answer_before_the_body_was_read_is_the_answer(stays: bool, size: int, kind: str) -> None:
    """Whether the server closes at once, or reads nothing more and waits for the client to close."""
    answered = threading.Event()

    def refuse_and_stay(connection: socket.socket) -> None:
        refuse(connection)
        if answered.wait(10):
            until_left(connection)

    with Loopback(refuse_and_stay if stays else refuse) as server:
        with pytest.raises(ContextOverflowError, match="too large") as caught:
            call(kind, server, "x" * size)
        answered.set()
    assert (caught.value.provider_status, caught.value.attempts, server.accepted) == (413, 1, 1)


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_an_early_answer_over_tls(kind: str, tls: Tls) -> None:
    answered = threading.Event()

    def play(connection: socket.socket) -> None:
        refuse(connection)
        if answered.wait(10):
            until_left(connection)

    transport: Any = AioTransport(tls=tls.client) if kind == "async" else BlockingTransport(tls=tls.client)

    async def scene(fields: Any) -> None:
        async with AsyncClient("openai-chat", fields, transport=transport) as client:
            await client.complete(ask("x" * 8_000_000))

    def scene_sync(fields: Any) -> None:
        with Client("openai-chat", fields, transport=transport) as client:
            client.complete(ask("x" * 8_000_000))

    with Loopback(play, tls.server) as server:
        fields = config(base_url=server.url)
        with pytest.raises(ContextOverflowError):
            run(scene(fields)) if kind == "async" else scene_sync(fields)
        answered.set()


def test_a_body_that_comes_with_the_head_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all short answers come so, and a turn of the event loop for each would cost more than to read them."""

    async def waited(_: Http1Reply) -> bytes:
        raise AssertionError("it was waited for")

    def play(connection: socket.socket) -> None:
        hear(connection)
        connection.sendall(FINE)
        until_left(connection)

    monkeypatch.setattr(Http1Reply, "__anext__", waited)
    with Loopback(play) as server:
        assert call("async", server).text == "Hi"


def test_an_answer_is_closed_after_its_reader() -> None:
    """Both are freed together, in any order; from Python 3.13 on an error of that is printed."""
    raw = io.BytesIO(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
    reader = io.BufferedReader(cast("Any", raw))
    made = Answer(cast("Any", SimpleNamespace(makefile=lambda *_: reader)))
    made.begin()
    reader.close()
    made.close()
    assert made.isclosed()


# ------------------------------------------------------------------------------------------------------ many threads

FINE = answer(
    b'{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
)


@pytest.fixture
def eager_switches() -> Iterator[None]:
    import sys

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_switches")
def test_first_use_from_many_threads_leaves_no_socket_open() -> None:
    """All threads get the same transport, so that ``close`` knows every connection."""

    def play(connection: socket.socket) -> None:
        while True:
            hear(connection)
            connection.sendall(FINE)

    with Loopback(play) as server:
        for _ in range(5):
            client, start = Client("openai-chat", config(base_url=server.url)), threading.Barrier(16)

            def work(client: Client = client, start: threading.Barrier = start) -> None:
                start.wait()
                client.complete(ask())

            threads = [threading.Thread(target=work) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            client.close()
    assert server.left == server.accepted  # the server waited for each connection to be closed by us
    assert not server.open


def test_what_was_open_at_the_close_is_not_kept() -> None:
    """A connection that comes back after ``close`` is closed, and the transport can still be used."""

    def play(connection: socket.socket) -> None:
        while True:
            hear(connection)
            connection.sendall(FINE)

    with Loopback(play) as server:
        transport = BlockingTransport()
        reply = transport.send(post(server.url), Abort())
        transport.close()
        assert b"".join(reply.chunks())
        assert not transport._idle
        assert fetch("blocking", [post(server.url)])[0][0] == 200
    assert server.left == server.accepted == 2

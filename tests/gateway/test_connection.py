"""One connection of a client: the exact bytes of the answers, to any bytes that the client sends."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from gateway.asking import CHAT, body_of
from gateway.serving_gateway import Served, served
from interlingua.gateway import connection

CHAT_PATH = "/v1/chat/completions"


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served() as (found, _):
        yield found


def request(path: str = CHAT_PATH, *headers: str, body: bytes | None = None, version: str = "1.1") -> bytes:
    payload = json.dumps({**body_of(CHAT), "model": "x"}).encode() if body is None else body
    lines = "".join(f"{line}\r\n" for line in ("host: x", *headers, f"content-length: {len(payload)}"))
    return f"POST {path} HTTP/{version}\r\n{lines}\r\n".encode() + payload


class Client(socket.socket):
    """Reads answers one by one."""

    def __init__(self, running: Served) -> None:
        super().__init__()
        self.settimeout(10)
        self.connect(("127.0.0.1", int(running.url.rpartition(":")[2])))
        self.unread = b""

    def head(self) -> tuple[int, dict[str, str]]:
        while b"\r\n\r\n" not in self.unread:
            came = self.recv(65536)
            assert came, self.unread
            self.unread += came
        text, _, self.unread = self.unread.partition(b"\r\n\r\n")
        status, *lines = text.decode().split("\r\n")
        return int(status.split()[1]), {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = self.head()
        if "content-length" in headers:
            return status, headers, self.exactly(int(headers["content-length"]))
        if "transfer-encoding" not in headers:
            while came := self.recv(65536):
                self.unread += came
            return status, headers, self.unread
        body = b""
        while size := int(self.exactly(1 + self.until(b"\r\n"))[:-1], 16):
            self.exactly(1)
            body += self.exactly(size)
            self.exactly(2)
        self.exactly(3)
        return status, headers, body

    def until(self, mark: bytes) -> int:
        while mark not in self.unread:
            self.unread += self.recv(65536)
        return self.unread.index(mark)

    def exactly(self, length: int) -> bytes:
        while len(self.unread) < length:
            self.unread += self.recv(65536)
        part, self.unread = self.unread[:length], self.unread[length:]
        return part

    def is_closed(self) -> bool:
        return self.recv(1) == b""


def test_a_short_answer_has_its_length_and_the_connection_stays(running: Served) -> None:
    with Client(running) as client:
        for _ in range(3):
            client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
            status, headers, body = client.answer()
            assert (status, headers["content-length"]) == (200, str(len(body)))
            assert "transfer-encoding" not in headers
            assert json.loads(body)["object"] == "list"


def test_requests_may_come_at_once_and_in_pieces(running: Served) -> None:
    with Client(running) as client:
        data = request() + request("/nothing") + b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
        for at in range(0, len(data), 7):
            client.sendall(data[at : at + 7])
        assert [client.answer()[0] for _ in range(3)] == [200, 404, 200]
        client.sendall(data)
        assert [client.answer()[0] for _ in range(3)] == [200, 404, 200]


@pytest.mark.parametrize(("headers", "version"), [(("connection: close",), "1.1"), ((), "1.0")])
def test_the_connection_is_closed_when_the_client_wants_it(
    headers: tuple[str, ...], version: str, running: Served
) -> None:
    with Client(running) as client:
        client.sendall(request(CHAT_PATH, *headers, version=version))
        status, answer_headers, _ = client.answer()
        assert (status, answer_headers["connection"]) == (200, "close")
        assert client.is_closed()


def test_an_old_client_gets_a_stream_without_chunks(running: Served) -> None:
    body = json.dumps({**body_of(CHAT), "model": "x", "stream": True}).encode()
    with Client(running) as client:
        client.sendall(request(body=body, version="1.0"))
        status, headers = client.head()
        assert (status, "transfer-encoding" in headers) == (200, False)
        while came := client.recv(65536):
            client.unread += came
        assert client.unread.startswith(b"data: ")
        assert client.unread.endswith(b"data: [DONE]\n\n")


def test_a_body_is_asked_for_where_the_client_waits_for_it(running: Served) -> None:
    head, _, body = request(CHAT_PATH, "expect: 100-continue").partition(b"\r\n\r\n")
    with Client(running) as client:
        client.sendall(head + b"\r\n\r\n")
        assert client.head()[0] == 100
        client.sendall(body)
        assert client.answer()[0] == 200
        client.sendall(request("/nothing", "expect: 100-continue")[: -len(body)])
        assert client.answer()[0] == 404  # the place of the next request is not known
        assert client.is_closed()


def test_the_rest_of_a_refused_body_is_not_the_next_request(running: Served) -> None:
    with Client(running) as client:
        client.sendall(request("/nothing", body=b"GET /healthz HTTP/1.1\r\n\r\n" * 20_000) + request())
        assert [client.answer()[0] for _ in range(2)] == [404, 200]


def test_another_protocol_is_not_spoken_and_http_goes_on(running: Served) -> None:
    upgrade = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABk")
    with Client(running) as client:
        client.sendall(request(CHAT_PATH, *upgrade))
        assert client.answer()[0] == 200
        client.sendall(b"GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
        assert client.answer()[0] == 426
        client.sendall(request())
        assert client.answer()[0] == 200


GARBAGE: tuple[tuple[bytes, int], ...] = (
    (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nhost : x\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 70_000, 431),
    (b"GET /" + b"a" * 70_000, 431),
)


@pytest.mark.parametrize(("data", "status"), GARBAGE)
def test_what_is_no_request_is_refused_and_the_connection_closed(data: bytes, status: int, running: Served) -> None:
    with Client(running) as client:
        client.sendall(data)
        got, headers, body = client.answer()
        assert (got, headers["connection"]) == (status, "close")
        assert json.loads(body)["error"]["message"]
        with suppress(ConnectionResetError):  # there was more to read
            assert client.is_closed()


def test_idle_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_SECONDS", 2.0)
    with served() as (found, _), Client(found) as quiet, Client(found) as slow:
        quiet.sendall(request())
        assert quiet.answer()[0] == 200
        slow.sendall(request()[:40])
        start = time.perf_counter()
        assert quiet.is_closed()
        assert slow.is_closed()
        assert time.perf_counter() - start < 20

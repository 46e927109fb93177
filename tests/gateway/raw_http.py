"""HTTP without a client library, so that tests choose every byte that goes over the wire."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit


class Got(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def fetch(url: str, path: str, body: Any = None, *, method: str | None = None, **headers: str) -> Got:
    """One request. ``body`` is bytes, or a value that is sent as JSON; underlines in names of headers are hyphens."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    payload = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    named = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        connection.request(method or ("GET" if payload is None else "POST"), path, payload, named)
        response = connection.getresponse()
        return Got(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


class Asked(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes


class Recorder(ThreadingHTTPServer):
    """A provider that notes what reaches it, byte for byte, and answers with the bytes that it is given."""

    daemon_threads = True
    status = 200
    headers: dict[str, str] = {"content-type": "application/json"}
    body = b"{}"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[Asked] = []
        self.methods: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = cast("Recorder", self.server)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        named = {name.lower(): value for name, value in self.headers.items()}
        server.asked.append(Asked(self.path, named, body))
        server.methods.append(self.command)
        self.send_response(server.status)
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(server.body)))
        self.end_headers()
        self.wfile.write(server.body)

    do_GET = do_DELETE = do_POST  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


@contextmanager
def recorder() -> Generator[Recorder]:
    """A recorder in a thread."""
    with Recorder() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()

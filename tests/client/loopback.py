"""A server of plain sockets on loopback, for behaviour that no HTTP server has."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

Play = Callable[[socket.socket], None]
SLOW = 0.02
"""Seconds between two bytes of a server that sends byte by byte."""
LONG = 30.0
"""How many seconds it would continue."""


class Loopback:
    """Each connection is served by ``play`` in a thread. ``left`` counts those that the client closed before its end.

    ``open`` are the connections that neither side has closed.
    """

    def __init__(self, play: Play, tls: ssl.SSLContext | None = None) -> None:
        self._play, self._tls = play, tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.accepted = self.left = 0
        self.open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def url(self) -> str:
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # what is sent has arrived
                self.accepted += 1
                self.open.add(connection)
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, plain: socket.socket) -> None:
        connection = plain
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(plain, server_side=True)
                self.open.discard(plain)
                self.open.add(connection)
            self._play(connection)
        except (OSError, EOFError):
            self.left += 1
        finally:
            self.open.discard(connection)
            connection.close()

    def __enter__(self) -> Loopback:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for all threads that still run, so that ``left`` and ``open`` are final."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in list(self._threads):
            thread.join(LONG + 10)


def hear(connection: socket.socket) -> bytes:
    """One request, its body included."""
    text = b""
    while b"\r\n\r\n" not in text:
        text += _more(connection)
    head, _, body = text.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().splitlines()
    length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), 0)
    while len(body) < length:
        body += _more(connection)
    return head + b"\r\n\r\n" + body


def _more(connection: socket.socket) -> bytes:
    chunk = connection.recv(2**16)
    if not chunk:
        raise EOFError
    return chunk


def until_left(connection: socket.socket) -> None:
    """Wait until the client closes."""
    while True:
        _more(connection)


def drip(connection: socket.socket, parts: Iterable[bytes]) -> None:
    """Send these parts slowly. Raises when the client has closed the connection."""
    over = time.monotonic() + LONG
    for part in parts:
        if time.monotonic() > over:
            return
        connection.sendall(part)
        time.sleep(SLOW)


def answer(body: bytes, *headers: str, status: str = "200 OK", kind: str = "application/json") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def make_certificate(place: Path, name: str = "IP:127.0.0.1", days: int = 2) -> tuple[Path, Path]:
    """A key and a self-signed certificate."""
    key, cert = place / "key.pem", place / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost"
    more = ["-days", str(days), "-addext", f"subjectAltName={name}", "-keyout", str(key), "-out", str(cert)]
    try:
        subprocess.run([*command.split(), *more], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no certificate could be made: {error}")
    return key, cert

"""``python -m lab.agents.recording UPSTREAM OUT``: passes requests on to a server, and writes their bodies to a folder.

It prints the URL at which it listens. The path of a request begins with the label of its run, which names its folder.
"""

from __future__ import annotations

import sys
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import urlsplit

__all__ = ["Recording"]

PASSED = ("content-type", "content-encoding", "accept", "authorization")


class Recording(BaseHTTPRequestHandler):
    """The handler of one request."""

    protocol_version = "HTTP/1.1"
    upstream = ""
    out = Path()
    writing = Lock()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Save the body of the request, and pass the answer of the upstream on as it arrives."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        label, _, path = self.path.removeprefix("/").partition("/")
        folder = self.out / label
        folder.mkdir(parents=True, exist_ok=True)
        with self.writing:  # agents ask for a title at the same time
            (folder / f"{len(list(folder.iterdir())) + 1:03}.json").write_bytes(body)
        connection = HTTPConnection(urlsplit(self.upstream).netloc, timeout=120)
        headers = {name: self.headers[name] for name in PASSED if name in self.headers}
        connection.request("POST", f"/{path}", body, headers)
        answer = connection.getresponse()
        self.send_response(answer.status)
        self.send_header("content-type", answer.getheader("content-type") or "application/json")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        while chunk := answer.read1(65536):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        connection.close()


def main(upstream: str, out: str) -> None:
    Recording.upstream, Recording.out = upstream, Path(out)
    with ThreadingHTTPServer(("127.0.0.1", 0), Recording) as httpd:
        print(f"http://127.0.0.1:{httpd.server_address[1]}", flush=True)
        httpd.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])

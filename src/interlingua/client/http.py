"""One HTTP request as a value: the exchange makes it and a transport sends it."""

from __future__ import annotations

from msgspec import Struct

from .secrets import shown_url

__all__ = ["HttpRequest", "Timeouts"]


class Timeouts(Struct, frozen=True):
    """Time limits in seconds; None is no limit.

    ``connect`` is for connecting, ``read`` for the longest silence after that, ``total`` for the whole attempt.
    """

    connect: float | None = 30.0
    read: float | None = 600.0
    total: float | None = None


class HttpRequest(Struct, frozen=True):
    """What to send. Keys are only in the headers, and the repr shows only the names of headers."""

    method: str
    url: str
    headers: dict[str, str] = {}
    body: bytes = b""
    timeouts: Timeouts = Timeouts()

    def __repr__(self) -> str:
        names = ", ".join(self.headers)
        return f"HttpRequest({self.method} {shown_url(self.url)}, headers: {names}; {len(self.body)} bytes)"

    def __reduce__(self) -> tuple[type[HttpRequest], tuple[object, ...]]:
        """A pickle does not contain the headers, because a key may be among them."""
        return (HttpRequest, (self.method, self.url, {}, self.body, self.timeouts))

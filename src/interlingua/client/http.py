"""One HTTP request as a value: what the exchange makes and a transport sends. Neither knows the other."""

from __future__ import annotations

from msgspec import Struct

from .secrets import shown_url

__all__ = ["HttpRequest", "Timeouts"]


class Timeouts(Struct, frozen=True):
    """Seconds, each from its own beginning; None waits for ever.

    ``connect`` is until the connection stands, ``read`` the longest silence after that, ``total`` the whole attempt.
    """

    connect: float | None = 30.0
    read: float | None = 600.0
    total: float | None = None


class HttpRequest(Struct, frozen=True):
    """What to send. Keys are in the headers only, and a repr shows the headers' names only."""

    method: str
    url: str
    headers: dict[str, str] = {}
    body: bytes = b""
    timeouts: Timeouts = Timeouts()

    def __repr__(self) -> str:
        names = ", ".join(self.headers)
        return f"HttpRequest({self.method} {shown_url(self.url)}, headers: {names}; {len(self.body)} bytes)"

    def __reduce__(self) -> tuple[type[HttpRequest], tuple[object, ...]]:
        """Saved without its headers, since a key may be among them."""
        return (HttpRequest, (self.method, self.url, {}, self.body, self.timeouts))

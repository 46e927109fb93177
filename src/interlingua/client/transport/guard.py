"""Which addresses a fetched URL may lead to, and how much data may be read. Nothing is looked up here.

A URL in a conversation may come from anybody, and it is fetched from inside the caller's network. So the addresses of
a host are checked, only those are connected to, and each redirect is checked like a new URL.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct

from ..deadline import Deadline

__all__ = ["Address", "Allowance", "FetchLimits", "Hop", "Refusal", "check_addresses", "check_head", "is_public"]

Address = IPv4Address | IPv6Address

PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
REDIRECTS = frozenset({301, 302, 303, 307, 308})

# IPv6 networks whose addresses contain an IPv4 address, and its position in bits from the right.
EMBEDDED = (
    (IPv6Network("::/96"), 0),
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)
UNICAST = IPv6Network("2000::/3")
"""The part of IPv6 from which public addresses are assigned."""

# In IANA's registries of special-purpose addresses; older versions of ``ipaddress`` do not know all of them.
SPECIAL = (
    *(IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24")),
    *(IPv6Network("2001::/23"), IPv6Network("2001:db8::/32"), IPv6Network("3fff::/20")),
)
NOT_PUBLIC = (
    *("is_private", "is_loopback", "is_link_local", "is_multicast"),
    *("is_reserved", "is_unspecified", "is_site_local"),
)
METADATA = frozenset({IPv4Address("168.63.129.16")})
"""Azure's internal host, whose address is public by number. Those of other clouds are link-local or private."""


class Refusal(Exception):
    """Why something is not fetched. The message contains only the host of the URL: the rest may be a key."""


class FetchLimits(Struct, frozen=True, kw_only=True):
    """Limits for one request: bytes of each item and of all items, number of items, seconds for each, redirects."""

    each_bytes: int = 10 * 2**20
    all_bytes: int = 40 * 2**20
    items: int = 20
    seconds: float = 30.0
    redirects: int = 3


class Allowance:
    """The bytes that may still be read, for one item and for all items of a request; several may be fetched at once.

    ``until`` is the deadline for all items, that of a model call or of a tool loop. Each item has a time limit too.
    """

    def __init__(self, limits: FetchLimits, until: Deadline | None = None) -> None:
        self.limits, self.left = limits, limits.all_bytes
        self._until = until or Deadline(None, time.monotonic)

    def deadline(self) -> Deadline:
        """The deadline of an item whose fetch begins now."""
        return self._until.within(self.limits.seconds)

    def spend(self, chunk: int, so_far: int) -> None:
        """Count a chunk of an item. ``so_far`` is the number of bytes of the item, this chunk included."""
        if so_far > self.limits.each_bytes:
            raise Refusal(f"it has more than {self.limits.each_bytes} bytes")
        self.left -= chunk
        if self.left < 0:
            raise Refusal(f"all together have more than {self.limits.all_bytes} bytes")


def is_public(address: Address) -> bool:
    """Whether an address is on the public Internet. An IPv6 address that contains an IPv4 address counts as that."""
    if isinstance(address, IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(inner)
        if address not in UNICAST:
            return False
    if address in METADATA or any(address in network for network in SPECIAL):
        return False
    return address.is_global and not any(getattr(address, unfit, False) for unfit in NOT_PUBLIC)


def _embedded(address: IPv6Address) -> IPv4Address | None:
    for network, shift in EMBEDDED:
        if address in network:
            return IPv4Address(int(address) >> shift & 0xFFFFFFFF)
    return None


def check_addresses(found: Sequence[str], allowed: Callable[[Address], bool]) -> list[str]:
    """The addresses of a host, in order. If one is not allowed, the host is refused."""
    addresses = [ip_address(text.partition("%")[0]) for text in found]
    if not addresses:
        raise Refusal("its host has no address")
    if not all(allowed(address) for address in addresses):
        raise Refusal("its host has an address that is not public")
    return list(dict.fromkeys(str(address) for address in addresses))


class Hop(NamedTuple):
    """One URL in parts, all ASCII, so that every library reads it in the same way."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url: str, before: Hop | None = None) -> Hop:
        """Read a URL, or one that ``before`` redirects to; raises ``Refusal``."""
        try:
            parts = urlsplit(urljoin(before.url, url) if before else url)
            scheme, host = parts.scheme.lower(), _ascii(parts.hostname or "")
            port = parts.port or PORTS.get(scheme, 0)
        except ValueError:
            raise Refusal("it is not a URL") from None
        if scheme not in PORTS:
            raise Refusal("only http and https are fetched")
        if before is not None and before.scheme == "https" and scheme == "http":
            raise Refusal("it is redirected from https to http")
        if parts.username is not None or parts.password is not None:
            raise Refusal("it contains a user name")
        if not HOST.fullmatch(host):
            raise Refusal("it has no host that can be read")
        path, query = _escaped(parts.path or "/"), _escaped(parts.query)
        return cls(scheme, host.strip("[]"), port, f"{path}?{query}" if query else path)

    @property
    def place(self) -> str:
        """Host and port as in the ``Host`` header."""
        return bracketed(self.host) + ("" if PORTS[self.scheme] == self.port else f":{self.port}")

    @property
    def url(self) -> str:
        """The whole URL."""
        return f"{self.scheme}://{self.place}{self.path}"

    def at(self, address: str) -> str:
        """The same URL with an address in place of the host name."""
        return f"{self.scheme}://{bracketed(address)}:{self.port}{self.path}"


def _escaped(text: str) -> str:
    """A part of a URL, percent-encoded. Bytes of a server that are not UTF-8 are encoded as they are."""
    return quote(text, safe="/%:@!$&'()*+,;=~-._?", errors="surrogateescape")


def _ascii(host: str) -> str:
    if ":" in host:
        return f"[{host.partition('%')[0]}]"
    return host if host.isascii() else host.encode("idna").decode()


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def check_head(status: int, headers: Mapping[str, str], hop: Hop, limits: FetchLimits) -> Hop | None:
    """The URL that an answer redirects to, or None for a good answer; raises ``Refusal`` for any other."""
    if status in REDIRECTS and headers.get("location"):
        return Hop.of(headers["location"], hop)
    if status != 200:
        raise Refusal(f"{hop.host} answers {status}")
    if headers.get("content-encoding", "identity").lower() not in ("identity", ""):
        raise Refusal("it is compressed, which was not requested")
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > limits.each_bytes:
        raise Refusal(f"it has more than {limits.each_bytes} bytes")
    return None

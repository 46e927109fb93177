"""Which proxy a request goes through: the given one, or by the environment, which is read at the first call of a host.

``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` (large or small letters) are read as curl reads them.
A server on this machine is called directly, unless a proxy was given.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ...errors import NetworkError
from ..secrets import Secret

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

__all__ = ["Proxies"]

SCHEMES = ("http", "https")
MOST_REMEMBERED = 64


class Proxies:
    """``given``: the URL of a proxy, ``""`` for none, or None: then the environment decides, if it is trusted."""

    def __init__(self, given: str | None, *, trust_env: bool) -> None:
        self._given = None if given is None else Secret(given)
        self._trust_env = trust_env
        self._known: dict[str, Secret | None] = {}

    def find(self, url: str) -> Secret | None:
        """The URL of the proxy for a request, which may contain a password; None if the request goes directly."""
        place = url[: url.find("/", 8)]
        if place in self._known:
            return self._known[place]
        found = (
            _checked(self._given or None) if self._given is not None or not self._trust_env else _by_environment(url)
        )
        if len(self._known) < MOST_REMEMBERED:
            self._known[place] = found
        return found


def _by_environment(url: str) -> Secret | None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_this_machine(host) or proxy_bypass(parts.netloc.rpartition("@")[2]) or _is_excluded(host):
        return None
    named = getproxies()
    return _checked(Secret(named.get(parts.scheme) or named.get("all") or "") or None)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _is_this_machine(host: str) -> bool:
    """Whether it is a name or an address of this machine itself."""
    address = _address(host)
    return host == "localhost" or host.endswith(".localhost") or (address is not None and address.is_loopback)


def _is_excluded(host: str) -> bool:
    """Whether ``NO_PROXY`` has a network, such as ``10.0.0.0/8``, to which the address belongs."""
    address = _address(host)
    return address is not None and any(
        _contains(entry.strip(), address) for entry in getproxies().get("no", "").split(",")
    )


def _contains(entry: str, address: IPv4Address | IPv6Address) -> bool:
    try:
        return "/" in entry and address in ip_network(entry, strict=False)
    except ValueError:
        return False


def _checked(proxy: Secret | None) -> Secret | None:
    """The proxy as an http or https URL; raises for any other kind. No local variable shows its password."""
    if proxy is None:
        return None
    proxy = proxy if "://" in proxy.reveal() else Secret(f"http://{proxy.reveal()}")
    scheme = urlsplit(proxy.reveal()).scheme.lower()
    if scheme not in SCHEMES or not urlsplit(proxy.reveal()).hostname:
        raise NetworkError(f"a proxy must be an http or https URL, not {scheme}://", retryable=False)
    return proxy

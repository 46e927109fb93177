"""Pages of other origins that may call the gateway from a browser. Off unless origins are configured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["cors_headers", "is_preflight", "preflight_headers"]

METHODS = "GET, HEAD, POST"
EXPOSED = "retry-after, request-id, x-request-id, x-interlingua-model, x-interlingua-receipt"
SECONDS = "600"


def cors_headers(headers: Mapping[str, str], origins: Sequence[str]) -> dict[str, str]:
    """The CORS headers of every answer to a page that may read it; empty for other pages."""
    origin = headers.get("origin")
    if origin is None or not origins:
        return {}
    if "*" in origins:
        return {"access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED}
    if origin not in origins:
        return {"vary": "origin"}
    return {"access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED, "vary": "origin"}


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a request is a browser's question which methods and headers it may send."""
    return method == "OPTIONS" and "access-control-request-method" in headers


def preflight_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that answer a preflight request of an allowed page."""
    wanted = headers.get("access-control-request-headers", "authorization, content-type")
    return {
        "access-control-allow-methods": METHODS,
        "access-control-allow-headers": wanted,
        "access-control-max-age": SECONDS,
    }

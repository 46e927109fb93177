"""What clients of each dialect expect besides the body: content types, keep-alives, ids; and how they send keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from ..types.base import Json

__all__ = ["KEY_HEADERS", "SERVED", "Served", "find_key"]

SSE, NDJSON = "text/event-stream", "application/x-ndjson"
FRAMES = "application/vnd.amazon.eventstream"
PING = b'event: ping\ndata: {"type": "ping"}\n\n'
COMMENT = b": keep-alive\n\n"
BLANK = b"\n\n"
"""Google's SDK for JavaScript, and so Gemini CLI, accepts only blanks before `data:`; a comment breaks its stream."""


class Served(Struct, frozen=True):
    """How a server answers in one dialect."""

    stream_type: str
    """The content type of its streams."""
    keep_alive: bytes
    """Bytes that clients skip, to send while there is no event, even before the first. Empty: clients skip nothing."""
    request_id_header: str
    """The header in which the vendor sends the id of the request."""
    id_prefix: str
    """The prefix of the ids of answers."""
    time_key: str | None = None
    """The key of the time in an answer."""
    time: Callable[[int], Json] = int
    """Writes the time, from seconds."""


def as_date(seconds: int) -> str:
    """A time as RFC 3339 writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# fmt: off
SERVED: dict[str, Served] = {
    #                            streams keep-alive  request id          answers      time
    "anthropic-messages": Served(SSE,    PING,    "request-id",       "msg_"),
    "openai-chat":        Served(SSE,    COMMENT, "x-request-id",     "chatcmpl-", "created"),
    "openai-responses":   Served(SSE,    COMMENT, "x-request-id",     "resp_",     "created_at"),
    "gemini":             Served(SSE,    BLANK,   "x-request-id",     ""),
    "ollama":             Served(NDJSON, b"",     "x-request-id",     "",          "created_at", as_date),
    "bedrock-converse":   Served(FRAMES, b"",     "x-amzn-requestid", ""),
}
"""How a server answers in each dialect: framing, keep-alive, headers, ids."""
# fmt: on

KEY_HEADERS = ("x-api-key", "x-goog-api-key", "api-key", "authorization")
"""Every header that carries a key. Some clients send two: a vendor's own header comes before ``authorization``."""
BEARER = "bearer "
SIGNED = re.compile(r"AWS4-HMAC-SHA256 +(?:.*, *)?Credential=([^/,\s]{1,256})/")


def find_key(headers: Mapping[str, str]) -> list[str]:
    """The keys that a request carries, without their scheme; names of headers are in lower case.

    For a request that is signed for AWS, the key is the id of the access key. The signature is not verified, because
    the server does not know the secret that made it.
    """
    found: list[str] = []
    for name in KEY_HEADERS:
        if name not in headers:
            continue
        value = headers[name].strip()
        if name == "authorization":
            value = _authorization_key(value)
        if value and value not in found:
            found.append(value)
    return found


def _authorization_key(value: str) -> str:
    if value[: len(BEARER)].lower() == BEARER:
        return value[len(BEARER) :].strip()
    signed = SIGNED.match(value)
    return "" if signed is None else signed[1]

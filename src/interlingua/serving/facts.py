"""What clients of each dialect expect beside the bodies: content types, keep-alives, ids; and how they send keys."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

__all__ = ["KEY_HEADERS", "SERVED", "Served", "find_key"]

SSE, NDJSON = "text/event-stream", "application/x-ndjson"
FRAMES = "application/vnd.amazon.eventstream"
PING = b'event: ping\ndata: {"type": "ping"}\n\n'
COMMENT = b": keep-alive\n\n"
BLANK = b"\n\n"
"""Google's SDK for JavaScript, and so Gemini CLI, bears only blanks before `data:`; a comment breaks its stream."""


class Served(Struct, frozen=True):
    """One dialect, as it is served."""

    stream_type: str
    """The content type of its streams."""
    keep_alive: bytes
    """What may be sent while there is nothing to say, also before the first event. Empty: nothing that clients skip."""
    request_id_header: str
    """The header in which its vendor names the request."""
    id_prefix: str
    """What the ids of its answers begin with."""
    time_key: str | None = None
    """Where an answer says when it was made, in seconds."""


# fmt: off
SERVED: dict[str, Served] = {
    #                            streams keep-alive  request id          answers      time
    "anthropic-messages": Served(SSE,    PING,    "request-id",       "msg_"),
    "openai-chat":        Served(SSE,    COMMENT, "x-request-id",     "chatcmpl-", "created"),
    "openai-responses":   Served(SSE,    COMMENT, "x-request-id",     "resp_",     "created_at"),
    "gemini":             Served(SSE,    BLANK,   "x-request-id",     ""),
    "ollama":             Served(NDJSON, b"",     "x-request-id",     ""),
    "bedrock-converse":   Served(FRAMES, b"",     "x-amzn-requestid", ""),
}
"""How a server answers in each dialect: framing, keep-alive, headers, ids."""
# fmt: on

KEY_HEADERS = ("x-api-key", "x-goog-api-key", "api-key", "authorization")
"""Every header that carries a key. Some clients send two: those of their own come before a general one."""
BEARER = "bearer "
SIGNED = re.compile(r"AWS4-HMAC-SHA256 +(?:.*, *)?Credential=([^/,\s]{1,256})/")


def find_key(headers: Mapping[str, str]) -> list[str]:
    """The keys that a request carries, without their scheme; names of headers are in lower case.

    Of a request that is signed as for AWS, the id of the access key is the key. The signature is not verified: it is
    made with a secret that is not here.
    """
    found: list[str] = []
    for name in KEY_HEADERS:
        if name not in headers:
            continue
        value = headers[name].strip()
        if name == "authorization":
            value = _authorized(value)
        if value and value not in found:
            found.append(value)
    return found


def _authorized(value: str) -> str:
    if value[: len(BEARER)].lower() == BEARER:
        return value[len(BEARER) :].strip()
    signed = SIGNED.match(value)
    return "" if signed is None else signed[1]

"""One recorded exchange, as it is in the file.

A body is in one of three fields: ``json``; ``lines`` (text, split at each line feed); ``base64`` (anything else, one
item per chunk, such as AWS's binary frames).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from ...errors import AdapterError, error_type
from ...types.base import Json
from ...types.words import ErrorClass

__all__ = ["Asked", "CassetteError", "File", "Problem", "Recording", "Told", "chunks_of", "form_of"]


class CassetteError(Exception):
    """Raised for a request that was not recorded, or a cassette that cannot be used; never for a provider's answer."""


class Asked(Struct, omit_defaults=True, kw_only=True):
    """A request. Only method, URL and body are compared. Header values are masked, except harmless ones."""

    method: str
    url: str
    headers: dict[str, str] = {}
    json: Any = UNSET
    lines: list[str] | None = None
    base64: list[str] | None = None


class Problem(Struct, omit_defaults=True):
    """How a connection failed."""

    error_class: ErrorClass
    message: str
    retryable: bool = True

    def error(self) -> AdapterError:
        """The error, to be raised again."""
        return error_type(self.error_class)(self.message, error_class=self.error_class, retryable=self.retryable)


class Told(Struct, omit_defaults=True, kw_only=True):
    """An answer. ``status`` 0: there was none. ``problem``: how the connection failed, after the body if there is one.

    ``left``: the client stopped reading before the end, so the rest of the answer is not known.
    """

    status: int = 0
    headers: dict[str, str] = {}
    json: Any = UNSET
    lines: list[str] | None = None
    base64: list[str] | None = None
    problem: Problem | None = None
    left: bool = False


class Recording(Struct):
    """A request and its answer."""

    request: Asked
    response: Told


class File(Struct):
    """The whole file; ``cassette`` is the version of its format."""

    cassette: int
    recordings: list[Recording]


def form_of(chunks: Iterable[bytes], kind: str) -> dict[str, Json]:
    """A body in the most readable form that loses nothing. ``kind`` is its content type."""
    parts = [chunk for chunk in chunks if chunk]
    body = b"".join(parts)
    if not body:
        return {}
    if "json" in kind and "ndjson" not in kind:
        try:
            return {"json": msgspec.json.decode(body)}
        except (msgspec.DecodeError, UnicodeError):
            pass
    try:
        return {"lines": body.decode().split("\n")}
    except UnicodeError:
        return {"base64": [b64encode(chunk).decode() for chunk in parts]}


def chunks_of(body: Asked | Told) -> list[bytes]:
    """The bytes of a recorded body: JSON in one chunk, text line by line, anything else in the recorded chunks."""
    if body.json is not UNSET:
        return [msgspec.json.encode(body.json)]
    if body.lines is not None:
        *lines, last = body.lines
        return [*(f"{line}\n".encode() for line in lines), *([last.encode()] if last else [])]
    return [b64decode(chunk) for chunk in body.base64 or ()]

"""One recorded exchange, as it stands in the file.

A body is in one of three fields: ``json``; ``lines`` (text, cut at each line feed); ``base64`` (anything else, chunk by
chunk, which is how AWS's binary frames are kept).
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
    """A request that was not recorded, or a cassette that cannot be used; never an answer of a provider."""


class Asked(Struct, omit_defaults=True, kw_only=True):
    """A request. Only method, URL and body are compared; of the headers all but the harmless are masked."""

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
        """The failure, to be raised again."""
        return error_type(self.error_class)(self.message, error_class=self.error_class, retryable=self.retryable)


class Told(Struct, omit_defaults=True, kw_only=True):
    """An answer. ``status`` 0: there was none. ``problem``: what broke, after the body if there is one.

    ``left``: the reader went away before the end, so what would have come is not known.
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
    """All of it; ``cassette`` is the version of the format."""

    cassette: int
    recordings: list[Recording]


def form_of(chunks: Iterable[bytes], kind: str) -> dict[str, Json]:
    """A body in the most readable of its forms that loses nothing. ``kind`` is its content type."""
    heard = [chunk for chunk in chunks if chunk]
    body = b"".join(heard)
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
        return {"base64": [b64encode(chunk).decode() for chunk in heard]}


def chunks_of(body: Asked | Told) -> list[bytes]:
    """The bytes again: JSON in one chunk, text line by line, anything else as it came."""
    if body.json is not UNSET:
        return [msgspec.json.encode(body.json)]
    if body.lines is not None:
        *lines, last = body.lines
        return [*(f"{line}\n".encode() for line in lines), *([last.encode()] if last else [])]
    return [b64decode(chunk) for chunk in body.base64 or ()]

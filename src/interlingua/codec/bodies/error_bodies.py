"""Errors on the wire: where a body has its error words and its message, which headers add to it, and how to write both.

Most protocols have an object under ``error``: ``WireErrors`` reads and writes it, from the rows of a dialect
(``error_tables``). A body that was read is kept in ``extras`` and written back by the same dialect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ...errors import AdapterError, ToolStateError
from ...types.base import Json
from ...types.loss import WireError
from ..json import Wire, is_dict, is_list
from ..limits import ERROR_TEXT
from ..streams.stream import dump
from .error_tables import ErrorRow, ErrorTable, Kind

__all__ = [
    "WireErrors",
    "error_object",
    "first_header",
    "parse_body",
    "message_of",
    "valid_seconds",
    "with_message",
    "write_seconds",
]

Headers = Mapping[str, str]


class WireErrors(ErrorTable):
    """A dialect's errors. A dialect whose bodies have another shape overrides ``decode``, ``body`` and ``encode``.

    ``words`` finds the type and the code in a body, the most exact first. ``write`` makes a body of an error, the word
    of its row and a message. ``request_ids`` are the headers that may name the request; the first is the one we write.
    ``request_id_key`` is the key for it in a body, which wins.
    """

    def __init__(
        self,
        dialect: str,
        *rows: ErrorRow,
        words: Callable[[Json], tuple[Json, ...]] = lambda wire: (),
        write: Callable[[AdapterError, str, str], Wire] = lambda error, word, message: {},
        request_ids: tuple[str, ...] = (),
        request_id_key: str | None = None,
        statuses: Mapping[int, Kind] | None = None,
    ) -> None:
        super().__init__(*rows, statuses=statuses)
        self.dialect, self._words, self._write = dialect, words, write
        self._request_ids, self._request_id_key = request_ids, request_id_key

    def decode(
        self, status: int | None, headers: Headers | None, body: bytes | str | Json, provider: str | None
    ) -> AdapterError:
        """The exception for an error body. An error inside an answer has no status."""
        wire = parse_body(body)
        residue: Wire = wire if is_dict(wire) else {"text": wire}
        own = residue.get(self._request_id_key) if self._request_id_key is not None else None
        return self.make(
            status, headers, words=self._words(wire), message=message_of(wire), provider=provider,
            request_id=own if isinstance(own, str) else first_header(headers, *self._request_ids),
            extras={self.dialect: residue},
        )  # fmt: skip

    def body(self, error: AdapterError) -> Json:
        """The error body in the protocol's shape; if one was read, that body with the error's message."""
        residue, message = error.extras.get(self.dialect), error.provider_message or error.message
        if is_dict(residue) and "error" in residue:
            return with_message(residue, message)
        return self._write(error, self.row_for(error).word, message)

    def encode(self, error: AdapterError) -> WireError:
        """An error as an HTTP answer."""
        return self.answer(error, self.foreign(error), dict.fromkeys(self._request_ids[:1], error.request_id))

    def foreign(self, error: AdapterError) -> Wire | None:
        """The body that was read, if it did not have the protocol's shape."""
        residue = error.extras.get(self.dialect)
        return residue if is_dict(residue) and "error" not in residue else None

    def make(
        self,
        status: int | None,
        headers: Headers | None,
        *,
        words: tuple[Json, ...],
        message: str,
        after: float | None = None,
        **fields: Any,
    ) -> AdapterError:
        """The exception for error words, the most exact first, and a message.

        ``after`` is the waiting time that the body names, in seconds; it wins over the headers.
        """
        should, after_headers = _retry_hint(headers)
        after = after_headers if after is None else after
        kind, retryable = self.classify(status, words, message, hinted=should is True or after is not None)
        if kind is ToolStateError and after is None:
            after = 1.0
        code = next((word for word in words if isinstance(word, str | int)), None)
        return kind(
            message[:ERROR_TEXT] or f"HTTP {status}",
            retryable=retryable if should is None else should,
            retry_after=after,
            provider_status=status,
            provider_code=code,
            provider_message=message or None,
            **fields,
        )

    def answer(self, error: AdapterError, foreign: Wire | None, headers: Mapping[str, str | None]) -> WireError:
        """The HTTP answer. ``foreign`` is a body without the protocol's shape: it is written as it was read."""
        status = self.status_for(error, self.dialect)
        sent = {name: value for name, value in headers.items() if value is not None}
        if error.retry_after is not None:
            sent["retry-after"] = write_seconds(error.retry_after)
        if error.retryable is not self.retries(error, status):
            sent["x-should-retry"] = "true" if error.retryable else "false"
        if foreign is None:
            return WireError(status, {"content-type": "application/json", **sent}, dump(self.body(error)))
        if foreign.keys() != {"text"}:
            wire = with_message(foreign, error.provider_message or error.message)
            return WireError(status, {"content-type": "application/json", **sent}, dump(wire))
        text = foreign["text"]
        plain = text.encode("utf-8", "replace") if isinstance(text, str) else dump(text)
        return WireError(status, {**sent, "content-type": "text/plain"}, plain)


# ---------------------------------------------------------------------------------------------------------- the bodies


def parse_body(body: bytes | str | Json) -> Json:
    """The JSON value of an error body, or its text where it is not JSON."""
    if not isinstance(body, bytes | str):
        return body
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return body if isinstance(body, str) else body.decode("utf-8", "replace")


MESSAGE_KEYS = ("message", "Message", "msg", "detail", "error", "errors", "error_message")
DEEPEST, MOST = 4, 8


def _find_message(wire: Json, depth: int = DEEPEST) -> str:
    """The message in an error body, from the first usual key that has one, with the ``loc`` of FastAPI before it."""
    if isinstance(wire, str):
        return wire
    if depth and is_list(wire):
        return "; ".join(filter(None, (_find_message(item, depth - 1) for item in wire[:MOST])))
    if not depth or not is_dict(wire):
        return ""
    text = next((found for key in MESSAGE_KEYS if key in wire and (found := _find_message(wire[key], depth - 1))), "")
    where = wire.get("loc")
    return f"{'.'.join(map(str, where[:MOST]))}: {text}" if text and is_list(where) and where else text


def error_object(wire: Json) -> Wire:
    """The object that describes the error: under ``error``, or the body itself; some servers wrap it in a list."""
    if is_list(wire) and wire:
        wire = wire[0]
    if not is_dict(wire):
        return {}
    inner = wire.get("error")
    return inner if is_dict(inner) else wire


def message_of(wire: Json) -> str:
    """The message in an error body, or the body itself as JSON if it has none."""
    return _find_message(error_object(wire)) or _find_message(wire) or (dump(wire).decode() if wire else "")


def with_message(body: Wire, message: str) -> Wire:
    """An error body with this message; the body itself if it has the message already."""
    if message in ("", message_of(body)):
        return body
    inner = error_object(body)
    key = next((key for key in MESSAGE_KEYS if isinstance(inner.get(key), str)), "message")
    return {**body, key: message} if inner is body else {**body, "error": {**inner, key: message}}


# --------------------------------------------------------------------------------------------------------- the headers


def write_seconds(seconds: float) -> str:
    """Seconds without an exponent, which no reader of HTTP headers expects."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".")


def first_header(headers: Mapping[str, str] | None, *names: str) -> str | None:
    """The value of the first of these headers that is there. The names are in lower case."""
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    return next((lower[name] for name in names if name in lower), None)


def _retry_hint(headers: Mapping[str, str] | None) -> tuple[bool | None, float | None]:
    """``(should retry, after seconds)`` from the headers of an answer; None where they do not tell."""
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    should = {"true": True, "false": False}.get(lower.get("x-should-retry", "").lower())
    return should, _retry_after(lower)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        if "retry-after-ms" in headers:
            return valid_seconds(float(headers["retry-after-ms"]) / 1000)
        if "retry-after" in headers:
            return valid_seconds(_seconds(headers["retry-after"], headers.get("date")))
    except (ValueError, TypeError, OverflowError):
        return None
    return None


def valid_seconds(seconds: float | None) -> float | None:
    """The waiting time in seconds; None if the value is negative, infinite or not a number."""
    return seconds if seconds is not None and math.isfinite(seconds) and seconds >= 0 else None


def _seconds(value: str, now: str | None) -> float | None:
    """The seconds of a number, or of a date after the answer's own Date header, since dialects have no clock."""
    try:
        return float(value)
    except ValueError:
        if now is None:
            return None
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 - slow to import, and rarely needed

        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(now)).total_seconds())

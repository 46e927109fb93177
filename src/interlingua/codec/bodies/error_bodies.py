"""Errors on the wire: where a body has its words and its sentence, which headers say more, and how both are written.

Most protocols have an object under ``error``: ``WireErrors`` reads and writes it, from the rows of a dialect
(``error_tables``). What came in a body is kept in ``extras`` and written back by the same dialect.
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
    "reworded",
    "sentence",
    "text_of",
    "usable",
    "write_seconds",
]

Headers = Mapping[str, str]


class WireErrors(ErrorTable):
    """A dialect's errors. A dialect whose bodies have another shape overrides ``decode``, ``body`` and ``encode``.

    ``words`` finds the type and the code in a body, the most exact first. ``write`` makes a body of an error, the word
    of its row and a sentence. ``request_ids`` are the headers that may name the request; the first is the one we write.
    ``request_id_key`` is the body's own, which wins.
    """

    def __init__(
        self,
        dialect: str,
        *rows: ErrorRow,
        words: Callable[[Json], tuple[Json, ...]] = lambda wire: (),
        write: Callable[[AdapterError, str, str], Wire] = lambda error, word, said: {},
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
        """The exception for what a provider said. An error inside an answer has no status."""
        wire = parse_body(body)
        residue: Wire = wire if is_dict(wire) else {"text": wire}
        own = residue.get(self._request_id_key) if self._request_id_key is not None else None
        return self.make(
            status, headers, words=self._words(wire), message=text_of(wire), provider=provider,
            request_id=own if isinstance(own, str) else first_header(headers, *self._request_ids),
            extras={self.dialect: residue},
        )  # fmt: skip

    def body(self, error: AdapterError) -> Json:
        """The protocol's own shape, with all that came in it."""
        residue, said = error.extras.get(self.dialect), error.provider_message or error.message
        if is_dict(residue) and "error" in residue:
            return reworded(residue, said)
        return self._write(error, self.row_for(error).word, said)

    def encode(self, error: AdapterError) -> WireError:
        """An error as an HTTP answer."""
        return self.answer(error, self.foreign(error), dict.fromkeys(self._request_ids[:1], error.request_id))

    def foreign(self, error: AdapterError) -> Wire | None:
        """The body that came, where it had not the protocol's shape."""
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
        """The exception for a type and a code, the most exact first, and a sentence.

        ``after`` is how long the body says to wait; it wins over the headers.
        """
        should, told = _retry_hint(headers)
        after = told if after is None else after
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

    def answer(self, error: AdapterError, came: Wire | None, headers: Mapping[str, str | None]) -> WireError:
        """The HTTP answer. ``came`` is a body that had not the protocol's shape: it goes out as it was."""
        status = self.status_for(error, self.dialect)
        told = {name: value for name, value in headers.items() if value is not None}
        if error.retry_after is not None:
            told["retry-after"] = write_seconds(error.retry_after)
        if error.retryable is not self.retries(error, status):
            told["x-should-retry"] = "true" if error.retryable else "false"
        if came is None:
            return WireError(status, {"content-type": "application/json", **told}, dump(self.body(error)))
        if came.keys() != {"text"}:
            wire = reworded(came, error.provider_message or error.message)
            return WireError(status, {"content-type": "application/json", **told}, dump(wire))
        text = came["text"]
        plain = text.encode("utf-8", "replace") if isinstance(text, str) else dump(text)
        return WireError(status, {**told, "content-type": "text/plain"}, plain)


# ---------------------------------------------------------------------------------------------------------- the bodies


def parse_body(body: bytes | str | Json) -> Json:
    """The JSON value of an error body, or its text where it is not JSON."""
    if not isinstance(body, bytes | str):
        return body
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return body if isinstance(body, str) else body.decode("utf-8", "replace")


SAID_UNDER = ("message", "Message", "msg", "detail", "error", "errors", "error_message")
DEEPEST, MOST = 4, 8


def sentence(wire: Json, depth: int = DEEPEST) -> str:
    """What an error body says, in whichever of the usual places; ``loc`` of a FastAPI complaint stands before it."""
    if isinstance(wire, str):
        return wire
    if depth and is_list(wire):
        return "; ".join(filter(None, (sentence(item, depth - 1) for item in wire[:MOST])))
    if not depth or not is_dict(wire):
        return ""
    said = next((found for key in SAID_UNDER if key in wire and (found := sentence(wire[key], depth - 1))), "")
    where = wire.get("loc")
    return f"{'.'.join(map(str, where[:MOST]))}: {said}" if said and is_list(where) and where else said


def error_object(wire: Json) -> Wire:
    """The object that describes the error: under ``error``, or the body itself; some servers wrap it in a list."""
    if is_list(wire) and wire:
        wire = wire[0]
    if not is_dict(wire):
        return {}
    inner = wire.get("error")
    return inner if is_dict(inner) else wire


def text_of(wire: Json) -> str:
    """What an error body says, or the body itself where nothing in it is a sentence."""
    return sentence(error_object(wire)) or sentence(wire) or (dump(wire).decode() if wire else "")


def reworded(body: Wire, message: str) -> Wire:
    """An error body that says ``message``; itself, if it does."""
    if message in ("", text_of(body)):
        return body
    inner = error_object(body)
    key = next((key for key in SAID_UNDER if isinstance(inner.get(key), str)), "message")
    return {**body, key: message} if inner is body else {**body, "error": {**inner, key: message}}


# --------------------------------------------------------------------------------------------------------- the headers


def write_seconds(seconds: float) -> str:
    """Seconds without an exponent, which no reader of HTTP headers expects."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".")


def first_header(headers: Mapping[str, str] | None, *names: str) -> str | None:
    """The value of the first of these headers that came. The names are in lower case."""
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    return next((lower[name] for name in names if name in lower), None)


def _retry_hint(headers: Mapping[str, str] | None) -> tuple[bool | None, float | None]:
    """``(should retry, after seconds)`` as the answer's headers say it."""
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    should = {"true": True, "false": False}.get(lower.get("x-should-retry", "").lower())
    return should, _retry_after(lower)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        if "retry-after-ms" in headers:
            return usable(float(headers["retry-after-ms"]) / 1000)
        if "retry-after" in headers:
            return usable(_seconds(headers["retry-after"], headers.get("date")))
    except (ValueError, TypeError, OverflowError):
        return None
    return None


def usable(seconds: float | None) -> float | None:
    """A time to wait, or None for what is none: negative, infinite or not a number."""
    return seconds if seconds is not None and math.isfinite(seconds) and seconds >= 0 else None


def _seconds(value: str, now: str | None) -> float | None:
    """Seconds, or a date relative to the answer's own Date header: dialects have no clock."""
    try:
        return float(value)
    except ValueError:
        if now is None:
            return None
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 - slow to import, and rarely needed

        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(now)).total_seconds())

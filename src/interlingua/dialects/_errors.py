"""Errors of every provider, classified by one set of rules; a dialect adds its own words.

Decoding reads left to right: the provider's word, then what the message speaks of, then the status. Encoding reads
the dialect's rows right to left: the first row of a class is what we answer with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import msgspec

from ..errors import AdapterError, error_type
from ..types.base import Json
from ..types.loss import WireError
from ..types.words import ErrorClass
from ._json import is_object
from ._stream import dump

__all__ = ["ErrorRow", "ErrorTable", "make_error", "parse_body", "retry_hint", "spoken", "wire_error"]

_OVERFLOW = re.compile(
    r"context.{0,12}(length|window|size|limit)|maximum context|prompt is too long|too many (input )?tokens"
    r"|exceeds? the (available )?context|input (is |length )?(too long|exceeds)|input token count.*exceeds"
    r"|reduce the length of (the|your) (messages|prompt|input)|request_too_large|string_above_max_length"
    r"|tokens\) is too large",
    re.IGNORECASE,
)
_TOOL_STATE = re.compile(r"no tool (call|output) found", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient[_ ]quota|exceeded your current quota.*billing|billing|spend limit|credit balance"
    r"|insufficient (credits|balance|funds)|payment required|out of credits",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate.?limit|too many requests|throttl|overloaded|resource.?exhausted", re.IGNORECASE)
_AUTH = re.compile(
    r"invalid.{0,8}(api.?key|x-api-key|token)|incorrect api key|unauthori[sz]ed|authentication", re.IGNORECASE
)
_BAD_KEY = re.compile(r"(incorrect|invalid) api key|api key (is )?(not valid|invalid)", re.IGNORECASE)

# What a status says when nothing else did. The last row that matches from the left edge of its range wins.
_STATUS: tuple[tuple[int, int, ErrorClass], ...] = (
    (401, 401, ErrorClass.auth),
    (402, 402, ErrorClass.rate_limit),
    (403, 403, ErrorClass.auth),
    (408, 408, ErrorClass.timeout),
    (413, 413, ErrorClass.context_overflow),
    (424, 424, ErrorClass.server_error),
    (429, 429, ErrorClass.rate_limit),
    (504, 504, ErrorClass.timeout),
    (529, 529, ErrorClass.rate_limit),
    (400, 499, ErrorClass.invalid_request),
    (500, 599, ErrorClass.server_error),
)


class ErrorRow(NamedTuple):
    """A status and a provider's word, and the class they stand for. ``retryable`` is None for the class's own."""

    status: int
    word: str
    error_class: ErrorClass
    retryable: bool | None = None


class ErrorTable:
    """A dialect's error words, read both ways."""

    def __init__(self, *rows: ErrorRow) -> None:
        self._by_word = {row.word: row for row in reversed(rows)}
        self._by_class: dict[tuple[ErrorClass, bool], ErrorRow] = {}
        for row in rows:
            self._by_class.setdefault((row.error_class, row.retryable is False), row)
        self._fallback = rows[0]

    def classify(self, status: int | None, words: tuple[Json, ...], message: str) -> tuple[ErrorClass, bool | None]:
        """The class of an error, and whether retrying helps where that is not the class's own answer."""
        told = " ".join(str(word) for word in words if word)
        row = next((self._by_word[word] for word in words if isinstance(word, str) and word in self._by_word), None)
        row_class = row.error_class if row else None
        if row_class in (None, ErrorClass.invalid_request, ErrorClass.server_error) or status in (400, 413):
            if _TOOL_STATE.search(message):
                return ErrorClass.tool_error, True
            if _OVERFLOW.search(message) or _OVERFLOW.search(told):
                return ErrorClass.context_overflow, False
        if status == 400 and _BAD_KEY.search(message):  # xAI and Google say it so
            return ErrorClass.auth, None
        if status in (None, 402, 403, 429) and (_QUOTA.search(message) or _QUOTA.search(told)):
            return ErrorClass.rate_limit, False
        if row is not None and not (row_class is ErrorClass.invalid_request and _says_otherwise(status)):
            return row.error_class, row.retryable
        if status is None or status == 200:
            return self._by_message(f"{told} {message}", words)
        return _by_status(status), False if status == 402 else None

    def _by_message(self, message: str, words: tuple[Json, ...]) -> tuple[ErrorClass, bool | None]:
        """An error inside a 200 has no status; a numeric code may stand for one."""
        for word in words:
            if isinstance(word, int) and 400 <= word < 600:
                return _by_status(word), None
            if isinstance(word, str) and word.isdigit() and 400 <= int(word) < 600:
                return _by_status(int(word)), None
        if _RATE.search(message):
            return ErrorClass.rate_limit, None
        if _AUTH.search(message):
            return ErrorClass.auth, None
        return ErrorClass.server_error, None

    def row_for(self, error: AdapterError) -> ErrorRow:
        """What we answer with: the provider's own word if it is one of ours, else the first of the class.

        A failure that no retry helps (a spent quota) has rows of its own where the class is retryable.
        """
        row = self._by_word.get(str(error.provider_code))
        if row is not None and row.error_class is error.error_class:
            return row
        found = self._by_class.get((error.error_class, not error.retryable))
        return found or self._by_class.get((error.error_class, False), self._fallback)

    def status_for(self, error: AdapterError, dialect: str) -> int:
        """The status that came, of an error that was read from this dialect; else that of its row."""
        told = error.provider_status if dialect in error.extras else None
        return told or self.row_for(error).status


def wire_error(
    error: AdapterError, status: int, text: bytes | None, body: Callable[[AdapterError], Json], **headers: str | None
) -> WireError:
    """An error as an HTTP answer; ``text`` is a body that was no JSON object when it came. Headers have underscores."""
    told = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    if error.retry_after is not None:
        told["retry-after"] = f"{error.retry_after:g}"
    if text is not None:
        return WireError(status, {**told, "content-type": "text/plain"}, text)
    return WireError(status, {"content-type": "application/json", **told}, dump(body(error)))


def spoken(residue: Json) -> bytes | None:
    """What was kept of an answer that was no JSON: a text."""
    text = residue.get("text") if is_object(residue) else None
    return text.encode() if isinstance(text, str) else None


def _says_otherwise(status: int | None) -> bool:
    """A general word such as invalid_request_error loses to a status that is more exact."""
    return status is not None and _by_status(status) not in (ErrorClass.invalid_request, ErrorClass.other)


def _by_status(status: int) -> ErrorClass:
    return next((found for low, high, found in _STATUS if low <= status <= high), ErrorClass.other)


def parse_body(body: bytes | str | Json) -> Json:
    """The JSON value of an error body, or its text where it is not JSON."""
    if not isinstance(body, bytes | str):
        return body
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError):
        return body if isinstance(body, str) else body.decode("utf-8", "replace")


def retry_hint(headers: Mapping[str, str]) -> tuple[bool | None, float | None]:
    """``(should retry, after seconds)`` as the answer's headers say it; lower-case header names."""
    word = headers.get("x-should-retry", "").lower()
    should = {"true": True, "false": False}.get(word)
    return should, _retry_after(headers)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        if "retry-after-ms" in headers:
            return float(headers["retry-after-ms"]) / 1000
        if "retry-after" in headers:
            return _seconds(headers["retry-after"], headers.get("date"))
    except (ValueError, TypeError):
        return None
    return None


def _seconds(value: str, now: str | None) -> float | None:
    """Seconds, or a date relative to the answer's own Date header: dialects have no clock."""
    try:
        return float(value)
    except ValueError:
        if now is None:
            return None
        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(now)).total_seconds())


def make_error(
    table: ErrorTable,
    status: int | None,
    headers: Mapping[str, str] | None,
    *,
    words: tuple[Json, ...],
    message: str,
    **fields: Any,
) -> AdapterError:
    """The exception for what a provider said. ``words`` are its type and code, the most exact first."""
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    error_class, retryable = table.classify(status, words, message)
    should, after = retry_hint(lower)
    if error_class is ErrorClass.tool_error and after is None:
        after = 1.0
    code = next((word for word in words if word is not None), None)
    fields.setdefault("retry_after", after)
    return error_type(error_class)(
        message or f"HTTP {status}",
        error_class=error_class,
        retryable=retryable if should is None else should,
        provider_status=status,
        provider_code=code if isinstance(code, str | int) else None,
        provider_message=message or None,
        **fields,
    )

"""Errors of every provider, classified by one set of rules; a dialect adds its own words.

Decoding reads left to right: the provider's word, then what the message speaks of, then the status. Encoding reads
the dialect's rows right to left: the first row of a kind is what we answer with.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import msgspec

from ..errors import (
    RETRYABLE,
    AdapterError,
    AuthError,
    ContextOverflowError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    ToolStateError,
    error_type,
)
from ..types.base import Json
from ..types.loss import WireError
from .json import Wire, is_dict, is_list, is_object
from .limits import ERROR_TEXT
from .stream import dump

__all__ = [
    "ErrorRow",
    "ErrorTable",
    "error_object",
    "foreign",
    "make_error",
    "parse_body",
    "first_header",
    "reworded",
    "say_seconds",
    "sentence",
    "text_of",
    "usable",
    "wire_error",
]

Kind = type[AdapterError]

# What a message speaks of. Every gap is bounded, and only the first ERROR_TEXT characters are looked at.
_OVERFLOW = re.compile(
    r"context.{0,12}(length|window|size|limit)|maximum context|prompt is too long|too many (input )?tokens"
    r"|exceeds? the (available )?context|input (is |length )?(too long|exceeds)|input token count.{0,80}exceeds"
    r"|(?<!output )(?<!completion )\btokens exceeds?\b"
    r"|reduce the length of (the|your) (messages|prompt|input)|request_too_large|string_above_max_length"
    r"|tokens\) is too large",
    re.IGNORECASE,
)
_TOOL_STATE = re.compile(r"no tool (call|output) found", re.IGNORECASE)
_SPENT = re.compile(
    r"insufficient[_ ]quota|exceeded your current quota|spend(ing)? limit|credit balance"
    r"|insufficient (credits|balance|funds)|payment required|out of credits|check your (plan and )?billing"
    r"|billing[_ ](hard[_ ])?limit|billing (is |account )?(not active|disabled)|requires billing",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"credit balance is too low", re.IGNORECASE)
_LINK = re.compile(r"/\S*")
_LATER = re.compile(r"(try again|retry) (in|after) (about )?\d", re.IGNORECASE)
_OVERLOAD = re.compile(
    r"(?i:overload|server (is )?(currently )?busy|maximum pending|(at|over) capacity|experiencing high demand)"
    r"|\bUNAVAILABLE\b"
)
_RATE = re.compile(r"rate.?limit|too many requests|throttl|resource.?exhausted", re.IGNORECASE)
_AUTH = re.compile(
    r"invalid.{0,8}(api.?key|x-api-key|token)|incorrect api key|unauthori[sz]ed|authentication", re.IGNORECASE
)
_BAD_KEY = re.compile(r"(incorrect|invalid) api key|api key (is )?(not valid|invalid)", re.IGNORECASE)
_CODE = re.compile(r"[45][0-9][0-9]")

# What a status says when nothing else did. The first row whose range holds it wins.
_STATUS: tuple[tuple[int, int, Kind], ...] = (
    (401, 401, AuthError),
    (402, 402, RateLimitError),
    (403, 403, AuthError),
    (408, 408, RequestTimeoutError),
    (413, 413, ContextOverflowError),
    (424, 424, ServerError),
    (429, 429, RateLimitError),
    (504, 504, RequestTimeoutError),
    (529, 529, OverloadedError),
    (400, 499, InvalidRequestError),
    (500, 599, ServerError),
)
# A status that means the same in every dialect, whichever of them it came from.
_KEPT: dict[int | None, Kind] = {
    404: InvalidRequestError,
    413: ContextOverflowError,
    502: ServerError,
    503: ServerError,
    504: RequestTimeoutError,
}
GENERAL = (InvalidRequestError, ServerError)
"""Kinds whose words say little: a message or a status that is more exact wins over them."""
NO_QUOTA, UNPROCESSABLE, BUSY = (None, 402, 403, 429), (400, 413, 422), (None, 503, 529)
LONGEST_WORD = 200
BAD, PAYMENT, TOO_MANY = 400, 402, 429


class ErrorRow(NamedTuple):
    """A status and a provider's word, and the exception they stand for. ``retryable`` is None for the class's own."""

    status: int
    word: str
    kind: Kind
    retryable: bool | None = None


class ErrorTable:
    """A dialect's error words, read both ways."""

    def __init__(self, *rows: ErrorRow, statuses: Mapping[int, Kind] | None = None) -> None:
        """``statuses`` are those that mean in this dialect something else than usual."""
        self._rows, self._statuses = rows, statuses or {}
        self._by_word = {row.word: row for row in reversed(rows)}

    def classify(
        self, status: int | None, words: tuple[Json, ...], message: str, *, hinted: bool = False
    ) -> tuple[Kind, bool | None]:
        """The kind of an error, and whether retrying helps where that is not the class's own answer.

        ``hinted``: the answer says when to try again, so it speaks of no quota that is spent for good.
        """
        status = _status(status, words)
        row = next((self._by_word[word] for word in words if isinstance(word, str) and word in self._by_word), None)
        text = " ".join([*(str(word)[:LONGEST_WORD] for word in words if word), message[:ERROR_TEXT]])
        hinted = hinted or _LATER.search(text) is not None
        told = _by_message(row, status, text, hinted=hinted)
        if told is not None:
            return told
        if row is not None and self._agrees(row, status):
            return row.kind, None if hinted else row.retryable
        if status is not None:
            return self._by_status(status), False if status == PAYMENT and not hinted else None
        return RateLimitError if _RATE.search(text) else AuthError if _AUTH.search(text) else ServerError, None

    def _agrees(self, row: ErrorRow, status: int | None) -> bool:
        """A general word such as invalid_request_error loses to a status that is more exact."""
        if status is None or row.kind not in GENERAL or status == row.status:
            return True
        return self._by_status(status) in (row.kind, AdapterError)

    def _by_status(self, status: int) -> Kind:
        usual = next((kind for low, high, kind in _STATUS if low <= status <= high), AdapterError)
        return self._statuses.get(status, usual)

    def row_for(self, error: AdapterError) -> ErrorRow:
        """What we answer with: the provider's own word if it is an exact one of ours, else by status, else the first.

        A failure that no retry helps (a spent quota) has rows of its own where the class is retryable.
        """
        kinds = (_kind(error), error_type(error.error_class))
        rows = next(filter(None, ([row for row in self._rows if row.kind is kind] for kind in kinds)), [self._rows[0]])
        own = next((row for row in rows if row.word == error.provider_code != rows[0].word), None)
        fits = [row for row in rows if (row.retryable is False) is not error.retryable] or rows
        return own or next((row for row in fits if row.status == error.provider_status), fits[0])

    def retries(self, error: AdapterError, status: int) -> bool:
        """Whether a reader of what we write would try again, if no header told it."""
        words = (error.provider_code, self.row_for(error).word)
        message = error.provider_message or error.message
        kind, retryable = self.classify(status, words, message, hinted=error.retry_after is not None)
        return kind.default_class in RETRYABLE if retryable is None else retryable

    def status_for(self, error: AdapterError, dialect: str) -> int:
        """The status that came, of an error that was read from this dialect or that means the same in all of them."""
        told = error.provider_status
        if told and (dialect in error.extras or _KEPT.get(told) is _kind(error)):
            return told
        return self.row_for(error).status


def _kind(error: AdapterError) -> Kind:
    return OverloadedError if isinstance(error, OverloadedError) else error_type(error.error_class)


def _status(status: int | None, words: tuple[Json, ...]) -> int | None:
    """An error inside a 200 has no status; a numeric code may stand for one."""
    if status is not None and status != 200:
        return status
    found = (word if isinstance(word, str) else str(word) for word in words if isinstance(word, str | int))
    return next((int(word) for word in found if _CODE.fullmatch(word)), None)


def _by_message(
    row: ErrorRow | None, status: int | None, text: str, *, hinted: bool
) -> tuple[Kind, bool | None] | None:
    """What the text speaks of, where the word and the status leave it open."""
    general = row is None or row.kind in GENERAL
    if status != TOO_MANY and (general or status in UNPROCESSABLE):
        if _TOOL_STATE.search(text):
            return ToolStateError, True
        if _OVERFLOW.search(text):
            return ContextOverflowError, False
    if status == BAD and _BAD_KEY.search(text):  # xAI and Google say it so
        return AuthError, None
    if status == BAD and _NO_CREDIT.search(text):  # Anthropic says it so
        return RateLimitError, False
    if status in NO_QUOTA and not hinted and _SPENT.search(_LINK.sub(" ", text)):
        return RateLimitError, False
    if status in BUSY and general and _OVERLOAD.search(text):
        return OverloadedError, None
    return None


# ------------------------------------------------------------------------------------------------------------- writing


def wire_error(
    table: ErrorTable,
    error: AdapterError,
    dialect: str,
    came: Wire | None,
    body: Callable[[AdapterError], Json],
    **headers: str | None,
) -> WireError:
    """An error as an HTTP answer. ``came`` is a body that had not the protocol's shape: it goes out as it was."""
    status = table.status_for(error, dialect)
    told = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    if error.retry_after is not None:
        told["retry-after"] = say_seconds(error.retry_after)
    if error.retryable is not table.retries(error, status):
        told["x-should-retry"] = "true" if error.retryable else "false"
    if came is None:
        return WireError(status, {"content-type": "application/json", **told}, dump(body(error)))
    if came.keys() != {"text"}:
        wire = reworded(came, error.provider_message or error.message)
        return WireError(status, {"content-type": "application/json", **told}, dump(wire))
    text = came["text"]
    plain = text.encode("utf-8", "replace") if isinstance(text, str) else dump(text)
    return WireError(status, {**told, "content-type": "text/plain"}, plain)


def say_seconds(seconds: float) -> str:
    """Seconds without an exponent, which no reader of HTTP headers expects."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".")


def foreign(error: AdapterError, dialect: str) -> Wire | None:
    """The body that came, where it does not describe the error under ``error`` as most protocols do."""
    residue = error.extras.get(dialect)
    return residue if is_object(residue) and "error" not in residue else None


# ------------------------------------------------------------------------------------------------------------- reading


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
        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(now)).total_seconds())


def make_error(
    table: ErrorTable,
    status: int | None,
    headers: Mapping[str, str] | None,
    *,
    words: tuple[Json, ...],
    message: str,
    after: float | None = None,
    **fields: Any,
) -> AdapterError:
    """The exception for what a provider said. ``words`` are its type and code, the most exact first.

    ``after`` is how long the body says to wait; it wins over the headers.
    """
    should, told = _retry_hint(headers)
    after = told if after is None else after
    kind, retryable = table.classify(status, words, message, hinted=should is True or after is not None)
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

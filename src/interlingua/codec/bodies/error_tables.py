"""Errors of every provider, classified by one set of rules; a dialect adds its own words.

Decoding reads left to right: the provider's word, then what the message is about, then the status. Encoding reads the
dialect's rows right to left: the first row of a kind gives the status and the word that are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ...errors import (
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
from ...types.base import Json
from ..limits import ERROR_TEXT

__all__ = ["ErrorRow", "ErrorTable", "Kind"]

Kind = type[AdapterError]

# Patterns for what a message is about. Every gap is bounded, and only the first ERROR_TEXT characters are searched. The
# patterns are compiled when an error is read, which most programs never do.
_OVERFLOW = (
    r"(?i)context.{0,12}(length|window|size|limit)|maximum context|prompt is too long|too many (input )?tokens"
    r"|exceeds? the (available )?context|input (is |length )?(too long|exceeds)|input token count.{0,80}exceeds"
    r"|(?<!output )(?<!completion )\btokens exceeds?\b"
    r"|reduce the length of (the|your) (messages|prompt|input)|request_too_large|string_above_max_length"
    r"|tokens\) is too large|prompt_too_long"
)
_TOOL_STATE = r"(?i)no tool (call|output) found"
_SPENT = (
    r"(?i)insufficient[_ ]quota|exceeded your current quota|spend(ing)? limit|credit balance"
    r"|insufficient (credits|balance|funds)|payment required|out of credits|check your (plan and )?billing"
    r"|billing[_ ](hard[_ ])?limit|billing (is |account )?(not active|disabled)|requires billing"
)
_NO_CREDIT = r"(?i)credit balance is too low"
_LINK = r"/\S*"
_LATER = r"(?i)(try again|retry) (in|after) (about )?\d"
_OVERLOAD = (
    r"(?i:overload|server (is )?(currently )?busy|maximum pending|(at|over) capacity|experiencing high demand)"
    r"|\bUNAVAILABLE\b"
)
_RATE = r"(?i)rate.?limit|too many requests|throttl|resource.?exhausted"
_AUTH = r"(?i)invalid.{0,8}(api.?key|x-api-key|token)|incorrect api key|unauthori[sz]ed|authentication"
_BAD_KEY = r"(?i)(incorrect|invalid) api key|api key (is )?(not valid|invalid)"
_CODE = r"[45][0-9][0-9]"

# What a status means where nothing else decides. The first row whose range holds it wins.
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
# Statuses that mean the same in every dialect, so that one is written again whichever dialect it came from.
_KEPT: dict[int | None, Kind] = {
    404: InvalidRequestError,
    413: ContextOverflowError,
    502: ServerError,
    503: ServerError,
    504: RequestTimeoutError,
}
GENERAL = (InvalidRequestError, ServerError)
"""Kinds with general words: a message or a status that is more exact wins over them."""
NO_QUOTA, UNPROCESSABLE, BUSY = (None, 402, 403, 429), (400, 413, 422), (None, 503, 529)
LONGEST_WORD = 200
BAD, PAYMENT, TOO_MANY = 400, 402, 429


class ErrorRow(NamedTuple):
    """A status and a provider's word, and the exception they stand for.

    ``kind`` is given where it is not what the status usually means. ``retryable`` is None for the default of the class.
    """

    status: int
    word: str
    kind: Kind = AdapterError
    retryable: bool | None = None


class ErrorTable:
    """A dialect's error words, read both ways."""

    def __init__(self, *rows: ErrorRow, statuses: Mapping[int, Kind] | None = None) -> None:
        """``statuses`` are those with an unusual meaning in this dialect."""
        self._statuses = statuses or {}
        self._rows = tuple(row if row.kind is not AdapterError else _by_status(row) for row in rows)
        self._by_word = {row.word: row for row in reversed(self._rows)}

    def classify(
        self, status: int | None, words: tuple[Json, ...], message: str, *, hinted: bool = False
    ) -> tuple[Kind, bool | None]:
        """The kind of an error, and whether retrying helps; None for the default of the class.

        ``hinted``: the answer tells when to try again, so it cannot be about a quota that is spent for good.
        """
        status = _status(status, words)
        row = next((self._by_word[word] for word in words if isinstance(word, str) and word in self._by_word), None)
        text = " ".join([*(str(word)[:LONGEST_WORD] for word in words if word), message[:ERROR_TEXT]])
        hinted = hinted or re.search(_LATER, text) is not None
        found = _by_message(row, status, text, hinted=hinted)
        if found is not None:
            return found
        if row is not None and self._agrees(row, status):
            return row.kind, None if hinted else row.retryable
        if status is not None:
            return self._by_status(status), False if status == PAYMENT and not hinted else None
        return RateLimitError if re.search(_RATE, text) else AuthError if re.search(_AUTH, text) else ServerError, None

    def _agrees(self, row: ErrorRow, status: int | None) -> bool:
        """Whether the status does not contradict the row: a more exact status wins over a general word."""
        if status is None or row.kind not in GENERAL or status == row.status:
            return True
        return self._by_status(status) in (row.kind, AdapterError)

    def _by_status(self, status: int) -> Kind:
        return self._statuses.get(status) or _usual(status)

    def row_for(self, error: AdapterError) -> ErrorRow:
        """The row to write an error by: that of the provider's own word if it is exact, else by status, else the first.

        Where a class is retryable, a failure that no retry can cure (a spent quota) has rows of its own.
        """
        kinds = (_kind(error), error_type(error.error_class))
        rows = next(filter(None, ([row for row in self._rows if row.kind is kind] for kind in kinds)), [self._rows[0]])
        own = next((row for row in rows if row.word == error.provider_code != rows[0].word), None)
        fits = [row for row in rows if (row.retryable is False) is not error.retryable] or rows
        return own or next((row for row in fits if row.status == error.provider_status), fits[0])

    def retries(self, error: AdapterError, status: int) -> bool:
        """Whether a client would try again after what we write, if no header told it."""
        words = (error.provider_code, self.row_for(error).word)
        message = error.provider_message or error.message
        kind, retryable = self.classify(status, words, message, hinted=error.retry_after is not None)
        return kind.default_class in RETRYABLE if retryable is None else retryable

    def status_for(self, error: AdapterError, dialect: str) -> int:
        """The status to write: the provider's, if this dialect read it or it means the same in all; else by the row."""
        status = error.provider_status
        if status and (dialect in error.extras or _KEPT.get(status) is _kind(error)):
            return status
        return self.row_for(error).status


def _usual(status: int) -> Kind:
    return next((kind for low, high, kind in _STATUS if low <= status <= high), AdapterError)


def _by_status(row: ErrorRow) -> ErrorRow:
    """A row with the kind that its status means. A missing payment is not retried: it would be missing again."""
    return row._replace(kind=_usual(row.status), retryable=False if row.status == PAYMENT else row.retryable)


def _kind(error: AdapterError) -> Kind:
    return OverloadedError if isinstance(error, OverloadedError) else error_type(error.error_class)


def _status(status: int | None, words: tuple[Json, ...]) -> int | None:
    """The status of an error. One inside a 200 has none, but a numeric code may stand for it."""
    if status is not None and status != 200:
        return status
    found = (word if isinstance(word, str) else str(word) for word in words if isinstance(word, str | int))
    return next((int(word) for word in found if re.fullmatch(_CODE, word)), None)


def _by_message(
    row: ErrorRow | None, status: int | None, text: str, *, hinted: bool
) -> tuple[Kind, bool | None] | None:
    """What the text is about, where the word and the status leave it open; None if it does not tell."""
    general = row is None or row.kind in GENERAL
    if status != TOO_MANY and (general or status in UNPROCESSABLE):
        if re.search(_TOOL_STATE, text):
            return ToolStateError, True
        if re.search(_OVERFLOW, text):
            return ContextOverflowError, False
    if status == BAD and re.search(_BAD_KEY, text):  # xAI and Google write it so
        return AuthError, None
    if status == BAD and re.search(_NO_CREDIT, text):  # Anthropic writes it so
        return RateLimitError, False
    if status in NO_QUOTA and not hinted and re.search(_SPENT, re.sub(_LINK, " ", text)):
        return RateLimitError, False
    if status in BUSY and general and re.search(_OVERLOAD, text):
        return OverloadedError, None
    return None

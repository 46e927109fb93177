"""How long to wait when the headers of an answer say that a limit is used up. Pure: dates are relative to ``Date``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

__all__ = ["pause_of"]

# fmt: off
LIMITS = (
    # what remains,                                 when it is reset
    ("x-ratelimit-remaining-requests",              "x-ratelimit-reset-requests"),  # OpenAI and those who follow it
    ("x-ratelimit-remaining-tokens",                "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining",      "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining",        "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining",  "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
)
# fmt: on
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", re.ASCII)
UNITS = (3600.0, 60.0, 1.0, 0.001)
LONGEST = 40
"""The most characters of a value that are read."""


def pause_of(headers: Mapping[str, str]) -> float | None:
    """Seconds until all limits that are used up are reset; None if none is used up. Header names are in lower case."""
    found = [
        seconds
        for left, reset in LIMITS
        if headers.get(left) == "0" and (seconds := _seconds(headers.get(reset, ""), headers.get("date"))) is not None
    ]
    return max(found, default=None)


def _seconds(value: str, now: str | None) -> float | None:
    """``6m0s``, ``20ms``, a number of seconds, or a date."""
    value = value[:LONGEST]
    parts = DURATION.fullmatch(value)
    if parts is not None and value:
        return sum(float(part) * unit for part, unit in zip(parts.groups(), UNITS, strict=True) if part)
    try:
        if value[:1].isdigit() and "-" not in value:
            return max(0.0, min(float(value), 86_400.0))
        when = datetime.fromisoformat(value) - parsedate_to_datetime(now or "")
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, when.total_seconds())

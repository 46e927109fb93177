"""JSON as some servers write it: with NaN or Infinity, numbers too large for a float, lone surrogates, or a byte-order
mark. It is read only if strict parsing failed, and a loss is declared, because values are replaced."""

from __future__ import annotations

import math
from typing import Any, cast

from ...types.loss import Loss
from ..surrogates import clean_text

__all__ = ["NOT_STRICT", "read_lenient", "strictly"]

NOT_STRICT = Loss(
    "",
    "approximated",
    "the answer was not strict JSON: NaN, Infinity and numbers too large were read as null, lone surrogates and bytes"
    " that are not UTF-8 as U+FFFD",
)
BOM = b"\xef\xbb\xbf"


def read_lenient(data: bytes) -> Any:
    """The value of lenient JSON. Raises ``ValueError`` if the data is not even that."""
    import json  # noqa: PLC0415 - slow to import, and rarely needed

    text = data.removeprefix(BOM).decode("utf-8", "replace")
    try:
        return _plain(json.loads(text, parse_constant=_nothing, parse_float=_number))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def strictly(data: bytes) -> bytes | None:
    """The data as strict JSON, or None if it is not even lenient JSON."""
    import json  # noqa: PLC0415

    try:
        return json.dumps(read_lenient(data), ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return None


def _nothing(_: str) -> None:
    """The value for NaN and Infinity."""


def _number(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _plain(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value

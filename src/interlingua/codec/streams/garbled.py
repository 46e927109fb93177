"""The error for an event that is not JSON: what is wrong, where, and the text around that place."""

from __future__ import annotations

import re

import msgspec

from ...errors import ParseError

__all__ = ["not_json"]

_BYTE = re.compile(r" \(byte (\d+)\)$")
_BEFORE, _AFTER = 80, 40
"""How many bytes around a fault are quoted."""


def not_json(data: bytes, fault: Exception, name: str) -> ParseError:
    """The error for data that a parser refused with ``fault``. ``name`` is the name of the event, or empty."""
    place = _place(data, fault)
    why = "it is not UTF-8" if isinstance(fault, UnicodeError) else _BYTE.sub("", str(fault))
    quote = data[max(0, place - _BEFORE) : place + _AFTER].decode("utf-8", "replace")
    event = f"the event {name[:40]!r}" if name else "an event"
    return ParseError(f"{event} of the stream is not JSON: {why} at byte {place}, near {quote!r}")


def _place(data: bytes, fault: Exception) -> int:
    """The position of the fault: as the parser reports it, else the first byte that is not UTF-8, else the end.

    For invalid UTF-8 the parser counts from the start of the string, and for data nested too deeply it reports none: 0.
    """
    if reported := _BYTE.search(str(fault)):
        return int(reported[1])
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return wrong.start
    return len(data) if type(fault) is msgspec.DecodeError else 0

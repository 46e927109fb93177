"""The errors for a body that is not an answer of its protocol, or that cannot be read."""

from __future__ import annotations

from ...errors import ParseError
from ...types.base import Json
from ..json import Wire, is_object
from ..streams.stream import dump

__all__ = ["READING_ERRORS", "checked_answer", "unreadable_error"]

HEAD = 200
"""How many characters of a body an error quotes."""
READING_ERRORS = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""The exceptions that reading a body raises where its values have unexpected types."""


def checked_answer(body: Json, dialect: str, *keys: str) -> Wire:
    """Return the body if it is an object with one of these keys, by which answers of its protocol are recognised."""
    if not is_object(body):
        raise ParseError(f"a response body is a JSON object, got {type(body).__name__}: {_head(body)}")
    for key in keys:
        if body.get(key) is not None:
            return body
    raise ParseError(
        f"this is not an answer of {dialect}, which has {' or '.join(map(repr, keys))}: {_head(body)};"
        " check the base URL and the dialect of the provider"
    )


def unreadable_error(body: Json, dialect: str) -> ParseError:
    """The error for an answer that cannot be read."""
    return ParseError(f"this {dialect} answer cannot be read: {_head(body)}")


def _head(body: Json) -> str:
    try:
        text = dump(body).decode()
    except (TypeError, ValueError, RecursionError):
        text = type(body).__name__
    return text if len(text) <= HEAD else f"{text[:HEAD]}…"

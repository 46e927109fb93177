"""Answers that are none: what is raised for a body that is not an answer of its protocol, or that nobody can read."""

from __future__ import annotations

from ...errors import ParseError
from ...types.base import Json
from ..json import Wire, is_object
from ..streams.stream import dump

__all__ = ["BARE", "answer_of", "unreadable"]

HEAD = 200
"""How many characters of a body an error quotes."""
BARE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""What reading a body raises whose values have types that nobody foresaw."""


def answer_of(body: Json, dialect: str, *marks: str) -> Wire:
    """The body, if it is an object with one of the marks of its protocol's answers."""
    if not is_object(body):
        raise ParseError(f"a response body is a JSON object, got {type(body).__name__}: {_head(body)}")
    for mark in marks:
        if body.get(mark) is not None:
            return body
    raise ParseError(
        f"this is not an answer of {dialect}, which has {' or '.join(map(repr, marks))}: {_head(body)};"
        " check the base URL and the dialect of the provider"
    )


def unreadable(body: Json, dialect: str) -> ParseError:
    return ParseError(f"this {dialect} answer cannot be read: {_head(body)}")


def _head(body: Json) -> str:
    try:
        text = dump(body).decode()
    except (TypeError, ValueError, RecursionError):
        text = type(body).__name__
    return text if len(text) <= HEAD else f"{text[:HEAD]}…"

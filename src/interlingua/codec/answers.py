"""Answers that are none: what is raised for a body that is not an answer of its protocol, or that nobody can read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from ..errors import AdapterError, ParseError
from ..types.base import Json
from ..types.response import Response
from .json import Wire, is_object
from .stream import dump

__all__ = ["answer_of", "reads_answers"]

P = ParamSpec("P")
HEAD = 200
"""How many characters of a body an error quotes."""
BARE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


def reads_answers(dialect: str) -> Callable[[Callable[P, Response]], Callable[P, Response]]:
    """Make a reader of answers raise nothing but our own errors, whatever the types of what it reads."""

    def guard(read: Callable[P, Response]) -> Callable[P, Response]:
        @wraps(read)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> Response:
            try:
                return read(*args, **kwargs)
            except AdapterError:
                raise
            except BARE as error:
                body: Any = args[0]
                raise ParseError(f"this {dialect} answer cannot be read: {_head(body)}") from error

        return guarded

    return guard


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


def _head(body: Json) -> str:
    try:
        text = dump(body).decode()
    except (TypeError, ValueError, RecursionError):
        text = type(body).__name__
    return text if len(text) <= HEAD else f"{text[:HEAD]}…"

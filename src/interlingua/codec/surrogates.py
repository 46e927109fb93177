"""Text without lone surrogates, which UTF-8 cannot say. They come with file names of ``os.listdir``, for instance."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

__all__ = ["REPLACED", "clean", "clean_text"]

T = TypeVar("T")

REPLACED = "text held lone surrogates, which are no characters; they were replaced by U+FFFD"
"""The warning for whoever handed in such text."""


def clean_text(text: str) -> str:
    """The same text; halves of a pair that stand alone are U+FFFD, two that make a pair are their character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(value: T) -> T:
    """A Struct or plain JSON with clean text all through; the very same object where nothing had to be replaced."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.convert(_cleaned(msgspec.to_builtins(value)), type(value))
    except TypeError:  # no JSON: whoever writes it will say so
        return value
    return value


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _cleaned(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in cast("list[Any]", value)]
    return value

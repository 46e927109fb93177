"""Text without lone surrogates, which UTF-8 cannot encode. File names from ``os.listdir`` may hold them."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

__all__ = ["REPLACED", "clean", "clean_text"]

T = TypeVar("T")

REPLACED = "text held lone surrogates, which are no characters; they were replaced by U+FFFD"
"""The warning for a caller whose text held lone surrogates."""


def clean_text(text: str) -> str:
    """The text with U+FFFD for each lone surrogate; two surrogates that make a pair become their character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(value: T) -> T:
    """A Struct or plain JSON with clean text throughout; the same object if nothing had to be replaced."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.convert(_cleaned(msgspec.to_builtins(value)), type(value))
    except TypeError:  # not JSON: writing it raises the error
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

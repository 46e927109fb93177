"""Reading wire objects that nobody has checked: a reader takes private copies and leaves the rest in its place."""

from __future__ import annotations

from ...codec.json import Wire, is_array, is_object
from ...codec.tables import take

__all__ = ["Wire", "is_array", "is_object", "leave", "opened", "pop_text", "take_text"]


def opened(rest: Wire, key: str) -> Wire:
    """Pop a nested object as a private copy; that it is none means that this is not what the reader took it for."""
    inner = rest.pop(key)
    if not is_object(inner):
        raise TypeError(key)
    return dict(inner)


def pop_text(rest: Wire, key: str) -> str:
    text = rest.pop(key)
    if type(text) is not str:
        raise TypeError(key)
    return text


def take_text(rest: Wire, key: str, blanks: Wire) -> str | None:
    """Pop a text that may be missing; a blank one is a form mark."""
    value = take(rest, key, blanks)
    if value is not None and type(value) is not str:
        raise TypeError(key)
    return value


def leave(rest: Wire, key: str, inner: Wire) -> None:
    """What a nested object still holds stays residue, in its place."""
    if inner:
        rest[key] = inner

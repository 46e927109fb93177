"""Canonical values as JSON, and back. A response that failed keeps its error. Files of older releases are read too.

Every value is a msgspec Struct, which ``msgspec.json`` reads and writes, except ``AdapterError``: a Python exception,
which is written as an object and rebuilt from it.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from ..errors import AdapterError, InvalidRequestError, ParseError, error_type
from ..types.base import Json
from ..types.events import MessageComplete
from ..types.response import Response
from .old_marks import upgraded

__all__ = ["from_json", "to_json"]

T = TypeVar("T")
FIELDS = (
    "message", "retryable", "retry_after", "provider", "provider_status", "provider_code", "provider_message",
    "request_id", "attempts", "extras",
)  # fmt: skip


class UnreadableValue(ParseError, ValueError):
    """JSON that is not a value of the requested type. A ``ValueError`` too, because ``msgspec`` raises that."""


def to_json(value: Any) -> bytes:
    """Compact JSON of any canonical value."""
    try:
        return msgspec.json.encode(_without_output(value), enc_hook=_error_fields)
    except UnicodeEncodeError as error:
        raise InvalidRequestError(f"text with a lone surrogate cannot be saved: {error.reason}") from None


def from_json(data: bytes | str, kind: type[T]) -> T:
    """The value that ``to_json`` wrote. Anything else raises a ``ParseError``, unknown words of an enum too."""
    try:
        value = msgspec.json.decode(data, type=kind)
        if isinstance(value, MessageComplete):
            value = replace(value, response=replace(value.response, error=_rebuilt(value.response.error)))
        if isinstance(value, Response | MessageComplete):
            saved = cast("Any", value)
            value = cast("T", replace(saved, error=_rebuilt(saved.error)))
        return cast("T", upgraded(value))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UnreadableValue(f"this is not the JSON of a {getattr(kind, '__name__', kind)}: {error}") from error


def _without_output(value: Any) -> Any:
    """A response without its typed output, whose class is the caller's own. The text that it was read from is kept."""
    if isinstance(value, MessageComplete):
        response = _without_output(value.response)
        return value if response is value.response else replace(value, response=response)
    return replace(value, output=None) if getattr(value, "output", None) is not None else value


def _error_fields(value: Any) -> Any:
    if not isinstance(value, AdapterError):
        raise TypeError(f"{value!r} is not a canonical value")
    fields = {name: getattr(value, name) for name in FIELDS}
    return {"error_class": value.error_class, "type": value.__class__.__name__, **fields}


def _rebuilt(error: Json) -> Json:
    if not isinstance(error, dict):
        return error
    saved = cast("dict[str, Any]", error)
    fields = {name: saved[name] for name in FIELDS if name in saved and name != "message"}
    base = error_type(saved["error_class"])
    named = {cls.__name__: cls for cls in (base, *base.__subclasses__())}
    return named.get(saved.get("type", ""), base)(saved["message"], error_class=saved["error_class"], **fields)

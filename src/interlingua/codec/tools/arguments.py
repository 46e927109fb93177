"""Tool arguments: between the text a model wrote and the object a tool is given.

``input_text`` is kept only where writing the object would not give the same text: it is malformed, it is not an
object, or it is not spelled as we write it (compact JSON). An edited ``input`` wins over a stale text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...types.base import Json
from ..json import is_object
from ..ledger import Ledger
from ..limits import Limits, is_deeper
from ..paths import put
from ..rows.kinds import REFUSED
from ..rows.together import Group, Together

if TYPE_CHECKING:
    from ..rows.source import Source

__all__ = [
    "arguments_at",
    "parse_error",
    "parse_object",
    "read_arguments",
    "is_text_of",
    "without_nulls",
    "write_arguments",
]

_encode, _loads = msgspec.json.encode, msgspec.json.decode
DEEPEST = Limits().depth
SHORT = 256
"""A text that is no longer than this cannot be nested too deeply."""


def _decode(text: str) -> Any:
    """The value of a text. Raises for one that is nested too deeply: it could not be written again."""
    value = _loads(text)
    if len(text) > SHORT and text.count("{") + text.count("[") > 128 and is_deeper(value, DEEPEST):
        raise msgspec.DecodeError(f"it is nested more than {DEEPEST} deep")
    return value


def parse_object(text: str) -> dict[str, Any] | None:
    """The object that a text holds as JSON; None if it holds none."""
    try:
        value: dict[str, Any] = _loads(text) if len(text) <= SHORT else _decode(text)  # if it is an object at all
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return value if type(value) is dict else None


def parse_error(text: str) -> str | None:
    """Why a text is not a JSON object; None if it is."""
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        why = str(error)
        return why if "byte" in why else f"{why} (byte {len(text.encode('utf-8', 'surrogatepass'))})"
    return None if type(value) is dict else f"a JSON object was expected, got {type(value).__name__}"


def read_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """``(input, input_text)`` of the arguments a model wrote as text."""
    if text == "{}":
        return {}, None
    value = parse_object(text)
    if value is None:
        return {}, text
    return value, None if _encode(value) == text.encode() else text


def write_arguments(input: dict[str, Any], input_text: str | None) -> str:
    """The text to write: the model's own while it still means ``input``, else compact JSON."""
    if input_text is not None and is_text_of(input_text, input):
        return input_text
    return _encode(input).decode()


def is_text_of(text: str, input: dict[str, Any]) -> bool:
    """Whether a text still means this input. Nulls do not count: strict schemas force them on the model."""
    value = parse_object(text) or {}
    return value == input or without_nulls(value) == without_nulls(input)


def without_nulls(value: Any) -> Any:
    """A value without the null members of its objects."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {key: without_nulls(item) for key, item in members if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in cast("Sequence[Any]", value)]
    return value


def arguments_at(path: str) -> Together:
    """The entry of a row for arguments that the wire has as JSON text: the fields ``input`` and ``input_text``.

    Some servers send an object instead, or null, or nothing.
    """
    return Together("input input_text", path, Arguments(path), always=True)


class Arguments(Group):
    """Arguments as JSON text."""

    name = "JSON text"

    def __init__(self, path: str) -> None:
        self.path = path
        self.quick, self.quick_write = _read_text, write_arguments

    def frequent(self, fields: Sequence[str], source: Source) -> tuple[str, str] | None:
        """In most cases there is no ``input_text``, and the object is encoded."""
        input, input_text = fields
        return f"{source.bind(_encode)}({input}).decode()", f"{input_text} is None"

    def read(self, found: dict[str, Json], marks: dict[str, Json]) -> Any:
        arguments = found[self.path]
        if arguments is not None and not isinstance(arguments, str) and not is_object(arguments):
            return REFUSED
        del found[self.path]
        return read_arguments(arguments) if isinstance(arguments, str) else (arguments or {}, None)

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        wire: dict[str, Json] = {}
        put(wire, self.path.split("."), write_arguments(*values))
        return wire

    def is_usual(self, values: Any, found: dict[str, Json]) -> bool:
        return type(found[self.path]) is str


def _read_text(arguments: Json) -> Any:
    return read_arguments(arguments) if type(arguments) is str else REFUSED

"""Kinds of fields that only Gemini has (``codec.kinds`` says what a kind is)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...codec.base64 import is_base64
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.rows.kinds import OMIT, REFUSED, Kind, Plain
from ...codec.rows.together import Group
from ...types.base import Json
from .facts import NAME, PLACEHOLDERS

if TYPE_CHECKING:
    from ...codec.rows.source import Source

__all__ = ["Contents", "IssuedId", "SignatureKind"]


class SignatureKind(Kind):
    """A signature in base64. A documented placeholder is none, and what is not base64 is refused by readers."""

    blank: Json = ""
    rejects_none = True
    name = "base64"

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return (None if wire in PLACEHOLDERS else wire) if type(wire) is str else REFUSED

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        if is_base64(value):
            return value
        why = f"a signature of {NAME} is base64, and this one is not; it was left out"
        ledger.lose("dropped", why, weight="state")
        return OMIT

    def emit_read(self, source: Source, var: str) -> None:
        source.fail_if(f"type({var}) is not str or {var} in {PLACEHOLDERS!r} or not {source.bind(is_base64)}({var})")

    def emit_write(self, source: Source, var: str) -> None:
        source.fail_if(f"not {source.bind(is_base64)}({var})")


class IssuedId(Plain):
    """The id of a call, or of the call that a result answers, in the field ``field``.

    The mark ``id`` is the id that we gave where the wire had none: it is not written.
    """

    omits = True

    def __init__(self, field: str) -> None:
        super().__init__("a string", str, blank="")
        self.field = field

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        if "id" not in marks:
            return value
        if marks["id"] != value:
            ledger.lose_form("dropped", f"{NAME} gave this call no id, so none is sent")
        spelled = marks.get("spelling", {}).get(self.field)
        return spelled[0] if spelled else OMIT

    def emit_write(self, source: Source, var: str) -> None:
        if not source.has_marks:
            return
        source.line("if 'id' in marks:")
        source.line(f"    if marks['id'] != {var} or {self.field!r} in spelling: {source.fail}")
        source.line(f"    {var} = OMIT")


class Contents(Group):
    """Some keys of an object, which are an object of their own here."""

    name = "an object"

    def __init__(self, key: str) -> None:
        self.key = key

    def read(self, found: Wire, marks: Wire) -> Any:
        held = {path.removeprefix(f"{self.key}."): value for path, value in found.items()}
        found.clear()
        return (held,)

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        return {self.key: dict(values[0]) if is_object(values[0]) else {}}

"""Kinds of fields that only Gemini has: schemas, how much to think, which tools may be called, signatures, ids.

Schemas are JSON Schema in the fields made for it, or the protocol's older ``Schema``, whose types are in upper case. We
write JSON Schema, in the subset that the protocol takes. A schema that was read and that we would write otherwise is
kept as a spelling and written back as it came. An older schema that was edited stays in the older field, and what was
not edited keeps its spelling.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...codec.base64 import is_base64
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.paths import ABSENT
from ...codec.rows.kinds import OMIT, REFUSED, Kind, Plain
from ...codec.rows.together import Group
from ...codec.schema import Projection, from_gemini_schema, project_schema, to_gemini_schema
from ...codec.schema.plans import Declared, narrowed
from ...codec.streams.stream import decode_json, dump
from ...types.base import Json
from .facts import JSON_TYPE, LEVELS, NAME, PLACEHOLDERS

if TYPE_CHECKING:
    from ...codec.rows.source import Source

Schema = dict[str, Json]
NOT_A_SCHEMA = (TypeError, ValueError, AttributeError, KeyError, RecursionError)


# ------------------------------------------------------------------------------------------------------------- subsets


def project(schema: Schema) -> Projection:
    """A schema in the subset of JSON Schema that the protocol takes. Projections are cached by the text of the schema,
    because agents send the same schemas with every request."""
    text, changes = _projected(dump(schema))
    return Projection(schema if text is None else decode_json(text), changes)


@lru_cache(maxsize=512)
def _projected(text: bytes) -> tuple[bytes | None, tuple[str, ...]]:
    """The projection as JSON text and its changes; the text is None if the schema is in the subset already."""
    schema = decode_json(text)
    fitted, changes = project_schema(schema, NAME)
    return None if fitted == schema else dump(fitted), changes


def read_older(wire: Schema) -> Schema:
    """An older schema as JSON Schema; one that cannot be converted is returned as it is."""
    schema: Schema = decode_json(_read_older_text(dump(wire)))
    return schema


@lru_cache(maxsize=512)
def _read_older_text(text: bytes) -> bytes:
    try:
        return dump(from_gemini_schema(decode_json(text)))
    except NOT_A_SCHEMA:
        return text


def respelled(wire: Schema, schema: Schema) -> Schema | None:
    """``schema`` with the spelling of the older schema ``wire``; None if more than single values has changed."""
    before = read_older(wire)
    if before == schema:
        return wire
    written: Schema = _respelled(wire, before, schema)
    return written if read_older(written) == schema else None


def _respelled(wire: Json, before: Json, after: Json) -> Json:
    if before == after:
        return wire
    if is_object(wire) and is_object(before) and is_object(after):
        return {key: _respelled(value, before.get(key), after.get(key)) for key, value in wire.items()}
    if is_array(wire) and is_array(before) and is_array(after) and len(wire) == len(before) == len(after):
        return [_respelled(*triple) for triple in zip(wire, before, after, strict=True)]
    return after if wire == before else wire


# -------------------------------------------------------------------------------------------------------------- groups


class SchemaKeys(Group):
    """A schema under one of two keys: ``json`` for JSON Schema, ``older`` for the older form."""

    name = "a schema"
    field: str
    json: str
    older: str

    def read_schema(self, found: Wire) -> Schema | None:
        """Take the schema out of ``found``. If both keys have one, the older one is residue."""
        for key in (self.json, self.older):
            wire = found.get(key, ABSENT)
            if is_object(wire) and wire:
                del found[key]
                return wire if key == self.json else read_older(wire)
            if wire is None or wire == {}:
                del found[key]
        return None

    def write_schema(self, schema: Schema, ledger: Ledger, spelled: Mapping[str, Json]) -> tuple[str, Schema]:
        """The key to write, and its value."""
        if self.json in spelled:  # it was read like this, though we would have changed it
            return self.json, schema
        older = self.older in spelled
        if older and is_object(wire := spelled[self.older]) and (same := respelled(wire, schema)) is not None:
            return self.older, same
        fitted, changes = to_gemini_schema(schema) if older else project(schema)
        if changes:
            why, weight = narrowed(NAME, changes)
            ledger.lose("approximated", why, self.field, weight=weight)
        return self.older if older else self.json, fitted

    def spelled(self, marks: Mapping[str, Json]) -> Wire:
        """The keys and values as they were read, if we would write them otherwise; else empty."""
        kept: list[Wire] = marks.get("spelling", {}).get(self.field) or [{}]
        return kept[0]


class DeclaredSchema(SchemaKeys):
    """The parameters of a function."""

    field, json, older = "input_schema", "parametersJsonSchema", "parameters"

    def read(self, found: Wire, marks: Wire) -> Any:
        return (self.read_schema(found) or {},)

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        if not values[0]:
            return {}
        key, schema = self.write_schema(values[0], ledger, self.spelled(marks))
        return {key: schema}


class OutputSchema(SchemaKeys):
    """The schema of the answer, with the media type that it needs."""

    field, json, older = "output_schema", "generationConfig.responseJsonSchema", "generationConfig.responseSchema"
    mime = "generationConfig.responseMimeType"

    def read(self, found: Wire, marks: Wire) -> Any:
        if found.keys() == {self.mime}:
            return REFUSED  # a media type alone is no schema
        schema = self.read_schema(found)
        if schema is not None and found.get(self.mime) == JSON_TYPE:
            del found[self.mime]
        return (schema,)

    def quick(self, mime: Json, schema: Json, older: Json) -> Any:
        """No schema, or one that needs no change."""
        if mime is ABSENT and schema is ABSENT and older is ABSENT:
            return (None,)
        usual = older is ABSENT and mime == JSON_TYPE and is_object(schema) and schema
        return (schema,) if usual and not project(schema).changes else REFUSED

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        if values[0] is None:
            return {}
        key, schema = self.write_schema(values[0], ledger, self.spelled(marks))
        return {"generationConfig": {"responseMimeType": JSON_TYPE, key.partition(".")[2]: schema}}


# ------------------------------------------------------------------------------------------- all tools of a request


def judge(schema: Schema) -> tuple[Schema, tuple[Declared, ...]]:
    """A schema of parameters in the protocol's subset, and the losses to declare for it."""
    fitted, changes = project_schema(schema, NAME)
    if not changes:
        return fitted, ()
    why, weight = narrowed(NAME, changes)
    return fitted, (("approximated", why, "input_schema", weight),)


SHOWN, HIDDEN = "summarized", "omitted"
MODES = {"AUTO": "auto", "ANY": "any", "NONE": "none", "VALIDATED": "auto"}
MODE_WORDS = {None: "AUTO", "auto": "AUTO", "any": "ANY", "none": "NONE", "specific": "ANY"}

# ------------------------------------------------------------------------------------------------------------ thinking


def read_display(wire: Json) -> Any:
    return (SHOWN if wire else HIDDEN) if type(wire) is bool else REFUSED


def write_display(display: str, ledger: Ledger) -> Json:
    if display not in (SHOWN, HIDDEN):
        ledger.lose("approximated", f"{NAME} shows thoughts or not; sent as shown")
    return display != HIDDEN


class ThinkingAmount(Group):
    """``mode``, ``budget`` and ``effort`` as a budget (0: off, -1: the model decides) or a level."""

    name = "a budget or a level"

    def read(self, found: Wire, marks: Wire) -> Any:
        budget, level = found.get("thinkingBudget"), found.get("thinkingLevel")
        mode: str | None = None
        effort = level.lower() if type(level) is str and level.lower() in LEVELS else None
        if effort is not None or level is None:
            found.pop("thinkingLevel", None)
        if type(budget) is int and budget >= -1:
            mode = {0: "disabled", -1: "adaptive"}.get(budget, "enabled")
            del found["thinkingBudget"]
        elif budget is None:
            found.pop("thinkingBudget", None)
        return mode, budget if mode == "enabled" else None, effort

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        mode, budget, effort = values
        amount = _write_budget(mode, budget, effort, ledger)
        level = _write_level(effort, ledger)
        if amount is None:
            return {} if level is None else {"thinkingLevel": level}
        if level is not None:
            ledger.lose("dropped", f"{NAME} takes a thinking budget or a level, not both", "effort")
        return {"thinkingBudget": amount}


def _write_budget(mode: str | None, budget: int | None, effort: str | None, ledger: Ledger) -> int | None:
    if budget is not None and mode != "disabled":
        if mode != "enabled":
            why = f"a budget in {NAME} means that thinking is enabled"
            ledger.lose_form("added" if mode is None else "approximated", why, "mode")
        return budget
    if mode == "disabled" or (mode is None and effort == "none"):
        if budget is not None:
            ledger.lose_form("dropped", "thinking is disabled, so no budget was sent", "budget")
        if mode is None:
            ledger.lose_form("added", f"effort none is sent as thinking disabled in {NAME}", "mode")
        return 0
    if mode is None:
        return None
    if effort is not None:
        ledger.lose_form("dropped", f"a level in {NAME} means that thinking is enabled", "mode")
        return None
    if mode != "adaptive":
        ledger.lose("approximated", f"enabled thinking without a budget is sent to {NAME} as up to the model", "mode")
    return -1


def _write_level(effort: str | None, ledger: Ledger) -> str | None:
    if effort is None:
        return None
    if effort == "none":
        ledger.lose_form("approximated", f"effort none is sent as thinking disabled in {NAME}", "effort")
        return None
    if effort not in LEVELS:
        ledger.lose("approximated", f"{NAME} has the levels {', '.join(LEVELS)}; the nearest was sent", "effort")
        return LEVELS[-1].upper()
    return effort.upper()


# --------------------------------------------------------------------------------------------------------- tool choice


class ChosenTools(Group):
    """``mode``, ``name`` and ``allowed`` of a tool choice as a mode and the names of the allowed functions."""

    name = "a mode and names"

    def read(self, found: Wire, marks: Wire) -> Any:
        word, names = found.get("mode"), found.get("allowedFunctionNames")
        if type(word) is not str or word.upper() not in MODES:
            return REFUSED
        del found["mode"]
        mode = MODES[word.upper()]
        if names is None or names == []:
            found.pop("allowedFunctionNames", None)
            return mode, None, ()
        if not is_array(names) or not all(type(name) is str for name in names):
            return mode, None, ()
        del found["allowedFunctionNames"]
        if len(names) == 1 and word.upper() == "ANY":
            return "specific", names[0], ()
        return mode, None, tuple(names)

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        mode, name, allowed = values
        names = _write_names(mode, name, list(allowed), ledger)
        if mode is None:
            ledger.lose_form("added", f"a tool choice of {NAME} needs a mode; auto was added", "mode")
        word = "VALIDATED" if allowed and mode in (None, "auto") else MODE_WORDS[mode]
        return {"mode": word, "allowedFunctionNames": names} if names else {"mode": word}


def _write_names(mode: str | None, name: str | None, allowed: list[str], ledger: Ledger) -> list[str]:
    """The names that a choice allows; none if its mode takes no names."""
    if mode == "specific":
        if allowed and allowed != [name]:
            ledger.lose("dropped", "one tool is named, so no list of allowed tools was sent", "allowed")
        return [name] if name is not None else []
    if mode == "none" and allowed:
        ledger.lose_form("dropped", "no tool may be called, so no list of allowed tools was sent", "allowed")
        return []
    if mode == "any" and len(allowed) == 1:
        ledger.lose_form("approximated", f"{NAME} reads a choice among one tool as that tool")
    return allowed


# -------------------------------------------------------------------------------------------------------------- parts


class SignatureKind(Kind):
    """A signature in base64. A documented placeholder is read as no signature; servers refuse what is not base64."""

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

    The mark ``id`` holds the id that we made because the wire had none. That id is not written.
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
    """Several keys inside the object ``key``, which together are one field of ours: an object."""

    name = "an object"

    def __init__(self, key: str) -> None:
        self.key = key

    def read(self, found: Wire, marks: Wire) -> Any:
        held = {path.removeprefix(f"{self.key}."): value for path, value in found.items()}
        found.clear()
        return (held,)

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        return {self.key: dict(values[0]) if is_object(values[0]) else {}}

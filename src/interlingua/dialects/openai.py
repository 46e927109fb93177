"""What OpenAI's two protocols, Chat Completions and Responses, have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ..codec.bodies.error_tables import ErrorRow
from ..codec.bodies.validate import Complaint, Path, brackets
from ..codec.json import Wire, is_object
from ..codec.ledger import Ledger
from ..codec.rows.row import Rule
from ..codec.rules import rule, when
from ..codec.schema.plans import is_strict_form, write_strict_schema
from ..codec.schema.subsets import DATES, SHAPE, Subset, formats, is_plain_pattern, is_primitive, words
from ..codec.tools.output import SCHEMA_NAME, read_name, wants_json, write_schema_name
from ..errors import (
    AdapterError,
    ContextOverflowError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ToolStateError,
)
from ..types.base import Json
from ..types.blocks import Base64Source, DocumentBlock, TextSource
from ..types.request import Request, Thinking

# ---------------------------------------------------------------------------------------------------------- documents

EXTENSIONS = {"application/pdf": "pdf", "text/plain": "txt", "text/markdown": "md", "text/csv": "csv"}


def named_documents(dialect: str) -> tuple[Rule, Rule]:
    """Rules for documents sent as data: their title becomes the file name if there is none, and is not sent besides."""

    def is_named(block: DocumentBlock) -> bool:
        return block.filename is not None or type(block.source) not in (Base64Source, TextSource)

    def with_filename(block: DocumentBlock, ledger: Ledger) -> DocumentBlock:
        extension = EXTENSIONS.get(getattr(block.source, "media_type", ""), "bin")
        ledger.lose_form("added", f"{dialect} requires a file name; one was added", "filename")
        return replace(block, filename=block.title or f"document.{extension}")

    def has_own_title(block: DocumentBlock) -> bool:
        return block.title is None or block.title != block.filename

    def without_title(block: DocumentBlock, ledger: Ledger) -> DocumentBlock:
        ledger.lose_form("approximated", f"documents of {dialect} have no title; it is the file name", "title")
        return replace(block, title=None)

    return rule(when("filename", is_named), with_filename), rule(when("title", has_own_title), without_title)


# ----------------------------------------------------------------------------------------------------------- requests


def read_identity(rest: Wire, fields: dict[str, Any], marks: Wire) -> None:
    """Take ``metadata`` and ``safety_identifier`` as our metadata. Mark ``user_id``: it stood in ``metadata``."""
    if is_object(metadata := rest.get("metadata")) and metadata:
        fields["metadata"] = rest.pop("metadata")
        if "user_id" in metadata:
            marks["user_id"] = "metadata"
    if type(rest.get("safety_identifier")) is str and "user_id" not in marks:
        fields["metadata"] = {**fields.get("metadata", {}), "user_id": rest.pop("safety_identifier")}


def write_identity(metadata: Mapping[str, Json], body: Wire, marks: Wire) -> dict[str, Json]:
    """Write the user id as ``safety_identifier`` and return the rest of the metadata."""
    left = dict(metadata)
    if isinstance(left.get("user_id"), str) and marks.get("user_id") != "metadata":
        body["safety_identifier"] = left.pop("user_id")
    return left


EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")


def one_word(dialect: str) -> Rule:
    """The rule for protocols whose only setting for thinking is an effort; ``none`` disables thinking."""
    effort_none = f"effort none is sent as thinking disabled in {dialect}"

    def holds(thinking: Thinking) -> bool:
        if thinking.mode is not None:
            return thinking.mode == "disabled" and thinking.effort is None
        return thinking.effort is None or thinking.effort in EFFORTS

    def fit(thinking: Thinking, ledger: Ledger) -> Thinking:
        mode, effort = thinking.mode, thinking.effort
        if mode == "disabled":
            ledger.lose_form("dropped", "thinking is disabled, so no effort was sent", "effort")
            return replace(thinking, effort=None)
        if mode is not None:
            ledger.lose("dropped", f"{dialect} has no thinking mode {mode}", "mode")
        if effort == "none":
            ledger.lose_form("approximated", effort_none, "effort")
            ledger.lose_form("added", effort_none, "mode")
            return replace(thinking, mode="disabled", effort=None)
        if effort is not None and effort not in EFFORTS:
            ledger.lose("dropped", f"{dialect} has the efforts none, {', '.join(EFFORTS)} only", "effort")
            effort = None
        return replace(thinking, mode=None, effort=effort)

    return rule(when("effort", holds), fit)


def read_format(wire: Json, fields: dict[str, Any], dialect: str, at: str = "") -> tuple[Wire | None, Wire]:
    """Read the format of an answer. Returns the rest of the wire object (None if we do not know the format) and marks.

    The schema, its name and its description stand in an object under the key ``at``, or else in the format itself. The
    marks ``strict`` and ``name`` hold ``[value]``, or ``[]`` if the key was absent, where we would write otherwise.
    """
    if wire == {"type": "json_object"}:
        fields["json_output"] = True
        return {}, {}
    if not is_object(wire) or wire.get("type") != "json_schema":
        return None, {}
    outer = {key: value for key, value in wire.items() if key != "type"}
    inner = outer.pop(at, None) if at else outer
    if not is_object(inner) or not is_object(inner.get("schema")):
        return None, {}
    inner = dict(inner)
    mark = _read_schema(inner, fields, dialect)
    return ({**outer, at: inner} if inner else outer) if at else inner, mark


def _read_schema(inner: Wire, fields: dict[str, Any], dialect: str) -> Wire:
    schema = fields["output_schema"] = inner.pop("schema")
    mark: Wire = {}
    if inner.get("strict") is not True:
        mark["strict"] = [inner.pop("strict")] if "strict" in inner else []
    else:
        del inner["strict"]
        if not is_strict_form(schema, dialect):
            mark["strict"] = [True]
    if inner.get("name") == SCHEMA_NAME:
        del inner["name"]
    elif "name" not in inner:
        mark["name"] = []
    read_name(inner, fields)
    return mark


def write_format(request: Request, mark: Wire, ledger: Ledger, dialect: str, at: str = "") -> Wire | None:
    """The format that the request wants for the answer. ``mark`` holds the marks that ``read_format`` returned."""
    name, schema = write_schema_name(request, ledger), request.output_schema
    if wants_json(request, ledger):
        return {"type": "json_object"}
    if schema is None:
        return None
    strict: Wire = dict(zip(("strict",), mark.get("strict", ()), strict=False))
    if "strict" not in mark:
        schema, able = write_strict_schema(schema, dialect, ledger, "output_schema")
        strict = {"strict": able} if able or not at else {}
    inner: Wire = {"schema": schema, **strict, **name}
    return {"type": "json_schema", at: inner} if at else {"type": "json_schema", **inner}


# ------------------------------------------------------------------------------------------------------------- errors

ERROR_ROWS = (
    # status  wire word                       canonical, where the status does not say it
    ErrorRow(500, "server_error"),
    ErrorRow(400, "invalid_request_error"),
    ErrorRow(401, "invalid_api_key"),
    ErrorRow(401, "authentication_error"),
    ErrorRow(403, "permission_error"),
    ErrorRow(403, "unsupported_country_region_territory"),
    ErrorRow(404, "invalid_request_error"),
    ErrorRow(404, "model_not_found"),
    ErrorRow(400, "context_length_exceeded", ContextOverflowError),
    ErrorRow(429, "rate_limit_exceeded"),
    ErrorRow(429, "tokens"),
    ErrorRow(429, "requests"),
    ErrorRow(429, "insufficient_quota", RateLimitError, False),
    ErrorRow(402, "billing_hard_limit_reached"),
    ErrorRow(503, "server_is_overloaded", OverloadedError),
    ErrorRow(503, "slow_down", OverloadedError),
    ErrorRow(408, "timeout"),
    ErrorRow(504, "server_error", RequestTimeoutError),
    ErrorRow(400, "invalid_request_error", ToolStateError),
)
# The error type that is sent with a code, where it is not invalid_request_error.
TYPES = {
    "rate_limit_exceeded": "requests",
    "insufficient_quota": "insufficient_quota",
    "server_is_overloaded": "service_unavailable_error",
    "slow_down": "service_unavailable_error",
}


def write_error(error: AdapterError, word: str, message: str) -> Wire:
    kind, code = (word, None) if word.endswith("_error") else (TYPES.get(word, "invalid_request_error"), word)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# ------------------------------------------------------------------------------------------ refusals of bad requests

SENTENCES = {
    "missing": "The parameter {place} is required; expected {expected}.",
    "type": "Invalid type for {place}: expected {expected}, but got {got} instead.",
    "value": "Invalid value for {place}: expected one of {expected}, but got {got}.",
    "empty": "Invalid {place}: expected {expected}, but got {got}.",
}
CODES = {
    "missing": "missing_required_parameter",
    "type": "invalid_type",
    "value": "invalid_value",
    "empty": "empty_array",
}


def spell(path: Path) -> str:
    """The name of a path in a sentence."""
    return f"'{brackets(path)}'" if path else "the body"


def refusal(message: str, wrong: Complaint) -> tuple[Wire, str]:
    """The body of the error for a bad request, and its word."""
    code = CODES.get(wrong.fault)
    error = {"message": message, "type": "invalid_request_error", "param": brackets(wrong.path) or None, "code": code}
    return {"error": error}, code or "invalid_request_error"


# ------------------------------------------------------------------------------------------------------------ schemas

# https://platform.openai.com/docs/guides/structured-outputs#supported-schemas; formats of numbers as recorded.
SCHEMA = Subset(
    keywords=SHAPE
    | words("$schema $ref $defs definitions const additionalProperties pattern format multipleOf")
    | words("minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems"),
    accepts={
        "enum": is_primitive,
        "const": lambda value, node: not isinstance(value, dict | list),
        "pattern": is_plain_pattern,
        "format": formats({"string": DATES, "integer": None, "number": None}),
    },
    typed=True,
    strict=True,
    all_required=True,
    limits={
        "properties": 5000,
        "levels of objects": 10,
        "enum values": 1000,
        "characters of names and enum values": 120_000,
        "characters in an enum of more than 250": 15_000,
    },
)

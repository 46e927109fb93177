"""Strict schemas on the way out, and the optionals they forced on the model on the way back."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..schema import restore_optional, strict_schema
from ..types.base import Json
from ..types.blocks import ToolUseBlock
from ..types.request import Request
from ..types.tools import ToolDefinition
from ._stream import decode_json, dump
from ._tables import Ledger

__all__ = ["Restore", "is_strict_form", "restorer", "say_strict"]

Restore = Callable[[ToolUseBlock], ToolUseBlock]


class Verdict(NamedTuple):
    """What became of a schema: ``said`` is the JSON of its strict form, None where it is that already."""

    strict: bool
    changes: tuple[str, ...]
    said: bytes | None


@lru_cache(maxsize=1024)
def _judged(text: bytes, dialect: str) -> Verdict:
    """Agents send the same tools with every request, and judging a schema costs a hundred times what reading it does.

    Kept as bytes: what a caller does to a body must not reach another's.
    """
    schema: dict[str, Json] = decode_json(text)
    result = strict_schema(schema, dialect=dialect)
    same = not result.strict or result.schema == schema
    return Verdict(result.strict, result.changes, None if same else dump(result.schema))


def say_strict(schema: dict[str, Json], dialect: str, ledger: Ledger, *path: str | int) -> tuple[dict[str, Json], bool]:
    """A schema in the dialect's strict subset, and whether it could be brought there; the rest is declared."""
    verdict = _judged(dump(schema), dialect)
    if not verdict.strict:
        if path[-1] != "output_schema":  # which is strict by nature: the schema itself comes through
            ledger.lose("dropped", f"cannot be strict: {'; '.join(verdict.changes)}", *path[:-1], "strict")
        return schema, False
    if verdict.said is None:
        return schema, True
    ledger.lose("approximated", "; ".join(verdict.changes) or "made strict", *path)
    return decode_json(verdict.said), True


def is_strict_form(schema: dict[str, Json], dialect: str) -> bool:
    """Whether a schema is already what ``say_strict`` would write."""
    verdict = _judged(dump(schema), dialect)
    return verdict.strict and verdict.said is None


def restorer(request: Request | None, *, texts: bool) -> Restore | None:
    """What turns the nulls that a strict schema forced on the model back into absent arguments.

    ``texts``: the dialect writes arguments as text, so the model's own text is kept for its replay.
    """
    schemas = {t.name: t for t in request.tools if isinstance(t, ToolDefinition)} if request is not None else {}
    if not schemas:
        return None

    def restore(block: ToolUseBlock) -> ToolUseBlock:
        tool = schemas.get(block.name)
        if tool is None:
            return block
        if tool.kind == "text" and block.kind == "json" and isinstance(block.input.get("input"), str):
            return replace(block, kind="text", input={}, input_text=block.input["input"])
        if not tool.strict:
            return block
        input: dict[str, Any] = restore_optional(block.input, tool.input_schema)
        if input is block.input:
            return block
        text = block.input_text or (dump(block.input).decode() if texts else None)
        return replace(block, input=input, input_text=text)

    return restore

"""Schemas on the way out, as a dialect takes them, and the optionals that strict ones forced on models on the way back.

Agents send the same tools with every request, and judging a schema costs many times what reading it does. So what
became of one is remembered, by its text: a schema that has changed since is another schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from msgspec import MsgspecError, msgpack
from msgspec.structs import replace

from ...types.base import Json
from ...types.blocks import ToolUseBlock
from ...types.loss import Loss, LossKind, LossWeight
from ...types.request import Request
from ...types.tools import Tool, ToolDefinition
from ..ledger import Ledger
from ..marks import marks
from ..schema import narrow_tool, restore_optional, strict_schema
from ..streams.stream import decode_json, dump
from .patches import Change, Changer, Copy, changed, compiled, difference, weight

__all__ = [
    "NO_JSON",
    "Declared",
    "Plan",
    "Plans",
    "Restore",
    "is_strict_form",
    "narrowed",
    "restorer",
    "write_strict_schema",
]

Restore = Callable[[ToolUseBlock], ToolUseBlock]
Schema = dict[str, Json]


Declared = tuple[LossKind, str, str, LossWeight]
"""A loss to be: its kind, its reason, its path from the tool that the schema belongs to, its weight."""
Judge = Callable[[Schema], tuple[Schema, tuple[Declared, ...]]]
"""What a dialect makes of a schema, and what it has to declare for it."""
Judged = tuple[Change | None, tuple[Declared, ...]]
NO_JSON = (MsgspecError, TypeError, ValueError, OverflowError, RecursionError)
"""What a value raises that cannot be written."""
OFTEN = 32
"""Requests with the same tools after which their changes are worth code of their own."""
WORTH = 200
"""The bytes of a schema that are copied in the time that a patch takes to make one object."""
_pack = msgpack.Encoder().encode


class Plan:
    """What is changed in the schema of a tool, and the losses of that."""

    __slots__ = ("change", "losses", "make")

    def __init__(self, change: Change, losses: Sequence[Loss]) -> None:
        self.change, self.losses = change, losses
        self.make: Changer = partial(changed, change=change)


class Plans:
    """What a dialect does with the tools of a request. Each schema is remembered, and the latest tools all at once.

    ``judge`` tells what becomes of a schema. A schema that is narrowed to the subset of ``dialect`` simply is not worth
    remembering.
    """

    def __init__(self, judge: Judge, dialect: str) -> None:
        self._judge = judge
        self._dialect = dialect
        self._remembered = lru_cache(maxsize=1024)(self._read)
        self._latest: tuple[bytes, Mapping[int, Plan]] = (b"", {})
        self._uses = 0

    def of(self, tools: Sequence[Tool]) -> Mapping[int, Plan]:
        """Those of the tools whose schema is changed, by their places."""
        try:
            text = _pack(tools)  # only this tells a schema that was altered in place
        except NO_JSON:  # whoever sends it will hear of it
            return self._plans(tools, self._judged)
        latest, plans = self._latest
        self._uses += 1
        if text != latest:
            self._uses, plans = 0, self._plans(tools, self._told)
            self._latest = text, plans
        elif self._uses == OFTEN:
            changers = compiled([plan.change for plan in plans.values()])
            for plan, changer in zip(plans.values(), changers, strict=True):
                plan.make = changer
        return plans

    def _plans(self, tools: Sequence[Tool], judged: Callable[[Schema], Judged]) -> Mapping[int, Plan]:
        plans: dict[int, Plan] = {}
        for place, tool in enumerate(tools):
            if isinstance(tool, ToolDefinition) and not self._is_verbatim(tool):
                change, losses = judged(tool.input_schema)
                if change is not None:
                    declared = [Loss(f"tools/{place}/{path}", kind, why, heavy) for kind, why, path, heavy in losses]
                    plans[place] = Plan(change, declared)
        return plans

    def _is_verbatim(self, tool: ToolDefinition) -> bool:
        """Whether the schema of a tool was read here although it does not fit."""
        return "input_schema" in marks(self._dialect, tool).get("verbatim", ())

    def _told(self, schema: Schema) -> Judged:
        found = narrow_tool(schema, self._dialect)
        if found is None:
            return self._remembered(dump(schema))
        if found.change is None:
            return None, ()
        why, weight = narrowed(self._dialect, found.changes)
        return found.change, (("approximated", why, "input_schema", weight),)

    def _read(self, text: bytes) -> Judged:
        return self._judged(decode_json(text))

    def _judged(self, schema: Schema) -> Judged:
        said, losses = self._judge(schema)
        return _change(schema, said), losses


def _change(schema: Schema, said: Schema) -> Change | None:
    """The cheaper way from the one to the other: piece by piece, or to copy the whole."""
    patch = difference(schema, said)
    return Copy(said) if patch is not None and weight(patch) * WORTH > len(dump(said)) else patch


def narrowed(dialect: str, changes: Sequence[str]) -> tuple[str, LossWeight]:
    """The reason for what a dialect's subset of JSON Schema changed, and its weight."""
    return f"{dialect} takes a subset of JSON Schema: {'; '.join(changes) or 'respelled'}", _weight(changes)


def _weight(changes: Sequence[str]) -> LossWeight:
    """Whether an object is closed, and the word for the language: no model misses either."""
    return "form" if all(re.fullmatch(_UNMISSED, change) for change in changes) else "content"


_UNMISSED = (
    r".*: (?:dropped (?:additionalProperties|\$schema|, )+|closed: no other properties|"
    r"sent the title as the description)"
)


class Verdict(NamedTuple):
    """What became of a schema: ``change`` makes it strict, None where it is that already."""

    strict: bool
    changes: tuple[str, ...]
    change: Change | None


@lru_cache(maxsize=1024)
def _judged(text: bytes, dialect: str) -> Verdict:
    schema: Schema = decode_json(text)
    result = strict_schema(schema, dialect=dialect)
    same = not result.strict or result.schema == schema
    return Verdict(result.strict, result.changes, None if same else _change(schema, result.schema))


def write_strict_schema(schema: Schema, dialect: str, ledger: Ledger, *path: str | int) -> tuple[Schema, bool]:
    """A schema in the dialect's strict subset, and whether it could be brought there; the rest is declared."""
    verdict = _judged(dump(schema), dialect)
    if not verdict.strict:
        if path[-1] != "output_schema":  # which is strict by nature: the schema itself comes through
            why = f"the schema cannot be strict in {dialect}: {'; '.join(verdict.changes)}"
            ledger.lose("dropped", why, *path[:-1], "strict")
        return schema, False
    if verdict.change is None:
        return schema, True
    why = f"a strict schema of {dialect} takes a subset of JSON Schema: {'; '.join(verdict.changes) or 'respelled'}"
    ledger.lose("approximated", why, *path, weight=_weight(verdict.changes))
    return changed(schema, verdict.change), True


def is_strict_form(schema: Schema, dialect: str) -> bool:
    """Whether a schema is already what ``write_strict_schema`` would write."""
    verdict = _judged(dump(schema), dialect)
    return verdict.strict and verdict.change is None


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

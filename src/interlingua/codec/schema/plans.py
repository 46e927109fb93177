"""The schemas of a request as a dialect takes them, and calls of its answer without the nulls that strict mode forced.

Agents send the same tools with every request, and finding out what must change in a schema costs many times what
reading it does. So the result is remembered by the schema's text: one that was altered since is another schema.
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
"""A loss to be declared: its kind, its reason, its path from the tool that the schema belongs to, its weight."""
Judge = Callable[[Schema], tuple[Schema, tuple[Declared, ...]]]
"""Returns the schema as a dialect takes it, and the losses to be declared for that."""
Judged = tuple[Change | None, tuple[Declared, ...]]
NO_JSON = (MsgspecError, TypeError, ValueError, OverflowError, RecursionError)
"""What encoding raises for a value that cannot be written as JSON."""
OFTEN = 32
"""The number of requests with the same tools after which code is compiled for their changes."""
WORTH = 200
"""The bytes of a schema that are copied in the time that a patch takes to make one object."""
_pack = msgpack.Encoder().encode


class Plan:
    """The change to the schema of a tool, and its losses. ``make`` makes the change."""

    __slots__ = ("change", "losses", "make")

    def __init__(self, change: Change, losses: Sequence[Loss]) -> None:
        self.change, self.losses = change, losses
        self.make: Changer = partial(changed, change=change)


class Plans:
    """What a dialect changes in the tools of a request. It is remembered for each schema, and for the latest tools.

    ``judge`` decides what becomes of a schema. Where ``narrow_tool`` can do it for ``dialect``, the result is not
    remembered by schema, because finding it again costs no more.
    """

    def __init__(self, judge: Judge, dialect: str) -> None:
        self._judge = judge
        self._dialect = dialect
        self._remembered = lru_cache(maxsize=1024)(self._judge_text)
        self._latest: tuple[bytes, Mapping[int, Plan]] = (b"", {})
        self._uses = 0

    def of(self, tools: Sequence[Tool]) -> Mapping[int, Plan]:
        """The plans of those tools whose schema is changed, by their indexes."""
        try:
            text = _pack(tools)  # only the text shows that a schema was altered in place
        except NO_JSON:  # sending it raises the error
            return self._plans(tools, self._judge_schema)
        latest, plans = self._latest
        self._uses += 1
        if text != latest:
            self._uses, plans = 0, self._plans(tools, self._narrow_or_judge)
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
        """Whether this dialect read the schema of a tool although it does not fit."""
        return "input_schema" in marks(self._dialect, tool).get("verbatim", ())

    def _narrow_or_judge(self, schema: Schema) -> Judged:
        found = narrow_tool(schema, self._dialect)
        if found is None:
            return self._remembered(dump(schema))
        if found.change is None:
            return None, ()
        why, weight = narrowed(self._dialect, found.changes)
        return found.change, (("approximated", why, "input_schema", weight),)

    def _judge_text(self, text: bytes) -> Judged:
        return self._judge_schema(decode_json(text))

    def _judge_schema(self, schema: Schema) -> Judged:
        result, losses = self._judge(schema)
        return _change(schema, result), losses


def _change(before: Schema, after: Schema) -> Change | None:
    """The cheaper change from one schema to the other: a patch, or a copy of the whole; None if they are the same."""
    patch = difference(before, after)
    return Copy(after) if patch is not None and weight(patch) * WORTH > len(dump(after)) else patch


def narrowed(dialect: str, changes: Sequence[str]) -> tuple[str, LossWeight]:
    """The reason and the weight of a loss, for changes that a dialect's subset of JSON Schema required."""
    return f"{dialect} takes a subset of JSON Schema: {'; '.join(changes) or 'respelled'}", _weight(changes)


def _weight(changes: Sequence[str]) -> LossWeight:
    """``form`` for changes that no model notices: closed objects, `$schema`, a title sent as the description."""
    return "form" if all(re.fullmatch(_UNMISSED, change) for change in changes) else "content"


_UNMISSED = (
    r".*: (?:dropped (?:additionalProperties|\$schema|, )+|closed: no other properties|"
    r"sent the title as the description)"
)


class Verdict(NamedTuple):
    """The result of ``strict_schema``: ``change`` makes a schema strict, None where it is strict already."""

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
    """A schema in the dialect's strict subset, and whether that was possible; losses are declared."""
    verdict = _judged(dump(schema), dialect)
    if not verdict.strict:
        if path[-1] != "output_schema":  # an output schema has no strict flag to lose: it is sent as it is
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
    """The function that removes the nulls that strict schemas forced on the model from calls; None without tools.

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

"""Rules that several dialects share, the conditions that rules are made of, and what is written if a rule is broken.

A condition names a field and says which values are accepted. Most conditions here are also source for the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..types.base import Json
from ..types.blocks import BlockBase, JsonBlock, RefusalBlock, ServerToolUseBlock, TextBlock, ToolUseBlock
from ..types.loss import LossKind, LossWeight
from ..types.request import Request
from ..types.tools import ToolDefinition
from .ledger import Ledger, weigh
from .rows.row import Rule
from .schema.plans import is_strict_form, write_strict_schema
from .streams.stream import dump
from .tools.ids import IdRule

__all__ = [
    "LOGPROBS_ASKED",
    "Condition",
    "among",
    "as_json_text",
    "as_json_tool",
    "as_text",
    "at_most",
    "by_id_rule",
    "change",
    "drop",
    "filled",
    "having",
    "hosted_here",
    "is_json_call",
    "lacking",
    "leave_out",
    "mark_unasked_logprobs",
    "matching",
    "never",
    "present",
    "rule",
    "sendable",
    "stands_in",
    "when",
]

Fit = Callable[[Any, Ledger], Any]
MOST, LONGEST = 4096, 128
"""How many texts a pattern remembers, and how long they may be."""

# ---------------------------------------------------------------------------------------------------------- conditions


class Condition(NamedTuple):
    """Which values of a field are accepted. ``source`` is the same condition as an expression: ``{0}`` is the value."""

    field: str
    holds: Callable[[Any], bool]
    source: str = ""
    names: Mapping[str, Any] = {}
    """The objects that ``source`` names."""


def rule(condition: Condition, fit: Fit, *, history: bool = False) -> Rule:
    """A rule from a condition. ``history``: the rule is for the history of requests, not for answers."""
    return Rule(condition.field, condition.holds, fit, condition.source, history, condition.names)


def present(field: str) -> Condition:
    """The field is not None."""

    def holds(value: Any) -> bool:
        return getattr(value, field) is not None

    return Condition(field, holds, f"{{0}}.{field} is not None")


def lacking(field: str) -> Condition:
    """The field is None."""

    def holds(value: Any) -> bool:
        return getattr(value, field) is None

    return Condition(field, holds, f"{{0}}.{field} is None")


def among(field: str, values: Collection[str | bool | None]) -> Condition:
    """The field is one of these values."""

    def holds(value: Any) -> bool:
        return getattr(value, field) in values

    words = [repr(value) for value in values]
    return Condition(
        field, holds, f"{{0}}.{field} " + (f"in ({', '.join(words)})" if len(words) > 1 else f"== {words[0]}")
    )


def at_most(field: str, limit: float) -> Condition:
    """The field is not set, or not above the limit."""

    def holds(value: Any) -> bool:
        return (getattr(value, field) or 0) <= limit

    return Condition(field, holds, f"({{0}}.{field} or 0) <= {limit!r}")


class Matches(dict[str, bool]):
    """Whether texts match a pattern, remembered by text: names and ids come again with every request."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._matches = pattern.fullmatch

    def __missing__(self, text: str) -> bool:
        found = self._matches(text) is not None
        if len(text) <= LONGEST:
            if len(self) >= MOST:
                self.clear()
            self[text] = found
        return found


def matching(field: str, pattern: re.Pattern[str], *, optional: bool = False) -> Condition:
    """The pattern matches the whole text of the field; with ``optional``, the field may be None."""
    matches = Matches(pattern)

    def holds(value: Any) -> bool:
        text = getattr(value, field)
        return (optional and text is None) or matches[text]

    source = f"{{matches}}[{{0}}.{field}]"
    if optional:
        source = f"({{0}}.{field} is None or {source})"
    return Condition(field, holds, source, {"matches": matches})


def when(field: str, holds: Callable[[Any], bool]) -> Condition:
    """Any other condition, without source for the compiler."""
    return Condition(field, holds)


def never(field: str) -> Condition:
    """No value is accepted: a value that was read in this dialect is written back, any other is not sent."""

    def holds(value: Any) -> bool:
        return False

    return Condition(field, holds, "False")


def having(field: str, *types: type) -> Condition:
    """The field is of one of these types."""

    def holds(value: Any) -> bool:
        return type(getattr(value, field)) in types

    return Condition(field, holds, f"type({{0}}.{field}) in {{types}}", {"types": types})


def stands_in(field: str, other: str, why: str) -> Rule:
    """A rule for a field that the protocol lacks: its value is moved to the field ``other``, unless that is set."""

    def holds(value: Any) -> bool:
        return getattr(value, field) is None or getattr(value, other) is not None

    def fit(value: Any, ledger: Ledger) -> Any:
        ledger.lose_form("moved", why, field)
        ledger.lose_form("added", why, other)
        return replace(value, **{field: None, other: getattr(value, field)})

    return rule(when(field, holds), fit)


# --------------------------------------------------------------------------------------------------------------- rules


def drop(reason: str, weight: LossWeight = "content") -> Fit:
    """Leave the whole value out. ``{0}`` in the reason is the value."""

    def fit(value: Any, ledger: Ledger) -> None:
        ledger.lose("dropped", reason.format(value), weight=weight)

    return fit


def change(field: str, new: Any, loss: LossKind, reason: str, weight: LossWeight = "content") -> Fit:
    """Write another value of one field. ``{0}`` in the reason is the whole value."""

    def fit(value: Any, ledger: Ledger) -> Any:
        ledger.lose(loss, reason.format(value), field, weight=weigh(field, getattr(value, field), weight))
        return replace(value, **{field: new})

    return fit


def leave_out(field: str, reason: str, weight: LossWeight = "content") -> Fit:
    """Leave one field out. ``{0}`` in the reason is the whole value."""
    return change(field, None, "dropped", reason, weight)


def filled(dialect: str) -> Rule:
    """A rule: no empty text."""

    def holds(block: Any) -> bool:
        return bool(block.text)

    def fit(block: TextBlock, ledger: Ledger) -> None:
        weight: LossWeight = "content" if block.citations else "form"
        ledger.lose("dropped", f"{dialect} accepts no empty text", weight=weight)

    return Rule("text", holds, fit, "{0}.text", history=True)


def by_id_rule(field: str, ids: IdRule, reason: str) -> Rule:
    """A rule: only ids that the protocol accepts; for any other id one is derived that it accepts."""

    def fit(value: Any, ledger: Ledger) -> Any:
        assert ledger.ids is not None
        ledger.lose_form("approximated", reason, field)
        return replace(value, **{field: ledger.ids.fit(getattr(value, field))})

    return rule(matching(field, ids.pattern), fit, history=True)


def hosted_here(dialect: str) -> Rule:
    """A rule: only calls and results of this protocol's own hosted tools."""

    def fit(block: Any, ledger: Ledger) -> None:
        part = "call" if isinstance(block, ServerToolUseBlock) else "result"
        ledger.lose("dropped", f"the {part} of a hosted tool of {block.dialect} that is not translated to {dialect}")

    return rule(among("dialect", ("", dialect)), fit)


FREE_TEXT_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}


def as_json_tool(dialect: str) -> Callable[[ToolDefinition, Ledger], ToolDefinition]:
    """Write a free-text tool as a function with one string argument."""
    reason = f"{dialect} has no free-text tools; sent as a function with one string argument `input`"

    def fit(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
        ledger.lose("approximated", reason, "kind")
        ledger.lose("approximated" if tool.input_schema else "added", reason, "input_schema")
        return replace(tool, kind="json", input_schema=FREE_TEXT_SCHEMA)

    return fit


def sendable(dialect: str) -> Rule:
    """A rule: only tools that take a JSON object, and whose schema allows strict mode if they are strict."""
    as_json = as_json_tool(dialect)

    def holds(tool: ToolDefinition) -> bool:
        if tool.kind != "json" or tool.input_schema.get("type") != "object":
            return False
        return not tool.strict or is_strict_form(tool.input_schema, dialect)

    def fit(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
        if tool.kind == "text":
            return as_json(tool, ledger)
        schema, strict = tool.input_schema, tool.strict
        if strict:
            schema, able = write_strict_schema(schema, dialect, ledger, "input_schema")
            strict = True if able else None
        if schema.get("type") != "object":
            ledger.lose_form("added", f"{dialect} requires `type: object`; it was added", "input_schema", "type")
            schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
        return replace(tool, input_schema=schema, strict=strict)

    source = "{0}.kind == 'json' and {0}.input_schema.get('type') == 'object' and (not {0}.strict or {holds}({0}))"
    return Rule("input_schema", holds, fit, source, names={"holds": holds})


def is_json_call(dialect: str) -> Rule:
    """A rule: no calls with free text; such a call is sent with one string argument ``input``."""
    reason = f"{dialect} has no free-text calls; sent as a call with one string argument `input`"

    def fit(value: ToolUseBlock, ledger: Ledger) -> ToolUseBlock:
        ledger.lose("approximated", reason, "input_text")
        ledger.lose("approximated", reason, "kind")
        ledger.lose("added", reason, "input")
        return replace(value, kind="json", input={"input": value.input_text or ""}, input_text=None)

    return rule(among("kind", ("json",)), fit)


def as_json_text(reason: str) -> Fit:
    """Write a JSON value as text."""

    def fit(value: JsonBlock, ledger: Ledger) -> TextBlock:
        ledger.lose_form("approximated", reason)
        return _as_text(value, dump(value.value).decode())

    return fit


def as_text(reason: str) -> Fit:
    """Write a refusal as text."""

    def fit(value: RefusalBlock, ledger: Ledger) -> TextBlock:
        ledger.lose("approximated", reason)
        return _as_text(value, value.text)

    return fit


def _as_text(value: BlockBase, text: str) -> TextBlock:
    """A text block that keeps the signature, cache mark, extras and forms of another block."""
    return TextBlock(text, signature=value.signature, cache=value.cache, extras=value.extras, forms=value.forms)


# --------------------------------------------------------------------------------------------------- log probabilities


def _asks_for_logprobs(request: Request) -> bool:
    return request.top_logprobs is None or request.logprobs is True


def _asking_for_logprobs(request: Request, ledger: Ledger) -> Request:
    if request.top_logprobs and request.logprobs is None:
        ledger.lose_form("added", "`top_logprobs` needs `logprobs`, which was added", "logprobs")
        return replace(request, logprobs=True)
    weight: LossWeight = "content" if request.top_logprobs else "form"
    ledger.lose("dropped", "`top_logprobs` needs `logprobs`", "top_logprobs", weight=weight)
    return replace(request, top_logprobs=None)


LOGPROBS_ASKED = rule(when("top_logprobs", _asks_for_logprobs), _asking_for_logprobs)


def mark_unasked_logprobs(fields: Mapping[str, Any], marks: dict[str, Any]) -> None:
    """Mark a request that was read with ``top_logprobs`` but not ``logprobs``, so that it is written as it was read."""
    if fields.get("top_logprobs") is not None and fields.get("logprobs") is not True:
        marks.setdefault("verbatim", []).append("top_logprobs")

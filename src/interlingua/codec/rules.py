"""Rules that several dialects have, and what is written where one is broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ..types.blocks import JsonBlock, RefusalBlock, TextBlock, ToolUseBlock
from ..types.loss import LossWeight
from .ids import IdRule
from .ledger import Ledger
from .rows import Rule
from .stream import dump

__all__ = ["as_json_text", "as_text", "by_id_rule", "drop", "filled", "is_json_call"]

Fit = Callable[[Any, Ledger], Any]


def drop(reason: str, weight: LossWeight = "content") -> Fit:
    """Leave the whole value out. ``{0}`` in the reason is the value."""
    return lambda value, ledger: ledger.lose("dropped", reason.format(value), weight=weight)


def filled(dialect: str) -> Rule:
    """No empty text."""
    why = drop(f"{dialect} accepts no empty text", "form")
    return Rule("text", lambda block: bool(block.text), why, "{}.text", history=True)


def by_id_rule(field: str, rule: IdRule, reason: str) -> Rule:
    """Only ids that the reader takes; another one is derived where it does not."""
    matches = rule.pattern.fullmatch

    def fit(value: Any, ledger: Ledger) -> Any:
        assert ledger.ids is not None
        ledger.lose_form("approximated", reason, field)
        return replace(value, **{field: ledger.ids.fit(getattr(value, field))})

    return Rule(field, lambda value: matches(getattr(value, field)) is not None, fit, history=True)


def is_json_call(reason: str) -> Rule:
    """No calls with free text; sent as a call with one string argument ``input``."""

    def fit(value: ToolUseBlock, ledger: Ledger) -> ToolUseBlock:
        ledger.lose("approximated", reason, "input_text")
        ledger.lose("approximated", reason, "kind")
        ledger.lose("added", reason, "input")
        return replace(value, kind="json", input={"input": value.input_text or ""}, input_text=None)

    return Rule("kind", lambda block: block.kind == "json", fit, "{}.kind == 'json'")


def as_json_text(reason: str) -> Fit:
    """A JSON value as text."""

    def fit(value: JsonBlock, ledger: Ledger) -> TextBlock:
        ledger.lose_form("approximated", reason)
        return TextBlock(dump(value.value).decode(), cache=value.cache, extras=value.extras, forms=value.forms)

    return fit


def as_text(reason: str) -> Fit:
    """A refusal as text."""

    def fit(value: RefusalBlock, ledger: Ledger) -> TextBlock:
        ledger.lose("approximated", reason)
        return TextBlock(value.text, cache=value.cache, extras=value.extras, forms=value.forms)

    return fit

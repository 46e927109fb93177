"""Thinking in the form that a model takes: a mode, an effort or a number of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from math import log2
from typing import Any

from msgspec.structs import replace

from ...types.request import Request, Thinking
from .target_model import TargetModel

__all__ = ["fit_thinking", "wants_thinking"]

# The number of thinking tokens for an effort. Used in both directions, if a model takes only one of the two.
EFFORTS = {
    "none": 0,
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 63_999,
}
USUAL_BUDGET = EFFORTS["medium"]
LEAST_BUDGET = EFFORTS["minimal"]
EFFORT_FORMS = frozenset({"effort", "level"})
BUDGET = frozenset({"budget"})
ONLY_BUDGETS = frozenset({"budget", "adaptive", "toggle", "level"})
"""A model that has ``budget`` and no other of these needs a number of tokens to think."""


def wants_thinking(thinking: Thinking) -> bool:
    """Whether thinking is requested, and not disabled."""
    return thinking.mode != "disabled" and thinking.effort != "none" and thinking.budget != 0


def fit_thinking(request: Request, model: TargetModel) -> Request:
    """The request, with thinking in a form that the model takes."""
    requested = request.thinking
    if requested is None:
        return request
    forms = frozenset[str](model.facts.thinking_forms or ())
    fitted: Thinking | None = requested
    if not model.able.thinking or "thinking" in (model.facts.rejects or ()):
        fitted = None
        if wants_thinking(requested):
            model.lose("thinking", "dropped", "does not think")
    elif forms and not wants_thinking(requested):
        fitted = _disabled(requested, forms, model)
    elif forms:
        fitted = _enabled(requested, forms, model, request.max_output_tokens)
    return request if fitted is requested else replace(request, thinking=fitted)


def _disabled(requested: Thinking, forms: frozenset[str], model: TargetModel) -> Thinking:
    """Thinking disabled, in the model's form. A model that always thinks gets the least."""
    facts = model.facts
    if facts.budgets is not None and facts.budgets[0] > 0:
        model.lose(
            "thinking", "approximated", f"always thinks; sent with the smallest budget, {facts.budgets[0]} tokens"
        )
        return replace(requested, mode="enabled", budget=facts.budgets[0], effort=None)
    if forms <= EFFORT_FORMS and facts.efforts and "none" not in facts.efforts:
        least = min(facts.efforts, key=lambda word: EFFORTS.get(word, USUAL_BUDGET))
        model.lose("thinking", "approximated", f"always thinks; sent with the lowest effort, {least!r}")
        return replace(requested, mode=None, budget=None, effort=least)
    plain = replace(requested, mode="disabled", budget=None, effort=None)
    return requested if plain == requested else plain


def _enabled(requested: Thinking, forms: frozenset[str], model: TargetModel, limit: int | None) -> Thinking | None:
    """Thinking enabled, in the model's form."""
    if forms & ONLY_BUDGETS == BUDGET and (why := _why_no_budget(requested, forms, limit)):
        model.lose("thinking", "dropped", why)
        return None
    fitted = requested
    if fitted.budget is not None and fitted.budget < 0:  # Gemini's -1: the model decides
        fitted = replace(fitted, mode="adaptive", budget=None)
    if fitted.budget is not None and "budget" not in forms:
        fitted = _without_budget(fitted, forms, model)
    if fitted.effort is not None and not forms & EFFORT_FORMS:
        fitted = _without_effort(fitted, forms, model, limit)
    if fitted.mode in ("enabled", "adaptive"):
        fitted = _in_mode(fitted, forms, model, limit)
    return _in_bounds(_with_known_effort(fitted, model), model)


def _why_no_budget(requested: Thinking, forms: frozenset[str], limit: int | None) -> str | None:
    """Why a model that needs a budget gets none; None if it gets one."""
    effort = requested.effort is not None and forms & EFFORT_FORMS  # an effort alone does not enable thinking
    if requested.mode is None and requested.budget is None and (requested.effort is None or effort):
        return None if effort else "does not think by default, and no mode, effort or budget was given"
    return f"has no room for thinking within {limit} tokens" if limit is not None and limit <= LEAST_BUDGET else None


def _without_budget(requested: Thinking, forms: frozenset[str], model: TargetModel) -> Thinking:
    effort = requested.effort
    if effort is None and forms & EFFORT_FORMS:
        effort = _nearest(requested.budget, model.facts.efforts or EFFORTS)
    mode: Any = "adaptive" if "adaptive" in forms else None if forms & EFFORT_FORMS else "enabled"
    instead = f"; sent with effort {effort!r}" if effort is not None else ""
    model.lose("thinking/budget", "approximated", f"takes no thinking budget{instead}")
    return replace(requested, mode=mode, budget=None, effort=effort)


def _without_effort(requested: Thinking, forms: frozenset[str], model: TargetModel, limit: int | None) -> Thinking:
    budget, mode = requested.budget, "adaptive" if forms <= {"adaptive"} else "enabled"
    instead = ""
    if budget is None and "budget" in forms:
        budget = _within_limit(EFFORTS.get(requested.effort or "", USUAL_BUDGET), limit)
        instead = f"; sent with a budget of {budget} tokens"
    model.lose("thinking/effort", "approximated", f"takes no thinking effort{instead}")
    fitted: Any = {"mode": mode, "budget": budget, "effort": None}
    return replace(requested, **fitted)


def _in_mode(requested: Thinking, forms: frozenset[str], model: TargetModel, limit: int | None) -> Thinking:
    """Replace the mode ``enabled`` or ``adaptive`` if the model has only the other one, or neither."""
    if requested.effort is not None and (forms <= EFFORT_FORMS or "level" in forms):
        return replace(requested, mode=None)  # the effort is enough
    if forms <= EFFORT_FORMS:
        effort = _nearest(USUAL_BUDGET, model.facts.efforts or EFFORTS)
        model.lose("thinking/mode", "approximated", f"takes a thinking effort instead of a mode; sent with {effort!r}")
        return replace(requested, mode=None, effort=effort)
    if requested.mode == "enabled" and forms.isdisjoint({"toggle", "budget"}):
        model.lose("thinking/mode", "approximated", "decides itself how much to think; sent as adaptive")
        return replace(requested, mode="adaptive")
    if requested.mode == "adaptive" and "adaptive" not in forms:
        model.lose("thinking/mode", "approximated", "has no adaptive thinking; sent as enabled")
        requested = replace(requested, mode="enabled")
    if requested.budget is None and "budget" in forms and forms.isdisjoint({"toggle", "adaptive"}):
        budget = _within_limit(EFFORTS.get(requested.effort or "", USUAL_BUDGET), limit)
        model.lose("thinking/budget", "added", f"needs a thinking budget; {budget} tokens were added")
        return replace(requested, budget=budget)
    return requested


def _with_known_effort(requested: Thinking, model: TargetModel) -> Thinking:
    efforts = model.facts.efforts
    if requested.effort is None or not efforts or requested.effort in efforts:
        return requested
    nearest = _nearest(EFFORTS.get(requested.effort), efforts)
    if nearest is None:
        return requested
    model.lose("thinking/effort", "approximated", f"has no effort {requested.effort!r}; sent with {nearest!r}")
    return replace(requested, effort=nearest)


def _in_bounds(requested: Thinking, model: TargetModel) -> Thinking:
    budget, bounds = requested.budget, model.facts.budgets
    if budget is None or bounds is None or bounds[0] <= budget <= bounds[1]:
        return requested
    fitted = max(bounds[0], min(budget, bounds[1]))
    model.lose(
        "thinking/budget",
        "approximated",
        f"takes thinking budgets of {bounds[0]} to {bounds[1]} tokens; sent with {fitted}",
    )
    return replace(requested, budget=fitted)


def _within_limit(budget: int, limit: int | None) -> int:
    """The budget, but at most half of the answer's limit."""
    return budget if limit is None else max(LEAST_BUDGET, min(budget, limit // 2))


def _nearest(budget: int | None, words: Iterable[str]) -> str | None:
    """The known effort that is nearest to a budget; of two that are equally near, the lower."""
    known = [word for word in words if EFFORTS.get(word)]
    if not budget or not known:
        return None
    return min(known, key=lambda word: (round(abs(log2(EFFORTS[word] / budget)), 1), EFFORTS[word]))

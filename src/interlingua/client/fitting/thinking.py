"""How a model is asked to think: by a mode, an effort or a number of tokens, whichever it takes."""

from __future__ import annotations

from collections.abc import Iterable
from math import log2
from typing import Any

from msgspec.structs import replace

from ...types.request import Request, Thinking
from .target_model import TargetModel

__all__ = ["fit_thinking", "thinks"]

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
"""A model that has only the first of these needs a number of tokens to think."""


def thinks(thinking: Thinking) -> bool:
    """Whether thinking is requested, and not disabled."""
    return thinking.mode != "disabled" and thinking.effort != "none" and thinking.budget != 0


def fit_thinking(request: Request, model: TargetModel) -> Request:
    """The request, with thinking in a form that the model takes."""
    asked = request.thinking
    if asked is None:
        return request
    forms = frozenset[str](model.facts.thinking_forms or ())
    fitted: Thinking | None = asked
    if not model.capabilities.thinking or "thinking" in (model.facts.rejects or ()):
        fitted = None
        if thinks(asked):
            model.lose("thinking", "dropped", "does not think")
    elif forms and not thinks(asked):
        fitted = _disabled(asked, forms, model)
    elif forms:
        fitted = _enabled(asked, forms, model, request.max_output_tokens)
    return request if fitted is asked else replace(request, thinking=fitted)


def _disabled(asked: Thinking, forms: frozenset[str], model: TargetModel) -> Thinking:
    """Thinking disabled, in the model's form. A model that always thinks gets the least."""
    facts = model.facts
    if facts.budgets is not None and facts.budgets[0] > 0:
        model.lose(
            "thinking", "approximated", f"always thinks; sent with the smallest budget, {facts.budgets[0]} tokens"
        )
        return replace(asked, mode="enabled", budget=facts.budgets[0], effort=None)
    if forms <= EFFORT_FORMS and facts.efforts and "none" not in facts.efforts:
        least = min(facts.efforts, key=lambda word: EFFORTS.get(word, USUAL_BUDGET))
        model.lose("thinking", "approximated", f"always thinks; sent with the lowest effort, {least!r}")
        return replace(asked, mode=None, budget=None, effort=least)
    plain = replace(asked, mode="disabled", budget=None, effort=None)
    return asked if plain == asked else plain


def _enabled(asked: Thinking, forms: frozenset[str], model: TargetModel, limit: int | None) -> Thinking | None:
    """Thinking enabled, in the model's form."""
    if forms & ONLY_BUDGETS == BUDGET and (why := _why_no_budget(asked, forms, limit)):
        model.lose("thinking", "dropped", why)
        return None
    fitted = asked
    if fitted.budget is not None and fitted.budget < 0:  # Gemini's -1: the model decides
        fitted = replace(fitted, mode="adaptive", budget=None)
    if fitted.budget is not None and "budget" not in forms:
        fitted = _without_budget(fitted, forms, model)
    if fitted.effort is not None and not forms & EFFORT_FORMS:
        fitted = _without_effort(fitted, forms, model, limit)
    if fitted.mode in ("enabled", "adaptive"):
        fitted = _in_mode(fitted, forms, model, limit)
    return _in_bounds(_with_known_effort(fitted, model), model)


def _why_no_budget(asked: Thinking, forms: frozenset[str], limit: int | None) -> str | None:
    """Why a model that needs a budget gets none."""
    effort = asked.effort is not None and forms & EFFORT_FORMS  # an effort alone does not enable thinking
    if asked.mode is None and asked.budget is None and (asked.effort is None or effort):
        return None if effort else "does not think by default, and no mode, effort or budget was given"
    return f"has no room for thinking within {limit} tokens" if limit is not None and limit <= LEAST_BUDGET else None


def _without_budget(asked: Thinking, forms: frozenset[str], model: TargetModel) -> Thinking:
    effort = asked.effort
    if effort is None and forms & EFFORT_FORMS:
        effort = _nearest(asked.budget, model.facts.efforts or EFFORTS)
    mode: Any = "adaptive" if "adaptive" in forms else None if forms & EFFORT_FORMS else "enabled"
    instead = f"; sent with effort {effort!r}" if effort is not None else ""
    model.lose("thinking/budget", "approximated", f"takes no thinking budget{instead}")
    return replace(asked, mode=mode, budget=None, effort=effort)


def _without_effort(asked: Thinking, forms: frozenset[str], model: TargetModel, limit: int | None) -> Thinking:
    budget, mode = asked.budget, "adaptive" if forms <= {"adaptive"} else "enabled"
    instead = ""
    if budget is None and "budget" in forms:
        budget = _room(EFFORTS.get(asked.effort or "", USUAL_BUDGET), limit)
        instead = f"; sent with a budget of {budget} tokens"
    model.lose("thinking/effort", "approximated", f"takes no thinking effort{instead}")
    fitted: Any = {"mode": mode, "budget": budget, "effort": None}
    return replace(asked, **fitted)


def _in_mode(asked: Thinking, forms: frozenset[str], model: TargetModel, limit: int | None) -> Thinking:
    """``enabled`` and ``adaptive`` where the model has only the other, or neither."""
    if asked.effort is not None and (forms <= EFFORT_FORMS or "level" in forms):
        return replace(asked, mode=None)  # the effort is enough
    if forms <= EFFORT_FORMS:
        effort = _nearest(USUAL_BUDGET, model.facts.efforts or EFFORTS)
        model.lose("thinking/mode", "approximated", f"takes a thinking effort instead of a mode; sent with {effort!r}")
        return replace(asked, mode=None, effort=effort)
    if asked.mode == "enabled" and forms.isdisjoint({"toggle", "budget"}):
        model.lose("thinking/mode", "approximated", "decides itself how much to think; sent as adaptive")
        return replace(asked, mode="adaptive")
    if asked.mode == "adaptive" and "adaptive" not in forms:
        model.lose("thinking/mode", "approximated", "has no adaptive thinking; sent as enabled")
        asked = replace(asked, mode="enabled")
    if asked.budget is None and "budget" in forms and forms.isdisjoint({"toggle", "adaptive"}):
        budget = _room(EFFORTS.get(asked.effort or "", USUAL_BUDGET), limit)
        model.lose("thinking/budget", "added", f"needs a thinking budget; {budget} tokens were added")
        return replace(asked, budget=budget)
    return asked


def _with_known_effort(asked: Thinking, model: TargetModel) -> Thinking:
    efforts = model.facts.efforts
    if asked.effort is None or not efforts or asked.effort in efforts:
        return asked
    nearest = _nearest(EFFORTS.get(asked.effort), efforts)
    if nearest is None:
        return asked
    model.lose("thinking/effort", "approximated", f"has no effort {asked.effort!r}; sent with {nearest!r}")
    return replace(asked, effort=nearest)


def _in_bounds(asked: Thinking, model: TargetModel) -> Thinking:
    budget, bounds = asked.budget, model.facts.budgets
    if budget is None or bounds is None or bounds[0] <= budget <= bounds[1]:
        return asked
    fitted = max(bounds[0], min(budget, bounds[1]))
    model.lose(
        "thinking/budget",
        "approximated",
        f"takes thinking budgets of {bounds[0]} to {bounds[1]} tokens; sent with {fitted}",
    )
    return replace(asked, budget=fitted)


def _room(budget: int, limit: int | None) -> int:
    """The budget, but at most half of the answer's limit."""
    return budget if limit is None else max(LEAST_BUDGET, min(budget, limit // 2))


def _nearest(budget: int | None, words: Iterable[str]) -> str | None:
    """The known effort that is nearest to a budget; of two that are equally near, the lower."""
    known = [word for word in words if EFFORTS.get(word)]
    if not budget or not known:
        return None
    return min(known, key=lambda word: (round(abs(log2(EFFORTS[word] / budget)), 1), EFFORTS[word]))

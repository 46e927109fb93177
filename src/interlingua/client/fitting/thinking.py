"""How a model is asked to think: by a mode, a word or a number of tokens, whichever it takes."""

from __future__ import annotations

from collections.abc import Iterable
from math import log2
from typing import Any

from msgspec.structs import replace

from ...types.request import Request, Thinking
from .reader import Reader

__all__ = ["fit_thinking", "thinks"]

# How many tokens of thought a word asks for, where a model takes only the one or the other; read both ways.
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
IN_WORDS = frozenset({"effort", "level"})
BUDGET = frozenset({"budget"})
ONLY_BUDGETS = frozenset({"budget", "adaptive", "toggle", "level"})
"""Of these a model has the first alone if it cannot think without a number of tokens."""


def thinks(thinking: Thinking) -> bool:
    """Whether thoughts are asked for, and not their absence."""
    return thinking.mode != "disabled" and thinking.effort != "none" and thinking.budget != 0


def fit_thinking(request: Request, reader: Reader) -> Request:
    """The request, asking for thoughts in a way that the model takes."""
    asked = request.thinking
    if asked is None:
        return request
    forms = frozenset[str](reader.facts.thinking_forms or ())
    fitted: Thinking | None = asked
    if not reader.able.thinking or "thinking" in (reader.facts.rejects or ()):
        fitted = None
        if thinks(asked):
            reader.lose("thinking", "dropped", "does not think")
    elif forms and not thinks(asked):
        fitted = _stopped(asked, forms, reader)
    elif forms:
        fitted = _asked(asked, forms, reader, request.max_output_tokens)
    return request if fitted is asked else replace(request, thinking=fitted)


def _stopped(asked: Thinking, forms: frozenset[str], reader: Reader) -> Thinking:
    """How the model is told not to think; one that always does is asked for the least."""
    facts = reader.facts
    if facts.budgets is not None and facts.budgets[0] > 0:
        reader.lose("thinking", "approximated", f"always thinks; it is given the least, {facts.budgets[0]} tokens")
        return replace(asked, mode="enabled", budget=facts.budgets[0], effort=None)
    if forms <= IN_WORDS and facts.efforts and "none" not in facts.efforts:
        least = min(facts.efforts, key=lambda word: EFFORTS.get(word, USUAL_BUDGET))
        reader.lose("thinking", "approximated", f"always thinks; it is asked for the least, effort {least!r}")
        return replace(asked, mode=None, budget=None, effort=least)
    plain = replace(asked, mode="disabled", budget=None, effort=None)
    return asked if plain == asked else plain


def _asked(asked: Thinking, forms: frozenset[str], reader: Reader, limit: int | None) -> Thinking | None:
    """How the model is asked to think, if not as the caller says it."""
    if forms & ONLY_BUDGETS == BUDGET and (why := _unthinkable(asked, forms, limit)):
        reader.lose("thinking", "dropped", why)
        return None
    fitted = asked
    if fitted.budget is not None and fitted.budget < 0:  # Gemini's word for: as the model likes
        fitted = replace(fitted, mode="adaptive", budget=None)
    if fitted.budget is not None and "budget" not in forms:
        fitted = _without_budget(fitted, forms, reader)
    if fitted.effort is not None and not forms & IN_WORDS:
        fitted = _without_effort(fitted, forms, reader, limit)
    if fitted.mode in ("enabled", "adaptive"):
        fitted = _in_mode(fitted, forms, reader, limit)
    return _in_bounds(_in_known_words(fitted, reader), reader)


def _unthinkable(asked: Thinking, forms: frozenset[str], limit: int | None) -> str | None:
    """Why a model that needs a budget cannot have one."""
    word = asked.effort is not None and forms & IN_WORDS  # which is no thought yet
    if asked.mode is None and asked.budget is None and (asked.effort is None or word):
        return None if word else "does not think unless it is asked to"
    return f"has no room for thoughts within {limit} tokens" if limit is not None and limit <= LEAST_BUDGET else None


def _without_budget(asked: Thinking, forms: frozenset[str], reader: Reader) -> Thinking:
    effort = asked.effort
    if effort is None and forms & IN_WORDS:
        effort = _nearest(asked.budget, reader.facts.efforts or EFFORTS)
    mode: Any = "adaptive" if "adaptive" in forms else None if forms & IN_WORDS else "enabled"
    told = f"; it is asked for effort {effort!r}" if effort is not None else ""
    reader.lose("thinking/budget", "approximated", f"takes no budget for its thoughts{told}")
    return replace(asked, mode=mode, budget=None, effort=effort)


def _without_effort(asked: Thinking, forms: frozenset[str], reader: Reader, limit: int | None) -> Thinking:
    budget, mode = asked.budget, "adaptive" if forms <= {"adaptive"} else "enabled"
    told = ""
    if budget is None and "budget" in forms:
        budget = _room(EFFORTS.get(asked.effort or "", USUAL_BUDGET), limit)
        told = f"; it is given {budget} tokens"
    reader.lose("thinking/effort", "approximated", f"takes no effort for its thoughts{told}")
    fitted: Any = {"mode": mode, "budget": budget, "effort": None}
    return replace(asked, **fitted)


def _in_mode(asked: Thinking, forms: frozenset[str], reader: Reader, limit: int | None) -> Thinking:
    """``enabled`` and ``adaptive`` where the model has only the other, or neither."""
    if asked.effort is not None and (forms <= IN_WORDS or "level" in forms):
        return replace(asked, mode=None)  # the word says it all
    if forms <= IN_WORDS:
        effort = _nearest(USUAL_BUDGET, reader.facts.efforts or EFFORTS)
        reader.lose("thinking/mode", "approximated", f"takes an effort instead of a mode: {effort!r}")
        return replace(asked, mode=None, effort=effort)
    if asked.mode == "enabled" and forms.isdisjoint({"toggle", "budget"}):
        reader.lose("thinking/mode", "approximated", "decides for itself how much to think")
        return replace(asked, mode="adaptive")
    if asked.mode == "adaptive" and "adaptive" not in forms:
        reader.lose("thinking/mode", "approximated", "does not decide for itself how much to think")
        asked = replace(asked, mode="enabled")
    if asked.budget is None and "budget" in forms and forms.isdisjoint({"toggle", "adaptive"}):
        budget = _room(EFFORTS.get(asked.effort or "", USUAL_BUDGET), limit)
        reader.lose("thinking/budget", "added", f"needs a budget for its thoughts: {budget} tokens")
        return replace(asked, budget=budget)
    return asked


def _in_known_words(asked: Thinking, reader: Reader) -> Thinking:
    efforts = reader.facts.efforts
    if asked.effort is None or not efforts or asked.effort in efforts:
        return asked
    nearest = _nearest(EFFORTS.get(asked.effort), efforts)
    if nearest is None:
        return asked
    reader.lose("thinking/effort", "approximated", f"knows no effort {asked.effort!r}; {nearest!r} is the nearest")
    return replace(asked, effort=nearest)


def _in_bounds(asked: Thinking, reader: Reader) -> Thinking:
    budget, bounds = asked.budget, reader.facts.budgets
    if budget is None or bounds is None or bounds[0] <= budget <= bounds[1]:
        return asked
    fitted = max(bounds[0], min(budget, bounds[1]))
    reader.lose("thinking/budget", "approximated", f"thinks for {bounds[0]} to {bounds[1]} tokens")
    return replace(asked, budget=fitted)


def _room(budget: int, limit: int | None) -> int:
    """A budget of our own choosing leaves half of the answer's limit to the answer."""
    return budget if limit is None else max(LEAST_BUDGET, min(budget, limit // 2))


def _nearest(budget: int | None, words: Iterable[str]) -> str | None:
    """The word among those known that asks for about as much; of two that are as near, the cheaper one."""
    known = [word for word in words if EFFORTS.get(word)]
    if not budget or not known:
        return None
    return min(known, key=lambda word: (round(abs(log2(EFFORTS[word] / budget)), 1), EFFORTS[word]))

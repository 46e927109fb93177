"""How much to think: ``thinking`` and ``output_config.effort``.

What the protocol would refuse is brought into its bounds, declared; what was read here is written back as it was
(mark ``verbatim``), even if we would not write it so.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...codec.json import is_dict
from ...codec.tables import Ledger, kept, marks, own, take
from ...types.request import Thinking
from .blocks import NAME, Wire

MODES = ("adaptive", "enabled", "disabled", "between_tools")
SHOWING = ("adaptive", "enabled")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
LEAST_BUDGET = 1024


def read_thinking(rest: Wire, fields: dict[str, Any], config: Wire | None) -> None:
    found: dict[str, Any] = {}
    if config is not None and config.get("effort") in EFFORTS:
        found["effort"] = config.pop("effort")
    wire = rest.get("thinking")
    if is_dict(wire) and wire.get("type") in MODES:
        del rest["thinking"]
        inner, blanks = dict(wire), Wire()
        found["mode"] = inner.pop("type")
        for ours, theirs, kind in (("budget", "budget_tokens", int), ("display", "display", str)):
            value = take(inner, theirs, blanks)
            if value is None or type(value) is kind:
                found[ours] = value
            else:
                inner[theirs] = value  # of no shape we know
        limit = fields.get("max_output_tokens")
        plain = _in_bounds(Thinking(**found), limit, Ledger()) == _plainly(Thinking(**found))
        forms: Wire = {} if plain else {"verbatim": True}
        found |= kept(NAME, inner, forms, blanks)
    if found:
        fields["thinking"] = Thinking(**found)


def say_thinking(thinking: Thinking, body: Wire, config: Wire, ledger: Ledger) -> None:
    ledger.where = ("thinking",)
    thinking = _say_effort(thinking, config, ledger)
    if "verbatim" in marks(NAME, thinking):
        wire = _plainly(thinking)
    else:
        wire = _in_bounds(thinking, body.get("max_tokens"), ledger)
    if wire:
        body["thinking"] = own(NAME, wire, thinking)
    ledger.foreign(thinking, NAME)
    ledger.where = ()


def _say_effort(thinking: Thinking, config: Wire, ledger: Ledger) -> Thinking:
    if thinking.effort in EFFORTS:
        config["effort"] = thinking.effort
    elif thinking.effort == "none" and thinking.mode in (None, "disabled"):
        ledger.lose_form("approximated", f"effort none is said as thinking disabled in {NAME}", "effort")
        if thinking.mode is None:
            ledger.lose_form("added", f"effort none is said as thinking disabled in {NAME}", "mode")
        return replace(thinking, mode="disabled", effort=None)
    elif thinking.effort is not None:
        config["effort"] = "low"
        ledger.lose("approximated", f"{NAME} has the efforts {', '.join(EFFORTS)}; the nearest was sent", "effort")
    return thinking


def _plainly(thinking: Thinking) -> Wire:
    said = {"type": thinking.mode, "budget_tokens": thinking.budget, "display": thinking.display}
    return {key: value for key, value in said.items() if value is not None}


def _in_bounds(thinking: Thinking, limit: int | None, ledger: Ledger) -> Wire:
    """A budget has a least size, lies below the limit and goes with ``enabled`` only; what is off shows nothing."""
    mode, budget, display = thinking.mode, thinking.budget, thinking.display
    if mode is None and (budget is not None or display is not None):
        mode = "enabled" if budget is not None else "adaptive"
        ledger.lose_form("added", f"thinking in {NAME} needs a mode; one was added", "mode")
    if mode == "enabled" and (budget is None or (limit is not None and limit <= LEAST_BUDGET)):
        mode = "adaptive"
        ledger.lose("approximated", f"{NAME} enables thinking with a budget only; sent as adaptive", "mode")
    if budget is not None and mode != "enabled":
        budget = None
        ledger.lose("dropped", f"{NAME} takes a budget only with enabled thinking", "budget")
    if budget is not None:
        budget = _fitted(budget, limit, ledger)
    if display is not None and mode not in SHOWING:
        display = None
        ledger.lose_form("dropped", "thinking is disabled, so there is none to show", "display")
    return _plainly(Thinking(mode=mode, budget=budget, display=display))


def _fitted(budget: int, limit: int | None, ledger: Ledger) -> int:
    most = budget if limit is None else limit - 1
    fitted = max(LEAST_BUDGET, min(budget, most))
    if fitted != budget:
        ledger.lose("approximated", f"{NAME} takes budgets from {LEAST_BUDGET} to below `max_tokens`", "budget")
    return fitted

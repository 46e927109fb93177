"""How much to think: ``thinking`` and ``output_config.effort``.

What the protocol would refuse is brought into its bounds, with a loss; what was read here although it is out of bounds
is marked ``verbatim`` and written back as it came.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...codec.json import Wire
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.rows.kinds import REFUSED
from ...types.request import Thinking
from .facts import EFFORTS, LEAST_BUDGET, NAME
from .rows import THINKING

SHOWING = ("adaptive", "enabled")
BOUNDS = "bounds"


def read_thinking(rest: Wire, fields: dict[str, Any], config: Wire) -> None:
    """Take ``thinking`` and the effort, where they are of a shape that we know."""
    thinking: Any = THINKING.read(rest["thinking"]) if "thinking" in rest else REFUSED
    if thinking is not REFUSED:
        del rest["thinking"]
        if _in_bounds(thinking, fields.get("max_output_tokens"), Ledger()) != thinking:
            own = {**marks(NAME, thinking), "verbatim": [BOUNDS]}
            thinking = replace(thinking, forms={NAME: own})
        fields["thinking"] = thinking
    if isinstance(config.get("effort"), str) and config["effort"] in EFFORTS:
        fields["thinking"] = replace(fields.get("thinking", Thinking()), effort=config.pop("effort"))


def write_thinking(thinking: Thinking, body: Wire, config: Wire, ledger: Ledger) -> None:
    ledger.where = ("thinking",)
    thinking = _write_effort(thinking, config, ledger)
    if BOUNDS not in marks(NAME, thinking).get("verbatim", ()):
        thinking = _in_bounds(thinking, body.get("max_tokens"), ledger)
    if thinking.mode is not None:
        body["thinking"] = THINKING.write(thinking, ledger)
    else:
        ledger.foreign(thinking, NAME)
    ledger.where = ()


def _write_effort(thinking: Thinking, config: Wire, ledger: Ledger) -> Thinking:
    if thinking.effort in EFFORTS:
        config["effort"] = thinking.effort
    elif thinking.effort == "none" and thinking.mode in (None, "disabled"):
        ledger.lose_form("approximated", f"effort none is sent as thinking disabled in {NAME}", "effort")
        if thinking.mode is None:
            ledger.lose_form("added", f"effort none is sent as thinking disabled in {NAME}", "mode")
        return replace(thinking, mode="disabled", effort=None)
    elif thinking.effort is not None:
        config["effort"] = "low"
        ledger.lose("approximated", f"{NAME} has the efforts {', '.join(EFFORTS)}; the nearest was sent", "effort")
    return thinking


def _in_bounds(thinking: Thinking, limit: int | None, ledger: Ledger) -> Thinking:
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
    if (mode, budget, display) == (thinking.mode, thinking.budget, thinking.display):
        return thinking
    return replace(thinking, mode=mode, budget=budget, display=display)


def _fitted(budget: int, limit: int | None, ledger: Ledger) -> int:
    most = budget if limit is None else limit - 1
    fitted = max(LEAST_BUDGET, min(budget, most))
    if fitted != budget:
        ledger.lose("approximated", f"{NAME} takes budgets from {LEAST_BUDGET} to below `max_tokens`", "budget")
    return fitted

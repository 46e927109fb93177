"""What a launched client used: the sums of its calls, as JSON and as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .receipts import Receipt, Receipts
from .state import State

__all__ = ["Used", "count_calls"]

SHOWN = 10
"""How many losses the text names."""


class Used:
    """The sums of calls whose costs were looked up."""

    def __init__(self) -> None:
        self.requests = self.failed = self.input_tokens = self.output_tokens = 0
        self.uncounted = 0
        """Answers without usage: Chat states it in a stream only if the client asks for it."""
        self.cost_usd: float | None = 0.0
        """None if the price of a call is not known."""
        self.losses: set[str] = set()

    def add(self, receipt: Receipt) -> None:
        """Add a call."""
        self.requests += 1
        self.failed += receipt.status != 200
        lost = (loss for loss in receipt.losses if loss.weight != "form" and loss.kind != "added")
        self.losses.update(loss.reason for loss in lost)
        if receipt.usage is None:
            self.uncounted += receipt.status == 200
            return
        self.input_tokens += receipt.usage.total_input_tokens
        self.output_tokens += receipt.usage.output_tokens
        cost = receipt.cost_usd
        self.cost_usd = None if self.cost_usd is None or cost is None else self.cost_usd + cost

    def totals(self) -> dict[str, Any]:
        """The sums, for JSON."""
        return {**vars(self), "losses": sorted(self.losses)}

    def summary(self) -> str:
        """The sums as text, for a terminal."""
        cost = "price unknown" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        failed = f", {self.failed} failed" if self.failed else ""
        calls = "1 request" if self.requests == 1 else f"{self.requests:,} requests"
        without = f", without {self.uncounted} whose usage is not known" if self.uncounted else ""
        lines = [
            f"{calls}{failed}; {self.input_tokens:,} tokens in, {self.output_tokens:,} out; {cost}{without}",
            *(f"  lost: {reason}" for reason in sorted(self.losses)[:SHOWN]),
        ]
        more = len(self.losses) - SHOWN
        return "\n".join([*lines, *([f"  and {more} more; --json lists all"] if more > 0 else [])]) + "\n"


def count_calls(state: State) -> Callable[[], Used]:
    """Sum up all calls of a gateway from now on. Returns the function that gives the sums."""
    used = Used()

    class Counted(Receipts):
        def keep(self, receipt: Receipt, key: str | None) -> None:
            used.add(receipt)
            super().keep(receipt, key)

    state.receipts = Counted(state.clock)
    return lambda: used

"""What one run may spend: steps, seconds, tokens, dollars, calls of one tool. A limit that is reached ends the run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from math import isnan
from typing import Any

from msgspec import Struct, field

from ...client.adapter import Adapter
from ...client.deadline import Deadline
from ...errors import InvalidRequestError
from ...models.pricing import Pricing
from ...types.blocks import ToolUseBlock
from ...types.checking import check, check_arguments
from ...types.usage import TokenUsage
from ..routing.route import Candidate
from .report import Report

__all__ = ["Allowance", "RunLimits", "split_limits"]


class RunLimits(Struct, frozen=True, kw_only=True):
    """The limits of one run; None means no limit. ``calls`` maps the name of a tool to how often it may be called."""

    steps: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    dollars: float | None = None
    calls: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        check(self)
        check_arguments("calls=", self.calls or {}, dict.fromkeys(self.calls or (), int))
        if self.steps is not None and self.steps < 1:
            raise InvalidRequestError(f"steps={self.steps}: a run needs at least one step")
        for name, number in (("seconds", self.seconds), ("dollars", self.dollars)):
            if isnan(number or 0):
                raise TypeError(f"{name} must be a number, not NaN")


LIMITS = RunLimits.__struct_fields__
NO_LIMITS = RunLimits()


def split_limits(options: Mapping[str, Any], max_steps: int) -> tuple[Allowance, dict[str, Any]]:
    """Split the options of a run into its limits and the others. ``max_steps`` applies if ``steps`` is not given.

    The time limit starts now.
    """
    given = {name: value for name, value in options.items() if name in LIMITS}
    limits = RunLimits(**given) if given else NO_LIMITS
    steps = max_steps if limits.steps is None else limits.steps
    deadline = None if limits.seconds is None else Deadline(limits.seconds, time.monotonic)
    return Allowance(limits, steps, deadline), {name: value for name, value in options.items() if name not in LIMITS}


class Allowance(Struct):
    """What is left of the limits while a run goes on."""

    limits: RunLimits = NO_LIMITS
    steps: int = 1
    deadline: Deadline | None = None
    _calls: Counter[str] = field(default_factory=Counter[str])
    """How often each tool was called."""

    def check_prices(self, candidates: Iterable[Candidate], pricing: Pricing) -> None:
        """Raise if the price of a model is not known, because then a limit in dollars cannot be kept."""
        for candidate in candidates:
            adapter, model = candidate.adapter, candidate.model
            if isinstance(adapter, Adapter):
                named = model or adapter.model or ""
                model = adapter.catalogue.wire_name(adapter.name, named) if named else None
            one = TokenUsage(1000, output_tokens=1000)
            if pricing.cost(one, adapter.name, model or "").cost_usd is None:
                raise InvalidRequestError(
                    f"dollars={self.limits.dollars:g} cannot be kept: the price of {candidate.name} is not known. Set "
                    "`price` in models.yaml, pass pricing=, or pip install 'interlingua[prices]'"
                )

    def check_names(self, known: Iterable[str]) -> None:
        """Raise if ``calls`` names a tool that does not exist."""
        names = tuple(known)
        if unknown := sorted(set(self.limits.calls or ()).difference(names)):
            tools = ", ".join(names) or "none"
            raise InvalidRequestError(f"calls= names {', '.join(unknown)}, which is no tool of this session: {tools}")

    @property
    def time_is_over(self) -> str | None:
        """Why the run must stop, if its time is over; else None."""
        return None if self.deadline is None or self.deadline.left() else self._out_of_time

    @property
    def time_left(self) -> tuple[float, str] | None:
        """How many seconds are left, and the reason to give when they are over; None without a time limit."""
        left = None if self.deadline is None else self.deadline.left()
        return None if left is None else (left, self._out_of_time)

    @property
    def _out_of_time(self) -> str:
        return f"the limit of {self.limits.seconds:g} seconds for this turn is reached"

    def reached(self, report: Report, calls: Iterable[ToolUseBlock]) -> str | None:
        """Why a run may not go on after an answer with these calls; None if it may."""
        limits = self.limits
        if report.steps >= self.steps:
            return f"the limit of {self.steps} steps for this turn is reached"
        if limits is NO_LIMITS:
            return None
        if limits.tokens is not None and report.usage.total_tokens >= limits.tokens:
            return f"the limit of {limits.tokens} tokens for this turn is reached"
        if limits.dollars is not None:
            if report.cost_usd is None:
                return f"the cost of an answer is not known, so the limit of ${limits.dollars:g} cannot be kept"
            if report.cost_usd >= limits.dollars:
                return f"the limit of ${limits.dollars:g} for this turn is reached"
        return self.time_is_over or self._too_many(calls)

    def _too_many(self, calls: Iterable[ToolUseBlock]) -> str | None:
        self._calls.update(call.name for call in calls)
        for name, most in (self.limits.calls or {}).items():
            if self._calls[name] > most:
                return f"the limit of {most} calls of `{name}` for this turn is reached"
        return None

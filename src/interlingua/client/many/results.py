"""The result of each request, and the totals of all of them."""

from __future__ import annotations

from typing import Generic

from msgspec import Struct

from ...errors import AdapterError
from ...types.output import T_co
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage

__all__ = ["MapReport", "MapResult"]


class MapResult(Struct, Generic[T_co], frozen=True):
    """One request: its place among the inputs, and its answer or its error."""

    index: int
    request: Request
    response: Response[T_co] | None = None
    error: AdapterError | None = None
    cost_usd: float | None = None
    resumed: bool = False
    """Whether the answer was in the journal, so that no call was made."""

    @property
    def text(self) -> str:
        """The text of the answer. Raises the error if there is none."""
        if self.error is not None:
            raise self.error
        return "" if self.response is None else self.response.text

    @property
    def output(self) -> T_co:
        """The answer as a value of the type that ``output=`` asked for. Raises the error if there is no answer."""
        if self.response is None:
            raise self.error or LookupError("there is no answer")
        return self.response.output


class MapReport(Struct):
    """All requests so far. Usage and cost include answers of the journal; the cost is None if one is not known."""

    done: int = 0
    failed: int = 0
    resumed: int = 0
    usage: TokenUsage = TokenUsage()
    cost_usd: float | None = 0.0

    def add(self, result: MapResult) -> None:
        """Count a result."""
        if result.response is None:
            self.failed += 1
            return
        self.done += 1
        self.resumed += result.resumed
        if result.response.usage is not None:
            self.usage += result.response.usage
        known = self.cost_usd is not None and result.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (result.cost_usd or 0.0) if known else None

    def __str__(self) -> str:
        cost = "" if self.cost_usd is None else f", ${self.cost_usd:.4f}"
        return f"{self.done} done, {self.failed} failed, {self.usage.total_tokens} tokens{cost}"

"""Which failures are retried, how often and after how long, as tables, with a clock that advances only by sleeping."""

from __future__ import annotations

import pytest

from client.support import DIALECTS, PROVIDERS, WAYS, ask, call, config
from interlingua import AdapterError, ErrorClass, RateLimitError, ServerError, TextBlock, error_type
from interlingua.client.config import Retry
from interlingua.client.embedded import Script, Step
from interlingua.client.retry import Budget, backoff, delay_for

FINE = Step(act="echo")


# fmt: off
DELAYS = (
    # base  cap   failures  chance  seconds
    (1.0,   30.0, 1,        1.0,    1.0),
    (1.0,   30.0, 1,        0.0,    0.5),
    (1.0,   30.0, 2,        1.0,    2.0),
    (1.0,   30.0, 3,        0.5,    3.0),
    (1.0,   30.0, 6,        1.0,    30.0),
    (1.0,   30.0, 5000,     0.0,    15.0),
    (0.25,  1.0,  2,        1.0,    0.5),
    (0.0,   30.0, 3,        1.0,    0.0),
)
# fmt: on


@pytest.mark.parametrize(("base", "cap", "failures", "chance", "seconds"), DELAYS)
def test_backoff(base: float, cap: float, failures: int, chance: float, seconds: float) -> None:
    assert backoff(Retry(base, cap), failures, chance) == seconds


# an invalid time is no hint
NONSENSE = (-1.0, float("nan"), float("inf"), -float("inf"))


@pytest.mark.parametrize(
    ("hint", "seconds"),
    [(None, 1.0), (0.0, 0.0), (7.0, 7.0), (45.0, 45.0), (3600.0, 60.0), *((wrong, 1.0) for wrong in NONSENSE)],
)
def test_a_hint_wins_up_to_a_minute(hint: float | None, seconds: float) -> None:
    assert delay_for(RateLimitError(retry_after=hint), Retry(), 1, 1.0) == seconds


@pytest.mark.parametrize("error_class", ErrorClass)
def test_which_classes_are_repeated(error_class: ErrorClass) -> None:
    budget = Budget(Retry(), 2, None, lambda: 0.0, lambda: 1.0)
    budget.attempts = 1
    again = budget.delay(error_type(error_class)(), delivered=False) is not None
    assert again is (error_class in {"rate_limit", "server_error", "network", "timeout", "tool_error"})


def test_what_the_budget_refuses() -> None:
    def delay(
        error: AdapterError, attempts: int = 1, *, delivered: bool = False, seconds: float | None = None
    ) -> float | None:
        budget = Budget(Retry(classes=(ErrorClass.rate_limit,)), 2, seconds, lambda: 0.0, lambda: 1.0)
        budget.attempts = attempts
        return budget.delay(error, delivered=delivered)

    assert delay(RateLimitError()) == 1.0
    assert delay(RateLimitError(), 2) == 2.0
    assert delay(RateLimitError(), 3) is None  # 1 + max_retries attempts
    assert delay(RateLimitError(retryable=False)) is None  # a spent quota
    assert delay(RateLimitError(), delivered=True) is None
    assert delay(RateLimitError(), seconds=0.5) is None  # the deadline would be over
    assert delay(ServerError()) is None  # not among the caller's classes


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_failures_and_an_answer(dialect: str, way: str) -> None:
    script = Script(
        Step(act="fail", error=ErrorClass.server_error), Step(act="fail", error=ErrorClass.rate_limit), FINE
    )
    outcome = call(way, PROVIDERS[dialect], script, ask())
    assert outcome.response is not None
    assert outcome.response.attempts == 3
    assert outcome.response.content == (TextBlock("You said: one two three four"),)
    assert outcome.clock.slept == [1.0, 2.0]
    assert outcome.response.latency_ms == 3000.0
    outcome.check_grammar()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("max_retries", [0, 1, 4])
def test_attempts_are_one_and_max_retries(max_retries: int, way: str) -> None:
    script = Script(Step(act="fail", error=ErrorClass.server_error))
    outcome = call(way, "anthropic", script, ask(), config(max_retries=max_retries))
    assert isinstance(outcome.error, ServerError)
    assert outcome.error.attempts == len(script.seen) == 1 + max_retries
    assert outcome.error.response is not None
    assert outcome.error.response.attempts == 1 + max_retries
    assert outcome.events == []

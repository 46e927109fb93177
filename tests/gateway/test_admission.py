"""The limits of a key, whatever time the clock shows."""

from __future__ import annotations

import pytest

from interlingua import RateLimitError
from interlingua.gateway.admission import Admission, Key, hash_key


@pytest.mark.parametrize("per_minute", [1, 3, 7])
@pytest.mark.parametrize("now", [0.0, 16359.360133, 479.855878, 977.427215, 1e6 + 1 / 3])
def test_a_minutes_worth_may_come_at_once_and_no_more(per_minute: int, now: float) -> None:
    """At any time of the clock: sums of times and fractions of a minute are not exact in floating point."""
    admission = Admission([key := Key(name="k", sha256=hash_key("k"), per_minute=per_minute)], lambda: now)
    for _ in range(per_minute):
        assert admission.enter(key)
    with pytest.raises(RateLimitError) as refused:
        admission.enter(key)
    now += refused.value.retry_after or 0.0
    assert admission.enter(key)

"""Headers that say that a limit is used up, as they were recorded."""

from __future__ import annotations

import time
from typing import Any

import pytest

from client.support import CANARY, ask
from interlingua import Limiter, connect_sync
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.rate_headers import LIMITS, pause_of
from interlingua.client.transport.memory import MemoryTransport
from shared_data import corpus, needs_shared

NOW = "Wed, 18 Nov 2026 21:00:00 GMT"
# fmt: off
ROWS: tuple[tuple[dict[str, str], float | None], ...] = (
    ({},                                                                                                None),
    ({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "20s"},                      None),
    ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"},                     0.02),
    ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"},                     360),
    ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1h2m3.5s"},                     3723.5),
    ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66"},                         7.66),
    ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9" * 400},                      86_400),
    ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "soon"},                         None),
    ({"x-ratelimit-remaining-tokens": "0"},                                                             None),
    ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "5s"},                           5),
    ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-11-18T21:00:12Z",
      "date": NOW},                                                                                     12),
    ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-11-18T20:00:00Z",
      "date": NOW},                                                                                     0),
    ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-11-18T21:00:12Z"}, None),
    ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-11-18",
      "date": NOW},                                                                                     None),
)
# fmt: on


@pytest.mark.parametrize(("headers", "seconds"), ROWS)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert pause_of(headers) == (None if seconds is None else pytest.approx(seconds))


def test_the_next_call_waits_for_the_limit() -> None:
    used_up = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "150ms"}
    script = Script(Step(headers=used_up), Step())
    words: Any = {"api_key": CANARY, "transport": MemoryTransport(handler(script)), "limiter": Limiter(rate=100)}
    with connect_sync("openai-chat:m", **words) as client:
        began = time.monotonic()
        for _ in range(2):
            client.complete(ask(model=None))
    assert time.monotonic() - began >= 0.15


@needs_shared
@pytest.mark.parametrize("dialect", ["anthropic-messages", "openai-chat", "openai-responses"])
def test_every_recorded_time_is_read(dialect: str) -> None:
    """Except for those that were redacted. Recordings have no ``Date``, which every server sends."""
    read = 0
    for record in corpus(dialect):
        headers = {name.lower(): str(value) for name, value in (record.get("response_headers") or {}).items()}
        for left, reset in LIMITS:
            value = headers.get(reset, "X")
            if not value[0].isdigit():
                continue
            seconds = pause_of({left: "0", reset: value, "date": headers.get("date", NOW)})
            assert seconds is not None, value
            assert seconds < 86_400 * 2, value
            read += 1
    assert read > 500

"""The events of the bus about a call, attempt by attempt."""

from __future__ import annotations

from typing import Any

import pytest

from client.support import WAYS, ask, call
from interlingua import ErrorClass
from interlingua.client.bus import BUS, Bus, CallCompleted, CallFailed, CallStarted, subscribe
from interlingua.client.embedded import Script, Step


@pytest.mark.parametrize("way", WAYS)
def test_one_start_and_one_end_per_attempt(way: str) -> None:
    heard: list[Any] = []
    bus = Bus()
    bus.subscribe(heard.append)
    script = Script(Step(act="fail", error=ErrorClass.rate_limit), Step(act="echo"))
    call(way, "openai", script, ask(request_id="r7"), bus=bus)
    assert [(event.type, event.retry_count) for event in heard] == [
        ("llm.call_started", 0),
        ("llm.call_failed", 0),
        ("llm.call_started", 1),
        ("llm.call_completed", 1),
    ]
    failed, done = heard[1], heard[3]
    assert isinstance(heard[0], CallStarted)
    assert isinstance(failed, CallFailed)
    assert (failed.error_class, failed.provider_status) == (ErrorClass.rate_limit, 429)
    assert isinstance(done, CallCompleted)
    assert (done.request_id, done.provider, done.model) == ("r7", "openai", "some-model")
    assert done.usage is not None


@pytest.mark.parametrize("way", WAYS)
def test_a_raising_subscriber_breaks_nothing(way: str, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []
    bus = Bus()

    def bad(event: Any) -> None:
        raise ZeroDivisionError

    bus.subscribe(bad)
    bus.subscribe(heard.append)
    outcome = call(way, "google", Script(Step(act="echo")), ask(), bus=bus)
    assert outcome.response is not None
    assert len(heard) == 2
    assert "ZeroDivisionError" in caplog.text


def test_unsubscribing_from_the_default_bus() -> None:
    heard: list[Any] = []
    leave = subscribe(heard.append)
    call("complete", "openai", Script(), ask())
    assert len(heard) == 2
    leave()
    call("complete", "openai", Script(), ask())
    assert len(heard) == 2
    assert not BUS

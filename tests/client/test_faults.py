"""Every fault, in every dialect, in all four ways: the right class, the right number of attempts, nothing left open."""

from __future__ import annotations

import asyncio

import pytest

from client.support import DIALECTS, PROVIDERS, WAYS, ask, call, config, run
from interlingua import AdapterError, ErrorClass, Event, StopReason
from interlingua.client import AsyncClient, Client
from interlingua.config import AdapterConfig
from interlingua.embedded import LoopbackServer, Script, Step
from interlingua.types import MessageComplete

# fmt: off
FAULTS = {
    # fault                step                                                        class               attempts
    "no answer":          (Step(fault="no_answer"),                                    "network",          3),
    "malformed":          (Step(fault="malformed"),                                    "invalid_request",  1),
    "html":               (Step(fault="html"),                                         "invalid_request",  1),
    "overflow":           (Step(act="overflow"),                                       "context_overflow", 1),
    "auth":               (Step(act="fail", error=ErrorClass.auth),                    "auth",             1),
    "rate limit":         (Step(act="fail", error=ErrorClass.rate_limit),              "rate_limit",       3),
    "server":             (Step(act="fail", error=ErrorClass.server_error),            "server_error",     3),
    "invalid":            (Step(act="fail", error=ErrorClass.invalid_request),         "invalid_request",  1),
    "status 503":         (Step(act="fail", status=503),                               "server_error",     3),
    "status 529":         (Step(act="fail", error=ErrorClass.rate_limit, status=529),  "rate_limit",       3),
}
# fmt: on


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str, dialect: str, way: str) -> None:
    step, error_class, attempts = FAULTS[fault]
    if fault == "malformed" and way.endswith("stream"):
        error_class, attempts = "network", 3  # where a stream was asked for, half a JSON value is a cut one
    outcome = call(way, PROVIDERS[dialect], Script(step), ask())
    assert outcome.error is not None
    assert outcome.error.error_class == error_class
    assert outcome.error.attempts == attempts
    assert outcome.error.provider == PROVIDERS[dialect]
    assert outcome.error.response is not None
    assert outcome.error.response.stop_reason is StopReason.error
    outcome.check_grammar()


@pytest.mark.parametrize("way", ["async-stream", "stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("fault", ["cut", "half", "error_in_200"])
def test_a_broken_stream_never_looks_finished(fault: str, dialect: str, way: str) -> None:
    step = Step(act="echo", fault=fault, after=5)  # type: ignore[arg-type]
    outcome = call(way, PROVIDERS[dialect], Script(step), ask())
    assert outcome.error is not None
    assert outcome.error.error_class == ("server_error" if fault == "error_in_200" else "network")
    assert outcome.error.attempts == 1
    outcome.check_grammar()
    last = outcome.events[-1]
    assert isinstance(last, MessageComplete)
    assert last.error is outcome.error
    assert last.response.stop_reason is StopReason.error
    assert last.response.text.startswith("You")
    assert last.response == outcome.error.response


@pytest.mark.parametrize("way", ["async-complete", "complete"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_inside_a_200(dialect: str, way: str) -> None:
    step = Step(act="echo", fault="error_in_200", error=ErrorClass.server_error)
    outcome = call(way, PROVIDERS[dialect], Script(step, Step(act="echo")), ask())
    assert outcome.response is not None, outcome.error
    assert outcome.response.attempts == 2


@pytest.mark.parametrize("way", ["async-stream", "stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_end_marker_that_comes_twice(dialect: str, way: str) -> None:
    outcome = call(way, PROVIDERS[dialect], Script(Step(act="echo", fault="last_twice")), ask())
    assert outcome.error is None
    outcome.check_grammar()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_huge_answer(dialect: str, way: str) -> None:
    text = "x" * 600_000 + " end"
    outcome = call(way, PROVIDERS[dialect], Script(Step(act="echo", text=text)), ask())
    assert outcome.response is not None
    assert outcome.response.text == text


SOCKET_FAULTS = (
    # step                                            seconds of silence  class
    (Step(act="echo", fault="no_answer"),             5,                  "network"),
    (Step(act="echo", fault="cut", after=5),          5,                  "network"),
    (Step(act="echo", fault="half", after=5),         5,                  "network"),
    (Step(act="echo", fault="stall_first"),           0.1,                "timeout"),
    (Step(act="echo", fault="stall", after=5),        0.1,                "timeout"),
)  # fmt: skip


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("step", "silence", "error_class"), SOCKET_FAULTS)
def test_faults_over_real_sockets(step: Step, silence: float, error_class: str, dialect: str, blocking: bool) -> None:
    events: list[Event] = []

    async def scene() -> None:
        async with LoopbackServer(Script(step)) as server:
            settings = config(base_url=server.url, timeout_seconds=silence, max_retries=0)
            with pytest.raises(AdapterError) as caught:
                await (asyncio.to_thread(read, settings) if blocking else aread(settings))
            assert caught.value.error_class == error_class
            assert caught.value.response is not None
            if step.fault in ("cut", "half"):
                assert events[-1].type == "message.complete"
                assert caught.value.response.text.startswith("You")

    def read(settings: AdapterConfig) -> None:
        with Client(PROVIDERS[dialect], settings) as client, client.stream(ask()) as stream:
            for event in stream:
                events.append(event)  # noqa: PERF402 - kept even if the next one raises

    async def aread(settings: AdapterConfig) -> None:
        async with AsyncClient(PROVIDERS[dialect], settings) as client, client.stream(ask()) as stream:
            async for event in stream:
                events.append(event)  # noqa: PERF401

    run(asyncio.wait_for(scene(), 30))

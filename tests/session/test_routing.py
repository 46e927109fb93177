"""The router: transitions by table, one answer, one budget, a record of who was asked and why."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlingua import AdapterConfig, AdapterError, Base64Source, ErrorClass, Message, Request, error_type
from interlingua.agent.routing import Breaker, Router, Rules
from interlingua.client.connect import AsyncClient
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.manager import ProviderManager
from interlingua.client.transport.memory import AsyncMemoryTransport, MemoryTransport
from interlingua.types import ImageBlock, MessageComplete, TextDelta

RULES = Rules(failures=3, cooldown=30.0, longest=100.0)

OK = "ok"
SERVER, AUTH, INVALID, LIMIT = "server_error", "auth", "invalid_request", "rate_limit"

# fmt: off
TRANSITIONS = {
    # name                            what happens, at which second                          state, until
    "one failure is none":           ([(0, SERVER)],                                        ("closed", 0)),
    "three in a row open it":        ([(0, SERVER), (1, SERVER), (2, SERVER)],              ("open", 32)),
    "a success forgets":             ([(0, SERVER), (1, SERVER), (2, OK), (3, SERVER)],     ("closed", 0)),
    "a bad key opens it at once":    ([(0, AUTH)],                                          ("open", 30)),
    "a bad request tells nothing":   ([(0, INVALID)] * 5,                                   ("closed", 0)),
    "after the cooldown, a probe":   ([(0, AUTH), (30, "ask")],                             ("half_open", 30)),
    "before it, none":               ([(0, AUTH), (29, "no")],                              ("open", 30)),
    "a good probe closes it":        ([(0, AUTH), (30, "ask"), (30, OK)],                   ("closed", 30)),
    "a bad probe doubles the pause": ([(0, AUTH), (30, "ask"), (31, SERVER)],               ("open", 91)),
    "up to the longest":             ([(0, AUTH), (30, "ask"), (30, SERVER), (90, "ask"), (90, SERVER)], ("open", 190)),
    "one probe at a time":           ([(0, AUTH), (30, "ask"), (30, "no")],                 ("half_open", 30)),
    "a probe that tells nothing":    ([(0, AUTH), (30, "ask"), (30, INVALID), (31, "ask")], ("half_open", 30)),
    "a released probe":              ([(0, AUTH), (30, "ask"), (30, "release"), (31, "ask")], ("half_open", 30)),
}
# fmt: on


def failure(word: str, **fields: Any) -> AdapterError:
    return error_type(ErrorClass(word))("scripted", **fields)


@pytest.mark.parametrize("name", TRANSITIONS)
def test_transitions(name: str) -> None:
    happens, (state, until) = TRANSITIONS[name]
    breaker = Breaker(RULES)
    for now, what in happens:
        if what in ("ask", "no"):
            assert breaker.allows(now) is (what == "ask")
        elif what == "release":
            breaker.released()
        elif what == OK:
            breaker.succeeded()
        else:
            breaker.failed(failure(what), now)
    assert (breaker.state, breaker.until) == (state, until)


def test_a_hint_is_longer_than_the_cooldown() -> None:
    breaker = Breaker(Rules(failures=1))
    breaker.failed(failure(LIMIT, retry_after=300.0), 0)
    assert breaker.until == 300.0


# "Retry-After: 1000000000" is 31 years
@pytest.mark.parametrize(("hint", "until"), [(1e9, 600), (-5, 30), (float("nan"), 30), (float("inf"), 30)])
def test_no_hint_closes_a_model_off_for_good(hint: float, until: float) -> None:
    breaker = Breaker(Rules(failures=1))
    breaker.failed(failure(LIMIT, retry_after=hint), 0)
    assert breaker.until == until
    assert breaker.allows(until)


# ------------------------------------------------------------------------------------------------------- with clients


def manager(**scripts: Script) -> ProviderManager:
    """Providers by name, each with a script of its own."""
    made = ProviderManager(environment={})
    for name, script in scripts.items():
        transport = AsyncMemoryTransport(handler(script))
        config = AdapterConfig(api_key="sk-1234567890", max_retries=2)
        made.register(name, AsyncClient(name, config, model="m", transport=transport, sleep=asleep))
    return made


async def asleep(seconds: float) -> None:
    """Nobody waits in a test."""


GOOD = Script(Step(act="echo"))


def ask(**fields: Any) -> Request:
    return Request([Message("user", "hello")], max_output_tokens=100, **fields)


def down() -> Script:
    return Script(Step(act="fail", error=ErrorClass.server_error))


async def test_the_second_answers_when_the_first_fails() -> None:
    first, second = down(), Script(Step(act="echo"))
    router = Router(["anthropic:m", "openai:m"], manager(anthropic=first, openai=second))
    response = await router.complete(ask())
    assert response.text == "You said: hello"
    assert response.origin is not None
    assert response.origin.provider == "openai"
    told = [(c.model, c.outcome, c.attempts) for c in router.record(response.request_id or "")]
    assert told == [("anthropic:m", "failed", 2), ("openai:m", "answered", 1)]
    assert len(first.seen) + len(second.seen) == 3 == response.attempts  # one budget: 1 + max_retries
    await router.close()


def test_a_stream_falls_back_unseen_before_content_only() -> None:
    async def scene(first: Script, wanted: str, fails: bool) -> None:
        router = Router(["anthropic:m", "openai:m"], manager(anthropic=first, openai=Script(Step(act="echo"))))
        events: list[Any] = []
        error = None
        try:
            async for event in router.stream(ask()):
                events.append(event)  # noqa: PERF401
        except AdapterError as problem:
            error = problem
        assert (error is not None) is fails
        assert [type(e).__name__ for e in events].count("MessageStart") == 1
        assert isinstance(events[-1], MessageComplete)
        assert "".join(e.text for e in events if isinstance(e, TextDelta)).startswith(wanted)
        await router.close()

    asyncio.run(scene(down(), "You said: hello", fails=False))
    asyncio.run(scene(Script(Step(act="echo", fault="cut", after=5)), "You", fails=True))


async def test_all_fail_and_the_last_error_is_raised_with_every_name_in_the_record() -> None:
    router = Router(["anthropic:m", "openai:m", "google:m"], manager(anthropic=down(), openai=down(), google=down()))
    with pytest.raises(AdapterError) as caught:
        await router.complete(ask(request_id="r1"))
    assert caught.value.provider == "google"
    assert [c.outcome for c in router.record("r1")] == ["failed"] * 3
    assert caught.value.attempts == 3
    await router.close()


async def test_a_wrong_request_is_not_tried_elsewhere() -> None:
    other = Script(Step(act="echo"))
    bad = Script(Step(act="fail", error=ErrorClass.invalid_request))
    router = Router(["anthropic:m", "openai:m"], manager(anthropic=bad, openai=other))
    with pytest.raises(AdapterError, match="scripted"):
        await router.complete(ask())
    assert not other.seen
    await router.close()


async def test_a_model_that_cannot_read_it_is_passed_by() -> None:
    blind = Script(Step(act="echo"))
    router = Router(
        ["deepseek:deepseek-v3", "anthropic:m"], manager(deepseek=blind, anthropic=Script(Step(act="echo")))
    )
    picture = ImageBlock(Base64Source("image/png", "iVBORw0KGgo="))
    response = await router.complete(Request([Message("user", [picture])], request_id="r", max_output_tokens=9))
    assert response.origin is not None
    assert response.origin.provider == "anthropic"
    assert not blind.seen
    first = router.record("r")[0]
    assert (first.outcome, first.reason) == ("skipped", "messages/0: deepseek-v3 takes no images")
    await router.close()


async def test_a_model_that_keeps_failing_is_left_alone_and_then_probed() -> None:
    now = [0.0]
    first = Script(*[Step(act="fail", error=ErrorClass.server_error)] * 6, Step(act="echo"))

    router = Router(
        ["anthropic:m", "openai:m"],
        manager(anthropic=first, openai=Script(Step(act="echo"))),
        clock=lambda: now[0],
        rules=RULES,
    )
    for _ in range(3):
        await router.complete(ask())
    assert router.states()["anthropic:m"] == "open"
    seen = len(first.seen)
    await router.complete(ask(request_id="r4"))
    assert len(first.seen) == seen, "it was asked although it is open"
    assert router.record("r4")[0].outcome == "skipped"
    now[0] = 31.0
    response = await router.complete(ask())
    assert response.origin is not None
    assert response.origin.provider == "anthropic"
    assert router.states()["anthropic:m"] == "closed"
    await router.close()


@pytest.mark.parametrize(("chance", "first"), [(0.0, "anthropic:m"), (0.74, "anthropic:m"), (0.76, "openai:m")])
def test_weights_draw_the_order(chance: float, first: str) -> None:
    weights = {"anthropic:m": 3.0, "openai:m": 1.0}
    router = Router(weights, manager(anthropic=GOOD, openai=GOOD), chance=lambda: chance)
    assert next(c.name for c in router.route().candidates) == first


def test_a_route_is_sticky_within_a_turn() -> None:
    router = Router(["anthropic:m", "openai:m"], manager(anthropic=GOOD, openai=GOOD))
    route = router.route()
    request = ask()
    route.begin()
    assert route.next(request).id == "anthropic"
    assert route.failed(failure(SERVER))
    assert route.next(request).id == "openai"
    route.answered()
    route.begin()
    assert route.next(request).id == "openai"


def test_the_router_blocks_too() -> None:
    made = ProviderManager(environment={}, sync_transport=MemoryTransport(handler(Script(Step(act="echo")))))
    made.register("anthropic", None, {"api_key": "sk-1234567890"})
    made.register("openai", None, {"api_key": "sk-1234567890"})
    router = Router(["anthropic:m", "openai:m"], made)
    assert router.complete_sync(ask()).text == "You said: hello"
    events = list(router.stream_sync(ask()))
    assert isinstance(events[-1], MessageComplete)
    made.close_sync()

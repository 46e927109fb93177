"""A canary key, planted in every place where a key can be configured, is seen nowhere but in a header."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from typing import Any

import msgspec
import pytest

from client.support import CANARY, DIALECTS, PROVIDERS, WAYS, ask, call, config
from interlingua import AdapterError, ErrorClass, NetworkError
from interlingua.client.bus import Bus
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import Script, Step
from interlingua.client.http import HttpRequest
from interlingua.client.secrets import MASK, Secret
from interlingua.client.transport.memory import Answer


def test_a_secret_reads_as_asterisks() -> None:
    secret = Secret(CANARY)
    forms = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", "%s" % secret, "a" + secret, secret.upper()]  # noqa: UP031
    forms += [json.dumps({"k": secret}), repr(KeyError(secret)), repr([secret])]
    forms += [pickle.dumps(secret).decode("latin-1"), repr(secret.encode())]
    assert not [form for form in forms if CANARY in form]
    assert secret.reveal() == CANARY
    assert secret == CANARY
    assert secret != Secret("other")
    assert {secret: 1}[Secret(CANARY)] == 1
    assert not Secret("")
    assert pickle.loads(pickle.dumps(secret)).reveal() == ""


def test_a_configuration_and_a_request_show_no_key() -> None:
    settings = AdapterConfig(CANARY, extra_headers={"x-other": CANARY}, options={"body": {"k": CANARY}})
    request = HttpRequest("POST", "https://a.b/c", {"authorization": f"Bearer {CANARY}"}, b"{}")
    clients = [AsyncClient("openai", settings), Client("openai", settings)]
    forms = [repr(settings), str(settings), repr(request), str(request), *map(repr, clients)]
    forms += [pickle.dumps(request).decode("latin-1"), repr(AdapterConfig(CANARY, options={"api": CANARY}))]
    forms += [pickle.dumps(AdapterConfig(CANARY, extra_headers={"x": CANARY})).decode("latin-1")]
    assert not [form for form in forms if CANARY in form]
    assert MASK in repr(settings)
    with pytest.raises(TypeError) as caught:  # msgspec knows no subclasses of str: it refuses, and shows nothing
        msgspec.json.encode(settings)
    assert CANARY not in str(caught.value)


STEPS = (
    Step(act="echo"),
    Step(fault="no_answer"),
    Step(fault="malformed"),
    Step(fault="html"),
    Step(act="echo", fault="cut", after=3),
    Step(act="fail", error=ErrorClass.auth),
    Step(act="fail", error=ErrorClass.rate_limit),
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_call_shows_its_key(dialect: str, way: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    heard: list[Any] = []
    bus = Bus()
    bus.subscribe(heard.append)
    for step in STEPS:
        settings = config(extra_headers={"x-second": CANARY + "2"})
        outcome = call(way, PROVIDERS[dialect], Script(step), ask(seed=1), settings, bus=bus)
        sent = outcome.transport.requests[0]
        assert any(CANARY in value for value in sent.headers.values())
        assert CANARY not in sent.url
        forms = [repr(outcome.response), repr(outcome.events), repr(outcome.error), repr(sent)]
        if outcome.error is not None:
            forms += traceback.format_exception(outcome.error)
            forms += [repr(outcome.error.__dict__)]
        assert not [form for form in forms if CANARY in form]
    assert CANARY not in caplog.text
    assert CANARY not in repr([record.__dict__ for record in caplog.records])
    assert CANARY not in repr(heard)
    assert len(heard) >= 2 * len(STEPS)


def refused_locally(transport: str) -> AdapterError:
    import asyncio

    settings = config(base_url="http://127.0.0.1:9", max_retries=0)

    async def scene() -> None:
        async with AsyncClient("anthropic", settings) as client:
            await client.complete(ask())

    with pytest.raises(NetworkError) as caught:
        asyncio.run(scene()) if transport == "aio" else Client("anthropic", settings).complete(ask())
    return caught.value


@pytest.mark.parametrize("transport", ["aio", "blocking"])
def test_a_real_transports_failure_shows_no_key(transport: str) -> None:
    error = refused_locally(transport)
    assert "127.0.0.1" in str(error)
    assert CANARY not in "".join(traceback.format_exception(error))
    assert CANARY not in repr(error.__dict__)


def test_a_provider_that_repeats_the_key() -> None:
    """OpenAI's own 401 shows a part of the key; a rude proxy may show all of it."""
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {CANARY}.", "type": "invalid_request_error"}})
    outcome = call("complete", "openai-chat", lambda _: Answer(401, {}, [body.encode()]), ask())
    assert outcome.error is not None
    assert CANARY not in repr(outcome.error)
    assert CANARY not in str(outcome.error)
    assert CANARY not in repr(outcome.error.response)
    assert CANARY not in repr(outcome.error.extras)

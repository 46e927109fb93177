"""``fold(client.stream(...))``: the whole answer, or the error of a stream that broke off, which has the partial."""

from __future__ import annotations

import pytest

from client.support import DIALECTS, PROVIDERS, ask, config
from interlingua import NetworkError, StopReason, fold
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.transport.memory import AsyncMemoryTransport, MemoryTransport

WHOLE = Script(Step(act="echo"))
CUT = Script(Step(act="echo", fault="cut", after=5))

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def client(dialect: str, script: Script) -> Client:
    return Client(PROVIDERS[dialect], config(max_retries=0), transport=MemoryTransport(handler(script)))


@every_dialect
def test_a_stream_folds_to_the_answer(dialect: str) -> None:
    assert fold(client(dialect, WHOLE).stream(ask())).text == "You said: one two three four"


@every_dialect
def test_a_stream_that_breaks_off_raises(dialect: str) -> None:
    with pytest.raises(NetworkError) as caught:
        fold(client(dialect, CUT).stream(ask()))
    assert caught.value.response is not None
    assert caught.value.response.stop_reason is StopReason.error
    assert caught.value.response.text.startswith("You")


@every_dialect
async def test_an_awaited_stream_is_refused_with_what_to_write_instead(dialect: str) -> None:
    transport = AsyncMemoryTransport(handler(WHOLE))
    async with AsyncClient(PROVIDERS[dialect], config(), transport=transport) as waiting:
        with pytest.raises(TypeError, match=r"\[event async for event in stream\]"):
            fold(waiting.stream(ask()))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        assert fold([event async for event in waiting.stream(ask())]).text.startswith("You")

"""``output=`` in a session: the last answer of a turn is of the type, or the model is asked again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from interlingua import OutputError, Session, SyncSession
from interlingua.embedded import Script, call


@dataclass
class Forecast:
    city: str
    degrees: int
    note: str = ""


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: 3"


GOOD = '{"city": "Oslo", "degrees": 3, "note": null}'
OSLO = Forecast("Oslo", 3)


def test_run_calls_tools_first_and_answers_with_the_type() -> None:
    script = Script(call("weather", city="Oslo"), GOOD)
    with SyncSession("embedded:", [weather], script=script) as session:
        response = session.run("How is Oslo?", output=Forecast)
    assert response.output == OSLO
    assert session.report.steps == 2
    assert all(request.output_schema for request in script.seen)


async def test_what_does_not_fit_is_answered_in_the_history() -> None:
    async with Session("embedded:", script=['{"city": "Oslo"}', GOOD]) as session:
        assert (await session.send("How is", "Oslo?", output=Forecast)).output == OSLO
        assert [message.role for message in session.messages] == ["user", "assistant"] * 2
        assert "- `degrees` is missing" in session.messages[2].text
        assert all(message.id for message in session.messages)
        assert (await session.send("And now?")).output is None  # for one turn only


def test_a_turn_that_gives_no_value_fails_and_keeps_its_history() -> None:
    with SyncSession("embedded:", script=["no", "no", "no", "yes"]) as session:
        with pytest.raises(OutputError, match="it is not JSON") as caught:
            session.run("How is Oslo?", output=Forecast)
        assert caught.value.response is not None
        assert caught.value.response.text == "no"
        assert session.report.stopped == "failed"
        assert session.report.steps == 3
        assert session.send("Go on.").text == "yes"


def test_events_of_a_typed_turn() -> None:
    async def main() -> None:
        script = [call("weather", city="Oslo"), '{"city": 1}', '{"city": "Oslo", "degrees": 3}']
        async with Session("embedded:", [weather], script=script) as session:
            async with session.run_stream("How is Oslo?", output=Forecast) as stream:
                shown = [str(stream.partial_output) async for _ in stream]
            assert stream.response is not None
            assert stream.response.output == OSLO
            assert "{'city': 'Oslo'}" in shown
            assert shown[-1] == "{'city': 'Oslo', 'degrees': 3}"

    asyncio.run(main())
    with SyncSession("embedded:", script=[GOOD]) as session, session.stream("?", output=Forecast) as stream:
        assert [stream.partial_output for _ in stream][-1] == {"city": "Oslo", "degrees": 3, "note": None}
    assert stream.response is not None
    assert stream.response.output == OSLO


def test_a_turn_that_was_stopped_has_no_output() -> None:
    with SyncSession("embedded:", [weather], max_steps=1, script=[call("weather", city="Oslo")]) as session:
        assert session.run("How is Oslo?", output=Forecast).output is None
        assert session.report.stopped == "limit"


def test_output_and_output_schema_exclude_each_other() -> None:
    with SyncSession("embedded:") as session, pytest.raises(TypeError, match="not both"):
        session.send("?", output=Forecast, output_schema={"type": "object"})

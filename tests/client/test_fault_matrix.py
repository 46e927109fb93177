"""Every fault × six dialects × complete and stream × async and sync, in memory and over sockets, as the table promises.

The table is ``lab.faults.rows``. Its promises follow from the rules of errors and retries, which are the same for all
providers. ``pytest -s`` prints the table with the outcomes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlingua import CancelledError, ErrorClass, MessageComplete, MessageStart, NetworkError, Response, TextBlock
from interlingua.client.bus import CallCompleted, CallFailed, CallStarted
from interlingua.client.embedded import Step
from interlingua.types import BlockStart, StopReason, Unknown
from lab.faults import CELLS, MEDIA, PROVIDERS, ROWS, WAYS, Row, Seen, agrees, differences, expected, rewrite, table
from lab.faults.look import ECHO, look, outcome
from lab.faults.ways import Call

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"

# Promises that are not kept yet: the row, and what must change.
PENDING: dict[str, str] = {}


def test_every_fault_in_every_dialect_every_way() -> None:
    agreed: dict[str, tuple[int, int]] = {}
    wrong: dict[str, list[str]] = {}
    for row in ROWS.values():
        results = [differences(row, medium) for medium in MEDIA]
        found, calls = [line for lines, _ in results for line in lines], sum(count for _, count in results)
        agreed[row.name] = (calls - len(found), calls)
        if found:
            wrong[row.name] = found
    print("\n" + "\n".join(table(agreed)))
    assert {name: lines for name, lines in wrong.items() if name not in PENDING} == {}
    assert wrong.keys() == PENDING.keys(), "a promise is kept now: strike it from PENDING"


def test_the_matrix_has_every_dialect_and_every_way() -> None:
    assert len(CELLS) == len(PROVIDERS) * len(WAYS) == 6 * 4
    assert len(ROWS) >= 60


def test_the_page_is_up_to_date() -> None:
    """``make docs`` writes it anew."""
    assert PAGE.read_text() == rewrite(PAGE)


# ------------------------------------------------------------------------------------------- the checks can see: guilty

WHO: dict[str, Any] = {"request_id": "r", "provider": "openai", "dialect": "openai-responses", "model": "m"}
WHO |= {"stream": True, "retry_count": 0}
STARTED = CallStarted(**WHO)
DONE = CallCompleted(**WHO, latency_ms=0.0, stop_reason=StopReason.end_turn)
FAILED = CallFailed(**WHO, latency_ms=0.0, error_class=ErrorClass.network, message="")


def good() -> Call:
    call = Call()
    call.response = Response(ECHO, attempts=1)
    call.events = [MessageStart(), MessageComplete(call.response)]
    call.bus_events = [STARTED, DONE]
    return call


def bad() -> Call:
    call = Call()
    call.error = NetworkError("cut", provider="openai", attempts=1)
    partial = Response("You said: one", "error", attempts=1, error=call.error)
    call.error.response = partial
    call.events = [MessageStart(), MessageComplete(partial, call.error)]
    call.bus_events = [STARTED, FAILED]
    return call


def changed(call: Call, **fields: Any) -> Call:
    for name, value in fields.items():
        setattr(call, name, value)
    return call


def with_partial(**fields: Any) -> Call:
    call = bad()
    assert call.error is not None
    partial = Response(**{"content": "You", "stop_reason": "error", "attempts": 1, "error": call.error, **fields})
    call.error.response = partial
    return changed(call, events=[MessageStart(), MessageComplete(partial, call.error)])


GUILTY = {
    "no message.complete": changed(good(), events=[MessageStart()]),
    "no event at all": changed(good(), events=[]),
    "an event not read": changed(good(), events=[MessageStart(), Unknown("x", "{"), good().events[-1]]),
    "an open block": changed(bad(), events=[MessageStart(), BlockStart(0, TextBlock("")), bad().events[-1]]),
    "another error": changed(bad(), events=[MessageStart(), MessageComplete(Response(), CancelledError())]),
    "one start too many": changed(good(), bus_events=[STARTED, STARTED, DONE]),
    "no end": changed(good(), bus_events=[STARTED]),
    "a completed failure": changed(bad(), bus_events=[STARTED, DONE]),
    "another answer": changed(good(), response=Response("You said: one four", attempts=1)),
    "nobody's error": changed(bad(), error=NetworkError("cut", attempts=1)),
    "finished after all": with_partial(stop_reason="end_turn"),
    "invented words": with_partial(content="You said nothing"),
    "attempts that differ": with_partial(attempts=2),
}


@pytest.mark.parametrize("call", GUILTY.values(), ids=GUILTY)
def test_each_broken_outcome_is_found(call: Call) -> None:
    assert list(look(call, "async stream", "openai-responses")) != []


def test_a_good_outcome_has_no_problem() -> None:
    assert list(look(good(), "sync stream", "openai-responses")) == []
    assert list(look(bad(), "sync stream", "openai-responses")) == []
    assert outcome(bad()) == ("network", ", kept", 1)
    assert outcome(good()) == ("answered", "", 1)


def test_a_difference_is_a_difference() -> None:
    row = Row("x", Step(), "network ×3", "network, kept")
    whole, stream = expected(row, "sync complete"), expected(row, "async stream")
    assert whole == Seen("network", "", 3, (1.0, 2.0))
    assert stream == Seen("network", ", kept", 1, ())
    assert agrees(whole, whole)
    for other in (
        stream,
        whole._replace(attempts=2),
        whole._replace(waits=(1.0, 1.0)),
        whole._replace(problems=("x",)),
    ):
        assert not agrees(other, whole)
    assert agrees(stream._replace(attempts=2, waits=(1.0,)), stream, burst=True)
    assert not agrees(stream._replace(kept=""), stream, burst=True)
    assert not agrees(stream._replace(attempts=4), stream, burst=True)

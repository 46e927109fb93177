"""Recorded streams with calls, cut and translated: no official SDK reports a call that the source had not finished.

``make cuts ARGS="--places 0 --sdk 2000"`` reads more of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from interlingua import DIALECTS, NetworkError, Response, StopReason, TextBlock, ToolUseBlock, dialect, unfold
from lab.cuts.run import Options
from shared_data import CORPUS, needs_shared

REASON = "the oracles are the official clients: pip install 'interlingua[dev]'"
sdks = pytest.importorskip("lab.cuts.sdks", reason=REASON)
sdk_run = pytest.importorskip("lab.cuts.sdk_run", reason=REASON)

ADD, SUB = ToolUseBlock("call_1", "add", input={"a": 1, "b": [2, "x"]}), ToolUseBlock("call_2", "sub", input={"c": 3})
KEYS = Counter(['{"a":1,"b":[2,"x"]}', '{"c":3}'])

every_dialect = pytest.mark.parametrize("name", DIALECTS)


@pytest.fixture(scope="module")
def readers() -> Iterator[Any]:
    with sdks.sdk_readers() as found:
        yield found


@every_dialect
def test_the_sdks_report_finished_calls(name: str, readers: Any) -> None:
    """Without this the other tests would prove nothing."""
    encoder = dialect(name).stream_encoder()
    said = [
        encoder.feed(event) for event in unfold(Response((TextBlock("hm"), ADD, SUB), "tool_use", model="m", id="r"))
    ]
    assert readers.read(name, b"".join([*said, encoder.close()])) == KEYS


@every_dialect
def test_a_call_that_was_open_is_not_reported(name: str, readers: Any) -> None:
    """The first call was finished, the second was not: the error says the rest."""
    encoder = dialect(name).stream_encoder()
    error = NetworkError("cut")
    cut = ToolUseBlock("call_2", "sub", input_text='{"c":', incomplete=True)
    response = Response((TextBlock("hm"), ADD, cut), StopReason.error, error=error, model="m", id="r")
    said = b"".join([*map(encoder.feed, unfold(response)), encoder.close()])
    assert '{"c":3}' not in (found := readers.read(name, said))
    assert found <= KEYS


@needs_shared
def test_no_sdk_reports_an_unfinished_call() -> None:
    report = sdk_run.measure_sdks(Options(CORPUS, seed=10), 300)
    assert [" | ".join(fault) for fault in report.faults] == []
    assert sum(report.counts[name, "calls"] for name in DIALECTS) > 50

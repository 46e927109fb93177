"""``on_loss``: warn (one structured line), allow, raise (before anything is sent)."""

from __future__ import annotations

import pytest

from client.support import WAYS, ask, call
from interlingua import LossyTranslation, Message, Origin, Request, ThinkingBlock
from interlingua.embedded import Script, Step

FINE = Step(act="echo")


@pytest.mark.parametrize("way", WAYS)
def test_raise_sends_nothing(way: str) -> None:
    outcome = call(way, "anthropic", Script(FINE), ask(seed=3, request_id="r1"), on_loss="raise")
    error = outcome.error
    assert isinstance(error, LossyTranslation)
    assert [loss.path for loss in error.losses] == ["seed"]
    assert (error.provider, error.request_id) == ("anthropic", "r1")
    assert outcome.transport.requests == []


@pytest.mark.parametrize("way", WAYS)
def test_what_is_only_added_is_no_loss(way: str, caplog: pytest.LogCaptureFixture) -> None:
    outcome = call(way, "anthropic", Script(FINE), ask(max_output_tokens=None), on_loss="raise")
    assert outcome.response is not None
    assert [loss.kind for loss in outcome.response.losses] == ["added"]
    assert caplog.records == []


@pytest.mark.parametrize("way", WAYS)
def test_warn_is_one_structured_line(way: str, caplog: pytest.LogCaptureFixture) -> None:
    thought = Message("assistant", (ThinkingBlock("hm", signature="s"),), id="m1", origin=Origin("openai", "x", "y"))
    asked = Message("user", "go on")
    request = Request([asked, thought, asked], model="m", seed=1, max_output_tokens=5, request_id="r2")
    outcome = call(way, "anthropic", Script(FINE), request)
    assert outcome.response is not None
    (record,) = caplog.records
    told = record.interlingua  # type: ignore[attr-defined]
    assert (told["adapter"], told["request_id"]) == ("anthropic", "r2")
    assert {loss["path"] for loss in told["losses"]} >= {"seed"}
    hit = [loss for loss in told["losses"] if loss["path"].startswith("messages/1")]
    assert hit
    assert hit[0]["message_id"] == "m1"
    assert "seed" in record.getMessage()


def test_allow_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    outcome = call("complete", "anthropic", Script(FINE), ask(seed=3), on_loss="allow")
    assert outcome.response is not None
    assert [loss.path for loss in outcome.response.losses] == ["seed"]
    assert caplog.records == []

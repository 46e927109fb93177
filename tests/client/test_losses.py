"""``on_loss``: warn (one structured line), allow, raise (before anything is sent)."""

from __future__ import annotations

import pytest

from client.support import WAYS, ask, call
from interlingua import (
    CacheMark,
    LossyTranslation,
    Message,
    Origin,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.client.embedded import Script, Step

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


CALL = Message("assistant", (ToolUseBlock("call_1", "add", input={"a": 1}, input_text='{ "a": 1 }'),))
RESULT = Message("tool", (ToolResultBlock("call_1", "add", "2", is_error=False),))
ADD = ToolDefinition("add", "Adds.", {"type": "object", "additionalProperties": False})


@pytest.mark.parametrize("provider", ["anthropic", "openai-chat", "openai", "google", "ollama", "bedrock"])
def test_an_ordinary_tool_call_is_no_reason_to_warn_or_raise(provider: str, caplog: pytest.LogCaptureFixture) -> None:
    # the text of arguments, a flag that says what its absence says, a closed schema
    request = Request([Message("user", "1 + 1?"), CALL, RESULT], model="m", tools=[ADD], max_output_tokens=5)
    for on_loss in ("raise", "warn"):
        outcome = call("complete", provider, Script(FINE), request, on_loss=on_loss)
        assert outcome.response is not None
        assert {loss.weight for loss in outcome.response.losses if loss.kind != "added"} <= {"form"}
    assert caplog.records == []


def test_losses_of_form_are_returned() -> None:
    request = Request([Message("user", "1 + 1?"), CALL, RESULT], model="m", tools=[ADD], max_output_tokens=5)
    outcome = call("complete", "ollama", Script(FINE), request)
    assert outcome.response is not None
    told = {(loss.path, loss.kind, loss.weight) for loss in outcome.response.losses}
    assert told >= {
        ("messages/1/content/0/input_text", "dropped", "form"),
        ("messages/2/content/0/is_error", "dropped", "form"),
        ("tools/0/input_schema", "approximated", "form"),
    }


def test_a_line_tells_the_same_loss_once(caplog: pytest.LogCaptureFixture) -> None:
    # same kind, same reason, same message
    marked = TextBlock("a", cache=CacheMark())
    request = Request([Message("user", (marked, marked), id="m1"), Message("user", (marked,), id="m2")], model="m")
    outcome = call("complete", "ollama", Script(FINE), request)
    assert outcome.response is not None
    assert sum(loss.path.endswith("/cache") for loss in outcome.response.losses) == 3
    (record,) = caplog.records
    told = record.interlingua["losses"]  # type: ignore[attr-defined]
    assert [(line["message_id"], line["block"], line["weight"]) for line in told] == [
        ("m1", "text", "content"),
        ("m2", "text", "content"),
    ]
    call("complete", "ollama", Script(FINE), request)
    assert len(caplog.records) == 2, "a client without a session tells it with every call"

"""The losses of parameters that depend on each other, or that have the default value."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import DIALECTS, Message, Request, dialect


@pytest.mark.parametrize("name", ["openai-chat", "gemini", "ollama"])
def test_top_log_probabilities_need_log_probabilities(name: str) -> None:
    def lost(**fields: Any) -> list[tuple[str, str, str]]:
        losses = dialect(name).encode_request(Request([Message("user", "hi")], **fields)).losses
        return [(loss.path, loss.kind, loss.weight) for loss in losses if "logprobs" in loss.path]

    assert lost(top_logprobs=3) == [("logprobs", "added", "form")]
    assert lost(top_logprobs=3, logprobs=False) == [("top_logprobs", "dropped", "content")]
    assert lost(top_logprobs=0) == [("top_logprobs", "dropped", "form")]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "default",
    [{"n": 1}, {"frequency_penalty": 0}, {"presence_penalty": 0.0}, {"logprobs": False}, {"json_output": False}],
    ids=str,
)
def test_a_default_that_is_lost_is_form(name: str, default: dict[str, Any]) -> None:
    losses = dialect(name).encode_request(Request([Message("user", "hi")], **default)).losses
    assert {loss.weight for loss in losses if loss.path in default} <= {"form"}


def test_a_schema_asks_for_json_already() -> None:
    request = Request([Message("user", "hi")], output_schema={"type": "object"}, json_output=True)
    for name in ("openai-chat", "openai-responses", "gemini", "ollama"):
        losses = dialect(name).encode_request(request).losses
        assert [(loss.kind, loss.weight) for loss in losses if loss.path == "json_output"] == [("dropped", "form")]

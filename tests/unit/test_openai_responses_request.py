"""Requests of OpenAI Responses where a line of ``tests/cases/openai-responses.jsonl`` does not suffice: tools."""

from __future__ import annotations

from typing import get_args

import pytest

from interlingua import (
    Message,
    Request,
    Thinking,
    dialect,
)

NAME = "openai-responses"
speaker = dialect(NAME)
ASKED = (Message("user", "?"),)


def test_every_effort_of_the_official_client_is_said() -> None:
    shared = pytest.importorskip("openai.types.shared", reason="the official client is not here")
    words, _ = get_args(shared.ReasoningEffort)
    for effort in get_args(words):
        encoded = speaker.encode_request(Request(ASKED, thinking=Thinking(effort=effort)))
        assert encoded.body["reasoning"] == {"effort": effort}

"""The quirks of compatible servers: every provider has a case, and a custom server needs data only."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

from interlingua import (
    Request,
    Target,
    ToolChoice,
    ToolDefinition,
    dialect,
)
from interlingua.dialects.openai_chat import QUIRKS

CHAT = "openai-chat"


def test_every_provider_has_a_case() -> None:
    """The cases are in ``tests/cases/calls/quirks.jsonl``."""
    cases = Path(__file__).parents[1] / "cases" / "calls" / "quirks.jsonl"
    lines = [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines()]
    assert {line["provider"] for line in lines if "provider" in line} >= QUIRKS.keys()


def test_a_custom_row_is_only_data() -> None:
    quirks = replace(QUIRKS["vllm"], any_word="anything", seed_key="dice")
    request = Request("?", tools=(ToolDefinition("f"),), tool_choice=ToolChoice.any(), seed=6)
    body = dialect(CHAT).encode_request(request, Target("mine", quirks=quirks)).body
    assert (body["tool_choice"], body["dice"]) == ("anything", 6)

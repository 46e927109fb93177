"""Hosted tools that several providers have: one name for all of them, and each dialect's own words."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import (
    dialect,
)
from interlingua.codec.tools.hosted_tools import HostedTool

WORDS: dict[str, dict[str, Any]] = {
    "anthropic-messages": {
        "web_search": {"type": "web_search_20250305", "name": "web_search"},
        "web_fetch": {"type": "web_fetch_20250910", "name": "web_fetch"},
        "code_execution": {"type": "code_execution_20250825", "name": "code_execution"},
    },
    "openai-responses": {
        "web_search": {"type": "web_search"},
        "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},
    },
    "gemini": {
        "web_search": {"googleSearch": {}},
        "web_fetch": {"urlContext": {}},
        "code_execution": {"codeExecution": {}},
    },
}


@pytest.mark.parametrize("name", WORDS)
def test_rows_know_their_own_words(name: str) -> None:
    for row in dialect(name).hosted:
        assert isinstance(row, HostedTool)
        assert row.wire == WORDS[name][row.name] == row.written({})
        assert row.body_of(row.wire) is not None
        others = [other.name for other in dialect(name).hosted if other.body_of(row.wire) is not None]
        assert others == [row.name]

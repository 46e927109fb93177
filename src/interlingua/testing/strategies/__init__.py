"""Hypothesis strategies for arbitrary conversations, to test a dialect or an agent loop.

    from hypothesis import given
    from interlingua.testing import strategies

    @given(strategies.requests("my-dialect"))
    def test_nothing_is_lost_in_silence(request): ...

Histories are legal: every call is answered by the next message, one ``tool`` message for each assistant turn, and ids
are unique. Everything else is as odd as the types allow: empty texts, any Unicode that UTF-8 can encode, deep JSON,
every kind of block and every field. Stored files, server tools, opaque blocks and residue are those of ``dialect`` or
of a dialect that does not exist. No other package imports hypothesis.
"""

from __future__ import annotations

from interlingua.testing.strategies.answers import errors, event_streams, responses, splits, usages
from interlingua.testing.strategies.blocks import (
    answer_blocks,
    json_objects,
    json_values,
    system_blocks,
    texts,
    user_blocks,
)
from interlingua.testing.strategies.requests import conversations, requests, thinking, tool_choices, tools

__all__ = [
    "answer_blocks",
    "conversations",
    "errors",
    "event_streams",
    "json_objects",
    "json_values",
    "requests",
    "responses",
    "splits",
    "system_blocks",
    "texts",
    "thinking",
    "tool_choices",
    "tools",
    "usages",
    "user_blocks",
]

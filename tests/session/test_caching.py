"""Prompt caches: marks within the limits, and a body that only ever grows at its end."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from interlingua import (
    CacheMark,
    Message,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolUseBlock,
    dialect,
)
from interlingua.agent.history import mark_cache
from interlingua.agent.session import SyncSession
from interlingua.client.embedded import Script, Step
from session.scenes import DIALECTS, PROVIDERS, scripted

MARKS = {"cache_control", "cachePoint"}
MODELS = {"anthropic": "claude-sonnet-4-5", "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0"}
"""A model that is known to cache; of an unknown model this is not known."""


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


def look(path: str) -> list[TextBlock]:
    """Look at a file."""
    return [TextBlock(f"{path} is a file"), TextBlock("of two lines")]


def turns() -> Script:
    """Thoughts, calls alone and side by side, text before calls, plain answers."""
    both = (ToolUseBlock("c2", "add", input={"a": 1}), ToolUseBlock("c3", "look", input={"path": "a.txt"}))
    return Script(
        Step(content=(TextBlock("hello"),)),
        Step(content=(ThinkingBlock("hm", signature="c2ln"), ToolUseBlock("c1", "add", input={"a": 1, "b": 2}))),
        Step(content=(TextBlock("three"),)),
        Step(content=(TextBlock("let me see"), *both)),
        Step(content=(TextBlock("so"),)),
        Step(content=(TextBlock("good bye"),)),
    )


def bodies(provider: str, cache: Any) -> list[dict[str, Any]]:
    """The requests of one long conversation, call by call."""
    manager = scripted(turns())
    session = SyncSession(
        f"{provider}:{MODELS.get(provider, 'm')}", [add, look], "be brief", manager=manager, cache=cache
    )
    for text in ("hi", "1 + 2?", "and the file?", "bye"):
        session.run(text)
    transport: Any = manager._sync_transport
    return [json.loads(request.body) for request in transport.requests]


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_marks(inner) for key, inner in value.items() if key not in MARKS}
    if isinstance(value, list):
        return [without_marks(inner) for inner in value if not (isinstance(inner, dict) and set(inner) <= MARKS)]
    return value


def up_to_the_last_message(body: dict[str, Any], key: str) -> str:
    """The serialisation, cut right behind the last message."""
    whole = json.dumps(body)
    last = json.dumps(body[key])[:-1]
    end = whole.index(f'"{key}": {last}') + len(f'"{key}": {last}')
    return whole[:end]


@pytest.mark.parametrize("cache", ["off", "auto"])
@pytest.mark.parametrize("name", DIALECTS)
def test_a_turn_is_a_prefix_of_the_next(name: str, cache: str) -> None:
    key = dialect(name).history_key
    sent = [without_marks(body) for body in bodies(PROVIDERS[name], cache)]
    assert len(sent) == 6
    for before, after in pairwise(sent):
        assert json.dumps(after).startswith(up_to_the_last_message(before, key))


def count(value: Any) -> int:
    if isinstance(value, dict):
        return sum(key in MARKS or count(inner) for key, inner in value.items())
    return sum(map(count, value)) if isinstance(value, list) else 0


@pytest.mark.parametrize("name", DIALECTS)
def test_marks_stay_within_the_limit_and_are_nowhere_a_loss(name: str) -> None:
    marked = {"anthropic-messages", "bedrock-converse"}
    found = [count(body) for body in bodies(PROVIDERS[name], "auto")]
    assert max(found) <= 4
    assert (min(found) >= 3) is (name in marked)
    manager, model = scripted(Script(Step(act="echo"))), MODELS.get(PROVIDERS[name], "m")
    session = SyncSession(f"{PROVIDERS[name]}:{model}", [add], "be brief", manager=manager, cache="auto")
    session.send("hi")
    assert [loss for loss in session.report.losses if "cache" in loss.path] == []


def test_what_is_kept_has_no_marks() -> None:
    session = SyncSession("anthropic:claude-sonnet-4-5", [add], "be brief", manager=scripted(), cache="auto")
    session.send("hi")
    assert all(block.cache is None for message in session.messages for block in message.content)


def test_marks_of_the_callers_own_count() -> None:
    tool = ToolDefinition("add", "Add", {"type": "object"}, cache=CacheMark())
    own = [Message("user", [TextBlock(str(n), cache=CacheMark())]) for n in range(3)]
    request = Request(own, system=[TextBlock("be brief")], tools=[tool])
    assert mark_cache(request, "anthropic-messages") is request
    one_left = Request(own[:2], system=[TextBlock("be brief")], tools=[tool])
    made = mark_cache(one_left, "anthropic-messages")
    assert made.system[0].cache == CacheMark()
    assert made.messages == one_left.messages


def test_the_marked_places() -> None:
    request = Request(
        [Message("user", "one"), Message("assistant", "two"), Message("user", "three")],
        system=[TextBlock("a"), TextBlock("b")],
        tools=[ToolDefinition("x"), ToolDefinition("y")],
    )
    made = mark_cache(request, "anthropic-messages")
    assert [getattr(tool, "cache", None) for tool in made.tools] == [None, CacheMark()]
    assert [block.cache for block in made.system] == [None, CacheMark()]
    assert [message.content[0].cache for message in made.messages] == [CacheMark(), None, CacheMark()]

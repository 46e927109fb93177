"""Which tool did a real model call for a real question? Recorded pairs, against all tools of all recordings."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from interlingua import DIALECTS, Message, Request, ToolDefinition, ToolUseBlock, dialect
from interlingua.client.behaviour import relevance
from shared_data import corpus, needs_shared

# Not tools that a question could be about: frameworks put structured answers into them.
ANSWERS = ("final_result", "__mirascope")
LONGEST_QUESTION = 1500


def decoded(name: str) -> Iterator[tuple[Request, tuple[Message, ...]]]:
    """Every recorded request that offers tools, and its messages with the answer, where that was not a stream."""
    for record in corpus(name):
        if isinstance(wire := record.get("request"), dict) and record.get("status") == 200:
            request = dialect(name).decode_request(wire)
            if any(isinstance(tool, ToolDefinition) for tool in request.tools):
                yield request, (*request.messages, *answer(name, record.get("response")))


def answer(name: str, wire: Any) -> tuple[Message, ...]:
    if not isinstance(wire, dict) or set(wire) & {"input_tokens", "totalTokens"}:  # a count of tokens is no answer
        return ()
    return (Message(role="assistant", content=dialect(name).decode_response(wire).content),)


def calls(messages: tuple[Message, ...]) -> Iterator[tuple[str, str]]:
    question = ""
    for message in messages:
        if message.role == "user" and message.text.strip():
            question = message.text.strip()
        for block in message.content:
            if isinstance(block, ToolUseBlock) and question:
                yield question, block.name


def plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def recorded() -> tuple[dict[str, ToolDefinition], list[tuple[str, str]]]:
    """All tools by name, and each pair of a question and the tool that was called for it, once."""
    tools: dict[str, ToolDefinition] = {}
    pairs: dict[tuple[str, str], str] = {}
    for name in DIALECTS:
        for request, messages in decoded(name):
            for tool in request.tools:
                if isinstance(tool, ToolDefinition):
                    tools.setdefault(tool.name, tool)
            for question, called in calls(messages):
                pairs.setdefault((question[:80], called), question)
    known = [(question, called) for (_, called), question in pairs.items() if called in tools]
    return tools, [(question, called) for question, called in known if is_fair(question, called)]


def is_fair(question: str, called: str) -> bool:
    """It does not spell the tool's name out, and is a question."""
    return not called.startswith(ANSWERS) and len(question) <= LONGEST_QUESTION and plain(called) not in plain(question)


@needs_shared
def test_the_tool_that_was_called_is_near_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    found, pairs = recorded()
    names = sorted(found)
    Random(7).shuffle(names)  # twins score the same; their names must not decide
    tools = [found[name] for name in names]
    assert len(pairs) > 300
    at_20 = recall("", pairs, names, tools)
    assert at_20 > 10 * 20 / len(tools)  # ten times as good as chance
    monkeypatch.setattr(relevance, "SYNONYM", 0.0)
    monkeypatch.setattr(relevance, "_meanings", relevance._meanings.__wrapped__)
    assert recall(", without synonyms", pairs, names, tools) > 10 * 20 / len(tools)


def recall(how: str, pairs: list[tuple[str, str]], names: list[str], tools: list[ToolDefinition]) -> float:
    places: list[int] = []
    for question, called in pairs:
        marks = relevance.scores(question, tools)
        own = names.index(called)
        before = sum(mark > marks[own] or (mark == marks[own] and i < own) for i, mark in enumerate(marks))
        places.append(before + 1 if marks[own] > 0 else len(tools) + 1)
    at_10, at_20 = (sum(place <= at for place in places) / len(places) for at in (10, 20))
    print(f"\n{len(pairs)} calls, {len(tools)} tools{how}: @10 {at_10:.1%}  @20 {at_20:.1%}")
    return at_20

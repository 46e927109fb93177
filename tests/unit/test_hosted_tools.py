"""Hosted tools that several providers have: one name for all of them, and each dialect's own words."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import (
    DIALECTS,
    Message,
    Request,
    ServerTool,
    ToolChoice,
    ToolDefinition,
    code_execution,
    dialect,
    web_fetch,
    web_search,
)
from interlingua.codec.tools.hosted_tools import HostedTool

WEATHER = ToolDefinition("weather", "Tells it.", {"type": "object", "properties": {}})
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
MADE = {"web_search": web_search(), "web_fetch": web_fetch(), "code_execution": code_execution()}


def written(name: str, *tools: Any) -> tuple[Any, list[tuple[str, str]]]:
    encoded = dialect(name).encode_request(Request([Message("user", "?")], "m", tools=tools))
    losses = [
        (loss.path, loss.reason) for loss in encoded.losses if loss.path.startswith("tools") and loss.weight != "form"
    ]
    return encoded.body.get("tools"), losses


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("tool", MADE)
def test_one_name_for_all(name: str, tool: str) -> None:
    tools, losses = written(name, MADE[tool], WEATHER)
    said = WORDS.get(name, {}).get(tool)
    assert (said in (tools or [])) is (said is not None)
    told = [] if said else [("tools/0", f"{name} has no hosted tool like {tool}")]
    assert [loss for loss in losses if loss[0] == "tools/0"] == told
    alone = dialect(name).encode_tools([MADE[tool]])
    assert (alone.body == [said]) is (said is not None)


@pytest.mark.parametrize("target", WORDS)
@pytest.mark.parametrize(("source", "tool"), [(source, tool) for source in WORDS for tool in WORDS[source]])
def test_a_tool_of_one_provider_becomes_that_of_another(tool: str, source: str, target: str) -> None:
    tools, losses = written(target, WEATHER, ServerTool(source, WORDS[source][tool]))
    said = WORDS[target].get(tool)
    assert (said in tools) is (said is not None)
    told = [] if said else [("tools/1", f"{target} has no hosted tool like {tool}")]
    assert [loss for loss in losses if loss[0].startswith("tools/1")] == told
    request = Request([Message("user", "?")], "m", tools=[ServerTool(source, WORDS[source][tool])])
    form = [loss.path for loss in dialect(target).encode_request(request).losses if loss.weight == "form"]
    assert ("tools/0" in form) is (said is not None and source != target), "another provider's tool is declared"


def test_settings_go_along_where_there_is_a_word_for_them() -> None:
    place = {"type": "approximate", "city": "Oslo"}
    tool = web_search(allowed_domains=["a.example"], blocked_domains=["b.example"], user_location=place, max_uses=3)
    assert written("anthropic-messages", tool) == (
        [
            {
                **WORDS["anthropic-messages"]["web_search"],
                "allowed_domains": ["a.example"],
                "blocked_domains": ["b.example"],
                "user_location": place,
                "max_uses": 3,
            }
        ],
        [],
    )
    tools, losses = written("openai-responses", tool)
    assert tools == [{"type": "web_search", "filters": {"allowed_domains": ["a.example"]}, "user_location": place}]
    assert losses == [
        (f"tools/0/raw/{key}", "web_search of openai-responses has no such setting")
        for key in ("blocked_domains", "max_uses")
    ]
    tools, losses = written("gemini", tool)
    assert tools == [{"googleSearch": {"excludeDomains": ["b.example"]}}]
    assert [path for path, _ in losses] == [
        f"tools/0/raw/{key}" for key in ("allowed_domains", "user_location", "max_uses")
    ]


def test_settings_of_a_provider_are_translated_or_told() -> None:
    theirs = {
        "type": "web_search_preview_2025_03_11",
        "filters": {"allowed_domains": ["a.example"], "odd": 1},
        "search_context_size": "high",
        "user_location": None,
    }
    tools, losses = written("anthropic-messages", ServerTool("openai-responses", theirs))
    assert tools == [{**WORDS["anthropic-messages"]["web_search"], "allowed_domains": ["a.example"]}]
    assert [path for path, _ in losses] == ["tools/0/raw/filters/odd", "tools/0/raw/search_context_size"]
    body = {"model": "m", "input": "?", "tools": [theirs]}
    home = dialect("openai-responses")
    assert home.encode_request(home.decode_request(body)).body == body, "nothing changes at home"


def test_what_no_other_has_is_lost_as_before() -> None:
    computer = ServerTool("openai-responses", {"type": "computer"})
    tools, losses = written("gemini", computer)
    assert not tools
    assert losses == [("tools/0", "a hosted tool of openai-responses that is not translated to gemini")]
    for odd in (None, [], "web_search", {"type": 3}, {"type": "web_searches"}, {"a": {}, "b": {}}, {"googleSearch": 1}):
        tools, losses = written("anthropic-messages", ServerTool("gemini", odd), ServerTool("of nobody", odd))
        assert (tools, len(losses)) in (([], 2), (None, 2)), odd


@pytest.mark.parametrize("name", WORDS)
def test_rows_know_their_own_words(name: str) -> None:
    for row in dialect(name).hosted:
        assert isinstance(row, HostedTool)
        assert row.wire == WORDS[name][row.name] == row.written({})
        assert row.body_of(row.wire) is not None
        others = [other.name for other in dialect(name).hosted if other.body_of(row.wire) is not None]
        assert others == [row.name]


def chosen(name: str, choice: ToolChoice) -> tuple[Any, list[str]]:
    request = Request([Message("user", "?")], "m", tools=[WEATHER, code_execution()], tool_choice=choice)
    encoded = dialect(name).encode_request(request)
    told = [loss.path for loss in encoded.losses if loss.path.startswith("tool_choice") and loss.kind == "dropped"]
    return encoded.body.get("toolConfig" if name == "gemini" else "tool_choice"), told


def test_a_choice_names_only_what_can_be_named() -> None:
    specific = ToolChoice.specific("code_execution")
    assert chosen("anthropic-messages", specific) == ({"type": "tool", "name": "code_execution"}, [])
    for name in ("openai-responses", "gemini"):
        assert chosen(name, specific) == (None, ["tool_choice"])
        assert chosen(name, ToolChoice(allowed=("code_execution",))) == (None, ["tool_choice/allowed"])
        wire, told = chosen(name, ToolChoice("auto", allowed=("code_execution", "weather")))
        assert ("weather" in str(wire), "code_execution" in str(wire), told) == (True, False, ["tool_choice/allowed"])

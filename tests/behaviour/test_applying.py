"""A behaviour applied to a request, checked in the request and in the encoded body."""

from __future__ import annotations

import json
from typing import Any

import pytest

from behaviour.recorded_tools import recorded_requests
from interlingua import DIALECTS, Message, Request, ServerTool, TextBlock, ToolChoice, ToolDefinition, dialect
from interlingua.client.behaviour import Behaviour, apply, is_first_turn, preset
from interlingua.types import CacheMark
from lab.oracles import problems
from shared_data import needs_shared

CODING = preset("coding-agent")
OPENAI, CLAUDE = CODING.rows["openai"], CODING.rows["claude"]
ADDENDUM = OPENAI.addendum or ""
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
TOOLS = tuple(ToolDefinition(name=f"tool_{i}", description=f"Number {i}.", input_schema=SCHEMA) for i in range(30))
HELLO = Message(role="user", content="Call number 25.")
REQUEST = Request(model="m", system="Be kind.", messages=(HELLO,), tools=TOOLS)
ANSWERED = (HELLO, Message(role="assistant", content="Done."), HELLO)


def changed(request: Request, **fields: Any) -> Request:
    return apply(request, Behaviour(**fields)).request


# --------------------------------------------------------------------------------------------------------------- off


def test_a_behaviour_that_is_off_gives_the_same_request_back() -> None:
    applied = apply(REQUEST, Behaviour())
    assert applied.request is REQUEST
    assert (applied.left_out, applied.warnings) == ((), ())


def test_a_request_that_already_fits_is_returned_unchanged() -> None:
    bare = Request(messages=ANSWERED)
    assert changed(bare, strict=True, parallel=True, max_tools=5, force_first_tool=True) is bare


# ---------------------------------------------------------------------------------------------------------- addendum


def test_the_addendum_follows_the_system_prompt_as_a_block_of_its_own() -> None:
    marked = TextBlock(text="Be kind.", cache=CacheMark())
    made = changed(Request(system=(marked,), messages=(HELLO,)), addendum="Be quick.")
    assert made.system == (marked, TextBlock(text="Be quick."))
    assert changed(Request(messages=(HELLO,)), addendum="Be quick.").system == (TextBlock(text="Be quick."),)


def test_the_addendum_follows_system_messages_where_they_lead() -> None:
    system = Message(role="system", content="Be kind.")
    made = changed(Request(messages=(system, HELLO)), addendum="Be quick.")
    assert [(message.role, message.text) for message in made.messages] == [
        ("system", "Be kind."),
        ("system", "Be quick."),
        ("user", HELLO.text),
    ]
    assert made.system == ()


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("leading", [False, True])
def test_the_addendum_is_never_added_twice(name: str, leading: bool) -> None:
    """Also when the request was sent, and comes back from the wire."""
    system = Message(role="system", content="Be kind.")
    request = (
        Request(model="m", messages=(system, HELLO))
        if leading
        else Request(model="m", system="Be kind.", messages=(HELLO,))
    )
    made = changed(request, addendum=ADDENDUM)
    assert changed(made, addendum=ADDENDUM) is made
    body = dialect(name).encode_request(made).body
    back = dialect(name).decode_request(body, model="m")
    assert changed(back, addendum=ADDENDUM) is back
    assert count(body, ADDENDUM) == 1


def count(body: Any, text: str) -> int:
    return json.dumps(body).count(json.dumps(text)[1:-1])


# ------------------------------------------------------------------------------------------------------------- tools


def test_strict_is_set_where_the_tool_does_not_set_it() -> None:
    tools = (
        ToolDefinition(name="silent"),
        ToolDefinition(name="loose", strict=False),
        ToolDefinition(name="text", kind="text"),
        ServerTool(dialect="openai-responses", raw={"type": "web_search"}),
    )
    made = changed(Request(tools=tools), strict=True).tools
    assert [getattr(tool, "strict", "none of ours") for tool in made] == [True, False, None, "none of ours"]
    assert changed(Request(tools=tools), strict=False).tools[0].strict is False  # type: ignore[union-attr]
    assert changed(Request(tools=tools[1:]), strict=True).tools == tools[1:]


@pytest.mark.parametrize(
    ("choice", "made"),
    [
        (None, ToolChoice(parallel=False)),
        (ToolChoice.any(), ToolChoice.any(parallel=False)),
        (ToolChoice(parallel=True), ToolChoice(parallel=True)),
        (ToolChoice.none(), ToolChoice.none()),
    ],
)
def test_parallel_is_set_where_the_choice_does_not_set_it(choice: ToolChoice | None, made: ToolChoice) -> None:
    assert changed(Request(tools=TOOLS, tool_choice=choice), parallel=False).tool_choice == made
    assert changed(Request(tool_choice=choice), parallel=False).tool_choice == choice  # no tools, nothing to say


@pytest.mark.parametrize(
    ("choice", "made"),
    [
        (None, ToolChoice.any()),
        (ToolChoice(), ToolChoice.any()),
        (ToolChoice(parallel=True), ToolChoice.any(parallel=True)),
        (ToolChoice.auto(), ToolChoice.auto()),
        (ToolChoice.none(), ToolChoice.none()),
        (ToolChoice.specific("tool_3"), ToolChoice.specific("tool_3")),
        (ToolChoice(allowed=("tool_3",)), ToolChoice(allowed=("tool_3",))),
    ],
)
def test_a_tool_is_forced_where_the_caller_did_not_choose(choice: ToolChoice | None, made: ToolChoice) -> None:
    request = Request(messages=(HELLO,), tools=TOOLS, tool_choice=choice)
    assert changed(request, force_first_tool=True).tool_choice == made


def test_a_tool_is_forced_on_the_first_turn_only() -> None:
    later = Request(messages=ANSWERED, tools=TOOLS)
    assert is_first_turn(REQUEST)
    assert not is_first_turn(later)
    assert changed(later, force_first_tool=True) is later
    assert apply(later, Behaviour(force_first_tool=True), first_turn=True).request.tool_choice == ToolChoice.any()
    assert apply(REQUEST, Behaviour(force_first_tool=True), first_turn=False).request is REQUEST


def test_without_tools_of_the_callers_nothing_is_forced() -> None:
    search = ServerTool(dialect="openai-responses", raw={"type": "web_search"})
    for tools in ((), (search,)):
        request = Request(messages=(HELLO,), tools=tools)
        assert changed(request, force_first_tool=True) is request


def test_left_out_tools_are_named() -> None:
    applied = apply(REQUEST, Behaviour(max_tools=3), core_tools=["tool_29"], active_skills=["tool_7"])
    assert [tool.name for tool in applied.request.tools if isinstance(tool, ToolDefinition)] == [
        "tool_7",
        "tool_25",
        "tool_29",
    ]
    assert len(applied.left_out) == 27
    assert apply(REQUEST, Behaviour(max_tools=1), core_tools=["tool_1", "tool_2"]).warnings
    assert apply(REQUEST, Behaviour(max_tools=1), active_connectors=["tool_9"]).request.tools == (TOOLS[9],)


# --------------------------------------------------------------------------------------------- on the wire: smoke tests

# provider, model, dialect
AS_OPENAI = (
    ("openai", "gpt-5", "openai-responses"),
    ("openai-chat", "gpt-5", "openai-chat"),
    ("azure", "my-deployment", "openai-chat"),
    ("openrouter", "openai/gpt-5", "openai-chat"),
)
AS_CLAUDE = (
    ("anthropic", "claude-opus-4-7", "anthropic-messages"),
    ("bedrock", "us.anthropic.claude-opus-4-7-v1:0", "bedrock-converse"),
)


def encoded(request: Request, name: str) -> dict[str, Any]:
    body: dict[str, Any] = dialect(name).encode_request(request).body
    return body


@pytest.mark.parametrize(("provider", "model", "name"), AS_OPENAI)
def test_the_preset_for_openai_adds_rules_forces_a_call_and_limits_tools(provider: str, model: str, name: str) -> None:
    body = encoded(apply(REQUEST, CODING.behaviour_for(provider, model)).request, name)
    assert problems(body, name) == []  # the SDK's own types, and the order of turns
    assert count(body, ADDENDUM) == 1
    assert body["tool_choice"] == "required"
    assert len(body["tools"]) == 20
    functions = [tool.get("function", tool) for tool in body["tools"]]
    assert all(function["strict"] is True for function in functions)
    assert "tool_25" in [function["name"] for function in functions]
    later = Request(model="m", system="Be kind.", messages=ANSWERED, tools=TOOLS)
    assert "tool_choice" not in encoded(apply(later, CODING.behaviour_for(provider, model)).request, name)


@pytest.mark.parametrize(("provider", "model", "name"), AS_CLAUDE)
def test_the_preset_for_claude_adds_no_rules(provider: str, model: str, name: str) -> None:
    behaviour = CODING.behaviour_for(provider, model)
    assert encoded(apply(REQUEST, behaviour).request, name) == encoded(REQUEST, name)
    many = Request(model="m", messages=(HELLO,), tools=[ToolDefinition(name=f"t{i}") for i in range(70)])
    assert len(apply(many, behaviour).request.tools) == 60


@pytest.mark.parametrize("name", DIALECTS)
def test_without_a_preset_nothing_is_added(name: str) -> None:
    assert encoded(apply(REQUEST, Behaviour()).request, name) == encoded(REQUEST, name)


@needs_shared
def test_requests_of_real_agents() -> None:
    """Recorded requests: the same body without a preset; with it the addendum once, twenty tools, a forced call."""
    seen = 0
    for client, name, wire in recorded_requests():
        request = dialect(name).decode_request(wire, model="m")
        before = encoded(request, name)
        assert encoded(apply(request, Behaviour()).request, name) == before, client
        applied = apply(request, OPENAI)
        assert count(encoded(applied.request, name), ADDENDUM) == 1, client
        assert len(applied.request.tools) <= 20, client
        assert len(applied.left_out) == len(request.tools) - len(applied.request.tools), client
        assert apply(request, CLAUDE).request is request, client
        seen += 1
    assert seen > 50

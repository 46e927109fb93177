"""The request of OpenAI Responses: where the system prompt stands, tools in all their places, parameters, results."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from interlingua import (
    AudioBlock,
    Base64Source,
    CacheMark,
    DocumentBlock,
    FileSource,
    ImageBlock,
    JsonBlock,
    Message,
    OpaqueBlock,
    ParseError,
    Request,
    Response,
    ServerTool,
    TextBlock,
    TextSource,
    Thinking,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    dialect,
)

NAME = "openai-responses"
Json = Any
speaker = dialect(NAME)
USER = {"role": "user", "content": [{"type": "input_text", "text": "?"}]}
ASKED = (Message("user", "?"),)
SCHEMA: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "string"}}}
STRICT = {**SCHEMA, "required": ["a"], "additionalProperties": False}


def exact(body: Json) -> Request:
    request = speaker.decode_request(body)
    encoded = speaker.encode_request(request)
    assert encoded.body == body
    assert encoded.losses == ()
    return request


def losses(request: Request) -> set[tuple[str, str]]:
    return {(loss.path, loss.kind) for loss in speaker.encode_request(request).losses}


# ------------------------------------------------------------------------------------------------ the system prompt


def developer(*texts: str, **more: Json) -> Json:
    return {"role": "developer", "content": [{"type": "input_text", "text": text} for text in texts], **more}


SYSTEM: dict[str, tuple[Json, list[str]]] = {
    "instructions": ({"instructions": "a"}, ["a"]),
    "no instructions": ({"instructions": None}, []),
    "empty instructions": ({"instructions": ""}, []),
    "a developer message": ({"input": [developer("a", "b")]}, ["a", "b"]),
    "one short developer message": ({"input": [developer("a")]}, ["a"]),
    "a system message": ({"input": [{"role": "system", "content": "a"}]}, ["a"]),
    "both": ({"instructions": "a", "input": [developer("b")]}, ["a", "b"]),
    "several": (
        {"instructions": "a", "input": [
            {"type": "message", "role": "system", "content": "b"}, developer("c", "d", id="msg_1", type="message")]},
        ["a", "b", "c", "d"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEM)
def test_where_the_system_prompt_stands(name: str) -> None:
    wire, texts = SYSTEM[name]
    request = exact({**wire, "input": [*wire.get("input", []), USER]})
    assert [block.text for block in request.system if isinstance(block, TextBlock)] == texts
    assert len(request.messages) == 1


def test_a_prompt_of_ones_own() -> None:
    one = speaker.encode_request(Request(ASKED, system="a")).body
    assert one == {"instructions": "a", "input": [USER]}
    blocks = (TextBlock("a"), TextBlock("b", cache=CacheMark()))
    several = speaker.encode_request(Request(ASKED, system=blocks)).body
    assert several["input"][0]["role"] == "developer"
    assert several["input"][0]["content"][1]["prompt_cache_breakpoint"] == {"mode": "explicit"}
    assert speaker.decode_request(several).system == blocks


def test_a_later_system_message_stays_where_it_is() -> None:
    request = exact({"input": [USER, developer("now in French"), USER]})
    assert [message.role for message in request.messages] == ["user", "system", "user"]


# ------------------------------------------------------------------------------------------------------------ input


@pytest.mark.parametrize("wire", [{"input": "?"}, {"input": []}, {"prompt": {"id": "pmpt_1"}}, {"input": None}])
def test_inputs_of_other_shapes(wire: Json) -> None:
    exact(wire)


def test_the_order_of_calls_and_results_is_kept() -> None:
    def call(id: str) -> Json:
        return {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"}

    def result(id: str) -> Json:
        return {"type": "function_call_output", "call_id": id, "output": id}

    body = {"input": [USER, call("a"), call("b"), result("b"), result("a"), call("c"), USER, result("c")]}
    roles = ["user", "assistant", "tool", "assistant", "user", "tool"]
    assert [message.role for message in exact(body).messages] == roles


def test_items_that_nobody_says() -> None:
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    approval = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    said = {"role": "assistant", "content": "a"}
    request = exact(
        {"input": [USER, update, said, approval, USER, said, {"id": "msg_9"}, {"type": "compaction_trigger"}]}
    )
    kinds = [[type(block) for block in message.content] for message in request.messages]
    assert kinds == [
        [TextBlock, OpaqueBlock],
        [TextBlock],
        [OpaqueBlock, TextBlock],
        [TextBlock, OpaqueBlock],
        [OpaqueBlock],
    ]
    assert [message.role for message in request.messages] == ["user", "assistant", "user", "assistant", "user"]


def test_an_item_that_is_no_object() -> None:
    with pytest.raises(ParseError, match=r"input\[1\]"):
        speaker.decode_request({"input": [USER, "x"]})


# ------------------------------------------------------------------------------------------------------------ tools


def function(name: str, **more: Json) -> Json:
    return {"type": "function", "name": name, "description": name, "parameters": SCHEMA, "strict": False, **more}


NAMESPACE = {
    "type": "namespace",
    "name": "agents",
    "description": "others",
    "tools": [function("spawn"), function("wait")],
}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}
CUSTOM = {"type": "custom", "name": "patch", "description": "edit", "format": GRAMMAR}


def test_the_three_kinds_of_tools_that_codex_has() -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [function("late"), CUSTOM]}
    body = {"input": [USER, {"role": "assistant", "content": "a"}, added, USER], "tools": [function("f"), NAMESPACE]}
    request = exact(body)
    tools = [tool for tool in request.tools if isinstance(tool, ToolDefinition)]
    assert [(tool.name, tool.kind) for tool in tools] == [
        ("f", "json"), ("spawn", "json"), ("wait", "json"), ("late", "json"), ("patch", "text")
    ]  # fmt: skip
    assert tools[4].extras == {NAME: {"format": GRAMMAR}}
    claude = dialect("anthropic-messages").encode_request(request)
    assert [tool["name"] for tool in claude.body["tools"]] == ["f", "spawn", "wait", "late", "patch"]
    assert any(loss.path.endswith("extras/openai-responses/namespace") for loss in claude.losses)


def test_an_added_tool_without_its_item_is_offered_with_the_others() -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [function("late")]}
    request = speaker.decode_request({"input": [USER, added], "tools": [function("f")]})
    body = speaker.encode_request(Request(ASKED, tools=request.tools)).body
    assert [tool["name"] for tool in body["tools"]] == ["f", "late"]


def test_a_call_of_a_tool_in_a_namespace_names_it() -> None:
    request = speaker.decode_request({"input": [USER], "tools": [function("f"), NAMESPACE]})
    blocks = (ToolUseBlock("call_1", "spawn"), ToolUseBlock("call_2", "f"))
    output = speaker.encode_response(Response(blocks, "tool_use"), request).body["output"]
    assert [item.get("namespace") for item in output] == ["agents", None]


def test_namespaces_that_share_a_name_are_carried_whole() -> None:
    other = {**NAMESPACE, "name": "others"}
    request = exact({"input": [USER], "tools": [NAMESPACE, other, {"type": "namespace", "name": "e", "tools": []}]})
    assert [type(tool) for tool in request.tools] == [ToolDefinition, ToolDefinition, ServerTool, ServerTool]


@pytest.mark.parametrize(
    "tool",
    [
        function("f", strict=None),
        {"type": "function", "name": "f", "parameters": {}},
        {"type": "function", "name": "f", "parameters": None, "strict": True},
        function("f", parameters=STRICT, strict=True, defer_loading=True),
        function("f", parameters=SCHEMA, strict=True),
        function("a.b"),
        {"type": "mcp", "server_label": "s", "server_url": "https://a.test"},
    ],
)
def test_tools_of_other_shapes(tool: Json) -> None:
    exact({"input": [USER], "tools": [tool]})


def test_what_a_tool_of_ones_own_becomes() -> None:
    tool = ToolDefinition("f", input_schema={"type": "object"})
    assert speaker.encode_tools([tool]).body == [
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    ]
    assert losses(Request(ASKED, tools=(tool,))) == {
        ("tools/0/strict", "added"),
        ("tools/0/input_schema/properties", "added"),
    }
    strict = speaker.encode_tools([ToolDefinition("f", input_schema=SCHEMA, strict=True)])
    assert strict.body[0]["parameters"]["properties"]["a"]["type"] == ["string", "null"]


def test_derived_names_come_back_as_the_callers_own() -> None:
    request = Request(ASKED, tools=(ToolDefinition("a.b", input_schema=SCHEMA), ToolDefinition("a_b")))
    names = [tool["name"] for tool in speaker.encode_request(request).body["tools"]]
    assert names == ["a_b_2", "a_b"]
    wire = {"type": "function_call", "call_id": "call_1", "name": "a_b_2", "arguments": "{}"}
    response = speaker.decode_response({"status": "completed", "output": [wire]}, request=request)
    assert response.tool_uses[0].name == "a.b"


def test_optionals_that_strictness_forced_on_the_model_come_back_absent() -> None:
    request = Request(ASKED, tools=(ToolDefinition("f", input_schema=SCHEMA, strict=True),))
    wire = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"a":null}'}
    call = speaker.decode_response({"status": "completed", "output": [wire]}, request=request).tool_uses[0]
    assert (call.input, call.input_text) == ({}, '{"a":null}')


CHOICES: list[tuple[Json, ToolChoice | None]] = [
    ({"tool_choice": "auto"}, ToolChoice.auto()),
    ({"tool_choice": "required", "parallel_tool_calls": False}, ToolChoice.any(parallel=False)),
    ({"tool_choice": "none"}, ToolChoice.none()),
    ({"parallel_tool_calls": True}, ToolChoice(parallel=True)),
    ({"tool_choice": {"type": "function", "name": "f"}}, ToolChoice.specific("f")),
    ({"tool_choice": {"type": "custom", "name": "patch"}}, ToolChoice.specific("patch")),
    (
        {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [
            {"type": "function", "name": "f"}, {"type": "custom", "name": "patch"}]}},
        ToolChoice("any", allowed=("f", "patch")),
    ),
    ({"tool_choice": {"type": "mcp", "server_label": "s"}}, None),
    ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp"}]}}, None),
    ({"tool_choice": None}, None),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "choice"), CHOICES)
def test_the_choice_among_tools(wire: Json, choice: ToolChoice | None) -> None:
    request = exact({"input": [USER], "tools": [function("f"), CUSTOM], **wire})
    assert request.tool_choice == choice


def test_a_choice_without_tools() -> None:
    exact({"input": [USER], "tool_choice": "auto"})
    assert losses(Request(ASKED, tool_choice=ToolChoice.any())) == {("tool_choice/mode", "dropped")}


# ------------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    "wire",
    [
        {"reasoning": {"effort": "medium", "summary": "detailed", "context": "all_turns"}},
        {"reasoning": {"effort": None, "summary": None}},
        {"reasoning": {}},
        {"reasoning": {"effort": "none"}},
        {"reasoning": {"effort": "ludicrous"}},
        {"text": {"format": {"type": "text"}, "verbosity": "low"}},
        {"text": {"format": {"type": "json_object"}}},
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}}},
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}, "verbosity": "high"}},
        {"metadata": {"user_id": "u"}},
        {"metadata": {"k": 1}},
        {"service_tier": "warp"},
        {"store": False, "include": ["reasoning.encrypted_content"], "previous_response_id": None, "x": {"y": 1}},
    ],
)
def test_parameters_as_they_came(wire: Json) -> None:
    exact({"model": "m", "input": "?", **wire})


def test_what_has_no_word_is_declared() -> None:
    request = Request(
        ASKED, top_k=1, stop_sequences=("x",), seed=1, betas=("b",), service_tier="warp", metadata={"k": [1]},
        thinking=Thinking(mode="adaptive", budget=9, display="omitted"),
    )  # fmt: skip
    assert losses(request) == {
        ("top_k", "dropped"), ("stop_sequences", "dropped"), ("seed", "dropped"), ("betas", "dropped"),
        ("service_tier", "dropped"), ("metadata/k", "approximated"), ("thinking/mode", "dropped"),
        ("thinking/budget", "dropped"), ("thinking/display", "dropped"),
    }  # fmt: skip


EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def test_these_are_the_words_of_the_official_client() -> None:
    shared = pytest.importorskip("openai.types.shared", reason="the official client is not here")
    words, _ = get_args(shared.ReasoningEffort)
    assert get_args(words) == EFFORTS


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_effort_of_the_protocol_is_said(effort: str) -> None:
    encoded = speaker.encode_request(Request(ASKED, thinking=Thinking(effort=effort)))
    assert encoded.body["reasoning"] == {"effort": effort}
    off = {("thinking/effort", "approximated"), ("thinking/mode", "added")}
    assert {(loss.path, loss.kind) for loss in encoded.losses} == (off if effort == "none" else set())


def test_thinking_that_is_off_has_no_effort_beside() -> None:
    off = Request(ASKED, thinking=Thinking(mode="disabled", effort="high"))
    assert speaker.encode_request(off).body["reasoning"] == {"effort": "none"}
    assert losses(off) == {("thinking/effort", "dropped")}
    assert losses(Request(ASKED, thinking=Thinking(effort="ludicrous"))) == {("thinking/effort", "dropped")}


def test_a_schema_of_ones_own_is_strict() -> None:
    body = speaker.encode_request(Request(ASKED, output_schema=STRICT)).body
    assert body["text"]["format"] == {"type": "json_schema", "name": "output", "schema": STRICT, "strict": True}
    free: dict[str, Json] = {"type": "object", "additionalProperties": {"type": "string"}}
    loose = speaker.encode_request(Request(ASKED, output_schema=free))
    assert loose.body["text"]["format"]["strict"] is False
    assert loose.losses == ()


# ---------------------------------------------------------------------------------------------------- parts, results


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_image", "image_url": "https://a.test/b.png"},
        {"type": "input_image", "file_id": "file_1", "detail": "auto", "image_url": None},
        {"type": "input_file", "file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"},
        {"type": "input_file", "file_data": "AAAA"},
        {"type": "input_file", "file_id": "file_1", "detail": "high"},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        {"type": "output_text", "text": "x"},
        {"type": "input_text", "text": ""},
        {"type": "something_newer"},
    ],
)
def test_parts_as_they_came(part: Json) -> None:
    exact({"input": [{"role": "user", "content": [part, {"type": "input_text", "text": "?"}]}]})


def test_media_of_ones_own() -> None:
    blocks = (
        ImageBlock(UrlSource("https://a.test/b.png")),
        DocumentBlock(TextSource("plain"), title="t"),
        DocumentBlock(FileSource("f", dialect="gemini")),
        AudioBlock(Base64Source("audio/wav", "AAAA")),
    )
    encoded = speaker.encode_request(Request((Message("user", blocks),)))
    assert encoded.body["input"][0]["content"] == [
        {"type": "input_image", "image_url": "https://a.test/b.png", "detail": "auto"},
        {"type": "input_file", "file_data": "data:text/plain;base64,cGxhaW4=", "filename": "t"},
    ]
    assert {(loss.path.removeprefix("messages/0/content/"), loss.kind) for loss in encoded.losses} == {
        ("0/detail", "added"), ("1/source", "approximated"), ("1/filename", "added"), ("1/title", "approximated"),
        ("2", "dropped"), ("3", "dropped"),
    }  # fmt: skip


def output(result: ToolResultBlock) -> tuple[Json, set[tuple[str, str]]]:
    turns = (*ASKED, Message("assistant", (ToolUseBlock("c", "f"),)), Message("tool", (result,)))
    encoded = speaker.encode_request(Request(turns))
    prefix = "messages/2/content/0/"
    return encoded.body["input"][-1]["output"], {(x.path.removeprefix(prefix), x.kind) for x in encoded.losses}


def test_what_a_tool_answered() -> None:
    picture = ImageBlock(UrlSource("https://a.test/b.png"), detail="low")
    shown = {"type": "input_image", "image_url": "https://a.test/b.png", "detail": "low"}
    assert output(ToolResultBlock("c", "x")) == ("x", set())
    assert output(ToolResultBlock("c")) == ("", set())
    assert output(ToolResultBlock("c", (TextBlock(""),))) == ([{"type": "input_text", "text": ""}], set())
    assert output(ToolResultBlock("c", (picture,))) == ([shown], set())
    assert output(ToolResultBlock("c", (JsonBlock({"a": 1}),))) == ('{"a":1}', {("content/0", "approximated")})
    assert output(ToolResultBlock("c", "x", is_error=False)) == ("x", {("is_error", "dropped")})


def test_an_error_is_said_in_the_text_and_never_guessed_back() -> None:
    said, told = output(ToolResultBlock("c", "boom", is_error=True))
    assert said == "Error: boom"
    assert told == {("is_error", "approximated"), ("content/0/text", "approximated")}
    read = exact({"input": [{"type": "function_call_output", "call_id": "c", "output": "Error: boom"}]})
    assert read.messages[0].content == (ToolResultBlock("c", "Error: boom"),)


def test_a_cache_mark_on_a_result_stands_on_its_last_part() -> None:
    said, told = output(ToolResultBlock("c", "x", cache=CacheMark()))
    assert said == [{"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}]
    assert told == {("cache", "moved"), ("content/0/cache", "added")}


def test_results_of_free_text_calls() -> None:
    call = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "x"}
    result = {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"}
    assert exact({"input": [USER, call, result]}).messages[2].forms == {}
    held_elsewhere = exact({"previous_response_id": "resp_1", "input": [result]})
    assert held_elsewhere.messages[0].content[0].forms == {NAME: {"tag": "custom_tool_call_output"}}

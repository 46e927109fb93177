"""The parameters, tools and oddities of Ollama requests, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interlingua import (
    CacheMark,
    Loss,
    Message,
    OpaqueBlock,
    Request,
    ServerTool,
    Target,
    TextBlock,
    Thinking,
    ToolAnnotations,
    ToolChoice,
    ToolDefinition,
    dialect,
)

OLLAMA = dialect("ollama")
HI: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def decode(**fields: Any) -> Request:
    return OLLAMA.decode_request({**HI, "stream": True, **fields})


def encode(**fields: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """What is said beside the plain request, and what is lost."""
    encoded = OLLAMA.encode_request(Request(model="m", messages=(Message("user", "hi"),), **{"stream": True, **fields}))
    body = {key: value for key, value in encoded.body.items() if key not in HI and key != "stream"}
    return body, [(loss.kind, loss.path) for loss in encoded.losses]


# ------------------------------------------------------------------------------------------------------------- stream


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ({}, True),  # the protocol streams by default
        ({"stream": None}, True),
        ({"stream": True}, True),
        ({"stream": False}, False),
    ],
)
def test_stream_is_read_as_it_is_meant_and_written_as_it_came(said: dict[str, Any], read: bool) -> None:
    request = OLLAMA.decode_request({**HI, **said})
    assert request.stream is read
    assert OLLAMA.encode_request(request) == OLLAMA.encode_request(request)
    assert OLLAMA.encode_request(request).body == {**HI, **said}


def test_who_does_not_ask_for_a_stream_gets_none() -> None:
    encoded = OLLAMA.encode_request(Request(model="m", messages=(Message("user", "hi"),)))
    assert encoded.body == {**HI, "stream": False}
    assert [(loss.kind, loss.path) for loss in encoded.losses] == [("added", "stream")]


def test_an_edited_stream_wins_over_its_mark() -> None:
    request = msgspec.structs.replace(OLLAMA.decode_request(HI), stream=False)
    assert OLLAMA.encode_request(request).body == {**HI, "stream": False}


# ----------------------------------------------------------------------------------------------------------- thinking


@pytest.mark.parametrize(
    ("think", "thinking"),
    [
        (True, Thinking(mode="enabled")),
        (False, Thinking(mode="disabled")),
        ("low", Thinking(effort="low")),
        ("max", Thinking(effort="max")),
    ],
)
def test_think_both_ways(think: Any, thinking: Thinking) -> None:
    assert decode(think=think).thinking == thinking
    assert encode(thinking=thinking) == ({"think": think}, [])


@pytest.mark.parametrize(
    ("thinking", "said", "losses"),
    [
        (Thinking(mode="adaptive"), {"think": True}, [("approximated", "thinking/mode")]),
        (Thinking(mode="enabled", budget=9), {"think": True}, [("dropped", "thinking/budget")]),
        (Thinking(budget=9), {"think": True}, [("dropped", "thinking/budget"), ("added", "thinking/mode")]),
        (Thinking(budget=0), {"think": False}, [("dropped", "thinking/budget"), ("added", "thinking/mode")]),
        (Thinking(mode="enabled", effort="high"), {"think": "high"}, [("dropped", "thinking/mode")]),
        (Thinking(mode="disabled", effort="high"), {"think": False}, [("dropped", "thinking/effort")]),
        (Thinking(effort="xhigh"), {"think": "max"}, [("approximated", "thinking/effort")]),
        (Thinking(effort="minimal"), {"think": "low"}, [("approximated", "thinking/effort")]),
        (Thinking(effort="none"), {"think": False}, [("approximated", "thinking/effort"), ("added", "thinking/mode")]),
        (Thinking(display="summarized"), {}, [("dropped", "thinking/display"), ("dropped", "thinking")]),
    ],
)
def test_other_thinking_is_said_as_nearly_as_can_be(thinking: Thinking, said: Any, losses: Any) -> None:
    assert encode(thinking=thinking) == (said, losses)


# --------------------------------------------------------------------------------------------------- options and others


def test_options_both_ways() -> None:
    options = {"num_predict": 5, "temperature": 0, "top_p": 0.5, "top_k": 3, "stop": ["a"], "seed": 0}
    fields = {"max_output_tokens": 5, "temperature": 0, "top_p": 0.5, "top_k": 3, "stop_sequences": ("a",), "seed": 0}
    request = decode(options=options)
    assert {name: getattr(request, name) for name in fields} == fields
    assert encode(**fields) == ({"options": options}, [])


@pytest.mark.parametrize("limit", [-1, -2, 0])
def test_no_limit_is_no_limit(limit: int) -> None:
    request = decode(options={"num_predict": limit})
    assert request.max_output_tokens is None
    assert OLLAMA.encode_request(request).body["options"] == {"num_predict": limit}


@pytest.mark.parametrize(
    "said",
    [
        {"options": {}},
        {"options": {"stop": [], "num_ctx": 5, "seed": None}},
        {"options": None},
        {"format": ""},
        {"format": "json", "keep_alive": 0},
        {"format": {}, "keep_alive": None, "think": None, "tools": []},
        {"think": "loud", "options": {"think": True}},
        {"truncate": False, "shift": True, "logprobs": True, "top_logprobs": 3},
    ],
)
def test_oddities_are_written_as_they_came(said: dict[str, Any]) -> None:
    request = decode(**said)
    before = msgspec.json.encode(request)
    assert OLLAMA.encode_request(request).body == {**HI, "stream": True, **said}
    assert msgspec.json.encode(request) == before


def test_an_output_schema_is_taken_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}, "title": "T"}
    assert decode(format=schema).output_schema == schema
    assert encode(output_schema=schema) == ({"format": schema}, [])
    assert encode(output_schema={}) == ({"format": "json"}, [("approximated", "output_schema")])


def test_no_word_for_it() -> None:
    choice = ToolChoice(mode="specific", name="f", allowed=("f",), parallel=False)
    said, losses = encode(metadata={"user_id": "u"}, service_tier="flex", betas=("b",), tool_choice=choice)
    assert said == {}
    assert [path for _, path in losses] == [
        "metadata",
        "service_tier",
        "betas",
        "tool_choice",
    ]
    assert OLLAMA.encode_tool_choice(ToolChoice.none()).body is None


def test_a_model_from_elsewhere() -> None:
    body = {"messages": [], "stream": False}
    request = OLLAMA.decode_request(body, model="m")
    assert request.model == "m"
    assert OLLAMA.encode_request(request).body == body
    assert OLLAMA.encode_request(Request(stream=False), Target(model="t")).body == {**body, "model": "t"}


# -------------------------------------------------------------------------------------------------------------- tools


def function(**fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": fields}


def test_a_tool_both_ways() -> None:
    schema = {"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x"]}}, "required": ["a"]}
    wire = function(name="f", description="d", parameters=schema)
    tool = ToolDefinition(name="f", description="d", input_schema=schema)
    assert decode(tools=[wire]).tools == (tool,)
    assert encode(tools=(tool,)) == ({"tools": [wire]}, [])


def test_a_foreign_schema_is_brought_into_what_the_server_keeps() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "additionalProperties": False}
    said, losses = encode(tools=(ToolDefinition(name="f", input_schema=schema),))
    parameters = said["tools"][0]["function"]["parameters"]
    assert parameters["properties"]["n"].keys() == {"type", "description"}
    assert losses == [("approximated", "tools/0/input_schema")]
    assert OLLAMA.encode_request(decode(tools=said["tools"])).losses == ()


def test_what_a_tool_cannot_say_here() -> None:
    tool = ToolDefinition(name="f", kind="text", strict=True, annotations=ToolAnnotations(read_only=True))
    said, losses = encode(tools=(tool, ServerTool("gemini", {"googleSearch": {}})))
    assert said["tools"][0]["function"]["parameters"]["required"] == ["input"]
    assert [path for _, path in losses] == [
        "tools/0/kind",
        "tools/0/input_schema",
        "tools/0/strict",
        "tools/1",
    ]


@pytest.mark.parametrize(
    "wire",
    [
        function(name="f", parameters={"type": "object", "$schema": "s", "properties": {"a": {"format": "int32"}}}),
        function(name="f"),
        function(name="f", description="", parameters={}, strict=True),
        function(name="f", description=None, parameters={"type": "string"}),
        {"function": {"name": "f", "parameters": {"type": "object", "properties": {}}}},
        {"type": "web_search"},
    ],
)
def test_recorded_tools_are_written_as_they_came(wire: dict[str, Any]) -> None:
    encoded = OLLAMA.encode_request(decode(tools=[wire]))
    assert (encoded.body["tools"], encoded.losses) == ([wire], ())


# ----------------------------------------------------------------------------------------------------------- generate

PROMPT: dict[str, Any] = {"model": "m", "prompt": "Why?", "stream": False, "options": {"seed": 1}}


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"system": "s", "images": ["iVBORw0KGgo"]},
        {"system": "", "template": "", "context": [], "images": [], "raw": False, "keep_alive": None, "format": ""},
        {"context": [1, 2], "suffix": "x", "raw": True, "template": "t"},
    ],
)
def test_a_prompt_is_a_chat_and_is_written_back_as_a_prompt(said: dict[str, Any]) -> None:
    request = OLLAMA.decode_request({**PROMPT, **said})
    assert request.messages[-1].text == "Why?"
    encoded = OLLAMA.encode_request(request)
    assert (encoded.body, encoded.path, encoded.losses) == ({**PROMPT, **said}, "/api/generate", ())


def test_a_context_is_opaque_state_of_the_models() -> None:
    request = OLLAMA.decode_request({**PROMPT, "context": [1, 2]})
    assert request.messages[0].content == (OpaqueBlock(dialect="ollama", raw={"context": [1, 2]}),)


def test_a_prompt_that_became_a_conversation_goes_to_chat() -> None:
    request = OLLAMA.decode_request({**PROMPT, "template": "t", "raw": False, "context": [1], "system": "s"})
    longer = (*request.messages, Message("assistant", "Because."), Message("user", "And?"))
    encoded = OLLAMA.encode_request(msgspec.structs.replace(request, messages=longer))
    assert encoded.path == "/api/chat"
    assert encoded.body.keys() == {"model", "messages", "stream", "options"}
    assert [turn["role"] for turn in encoded.body["messages"]] == ["system", "assistant", "user", "assistant", "user"]
    assert [(loss.kind, loss.path) for loss in encoded.losses] == [
        ("dropped", "messages/0/content/0"),
        ("dropped", "extras/ollama/template"),
        ("dropped", "extras/ollama/raw"),
    ]


def test_losses_of_other_dialects() -> None:
    request = Request(model="m", stream=True, extras={"gemini": {"safetySettings": [1], "cachedContent": None}})
    assert OLLAMA.encode_request(request).losses == (
        Loss(
            "extras/gemini/safetySettings",
            "dropped",
            "`safetySettings` is a field of gemini that interlingua does not translate; it was left out",
        ),
    )


def test_system_alone() -> None:
    encoded = OLLAMA.encode_system((TextBlock("a"), TextBlock("b")))
    assert encoded.body == [{"role": "system", "content": "a"}, {"role": "system", "content": "b"}]


def test_an_empty_system_text_tells_what_its_marks_lose() -> None:
    request = Request((Message("user", "hi"),), system=(TextBlock("", cache=CacheMark()),))
    assert "system/0/cache" in [loss.path for loss in dialect("ollama").encode_request(request).losses]

"""Names of tools that a protocol refuses: changed in its requests, and changed back in its answers.

What is written for each dialect stands in ``tests/cases/written.jsonl``.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    Dialect,
    Event,
    Message,
    MessageComplete,
    Request,
    Response,
    ServerTool,
    TextBlock,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseStart,
    dialect,
    unfold,
)

STRICTER = ("openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
OWN = "files/read"
LONG = "x" * 140


def tools(*names: str, strict: bool | None = None) -> tuple[ToolDefinition, ...]:
    return tuple(ToolDefinition(name, "d", SCHEMA, strict=strict) for name in names)


def asked(*names: str, **more: Any) -> Request:
    return Request((Message("user", "?"),), model="m", max_output_tokens=9, tools=tools(*names), **more)


def names_sent(speaker: Dialect, request: Request) -> list[str]:
    """The names of the tools as a reader of the protocol finds them."""
    read = speaker.decode_request(speaker.encode_request(request).body, model="m")
    return [tool.name for tool in read.tools if isinstance(tool, ToolDefinition)]


def streamed(speaker: Dialect, response: Response, request: Request) -> list[Event]:
    encoder, decoder = speaker.stream_encoder(), speaker.stream_decoder(request)
    body = b"".join(map(encoder.feed, unfold(response))) + encoder.close()
    return decoder.feed(body) + decoder.close()


each = pytest.mark.parametrize("name", STRICTER)


@each
def test_names_differ_and_are_the_same_again(name: str) -> None:
    speaker, request = dialect(name), asked(OWN, "files read", "files_read", LONG + "a", LONG + "b", "3d model")
    sent = names_sent(speaker, request)
    assert len(set(map(str.casefold, sent))) == len(sent) == 6
    assert sent[2] == "files_read"  # a name that fits is given to no other tool
    assert names_sent(speaker, request) == sent
    assert names_sent(speaker, replace(request, tool_choice=ToolChoice.specific(OWN)))[0] == sent[0]


@each
def test_a_call_comes_back_under_the_name_of_the_caller(name: str) -> None:
    speaker = dialect(name)
    request = replace(asked(), tools=tools("files_read", OWN, strict=True))
    derived = names_sent(speaker, request)[1]
    assert derived != OWN
    answer = Response((ToolUseBlock("call_12345", derived, input={"a": "1", "b": None}),), stop_reason="tool_use")
    whole = speaker.decode_response(speaker.encode_response(answer).body, request=request)
    call = ToolUseBlock("call_12345", OWN, input={"a": "1"})  # and its optional argument was left out
    assert [(block.name, block.input) for block in whole.tool_uses] == [(call.name, call.input)]
    events = streamed(speaker, answer, request)
    start = next(event for event in events if isinstance(event, ToolUseStart))
    end = next(event for event in events if isinstance(event, ToolUseEnd))
    last = events[-1]
    assert isinstance(last, MessageComplete)
    assert {start.name, start.block.name, end.block.name, last.response.tool_uses[0].name} == {OWN}
    assert end.block.input == last.response.tool_uses[0].input == {"a": "1"}


@each
def test_a_call_in_a_stream_that_was_cut_has_the_name_of_the_caller(name: str) -> None:
    speaker, request = dialect(name), asked(OWN)
    answer = Response((ToolUseBlock("call_12345", names_sent(speaker, request)[0], input={"a": "1"}),))
    encoder, decoder = speaker.stream_encoder(), speaker.stream_decoder(request)
    said = b"".join(encoder.feed(event) for event in list(unfold(answer))[:-1])
    last = [*decoder.feed(said), *decoder.close()][-1]
    assert isinstance(last, MessageComplete)
    assert decoder.error is not None
    assert decoder.error.response == last.response
    assert [block.name for block in last.response.tool_uses] in ([OWN], [])


@each
def test_an_answer_goes_back_under_the_name_that_the_tool_has(name: str) -> None:
    speaker = dialect(name)
    turn = Message("assistant", (ToolUseBlock("call_12345", OWN, input={"a": "1"}),))
    result = Message("tool", (ToolResultBlock("call_12345", (TextBlock("r"),), name=OWN),))
    request = replace(asked("files_read", OWN), messages=(Message("user", "?"), turn, result))
    read = speaker.decode_request(speaker.encode_request(request).body, model="m")
    derived = read.tools[1]
    assert isinstance(derived, ToolDefinition)
    called = [block.name for message in read.messages for block in message.content if type(block) is ToolUseBlock]
    assert called == [derived.name]
    answered = [block.name for message in read.messages for block in message.content if type(block) is ToolResultBlock]
    assert answered[0] in (derived.name, None)


@each
def test_what_was_read_from_the_protocol_is_written_back(name: str) -> None:
    """Some servers take names that the protocol refuses. Other places may be edited."""
    speaker = dialect(name)
    turn = Message("assistant", (ToolUseBlock("call_12345", "plain", input={"a": "1"}),))
    result = Message("tool", (ToolResultBlock("call_12345", (TextBlock("r"),), name="plain"),))
    choice = ToolChoice.specific("plain")
    request = replace(asked("plain", "other"), messages=(Message("user", "?"), turn, result), tool_choice=choice)
    wire = respelled(speaker.encode_request(request).body, "plain", "3/plain")
    read = speaker.decode_request(wire, model="m")
    encoded = speaker.encode_request(read)
    assert encoded.body == wire
    assert encoded.losses == ()
    assert speaker.encode_request(replace(read, messages=(*read.messages, Message("user", "!")))).losses == ()
    mine = replace(read, tools=tools("3/plain"))  # another tool by this name is not one that was read
    assert names_sent(speaker, mine)[0] != "3/plain"
    called = [call.name for message in speaker.decode_request(speaker.encode_request(mine).body, model="m").messages
              for call in message.content if type(call) is ToolUseBlock]  # fmt: skip
    assert called == names_sent(speaker, mine)


def respelled(wire: Any, old: str, new: str) -> Any:
    if isinstance(wire, dict):
        return {key: respelled(value, old, new) for key, value in wire.items()}
    if isinstance(wire, list):
        return [respelled(value, old, new) for value in wire]
    return new if wire == old else wire


@each
def test_each_part_alone_has_the_same_names(name: str) -> None:
    speaker = dialect(name)
    for encoded in (
        speaker.encode_tools(tools(OWN)),
        speaker.encode_messages([Message("assistant", (ToolUseBlock("c", OWN),))]),
        speaker.encode_tool_choice(ToolChoice.specific(OWN)),
    ):
        assert "files_read" in str(encoded.body)
        assert OWN not in str(encoded.body)
        assert [loss.kind for loss in encoded.losses if loss.path.endswith("name")] == ["approximated"]


@each
def test_no_tool_gets_the_name_of_one_that_answers_or_is_hosted(name: str) -> None:
    speaker = dialect(name)
    hosted = ServerTool(name, {"type": "web_search_20250305", "name": "web_search"})
    request = replace(asked(), tools=(*tools("structured/output", "web/search"), hosted))
    sent = names_sent(speaker, request)
    assert {"structured_output", "web_search"}.isdisjoint(sent)


def test_ollama_takes_any_name() -> None:
    speaker, request = dialect("ollama"), asked(OWN, LONG, "")
    assert names_sent(speaker, request) == [OWN, LONG, ""]

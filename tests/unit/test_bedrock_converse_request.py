"""Bedrock Converse requests where a line of ``tests/cases/bedrock-converse.jsonl`` does not suffice: targets, edits."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    Base64Source,
    Encoded,
    ImageBlock,
    Message,
    MessageStart,
    ParseError,
    Request,
    TextBlock,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseStart,
    VideoBlock,
    dialect,
)
from lab.oracles import problems

NAME = "bedrock-converse"
BEDROCK = dialect(NAME)
Wire = dict[str, Any]
ADD = ToolDefinition("add", "Adds.", {"type": "object"})


def user(*content: Wire) -> Wire:
    return {"role": "user", "content": list(content)}


def model(*content: Wire) -> Wire:
    return {"role": "assistant", "content": list(content)}


def call(id: str = "t1", name: str = "f") -> Wire:
    return {"toolUse": {"toolUseId": id, "name": name, "input": {}}}


def losses(encoded: Encoded) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in encoded.losses]


@pytest.mark.parametrize("body", [[], "x", {"messages": [1]}])
def test_what_is_no_request(body: Any) -> None:
    with pytest.raises(ParseError):
        BEDROCK.decode_request(body)


def test_ids_and_names_are_fitted_and_come_back() -> None:
    long = "x" * 65
    request = Request(
        (
            Message("user", "a"),
            Message("assistant", (ToolUseBlock(id="call|1", name="fs.read"), ToolUseBlock(id=long, name="fs_read"))),
            Message("tool", (ToolResultBlock("call|1", "1"), ToolResultBlock(long, "2"))),
        ),
        tools=(ToolDefinition("fs.read", "d", {"type": "object"}), ToolDefinition("fs_read", "d", {"type": "object"})),
        tool_choice=ToolChoice.specific("fs.read"),
    )
    encoded = BEDROCK.encode_request(request)
    assert problems(encoded.body, NAME) == []
    first = encoded.body["messages"][1]["content"][0]["toolUse"]
    assert first["toolUseId"] == encoded.body["messages"][2]["content"][0]["toolResult"]["toolUseId"]
    assert [tool["toolSpec"]["name"] for tool in encoded.body["toolConfig"]["tools"]] == ["fs_read_2", "fs_read"]
    assert encoded.body["toolConfig"]["toolChoice"] == {"tool": {"name": "fs_read_2"}}
    assert {path for kind, path in losses(encoded) if kind == "approximated"} == {
        "tools/0/name", "tool_choice/name", "messages/1/content/0/id", "messages/1/content/0/name",
        "messages/1/content/1/id", "messages/2/content/0/tool_use_id", "messages/2/content/1/tool_use_id",
    }  # fmt: skip
    answer = {"output": {"message": {"role": "assistant", "content": [call("t9", "fs_read_2")]}}}
    assert BEDROCK.decode_response(answer, request=request).tool_uses[0].name == "fs.read"
    encoder, decoder = BEDROCK.stream_encoder(), BEDROCK.stream_decoder(request)
    started = ToolUseStart(0, "t9", "fs_read_2", ToolUseBlock(id="t9", name="fs_read_2"))
    events = decoder.feed(encoder.feed(MessageStart()) + encoder.feed(started))
    assert events[-1] == ToolUseStart(0, "t9", "fs.read", ToolUseBlock(id="t9", name="fs.read"))


MUCH = "az09" * 5000
NOT_BASE64 = ["", "AAA", "AB=", "A===", "====", "AB==AB==", "AA-_", "AAA\n", "AAAé", "A\udc80AA"]
MUCH_OF_IT = [MUCH + odd for odd in NOT_BASE64 if odd]
WITHIN = [MUCH + odd + MUCH for odd in ("AA-_", "AAA\n", "AAAé")]


@pytest.mark.parametrize("text", [*NOT_BASE64, *MUCH_OF_IT, *WITHIN])
def test_what_is_no_standard_base64_is_written_otherwise(text: str) -> None:
    encoded = BEDROCK.encode_messages([Message("user", (TextBlock("x"), ImageBlock(Base64Source("image/png", text))))])
    assert losses(encoded)[0][1].startswith("messages/0/content/1")
    read = BEDROCK.decode_request({"messages": [user({"image": {"format": "png", "source": {"bytes": text}}})]})
    assert BEDROCK.encode_request(read).body["messages"][0]["content"][0]["image"]["source"]["bytes"] == text


@pytest.mark.parametrize("text", ["AB==", "ABC=", "az09", "+/+/AA==", MUCH, MUCH + "AB=="])
def test_standard_base64_is_written_as_it_is(text: str) -> None:
    encoded = BEDROCK.encode_messages([Message("user", (TextBlock("x"), ImageBlock(Base64Source("image/png", text))))])
    assert losses(encoded) == []
    assert encoded.body[0]["content"][1]["image"]["source"]["bytes"] == text


A = (Message("user", "a"),)


def test_an_answer_goes_back_as_a_turn() -> None:
    """What answers have and requests may not is left behind."""
    spoken = [{"text": "a", "type": "text"}, {"text": ""},
              {"toolUse": {"toolUseId": "t", "name": "add", "input": {}, "type": "tool_use"}}]  # fmt: skip
    response = BEDROCK.decode_response({"output": {"message": {"role": "assistant", "content": spoken}}})
    result = Message("tool", (ToolResultBlock("t", "1"),))
    encoded = BEDROCK.encode_request(Request((*A, response.message, result), tools=(ADD,)))
    assert encoded.body["messages"][1] == model({"text": "a"}, call("t", "add"))
    assert problems(encoded.body, NAME) == []
    assert losses(encoded) == [("dropped", "messages/1/content/1")]


def test_an_edited_source_keeps_the_spelling_of_its_format() -> None:
    body = {"messages": [user({"video": {"format": "video/mp4", "source": {"bytes": "AAAA"}}})]}
    request = BEDROCK.decode_request(body)
    (message,) = request.messages
    edited = replace(message, content=(VideoBlock(Base64Source("video/mp4", "BBBB"), forms=message.content[0].forms),))
    written = BEDROCK.encode_request(replace(request, messages=(edited,))).body["messages"][0]["content"][0]
    assert written == {"video": {"format": "video/mp4", "source": {"bytes": "BBBB"}}}
    other = replace(edited, content=(VideoBlock(Base64Source("video/webm", "AAAA"), forms=message.content[0].forms),))
    written = BEDROCK.encode_request(replace(request, messages=(other,))).body["messages"][0]["content"][0]
    assert written == {"video": {"format": "webm", "source": {"bytes": "AAAA"}}}

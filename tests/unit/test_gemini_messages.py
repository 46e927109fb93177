"""Turns, parts, calls and results of Gemini, as tables."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    Message,
    Request,
    Response,
    Target,
    TextBlock,
    TextSource,
    ThinkingBlock,
    TokenUsage,
    ToolResultBlock,
    ToolStateError,
    ToolUseBlock,
    dialect,
    from_json,
    to_json,
)

GEMINI = dialect("gemini")
Wire = dict[str, Any]


def read(*contents: Wire) -> tuple[Message, ...]:
    """What contents say; they are written again just as they were."""
    body = {"contents": list(contents)}
    request = GEMINI.decode_request(body, model="m", stream=False)
    encoded = GEMINI.encode_request(request)
    assert encoded.body == body
    assert encoded.losses == ()
    return request.messages


def write(*messages: Message, target: Target | None = None) -> tuple[list[Wire], list[tuple[str, str]]]:
    encoded = GEMINI.encode_request(Request(messages, model="m"), target)
    return encoded.body["contents"], [(loss.kind, loss.path) for loss in encoded.losses]


def user(*parts: Any) -> Wire:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> Wire:
    return {"role": "model", "parts": list(parts)}


def call(name: str, id: str | None = None, **args: Any) -> Wire:
    return {"functionCall": {"name": name, "args": args} | ({} if id is None else {"id": id})}


def answer(name: str, response: Any, id: str | None = None, **more: Any) -> Wire:
    return {"functionResponse": {"name": name, "response": response} | ({} if id is None else {"id": id}) | more}


def test_an_edited_text_is_written_as_usual() -> None:
    document = read(user({"inlineData": {"mimeType": "text/plain", "data": "eA"}}))[0].content[0]
    edited = Message("user", (replace(document, source=TextSource("y")),))
    assert write(edited)[0] == [user({"inlineData": {"mimeType": "text/plain", "data": "eQ=="}})]


# ------------------------------------------------------------------------------------------------- calls and results


def test_an_id_that_we_gave_is_not_sent_back() -> None:
    response = GEMINI.decode_response(
        {"candidates": [{"content": model(call("a"), call("b")), "finishReason": "STOP"}]}
    )
    assert [block.id for block in response.tool_uses] == ["call_0", "call_1"]
    results = Message("tool", (ToolResultBlock("call_1", "2"), ToolResultBlock("call_0", "1")))
    contents, losses = write(Message("user", "?"), response.message, results)
    assert contents[1] == model(call("a"), call("b"))
    assert contents[2] == user(answer("a", {"output": "1"}), answer("b", {"output": "2"}))  # in call order
    assert ("moved", "messages/2/content") in losses


def test_a_result_needs_a_name() -> None:
    question, result = Message("user", "?"), Message("tool", (ToolResultBlock("c9", "x"),))
    _, losses = write(question, Message("assistant", (ToolUseBlock("c9", "f"),)), result)
    assert losses == [("added", "messages/2/content/0/name")]
    with pytest.raises(ToolStateError, match="c9"):
        write(question, result)


# ---------------------------------------------------------------------------------------------------------- signatures


def test_an_odd_signature_that_the_wire_had_goes_back_until_it_is_edited() -> None:
    part = {"functionCall": {"name": "f", "args": {}, "id": "c"}, "thoughtSignature": "sig-first"}
    _, message = read(user({"text": "?"}), model(part))
    edited = replace(message, content=(replace(message.content[0], signature="other"),))
    contents, losses = write(Message("user", "?"), edited)
    assert contents[1] == model(call("f", "c"))
    assert losses == [("dropped", "messages/1/content/0/signature")]


# --------------------------------------------------------------------------------------------------------------- turns


EARLIER = Message(
    "assistant",
    (
        ThinkingBlock(text="hm", signature="c2ln", forms={"gemini": {"blank": {"thought": None}, "verbatim": True}}),
        TextBlock("", signature="c2ln", forms={"gemini": {"verbatim": True, "text": "absent"}}),
        ToolUseBlock(
            "call_1_0", "f", signature="c2ln", forms={"gemini": {"id": "call_1_0", "snake": ["functionCall"]}}
        ),
    ),
    forms={"gemini": {"role": "absent", "parts": "absent", "blank": {}}},
)


def test_marks_that_an_earlier_release_saved_are_written_as_then() -> None:
    saved = from_json(to_json(EARLIER), Message)
    contents, losses = write(Message("user", "?"), saved)
    proof = {"thoughtSignature": "c2ln"}
    called = {"function_call": {"name": "f", "args": {}}, **proof}
    assert contents[1] == model({"text": "hm", "thought": True, **proof}, proof, called)
    assert losses == []


def test_marks_of_an_earlier_release_that_were_never_loaded_do_no_harm() -> None:
    contents, losses = write(Message("user", "?"), EARLIER)
    proof = {"thoughtSignature": "c2ln"}
    called = {"functionCall": {"name": "f", "args": {}}, **proof}
    assert contents[1] == model({"text": "hm", "thought": True, **proof}, {"text": "", **proof}, called)
    assert losses == []


def test_an_answer_that_an_earlier_release_saved_is_still_written() -> None:
    marks = {"finishReason": 1, "candidates": "absent", "content": "absent", "role": "absent", "blank": {},
             "usage": {"absent": ["totalTokenCount"], "total": [8, 7]}}  # fmt: skip
    usage = TokenUsage(5, output_tokens=2)
    saved = from_json(to_json(Response((TextBlock("so"),), usage=usage, forms={"gemini": marks})), Response)
    body = GEMINI.encode_response(saved).body
    assert body["candidates"][0]["finishReason"] == "STOP"
    assert body["usageMetadata"] == {"promptTokenCount": 5, "candidatesTokenCount": 2}

"""Turns, parts, calls and results of Gemini, as tables."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    Base64Source,
    ImageBlock,
    Message,
    Origin,
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
PLACEHOLDER = "skip_thought_signature_validator"


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


def ids(message: Message) -> list[str]:
    return [b.id if isinstance(b, ToolUseBlock) else b.tool_use_id for b in message.content]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("calls", "answers", "expected"),
    [
        ([call("a", "1"), call("b", "2")], [answer("b", {}, "2"), answer("a", {}, "1")], ["2", "1"]),
        ([call("a"), call("b")], [answer("b", {}), answer("a", {})], ["call_1_1", "call_1_0"]),
        ([call("a"), call("a")], [answer("a", {}), answer("a", {})], ["call_1_0", "call_1_1"]),
        ([call("a", "1")], [answer("a", {})], ["1"]),
        ([call("a"), call("b")], [answer("x", {}), answer("b", {})], ["call_1_0", "call_1_1"]),
        ([call("a")], [answer("a", {}), answer("a", {})], ["call_1_0", "call_2_1"]),
    ],
    ids=["by id", "by name", "by order", "call has an id", "other name", "no call"],
)
def test_results_find_their_calls(calls: list[Wire], answers: list[Wire], expected: list[str]) -> None:
    _, _, results = read(user({"text": "?"}), model(*calls), user(*answers))
    assert ids(results) == expected


def test_ids_are_unique_in_a_conversation() -> None:
    turns = (model(call("a")), user(answer("a", {})))
    messages = read(user({"text": "?"}), *turns, *turns)
    assert [ids(message) for message in messages[1:]] == [["call_1_0"], ["call_1_0"], ["call_3_0"], ["call_3_0"]]


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


def test_an_issued_id_is_attached_back() -> None:
    block = ToolUseBlock("tu_1", "f", native_ids={"gemini": "abc"})
    results = Message("tool", (ToolResultBlock("tu_1", "x", name="f"),))
    contents, losses = write(Message("user", "?"), Message("assistant", (block,)), results)
    assert (contents[1], contents[2]) == (model(call("f", "abc")), user(answer("f", {"output": "x"}, "abc")))
    assert losses == []


def test_a_result_needs_a_name() -> None:
    question, result = Message("user", "?"), Message("tool", (ToolResultBlock("c9", "x"),))
    _, losses = write(question, Message("assistant", (ToolUseBlock("c9", "f"),)), result)
    assert losses == [("added", "messages/2/content/0/name")]
    with pytest.raises(ToolStateError, match="c9"):
        write(question, result)


def test_a_text_that_spells_an_object_goes_as_that_object() -> None:
    history = (Message("user", "?"), Message("assistant", (ToolUseBlock("c", "f"),)))

    def response(text: str) -> tuple[Any, list[tuple[str, str]]]:
        contents, losses = write(*history, Message("tool", (ToolResultBlock("c", text, name="f"),)))
        return contents[2]["parts"][0]["functionResponse"]["response"], losses

    assert response('{"a":1}') == ({"a": 1}, [("approximated", "messages/2/content/0/content/0")])
    for text in ('{"a": 1}', "[1]", "1", '{"a":1', "{}"):
        assert response(text) == ({"output": text}, [])
    kept = read(user({"text": "?"}), model(call("f", "c")), user(answer("f", {"output": '{"a":1}'}, "c")))
    assert kept[2].content[0].content == (TextBlock('{"a":1}'),)  # type: ignore[union-attr]


def test_media_in_a_result_come_after_its_words() -> None:
    image = ImageBlock(Base64Source("image/png", "AAAA"))
    result = ToolResultBlock("c", (image, TextBlock("one"), TextBlock("two")), name="f", is_error=False)
    history = (Message("user", "?"), Message("assistant", (ToolUseBlock("c", "f"),)), Message("tool", (result,)))
    contents, losses = write(*history)
    said = answer("f", {"output": "one\ntwo"}, "c", parts=[{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}])
    assert contents[2] == user(said)
    assert losses == [
        ("approximated", "messages/2/content/0/content/1"),
        ("approximated", "messages/2/content/0/content/2"),
        ("moved", "messages/2/content/0/content/0"),
        ("dropped", "messages/2/content/0/is_error"),
    ]
    assert read(*contents)[2].content[0].content == (TextBlock("one\ntwo"), image)  # type: ignore[union-attr]


# ---------------------------------------------------------------------------------------------------------- signatures


def history(*calls: ToolUseBlock, origin: Origin | None = None) -> tuple[Message, ...]:
    results = tuple(ToolResultBlock(call.id, "x", name=call.name) for call in calls)
    return Message("user", "?"), Message("assistant", calls, origin=origin), Message("tool", results)


@pytest.mark.parametrize(
    ("name", "signed"),
    [
        ("gemini-3-pro", True),
        ("gemini-3.1-flash", True),
        ("gemini-10-pro", True),
        ("gemini-2.5-pro", False),
        ("x", False),
    ],
)
def test_the_first_unsigned_call_gets_the_placeholder(name: str, signed: bool) -> None:
    messages = history(ToolUseBlock("a", "f"), ToolUseBlock("b", "g"))
    contents, losses = write(*messages, target=Target(model=name))
    first, second = contents[1]["parts"]
    assert first.get("thoughtSignature") == (PLACEHOLDER if signed else None)
    assert "thoughtSignature" not in second
    assert losses == ([("added", "messages/1/content/0/signature")] if signed else [])


def test_a_signature_goes_back_to_its_issuer_only() -> None:
    target = Target("google", "gemini-3-pro")
    for origin, kept in ((Origin("google", "gemini"), True), (Origin("anthropic", "anthropic-messages"), False)):
        contents, losses = write(*history(ToolUseBlock("a", "f", signature="c2ln"), origin=origin), target=target)
        assert contents[1]["parts"][0]["thoughtSignature"] == ("c2ln" if kept else PLACEHOLDER)
        assert [kind for kind, _ in losses] == ([] if kept else ["dropped", "added"])


def test_a_call_whose_signature_is_left_out_is_not_unsigned() -> None:
    """The provider refuses the whole request for a signature that is not base64."""
    messages = history(ToolUseBlock("a", "f", signature="sig-first"))
    contents, losses = write(*messages, target=Target(model="gemini-3-pro"))
    assert contents[1]["parts"][0]["thoughtSignature"] == PLACEHOLDER
    assert losses == [("dropped", "messages/1/content/0/signature"), ("added", "messages/1/content/0/signature")]


def test_an_odd_signature_that_the_wire_had_goes_back_until_it_is_edited() -> None:
    part = {"functionCall": {"name": "f", "args": {}, "id": "c"}, "thoughtSignature": "sig-first"}
    _, message = read(user({"text": "?"}), model(part))
    edited = replace(message, content=(replace(message.content[0], signature="other"),))
    contents, losses = write(Message("user", "?"), edited)
    assert contents[1] == model(call("f", "c"))
    assert losses == [("dropped", "messages/1/content/0/signature")]


# --------------------------------------------------------------------------------------------------------------- turns


def test_neighbours_of_one_side_share_a_turn() -> None:
    messages = (Message("user", "a"), Message("user", "b"), Message("assistant", "c"), Message("assistant", "d"))
    contents, losses = write(*messages)
    assert contents == [user({"text": "a"}, {"text": "b"}), model({"text": "c"}, {"text": "d"})]
    moved, added = ("moved", "messages/1"), ("added", "messages/0/content")
    assert losses == [moved, added, ("moved", "messages/3"), ("added", "messages/2/content")]


def test_what_was_read_is_not_merged_or_split() -> None:
    assert len(read(user({"text": "a"}), user({"text": "b"}), model({"text": "c"}), model({"text": "d"}))) == 4
    messages = read(user({"text": "?"}), model(call("f", "c")), user(answer("f", {}, "c"), {"text": "go on"}))
    assert [message.role for message in messages] == ["user", "assistant", "tool", "user"]
    assert messages[3].forms == {}  # so we would write it ourselves


def test_results_in_turns_of_their_own_are_one_message() -> None:
    calls = model(call("f"), call("g"))
    messages = read(user({"text": "?"}), calls, user(answer("f", {})), user(answer("g", {})), model({"text": "ok"}))
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert ids(messages[2]) == ["call_1_0", "call_1_1"]


def test_the_first_turn_is_the_users() -> None:
    contents, losses = write(Message("assistant", "hello"))
    assert contents == [user({"text": "(no content)"}), model({"text": "hello"})]
    assert losses == [("added", "messages/0")]


def test_a_turn_of_which_nothing_is_left() -> None:
    gone = Message("assistant", (ThinkingBlock(text="hm"),), origin=Origin("x", "ollama"))
    contents, losses = write(Message("user", "a"), gone, Message("user", "b"))
    assert contents[1] == model({"text": "(no content)"})
    assert losses == [("dropped", "messages/1/content/0"), ("added", "messages/1/content")]
    contents, losses = write(Message("user", "a"), gone, Message("assistant", "b"))
    assert contents[1] == model({"text": "b"})
    assert losses == [("dropped", "messages/1/content/0"), ("dropped", "messages/1")]


def test_system_text_stands_before_the_conversation() -> None:
    messages = (Message("system", "one"), Message("user", "a"), Message("system", "two"), Message("assistant", "b"))
    encoded = GEMINI.encode_request(Request(messages, model="m", system=(TextBlock("zero"),)))
    assert encoded.body["systemInstruction"] == {"parts": [{"text": "zero"}, {"text": "one"}, {"text": "two"}]}
    assert [content["role"] for content in encoded.body["contents"]] == ["user", "model"]
    assert [(loss.kind, loss.path) for loss in encoded.losses] == [("moved", "messages/0"), ("moved", "messages/2")]
    alone = GEMINI.encode_messages(messages)
    assert [(loss.kind, loss.path) for loss in alone.losses] == [("dropped", "messages/0"), ("dropped", "messages/2")]


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

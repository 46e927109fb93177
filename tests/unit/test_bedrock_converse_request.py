"""Requests of Bedrock Converse, as tables: cache points, turns, names, media, parameters, and what has no word."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    Citation,
    DocumentBlock,
    Encoded,
    FileSource,
    ImageBlock,
    JsonBlock,
    Message,
    MessageStart,
    OpaqueBlock,
    Origin,
    ParseError,
    RefusalBlock,
    Request,
    ServerTool,
    ServerToolResultBlock,
    ServerToolUseBlock,
    Target,
    TextBlock,
    TextSource,
    Thinking,
    ThinkingBlock,
    ToolAnnotations,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseStart,
    UrlSource,
    VideoBlock,
    dialect,
)
from lab.oracles import problems

NAME = "bedrock-converse"
BEDROCK = dialect(NAME)
Wire = dict[str, Any]
POINT: Wire = {"cachePoint": {"type": "default"}}
PLACEHOLDER: Wire = {"text": "(no content)"}
PNG = Base64Source("image/png", "iVBORw0KGgo=")
PDF = Base64Source("application/pdf", "JVBERg==")
ADD = ToolDefinition("add", "Adds.", {"type": "object"})


BEFORE = {"user": 0, "assistant": 1, "tool": 2}


def user(*content: Wire) -> Wire:
    return {"role": "user", "content": list(content)}


def model(*content: Wire) -> Wire:
    return {"role": "assistant", "content": list(content)}


def call(id: str = "t1", name: str = "f") -> Wire:
    return {"toolUse": {"toolUseId": id, "name": name, "input": {}}}


def result(id: str = "t1", *content: Wire) -> Wire:
    return {"toolResult": {"toolUseId": id, "content": list(content) or [{"text": "ok"}]}}


def encode(*blocks: Block, role: Any = "user") -> Encoded:
    """One message, behind those that it needs."""
    before = [Message("user", "?"), Message("assistant", (ToolUseBlock(id="t1", name="f"),))]
    return BEDROCK.encode_messages([*before[: BEFORE[role]], Message(role, blocks)])


def losses(encoded: Encoded) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in encoded.losses]


# ------------------------------------------------------------------------------------- read here, written here

BODIES: dict[str, Wire] = {
    "a point behind a text": {"messages": [user({"text": "a"}, POINT, {"text": "b"})]},
    "a point with nothing before it": {"messages": [user(POINT, {"text": "a"})]},
    "two points": {"messages": [user({"text": "a"}, POINT, {"cachePoint": {"type": "default", "ttl": "1h"}})]},
    "a point of another type": {"messages": [user({"text": "a"}, {"cachePoint": {"type": "new"}})]},
    "points behind tools": {"messages": [user({"text": "a"})], "toolConfig": {"tools": [
        POINT, {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}, POINT,
        {"systemTool": {"name": "s"}}, POINT]}},
    "a point behind a result": {"messages": [user({"text": "a"}), model(call()), user(result(), POINT, {"text": "b"})],
                                "toolConfig": {"tools": [{"systemTool": {"name": "s"}}]}},
    "a point between results": {"messages": [
        user({"text": "a"}), model(call(), call("t2")), user(result(), POINT, result("t2"), {"text": "b"})]},
    "system with points": {"messages": [user({"text": "a"})], "system": [POINT, {"text": "s"}, POINT]},
    "guarded text": {"messages": [user({"guardContent": {"text": {"text": "g", "qualifiers": ["query"]}}}, POINT)],
                     "system": [{"guardContent": {"text": {"text": "g"}}}]},
    "a guarded image": {"messages": [user(
        {"guardContent": {"image": {"format": "png", "source": {"bytes": "AAAA"}}}})],
        "system": [{"guardContent": {"image": {"format": "jpeg", "source": {"bytes": "AAAA"}}}}]},
    "the user twice": {"messages": [user({"text": "a"}), user({"text": "b"})]},
    "results and text apart": {"messages": [user({"text": "a"}), model(call()), user(result()), user({"text": "b"})]},
    "text before results": {"messages": [user({"text": "a"}), model(call()), user({"text": "b"}, result())]},
    "results around text": {"messages": [
        user({"text": "a"}), model(call(), call("t2")), user(result(), {"text": "b"}, result("t2"))]},
    "the model first": {"messages": [model({"text": "a"}), user({"text": "b"})]},
    "system first": {"messages": [{"role": "system", "content": [{"text": "s"}]}, user({"text": "b"})]},
    "system in the middle": {"messages": [user({"text": "b"}), {"role": "system", "content": [{"text": "s"}]}]},
    "no content": {"messages": [{"role": "user", "content": []}]},
    "content missing": {"messages": [{"role": "user"}]},
    "an empty text": {"messages": [user({"text": ""})]},
    "an odd role": {"messages": [{"role": "tool", "content": [{"text": "a"}]}]},
    "an odd id and name": {"messages": [user({"text": "a"}), model(call("a|b", "x.y")), user(result("a|b"))],
                           "toolConfig": {"tools": [{"toolSpec": {"name": "x.y", "inputSchema": {"json": {}}}}],
                                          "toolChoice": {"tool": {"name": "x.y"}}}},
    "a document alone": {"messages": [user({"document": {"name": "a.b", "source": {"text": "t"}}})]},
    "one name twice": {"messages": [user({"text": "?"}, *[
        {"document": {"format": "txt", "name": "n", "source": {"text": "t"}}}] * 2)]},
    "a document of chunks": {"messages": [user({"text": "?"}, {"document": {
        "format": "txt", "name": "n", "source": {"content": [{"text": "a"}, {"text": "b"}]}}}, POINT)]},
    "a media type for a format": {"messages": [user({"video": {"format": "video/mp4", "source": {"bytes": "AAAA"}}})]},
    "the other word for a format": {"messages": [user({"video": {"format": "mpg", "source": {"bytes": "AAAA"}}})]},
    "bytes that are none": {"messages": [user({"image": {"format": "png", "source": {"bytes": "REDACTED!"}}})]},
    "media of the model": {"messages": [user({"text": "a"}), model({"image": {"format": "png", "source": {
        "s3Location": {"uri": "s3://bucket/a", "bucketOwner": "1"}}, "error": {"message": "m"}}})]},
    "a list as JSON": {"messages": [user({"text": "a"}), model(call()), user(result("t1", {"json": [1]}))]},
    "search results": {"messages": [user({"searchResult": {"source": "s", "title": "t", "content": [{"text": "c"}]}})]},
    "new tools midway": {"messages": [user({"toolAddition": {"tool": {"name": "f"}}}, {"text": "a"})]},
    "citations in pieces": {"messages": [user({"text": "a"}), model({"citationsContent": {
        "content": [{"text": "a"}, {"text": "b"}], "citations": [
            {"sourceContent": [{"text": "c"}, {"text": "d"}], "source": "s", "title": "t"},
            {"location": {"documentChar": {"documentIndex": 0, "start": 1, "end": 2}}, "sourceContent": []},
            {"location": {"tomorrow": {"x": 1}}}]}})]},
    "citations of nothing": {"messages": [user({"text": "a"}), model(
        {"citationsContent": {"citations": [{"location": {"web": {"domain": "d"}}}]}},
        {"citationsContent": {"content": [{"text": "x"}]}}, {"citationsContent": {}})]},
    "tags of answers": {"messages": [user({"text": "a", "type": "text"}), model(
        {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}, "type": "tool_use"}}), user(result())]},
    "blocks of odd shapes": {"messages": [user(
        {"toolUse": "x"}, {"toolResult": {"toolUseId": "t", "content": "x"}}, {"citationsContent": {"content": "x"}},
        {"guardContent": {"image": {"format": "png", "source": {"new": 1}}}}, {"document": {"name": 5, "source": {}}},
        {"image": {"format": "png", "source": {"text": "x"}}}, {"text": "a", "new": 1},
        {"citationsContent": {"content": [{"text": "a", "new": 1}]}})]},
    "tools of odd shapes": {"messages": [user({"text": "a"})], "toolConfig": {"tools": {"x": 1}, "toolChoice": {
        "auto": {"name": "x", "new": 1}}}},
    "a tool that is nearly one": {"messages": [user({"text": "a"})], "toolConfig": {"tools": [
        {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}, "strict": "yes"}}, {"tomorrow": {}}]}},
    "prompt variables": {"promptVariables": {"x": {"text": "y"}}},
    "empty objects": {"messages": [user({"text": "a"})], "system": [], "inferenceConfig": {}, "toolConfig": {},
                      "additionalModelRequestFields": {}, "outputConfig": {}, "requestMetadata": {}},
    "values out of range": {"messages": [user({"text": "a"})], "inferenceConfig": {
        "temperature": 1.5, "topP": 2, "maxTokens": 0, "stopSequences": ["", "x"]},
        "requestMetadata": {"a": "{}"}},
    "effort in its places": {"messages": [user({"text": "a"})], "outputConfig": {"effort": "max"},
                             "additionalModelRequestFields": {"reasoning_effort": "low"}},
    "a choice without tools": {"messages": [user({"text": "a"})], "toolConfig": {"toolChoice": {"any": {}}}},
    "a schema of many spaces": {"messages": [user({"text": "a"})], "outputConfig": {"textFormat": {
        "type": "json_schema", "structure": {"jsonSchema": {"schema": '{ "type" : "string" }', "name": "n"}}}}},
    "a schema that is none": {"messages": [user({"text": "a"})], "outputConfig": {"textFormat": {
        "type": "json_schema", "structure": {"jsonSchema": {"schema": "oops"}}}}},
    "a tool of no schema": {"messages": [user({"text": "a"})], "toolConfig": {"tools": [
        {"toolSpec": {"name": "f", "description": "", "inputSchema": {"json": {}}, "strict": True, "new": 1}}]}},
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_was_read_is_written_again(body: Wire) -> None:
    request = BEDROCK.decode_request(body)
    encoded = BEDROCK.encode_request(request)
    assert encoded.body == body
    assert encoded.losses == ()
    assert BEDROCK.decode_request(encoded.body) == request


@pytest.mark.parametrize("body", [[], "x", {"messages": [1]}])
def test_what_is_no_request(body: Any) -> None:
    with pytest.raises(ParseError):
        BEDROCK.decode_request(body)


# --------------------------------------------------------------------------------- said by hand, read back equal

BLOCKS: list[tuple[Block, str]] = [
    (TextBlock("a", cache=CacheMark("5m")), "user"),
    (TextBlock("a", citations=(Citation(kind="block", index=1, start=0, end=1, text="p", title="t"),)), "assistant"),
    (TextBlock("", citations=(Citation(kind="text", text="p", url="https://a.test"),)), "assistant"),
    (ImageBlock(PNG), "user"),
    (ImageBlock(FileSource("s3://bucket/a.png", "image/png", NAME)), "user"),
    (DocumentBlock(TextSource("t"), "n", "c"), "user"),
    (DocumentBlock(FileSource("s3://bucket/a", None, NAME), "n"), "user"),
    (AudioBlock(Base64Source("audio/mpeg", "AAAA")), "user"),
    (VideoBlock(Base64Source("video/3gpp", "AAAA")), "user"),
    (ThinkingBlock("t"), "assistant"),
    (ThinkingBlock("t", signature="s"), "assistant"),
    (ToolUseBlock(id="t", name="f", input={"a": [None]}, cache=CacheMark()), "assistant"),
    (ToolResultBlock("t", (), is_error=False), "tool"),
    (ToolResultBlock("t", (TextBlock("a"), JsonBlock({"a": 1}), ImageBlock(PNG)), is_error=True), "tool"),
    (ServerToolUseBlock(id="t", name="f", input={"a": 1}, dialect=NAME), "assistant"),
    (ServerToolResultBlock(tool_use_id="t", name="x", content=[], dialect=NAME, is_error=True), "assistant"),
    (OpaqueBlock(dialect=NAME, raw={"toolRemoval": {"tool": {"name": "f"}}}), "user"),
]


@pytest.mark.parametrize(("block", "role"), BLOCKS, ids=[type(block).__name__ for block, _ in BLOCKS])
def test_blocks_come_back_equal(block: Block, role: Any) -> None:
    messages = (Message("user", "?"), Message("assistant", "!"), Message(role, (block, TextBlock("x"))))
    messages = messages[: 1 if role == "assistant" else 2] + messages[2:]
    if role == "tool":
        messages = (*messages[:-1], Message("tool", (block,)))
    request = Request(messages, tools=(ADD,))
    encoded = BEDROCK.encode_request(request)
    assert encoded.losses == ()
    assert BEDROCK.decode_request(encoded.body) == request


REQUESTS: list[Request] = [
    Request((Message("user", "a"), Message("assistant", "b"), Message("system", "s"), Message("user", "c"))),
    Request((Message("user", "a"),), system=(TextBlock("s", cache=CacheMark()), TextBlock("t"))),
    Request((Message("user", "a"),), tools=(ADD, ServerTool(NAME, {"systemTool": {"name": "s"}}))),
    Request((Message("user", "a"),), tools=(ToolDefinition("f", input_schema={"type": "object"}, cache=CacheMark()),)),
    *[Request((Message("user", "a"),), tools=(ADD,), tool_choice=choice)
      for choice in (ToolChoice.auto(), ToolChoice.any(), ToolChoice.specific("add"))],
    *[Request((Message("user", "a"),), thinking=thinking) for thinking in (
        Thinking(mode="adaptive", display="summarized"), Thinking(mode="enabled", budget=2000, effort="max"),
        Thinking(mode="disabled"), Thinking(effort="low"))],
    Request((Message("user", "a"),), max_output_tokens=1, temperature=0, top_p=1.0, top_k=3, stop_sequences=("x",)),
    Request((Message("user", "a"),), metadata={"a": "b c", "d": ""}, service_tier="reserved", betas=("b",)),
    Request((Message("user", "a"),), output_schema={"type": "object", "properties": {}, "additionalProperties": False}),
]  # fmt: skip


@pytest.mark.parametrize("request_", REQUESTS)
def test_requests_come_back_equal(request_: Request) -> None:
    encoded = BEDROCK.encode_request(request_)
    assert encoded.losses == ()
    assert problems(encoded.body, NAME) == []
    assert BEDROCK.decode_request(encoded.body) == request_


# ---------------------------------------------------------------------------------------- what the service demands


def test_foreign_neighbours_share_a_turn() -> None:
    encoded = BEDROCK.encode_messages(
        [Message("user", "a"), Message("user", "b"), Message("assistant", "c"), Message("assistant", "d")]
    )
    assert encoded.body == [user({"text": "a"}, {"text": "b"}), model({"text": "c"}, {"text": "d"})]
    assert losses(encoded) == [("moved", "messages/1"), ("moved", "messages/3")]


def test_results_and_what_follows_share_a_turn_and_come_apart_again() -> None:
    history = (
        Message("user", "a"),
        Message("assistant", (ToolUseBlock(id="t1", name="add"), ToolUseBlock(id="t2", name="add"))),
        Message("tool", (ToolResultBlock("t1", "1"), ToolResultBlock("t2", "2"))),
        Message("user", "go on"),
    )
    encoded = BEDROCK.encode_request(Request(history, tools=(ADD,)))
    assert encoded.losses == ()
    assert [turn["role"] for turn in encoded.body["messages"]] == ["user", "assistant", "user"]
    assert BEDROCK.decode_request(encoded.body).messages == history


def test_late_results_move_to_their_calls() -> None:
    encoded = BEDROCK.encode_messages([
        Message("user", "a"), Message("assistant", (ToolUseBlock(id="t1", name="f"),)), Message("user", "wait"),
        Message("tool", (ToolResultBlock("t1", "1"),)),
    ])  # fmt: skip
    assert encoded.body[2] == user(result("t1", {"text": "1"}), {"text": "wait"})
    assert ("moved", "messages/3") in losses(encoded)


ADDED: dict[str, tuple[Request, Wire, list[tuple[str, str]]]] = {
    "a first turn": (
        Request((Message("assistant", "a"),)), {"messages": [user(PLACEHOLDER), model({"text": "a"})]},
        [("added", "messages/0")]),
    "something to say": (Request(), {"messages": [user(PLACEHOLDER)]}, [("added", "messages")]),
    "something beside the system": (
        Request((Message("system", "s"),)), {"system": [{"text": "s"}], "messages": [user(PLACEHOLDER)]},
        [("moved", "messages/0"), ("added", "messages")]),
    "what is left of a turn": (
        Request((Message("user", ()),)), {"messages": [user(PLACEHOLDER)]}, [("added", "messages/0/content")]),
    "a text beside a document": (
        Request((Message("user", (DocumentBlock(TextSource("t"), "n"),)),)),
        {"messages": [user({"document": {"format": "txt", "source": {"text": "t"}, "name": "n"}}, PLACEHOLDER)]},
        [("added", "messages/0/content")]),
    "tools of a history": (
        Request((Message("user", "a"), Message("assistant", (ToolUseBlock(id="t1", name="f"),)))),
        {"messages": [user({"text": "a"}), model(call())],
         "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}},
        [("added", "tools")]),
    "the type of a schema": (
        Request((Message("user", "a"),), tools=(ToolDefinition("f", input_schema={}),)),
        {"messages": [user({"text": "a"})],
         "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}},
        [("added", "tools/0/input_schema/type")]),
}  # fmt: skip


@pytest.mark.parametrize(("request_", "body", "declared"), ADDED.values(), ids=ADDED)
def test_what_is_added(request_: Request, body: Wire, declared: list[tuple[str, str]]) -> None:
    encoded = BEDROCK.encode_request(request_)
    assert encoded.body == body
    assert losses(encoded) == declared


def test_a_turn_that_lost_everything_vanishes_behind_results() -> None:
    history = [
        Message("user", "a"), Message("assistant", (ToolUseBlock(id="t1", name="f"),)),
        Message("tool", (ToolResultBlock("t1", "1"),)), Message("user", (ImageBlock(UrlSource("https://a.test/b.png")),)),
    ]  # fmt: skip
    encoded = BEDROCK.encode_messages(history)
    assert encoded.body[2] == user(result("t1", {"text": "1"}))
    assert ("dropped", "messages/3") in losses(encoded)


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


@pytest.mark.parametrize(("title", "filename", "name", "declared"), [
    ("Sky", None, "Sky", []),
    ("my_file (1) [x]-y", None, "my_file (1) [x]-y", []),
    ("a.b/ç  d", None, "a b d", [("approximated", "title")]),
    ("x" * 300, None, "x" * 200, [("approximated", "title")]),
    ("...", None, "document", [("approximated", "title")]),
    (None, None, "document", [("added", "title")]),
    (None, "report.v1.pdf", "report v1", [("moved", "filename"), ("added", "title")]),
    ("Sky", "sky.pdf", "Sky", [("dropped", "filename")]),
])  # fmt: skip
def test_document_names(title: str, filename: str, name: str, declared: list[tuple[str, str]]) -> None:
    encoded = encode(TextBlock("?"), DocumentBlock(PDF, title, filename=filename))
    assert encoded.body[0]["content"][1]["document"]["name"] == name
    assert losses(encoded) == [(kind, f"messages/0/content/1/{path}") for kind, path in declared]


def test_document_names_differ() -> None:
    inside = Message("tool", (ToolResultBlock("t1", (DocumentBlock(PDF, "n"),)),))
    blocks = (TextBlock("?"), DocumentBlock(PDF, "n"), DocumentBlock(PDF), DocumentBlock(PDF), DocumentBlock(PDF, "N"))
    encoded = BEDROCK.encode_messages(
        [Message("user", blocks), Message("assistant", (ToolUseBlock(id="t1", name="f"),)), inside]
    )
    names = [block["document"]["name"] for block in encoded.body[0]["content"][1:]]
    assert names == ["n", "document", "document 2", "N 2"]
    assert encoded.body[2]["content"][0]["toolResult"]["content"][0]["document"]["name"] == "n 3"
    assert ("approximated", "messages/2/content/0/content/0/title") in losses(encoded)


@pytest.mark.parametrize(("title", "second"), [(" ", " 2"), ("a ", "a 2"), ("a" * 197 + " b", "a" * 197 + " 2")])
def test_document_names_have_single_spaces(title: str, second: str) -> None:
    encoded = encode(TextBlock("?"), DocumentBlock(PDF, title), DocumentBlock(PDF, title))
    assert [block["document"]["name"] for block in encoded.body[-1]["content"][1:]] == [title, second]


MUCH = "az09" * 5000
NOT_BASE64 = ["", "AAA", "AB=", "A===", "====", "AB==AB==", "AA-_", "AAA\n", "AAAé", "A\udc80AA"]
MUCH_OF_IT = [MUCH + odd for odd in NOT_BASE64 if odd]
WITHIN = [MUCH + odd + MUCH for odd in ("AA-_", "AAA\n", "AAAé")]


@pytest.mark.parametrize("text", [*NOT_BASE64, *MUCH_OF_IT, *WITHIN])
def test_what_is_no_standard_base64_is_written_otherwise(text: str) -> None:
    encoded = encode(TextBlock("x"), ImageBlock(Base64Source("image/png", text)))
    assert losses(encoded)[0][1].startswith("messages/0/content/1")
    read = BEDROCK.decode_request({"messages": [user({"image": {"format": "png", "source": {"bytes": text}}})]})
    assert BEDROCK.encode_request(read).body["messages"][0]["content"][0]["image"]["source"]["bytes"] == text


@pytest.mark.parametrize("text", ["AB==", "ABC=", "az09", "+/+/AA==", MUCH, MUCH + "AB=="])
def test_standard_base64_is_written_as_it_is(text: str) -> None:
    encoded = encode(TextBlock("x"), ImageBlock(Base64Source("image/png", text)))
    assert losses(encoded) == []
    assert encoded.body[0]["content"][1]["image"]["source"]["bytes"] == text


def test_a_refusal_without_words_is_no_text() -> None:
    encoded = encode(RefusalBlock(""), TextBlock("a"), role="assistant")
    assert encoded.body[-1]["content"] == [{"text": "a"}]
    assert ("dropped", "messages/1/content/0") in losses(encoded)


# ------------------------------------------------------------------------------------------- what is said otherwise

OTHERWISE: dict[str, tuple[Block, str, Any, list[tuple[str, str]]]] = {
    "an image by URL": (ImageBlock(UrlSource("https://a.test/b.png")), "user", None, [("dropped", "")]),
    "a place in S3": (
        ImageBlock(UrlSource("s3://bucket/b.jpg")), "user",
        {"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/b.jpg"}}}},
        [("approximated", "/source"), ("added", "/source/media_type")]),
    "another's file": (ImageBlock(FileSource("file_1", None, "openai-chat")), "user", None, [("dropped", "")]),
    "an unknown picture": (ImageBlock(Base64Source("image/tiff", "AAAA")), "user", None, [("dropped", "")]),
    "a picture's other name": (
        ImageBlock(Base64Source("image/jpg", "AAAA"), detail="high"), "user",
        {"image": {"format": "jpeg", "source": {"bytes": "AAAA"}}},
        [("dropped", "/detail"), ("approximated", "/source/media_type")]),
    "base64 for URLs": (
        ImageBlock(Base64Source("image/png", "_-A\n")), "user",
        {"image": {"format": "png", "source": {"bytes": "/+A="}}}, [("approximated", "/source/data")]),
    "no base64": (ImageBlock(Base64Source("image/png", "?!")), "user", None, [("dropped", "")]),
    "no bytes": (ImageBlock(Base64Source("image/png", "")), "user", None, [("dropped", "")]),
    "a text of another type": (
        DocumentBlock(TextSource("{}", "application/json"), "n"), "user",
        {"document": {"format": "txt", "source": {"text": "{}"}, "name": "n"}},
        [("approximated", "/source/media_type")]),
    "media of the model": (ImageBlock(PNG), "assistant", None, [("dropped", "")]),
    "an empty text": (TextBlock(""), "user", None, [("dropped", "")]),
    "a citing user": (
        TextBlock("a", citations=(Citation(kind="page"),)), "user", {"text": "a"}, [("dropped", "/citations")]),
    "a web citation with a span": (
        TextBlock("a", citations=(Citation(kind="url", url="u", start=0, end=1),)), "assistant",
        {"citationsContent": {"citations": [{"location": {"web": {"url": "u"}}}], "content": [{"text": "a"}]}},
        [("dropped", "/citations/0/start"), ("dropped", "/citations/0/end")]),
    "a citation of another kind": (
        TextBlock("a", citations=(Citation(kind="file"),)), "assistant", {"text": "a"}, [("dropped", "/citations/0")]),
    "a signed text": (TextBlock("a", signature="s"), "assistant", {"text": "a"}, [("dropped", "/signature")]),
    "a long-lived point": (
        TextBlock("a", cache=CacheMark("30m")), "user", {"text": "a"}, [("dropped", "/cache/ttl")]),
    "a refusal": (RefusalBlock("no"), "assistant", {"text": "no"}, [("approximated", "")]),
    "JSON beside text": (JsonBlock([1]), "user", {"text": "[1]"}, [("approximated", "")]),
    "free text": (
        ToolUseBlock(id="t1", name="f", kind="text", input_text="ls"), "assistant",
        {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"input": "ls"}}},
        [("approximated", "/input_text"), ("approximated", "/kind"), ("added", "/input")]),
    "the model's own spelling": (
        ToolUseBlock(id="t1", name="f", input_text="{ }"), "assistant", call(), [("dropped", "/input_text")]),
    "a named result": (
        ToolResultBlock("t1", "ok", name="f"), "tool", result(), [("dropped", "/name")]),
    "a list as JSON": (
        ToolResultBlock("t1", (JsonBlock([1]),)), "tool", result("t1", {"text": "[1]"}),
        [("approximated", "/content/0")]),
    "an empty result": (
        ToolResultBlock("t1", (TextBlock(""),)), "tool", {"toolResult": {"toolUseId": "t1", "content": []}},
        [("dropped", "/content/0")]),
    "sound in a result": (
        ToolResultBlock("t1", (AudioBlock(Base64Source("audio/wav", "AAAA")),)), "tool",
        {"toolResult": {"toolUseId": "t1", "content": []}}, [("dropped", "/content/0")]),
    "a transcript": (
        AudioBlock(Base64Source("audio/wav", "AAAA"), transcript="hi"), "user",
        {"audio": {"format": "wav", "source": {"bytes": "AAAA"}}}, [("dropped", "/transcript")]),
    "another's tool": (
        ServerToolUseBlock(id="t", name="f", dialect="gemini"), "assistant", None, [("dropped", "")]),
    "another's find": (
        ServerToolResultBlock(tool_use_id="t", name="f", dialect="gemini"), "assistant", None, [("dropped", "")]),
    "another's block": (OpaqueBlock(dialect="gemini", raw={}), "user", None, [("dropped", "")]),
}  # fmt: skip


@pytest.mark.parametrize(("block", "role", "wire", "declared"), OTHERWISE.values(), ids=OTHERWISE)
def test_blocks_said_otherwise(block: Block, role: Any, wire: Any, declared: list[tuple[str, str]]) -> None:
    encoded = encode(block, TextBlock("x"), role=role) if role != "tool" else encode(block, role=role)
    place = f"messages/{BEFORE[role]}/content/0"
    assert [loss for loss in losses(encoded) if loss[1].startswith(place)] == [(k, place + p) for k, p in declared]
    blocks = [part for part in encoded.body[-1]["content"] if part not in ({"text": "x"}, POINT)]
    assert blocks == ([] if wire is None else [wire])


def test_a_point_inside_a_result_moves_behind_it() -> None:
    block = ToolResultBlock("t1", (TextBlock("a", cache=CacheMark("1h")), TextBlock("b")))
    encoded = encode(block, role="tool")
    long = {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert encoded.body[-1]["content"] == [result("t1", {"text": "a"}, {"text": "b"}), long]
    assert losses(encoded) == [("moved", "messages/2/content/0/content/0/cache")]


LONG = {"cachePoint": {"type": "default", "ttl": "1h"}}
AMONG: dict[str, tuple[list[list[Block]], Wire, list[tuple[str, str]]]] = {
    # the messages of results, the point behind them all, what is declared
    "on the first": (
        [[ToolResultBlock("t1", "ok", cache=CacheMark("1h")), ToolResultBlock("t2", "ok")]],
        LONG, [("added", "2/content/1/cache"), ("moved", "2/content/0/cache")]),
    "in the first": (
        [[ToolResultBlock("t1", (TextBlock("ok", cache=CacheMark()),)), ToolResultBlock("t2", "ok")]],
        POINT, [("added", "2/content/1/cache"), ("moved", "2/content/0/content/0/cache")]),
    "on both": (
        [[ToolResultBlock("t1", "ok", cache=CacheMark("1h")), ToolResultBlock("t2", "ok", cache=CacheMark())]],
        POINT, [("dropped", "2/content/0/cache")]),
    "in two messages": (
        [[ToolResultBlock("t1", "ok", cache=CacheMark("1h"))], [ToolResultBlock("t2", "ok")]],
        LONG, [("added", "3/content/0/cache"), ("moved", "2/content/0/cache"), ("moved", "3")]),
}  # fmt: skip


@pytest.mark.parametrize(("runs", "point", "declared"), AMONG.values(), ids=AMONG)
def test_one_point_comes_behind_all_results(runs: list[list[Block]], point: Wire, declared: Any) -> None:
    calls = Message("assistant", (ToolUseBlock(id="t1", name="f"), ToolUseBlock(id="t2", name="f")))
    encoded = BEDROCK.encode_messages([Message("user", "?"), calls, *(Message("tool", run) for run in runs)])
    assert encoded.body[-1]["content"] == [result("t1"), result("t2"), point]
    assert losses(encoded) == [(kind, f"messages/{path}") for kind, path in declared]


def test_reasoning_of_others_stays_away() -> None:
    message = Message("assistant", (ThinkingBlock("t", signature="s"), TextBlock("a")), origin=Origin(dialect="gemini"))
    encoded = BEDROCK.encode_messages([Message("user", "?"), message])
    assert encoded.body[1] == model({"text": "a"})
    assert losses(encoded) == [("dropped", "messages/1/content/0")]


# -------------------------------------------------------------------------------------------------- the parameters

A = (Message("user", "a"),)
PARAMS: dict[str, tuple[Request, Wire, list[tuple[str, str]]]] = {
    "seed": (Request(A, seed=1), {}, [("dropped", "seed")]),
    "a high temperature": (
        Request(A, temperature=1.5), {"inferenceConfig": {"temperature": 1}}, [("approximated", "temperature")]),
    "no tokens": (
        Request(A, max_output_tokens=0), {"inferenceConfig": {"maxTokens": 1}},
        [("approximated", "max_output_tokens")]),
    "empty stops": (Request(A, stop_sequences=("",)), {}, [("approximated", "stop_sequences")]),
    "a tier of others": (Request(A, service_tier="auto"), {}, [("dropped", "service_tier")]),
    "tags": (
        Request(A, metadata={"a": "b", "c": "{}", "d": 1}), {"requestMetadata": {"a": "b"}},
        [("dropped", "metadata/c"), ("dropped", "metadata/d")]),
    "an unknown effort": (
        Request(A, thinking=Thinking(effort="minimal")), {"outputConfig": {"effort": "low"}},
        [("approximated", "thinking/effort")]),
    "no effort": (
        Request(A, thinking=Thinking(effort="none")),
        {"additionalModelRequestFields": {"thinking": {"type": "disabled"}}},
        [("added", "thinking/mode"), ("approximated", "thinking/effort")]),
    "a budget alone": (
        Request(A, thinking=Thinking(budget=1024)),
        {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}},
        [("added", "thinking/mode")]),
    "enabled alone": (
        Request(A, thinking=Thinking(mode="enabled")),
        {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}},
        [("approximated", "thinking/mode")]),
    "none of the tools": (
        Request(A, tools=(ADD,), tool_choice=ToolChoice.none()), {},
        [("approximated", "tool_choice"), ("dropped", "tools/0")]),
    "a choice of nothing": (Request(A, tool_choice=ToolChoice.any()), {}, [("dropped", "tool_choice")]),
    "another's tool": (
        Request(A, tools=(ServerTool("gemini", {}),), tool_choice=ToolChoice.auto()), {},
        [("dropped", "tools/0"), ("dropped", "tool_choice")]),
    "parallel calls alone": (
        Request(A, tools=(ADD,), tool_choice=ToolChoice(parallel=False, allowed=("add",))),
        {"toolConfig": {"tools": [{"toolSpec": {
            "name": "add", "description": "Adds.", "inputSchema": {"json": {"type": "object"}}}}]}},
        [("dropped", "tool_choice/allowed"), ("dropped", "tool_choice/parallel")]),
    "a tool of free text": (
        Request(A, tools=(ToolDefinition("f", "", kind="text", annotations=ToolAnnotations(read_only=True)),)),
        {"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {
            "type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}}}]}},
        [("dropped", "tools/0/description"), ("approximated", "tools/0/kind"), ("added", "tools/0/input_schema")]),
    "another's residue": (Request(A, extras={"gemini": {"x": 1}}), {}, [("dropped", "extras/gemini/x")]),
}  # fmt: skip


@pytest.mark.parametrize(("request_", "body", "declared"), PARAMS.values(), ids=PARAMS)
def test_parameters_said_otherwise(request_: Request, body: Wire, declared: list[tuple[str, str]]) -> None:
    encoded = BEDROCK.encode_request(request_)
    assert encoded.body == {"messages": [user({"text": "a"})], **body}
    assert losses(encoded) == declared


def test_none_of_the_tools_of_a_history_that_has_calls() -> None:
    history = (Message("user", "a"), Message("assistant", (ToolUseBlock(id="t", name="add"),)),
               Message("tool", (ToolResultBlock("t", "1"),)))  # fmt: skip
    encoded = BEDROCK.encode_request(Request(history, tools=(ADD,), tool_choice=ToolChoice.none()))
    assert "toolChoice" not in encoded.body["toolConfig"]
    assert losses(encoded) == [("dropped", "tool_choice/mode")]


def test_a_choice_of_a_tool_that_was_lost() -> None:
    tools = (ADD, ServerTool("gemini", {"name": "search"}))
    encoded = BEDROCK.encode_request(Request(A, tools=tools, tool_choice=ToolChoice.specific("search")))
    assert "toolChoice" not in encoded.body["toolConfig"]
    assert losses(encoded) == [("dropped", "tools/1"), ("dropped", "tool_choice")]


def test_a_strict_tool_is_brought_into_the_subset() -> None:
    tool = ToolDefinition(
        "f", "d", {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}, strict=True
    )
    encoded = BEDROCK.encode_request(Request(A, tools=(tool,)))
    spec = encoded.body["toolConfig"]["tools"][0]["toolSpec"]
    assert spec["strict"] is True
    assert spec["inputSchema"]["json"]["additionalProperties"] is False
    assert losses(encoded) == [("approximated", "tools/0/input_schema")]


FAMILY: dict[str, tuple[str, Thinking, Wire]] = {
    "Claude": ("us.anthropic.claude-opus-5", Thinking(mode="enabled", budget=1024, effort="max"), {
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "top_k": 5},
        "outputConfig": {"effort": "max"}}),
    "Nova": ("us.amazon.nova-2-lite-v1:0", Thinking(effort="max"), {"additionalModelRequestFields": {
        "reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}, "inferenceConfig": {"topK": 5}}}),
    "Nova, adaptive": ("amazon.nova-2-pro", Thinking(mode="adaptive", budget=9, display="x"), {
        "additionalModelRequestFields": {"reasoningConfig": {"type": "enabled"}, "inferenceConfig": {"topK": 5}}}),
    "Nova, shown": ("amazon.nova-2-pro", Thinking(display="x"), {
        "additionalModelRequestFields": {"reasoningConfig": {"type": "enabled"}, "inferenceConfig": {"topK": 5}}}),
    "gpt-oss": ("openai.gpt-oss-120b-1:0", Thinking(effort="minimal", mode="enabled"), {
        "additionalModelRequestFields": {"reasoning_effort": "low", "top_k": 5}}),
}  # fmt: skip


@pytest.mark.parametrize(("name", "thinking", "body"), FAMILY.values(), ids=FAMILY)
def test_a_named_reader_is_told_in_its_own_words(name: str, thinking: Thinking, body: Wire) -> None:
    encoded = BEDROCK.encode_request(Request(A, thinking=thinking, top_k=5), Target(model=name))
    assert encoded.body == {"messages": [user({"text": "a"})], **body}
    assert BEDROCK.decode_request(encoded.body).top_k == 5


@pytest.mark.parametrize(("fields", "thinking"), [
    ({"reasoning_config": {"type": "enabled", "budget_tokens": 1024}}, Thinking(mode="enabled", budget=1024)),
    ({"reasoning_config": "high"}, Thinking(effort="high")),
    ({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}, Thinking(mode="enabled", effort="low")),
    ({"reasoning_effort": "medium"}, Thinking(effort="medium")),
    ({"thinking": {"type": "enabled"}}, Thinking(mode="enabled")),
])  # fmt: skip
def test_every_spelling_of_thinking_is_read_and_kept(fields: Wire, thinking: Thinking) -> None:
    body = {"messages": [user({"text": "a"})], "additionalModelRequestFields": fields}
    request = BEDROCK.decode_request(body)
    assert request.thinking is not None
    read = (request.thinking.mode, request.thinking.effort, request.thinking.budget)
    assert read == (thinking.mode, thinking.effort, thinking.budget)
    assert BEDROCK.encode_request(request).body == body


def test_betas_are_for_claude() -> None:
    request = Request(A, betas=("b",))
    claude, nova = (
        BEDROCK.encode_request(request, Target(model=f"{name}-1")) for name in ("anthropic.c", "amazon.nova")
    )
    assert claude.body["additionalModelRequestFields"] == {"anthropic_beta": ["b"]}
    assert "additionalModelRequestFields" not in nova.body
    assert losses(nova) == [("dropped", "betas")]


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


def test_the_model_is_in_the_path() -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x-v1:0"
    assert BEDROCK.encode_request(Request(A)).path is None
    assert BEDROCK.encode_request(Request(A, model=arn, stream=True)).path == (
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.x-v1%3A0/converse-stream"
    )
    assert BEDROCK.encode_request(Request(A), Target(model="m")).path == "/model/m/converse"


def test_the_parts_alone() -> None:
    assert BEDROCK.encode_system([TextBlock("s", cache=CacheMark())]).body == [{"text": "s"}, POINT]
    assert losses(BEDROCK.encode_system([ImageBlock(PNG)])) == [("dropped", "system/0")]
    assert BEDROCK.encode_tools([ADD]).body[0]["toolSpec"]["name"] == "add"
    assert BEDROCK.encode_tool_choice(ToolChoice.specific("add")).body == {"tool": {"name": "add"}}


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

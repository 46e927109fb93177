"""botocore reads what we write as a server, and we read what it sends.

The client speaks to a server on loopback with dummy keys. What it should see is written here by hand, in the words of
its own service model; it hands out blobs as bytes, where the wire has base64.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest

from interlingua import (
    AuthError,
    Base64Source,
    BlockComplete,
    BlockStart,
    CacheMark,
    Citation,
    DocumentBlock,
    Event,
    FileSource,
    ImageBlock,
    InvalidRequestError,
    JsonBlock,
    Message,
    MessageComplete,
    MessageStart,
    RateLimitError,
    RedactedThinkingBlock,
    Request,
    RequestTimeoutError,
    Response,
    ServerError,
    ServerTool,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StopReason,
    TextBlock,
    TextDelta,
    TextSource,
    Thinking,
    ThinkingBlock,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    VideoBlock,
    dialect,
    unfold,
)
from lab.oracles import problems
from oracles.sdks import JSON, Loopback, bedrock as connect, said, want
from shared_data import corpus, needs_shared, stream_bytes

exceptions = want("botocore.exceptions")

NAME = "bedrock-converse"
BEDROCK = dialect(NAME)
MODEL = "us.anthropic.claude-opus-5:0"
ASK: dict[str, Any] = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": "?"}]}]}
EVENT_STREAM = "application/vnd.amazon.eventstream"
PNG = b"\x89PNG\r\n"
Json = Any


class Server(Loopback):
    def converse(self, response: Response) -> Json:
        self.answer = (200, JSON, json.dumps(BEDROCK.encode_response(response).body).encode())
        return self.client.converse(**ASK)

    def stream(self, wire: bytes) -> list[Json]:
        self.answer = (200, {"content-type": EVENT_STREAM}, wire)
        return list(self.client.converse_stream(**ASK)["stream"])

    def asked_for(self) -> Request:
        """What the last request means, its model and verb read from the path as a gateway would."""
        path, body = self.asked[-1]
        _, _, model, verb = path.split("/")
        return BEDROCK.decode_request(body, model=unquote(model), stream=verb == "converse-stream")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(connect)
    with server:
        yield server


def accumulated(events: list[Json]) -> list[Json]:
    """The blocks that a stream adds up to, as the API reference tells clients to add them."""
    blocks: dict[int, Json] = {}
    for event in events:
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            assert start["contentBlockIndex"] not in blocks
            blocks[start["contentBlockIndex"]] = {tag: dict(inner) for tag, inner in start["start"].items()}
        elif "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]
            _grow(blocks.setdefault(delta["contentBlockIndex"], {}), delta["delta"])
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"].pop("said", "") or "{}")
    return [blocks[index] for index in sorted(blocks)]


def _grow(block: Json, delta: Json) -> None:
    match delta:
        case {"text": text}:
            block["text"] = block.get("text", "") + text
        case {"toolUse": {"input": text}}:
            block["toolUse"]["said"] = block["toolUse"].get("said", "") + text
        case {"toolResult": pieces}:
            block["toolResult"].setdefault("content", []).extend(pieces)
        case {"citation": citation}:
            block.setdefault("citations", []).append(citation)
        case {"image": image}:
            block["image"] |= image
        case {"reasoningContent": {"redactedContent": data}}:
            block["redactedContent"] = block.get("redactedContent", b"") + data
        case {"reasoningContent": {"text": text}}:
            block["reasoning"] = block.get("reasoning", "") + text
        case {"reasoningContent": {"signature": signature}}:
            block["signature"] = signature
        case _:
            raise AssertionError(f"the client could not read a delta: {delta}")


# ------------------------------------------------------------------------------------------------ what we answer

CITATIONS = (
    Citation(kind="page", title="Sky", text="blue", index=0, start=1, end=2),
    Citation(kind="url", url="https://a.test", extras={NAME: {"location": {"web": {"domain": "a.test"}}}}),
)
CITED = [
    {"title": "Sky", "sourceContent": [{"text": "blue"}],
     "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}}},
    {"location": {"web": {"url": "https://a.test", "domain": "a.test"}}},
]  # fmt: skip
CONTENT = (
    ThinkingBlock("hm", signature="sig"),
    RedactedThinkingBlock(data=b64encode(b"secret").decode()),
    TextBlock("It is "),
    TextBlock("blue", citations=CITATIONS),
    ServerToolUseBlock(id="tooluse_s", name="nova_code_interpreter", input={"code": "1"}, dialect=NAME),
    ServerToolResultBlock(
        tool_use_id="tooluse_s", name="nova_code_interpreter", content=[{"json": {"stdOut": "1"}}], is_error=False
    ),
    ImageBlock(source=Base64Source("image/png", b64encode(PNG).decode())),
    ToolUseBlock(id="tooluse_1", name="add", input={"a": 1, "b": [2]}),
    ToolUseBlock(id="tooluse_2", name="now"),
)
USAGE = TokenUsage(10, 200, 30, 40)
ANSWER = Response(CONTENT, StopReason.tool_use, usage=USAGE)
COUNTED = {
    "inputTokens": 10, "outputTokens": 40, "totalTokens": 280, "cacheReadInputTokens": 200, "cacheWriteInputTokens": 30,
}  # fmt: skip


def test_the_client_reads_a_whole_answer(server: Server) -> None:
    read = server.converse(ANSWER)
    assert read["output"]["message"] == {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
            {"reasoningContent": {"redactedContent": b"secret"}},
            {"text": "It is "},
            {"citationsContent": {"content": [{"text": "blue"}], "citations": CITED}},
            {"toolUse": {"toolUseId": "tooluse_s", "name": "nova_code_interpreter", "input": {"code": "1"},
                         "type": "server_tool_use"}},
            {"toolResult": {"toolUseId": "tooluse_s", "content": [{"json": {"stdOut": "1"}}], "status": "success",
                            "type": "nova_code_interpreter_result"}},
            {"image": {"format": "png", "source": {"bytes": PNG}}},
            {"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"a": 1, "b": [2]}}},
            {"toolUse": {"toolUseId": "tooluse_2", "name": "now", "input": {}}},
        ],
    }  # fmt: skip
    assert (read["stopReason"], read["usage"], read["metrics"]) == ("tool_use", COUNTED, {"latencyMs": 0})
    assert "SDK_UNKNOWN_MEMBER" not in str(read)


def test_the_client_reads_a_stream(server: Server) -> None:
    events = server.stream(said(NAME, unfold(ANSWER)))
    assert events[0] == {"messageStart": {"role": "assistant"}}
    assert events[-2:] == [
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": COUNTED, "metrics": {"latencyMs": 0}}},
    ]
    assert accumulated(events) == [
        {"reasoning": "hm", "signature": "sig"},
        {"redactedContent": b"secret"},
        {"text": "It is "},
        {"text": "blue", "citations": CITED},
        {"toolUse": {"toolUseId": "tooluse_s", "name": "nova_code_interpreter", "input": {"code": "1"},
                     "type": "server_tool_use"}},
        {"toolResult": {"toolUseId": "tooluse_s", "content": [{"json": {"stdOut": "1"}}], "status": "success",
                        "type": "nova_code_interpreter_result"}},
        {"image": {"format": "png", "source": {"bytes": PNG}}},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"a": 1, "b": [2]}}},
        {"toolUse": {"toolUseId": "tooluse_2", "name": "now", "input": {}}},
    ]  # fmt: skip


def test_blocks_that_are_open_together_reach_the_client_one_after_the_other(server: Server) -> None:
    one, two = ToolUseBlock(id="a", name="f", input={"x": 1}), ToolUseBlock(id="b", name="g", input={"y": 2})
    events: list[Event] = [
        MessageStart(),
        BlockStart(0, TextBlock("")),
        TextDelta(0, "so"),
        ToolUseStart(1, "a", "f", ToolUseBlock(id="a", name="f")),
        ToolUseStart(2, "b", "g", ToolUseBlock(id="b", name="g")),
        ToolUseInputDelta(2, '{"y":2}'),
        ToolUseInputDelta(1, '{"x":'),
        TextDelta(0, " late"),
        ToolUseInputDelta(1, "1}"),
        ToolUseEnd(2, {"y": 2}, two),
        ToolUseEnd(1, {"x": 1}, one),
        BlockComplete(0, TextBlock("so late")),
        MessageComplete(Response((TextBlock("so late"), one, two), StopReason.tool_use, usage=TokenUsage())),
    ]
    assert accumulated(server.stream(said(NAME, events))) == [
        {"text": "so"},
        {"toolUse": {"toolUseId": "a", "name": "f", "input": {"x": 1}}},
        {"toolUse": {"toolUseId": "b", "name": "g", "input": {"y": 2}}},
        {"text": " late"},
    ]


@needs_shared
def test_the_client_reads_recorded_answers_written_again(server: Server) -> None:
    """Recorded bytes, decoded and encoded by us: the client sees the same events, padding aside."""
    seen = 0
    for record in list(corpus("bedrock-converse-stream"))[::6]:
        wire = stream_bytes(record)
        if wire is None:
            continue
        decoder = BEDROCK.stream_decoder()
        events = decoder.feed(wire) + decoder.close()
        assert server.stream(said(NAME, events)) == server.stream(wire)
        seen += 1
    assert seen >= 5


# ---------------------------------------------------------------------------------------------------- our errors


@pytest.mark.parametrize(("error", "code"), [
    (RateLimitError("slow down"), "throttlingException"),
    (ServerError("boom"), "internalServerException"),
    (InvalidRequestError("no"), "validationException"),
    (AuthError("who?"), "AccessDeniedException"),  # not an exception of the stream's model: an error frame
    (RequestTimeoutError("late"), "ModelTimeoutException"),
])  # fmt: skip
def test_the_client_raises_in_the_middle_of_a_stream(server: Server, error: Any, code: str) -> None:
    encoder = BEDROCK.stream_encoder()
    wire = encoder.feed(MessageStart()) + encoder.feed(BlockStart(0, TextBlock(""))) + encoder.feed(TextDelta(0, "a"))
    wire += encoder.fail(error) + encoder.close()
    with pytest.raises(exceptions.EventStreamError) as raised:
        server.stream(wire)
    assert isinstance(raised.value, exceptions.ClientError)
    assert dict(raised.value.response)["Error"] == {"Code": code, "Message": error.message}
    decoder = BEDROCK.stream_decoder()
    events = decoder.feed(wire)
    assert decoder.error is not None
    assert decoder.error.error_class is error.error_class
    assert isinstance(events[-1], MessageComplete)
    assert events[-1].response.text == "a"


# ------------------------------------------------------------------------------------------------ what it sends

DOCUMENT = {"format": "pdf", "name": "Sky", "source": {"bytes": b"%PDF"}, "context": "a report"}
STORED = {"uri": "s3://bucket/v.mp4", "bucketOwner": "1" * 12}
SENT: dict[str, Any] = {
    "modelId": MODEL,
    "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
    "messages": [
        {"role": "user", "content": [
            {"image": {"format": "png", "source": {"bytes": PNG}}},
            {"document": DOCUMENT},
            {"video": {"format": "mp4", "source": {"s3Location": STORED}}},
            {"text": "Look."}, {"cachePoint": {"type": "default"}}]},
        {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
            {"reasoningContent": {"redactedContent": b"secret"}},
            {"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"a": 1}}}]},
        {"role": "user", "content": [
            {"toolResult": {"toolUseId": "tooluse_1", "content": [{"json": {"sum": 1}}, {"text": "ok"}],
                            "status": "error"}},
            {"text": "Go on."}]},
    ],
    "toolConfig": {
        "tools": [
            {"toolSpec": {"name": "add", "description": "Adds.", "inputSchema": {"json": {"type": "object"}}}},
            {"cachePoint": {"type": "default"}},
            {"systemTool": {"name": "nova_grounding"}}],
        "toolChoice": {"tool": {"name": "add"}}},
    "inferenceConfig": {"maxTokens": 50, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
    "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "top_k": 5,
                                     "anthropic_beta": ["b1"]},
    "outputConfig": {"effort": "low", "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {
        "schema": '{"type":"object","properties":{},"additionalProperties":false}'}}}},
    "requestMetadata": {"user_id": "u1"},
    "serviceTier": {"type": "flex"},
    "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
}  # fmt: skip
MEANT = Request(
    model=MODEL,
    stream=False,
    system=(TextBlock("Be brief.", cache=CacheMark("1h")),),
    messages=(
        Message("user", (
            ImageBlock(Base64Source("image/png", b64encode(PNG).decode())),
            DocumentBlock(Base64Source("application/pdf", b64encode(b"%PDF").decode()), "Sky", "a report"),
            VideoBlock(FileSource(
                "s3://bucket/v.mp4", "video/mp4", NAME, extras={NAME: {"s3Location": {"bucketOwner": "1" * 12}}})),
            TextBlock("Look.", cache=CacheMark()),
        )),
        Message("assistant", (
            ThinkingBlock("hm", signature="sig"),
            RedactedThinkingBlock(data=b64encode(b"secret").decode()),
            ToolUseBlock(id="tooluse_1", name="add", input={"a": 1}),
        )),
        Message("tool", (ToolResultBlock("tooluse_1", (JsonBlock({"sum": 1}), TextBlock("ok")), is_error=True),)),
        Message("user", "Go on."),
    ),
    tools=(
        ToolDefinition("add", "Adds.", {"type": "object"}, cache=CacheMark()),
        ServerTool(NAME, {"systemTool": {"name": "nova_grounding"}}),
    ),
    tool_choice=ToolChoice.specific("add"),
    max_output_tokens=50,
    temperature=0.5,
    top_p=0.9,
    top_k=5,
    stop_sequences=("END",),
    output_schema={"type": "object", "properties": {}, "additionalProperties": False},
    thinking=Thinking(mode="enabled", effort="low", budget=1024),
    metadata={"user_id": "u1"},
    service_tier="flex",
    betas=("b1",),
    extras={NAME: {"guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"}}},
)  # fmt: skip


def test_what_the_client_sends_is_what_was_meant(server: Server) -> None:
    server.converse(ANSWER)
    server.client.converse(**SENT)
    assert server.asked_for() == MEANT


def test_what_was_meant_is_what_the_client_sends(server: Server) -> None:
    server.converse(ANSWER)
    server.client.converse(**SENT)
    path, body = server.asked[-1]
    encoded = BEDROCK.encode_request(MEANT)
    assert encoded.losses == ()
    assert encoded.body == body
    assert encoded.path == path
    assert problems(encoded.body, NAME) == []


def test_the_verb_says_whether_it_streams(server: Server) -> None:
    server.stream(said(NAME, unfold(ANSWER)))
    assert server.asked_for() == Request((Message("user", "?"),), model=MODEL, stream=True)
    assert BEDROCK.encode_request(server.asked_for()).path == server.asked[-1][0]


def test_a_prompt_of_text_alone(server: Server) -> None:
    server.converse(ANSWER)
    source = {"text": "The sky is blue."}
    server.client.converse(modelId="m", messages=[{"role": "user", "content": [
        {"document": {"format": "md", "name": "n", "source": source}}, {"text": "?"}]}])  # fmt: skip
    document = DocumentBlock(TextSource("The sky is blue.", "text/markdown"), "n")
    assert server.asked_for().messages == (Message("user", (document, TextBlock("?"))),)

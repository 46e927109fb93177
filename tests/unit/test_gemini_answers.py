"""Answers, streams and errors of Gemini, as tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    Base64Source,
    BlockComplete,
    BlockStart,
    Citation,
    CitationDelta,
    Event,
    ImageBlock,
    MessageComplete,
    MessageStart,
    NetworkError,
    OverloadedError,
    ParseError,
    RateLimitError,
    Request,
    Response,
    ServerError,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StopReason,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    TokenUsage,
    ToolDefinition,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    Unknown,
    UsageUpdate,
    decode_stream,
    dialect,
    fold,
    unfold,
)

GEMINI = dialect("gemini")
Wire = dict[str, Any]


def body(*parts: Any, finish: Any = "STOP", **candidate: Any) -> Wire:
    content = {"parts": list(parts), "role": "model"}
    return {"candidates": [{"content": content, "finishReason": finish, "index": 0, **candidate}]}


def chunk(*parts: Any, **candidate: Any) -> Wire:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **candidate}]}


def call(name: str | None = None, **fields: Any) -> Wire:
    return {"functionCall": {**({} if name is None else {"name": name}), **fields}}


def whole(wire: Wire) -> Response:
    """What an answer says; it is written again just as it was."""
    response = GEMINI.decode_response(wire)
    encoded = GEMINI.encode_response(response)
    assert encoded.body == wire
    assert encoded.losses == ()
    return response


def sse(*chunks: Any, end: str = "\r\n\r\n") -> bytes:
    return "".join(f"data: {json.dumps(wire)}{end}" for wire in chunks).encode()


def events_of(raw: bytes, request: Request | None = None) -> tuple[list[Event], AdapterError | None]:
    """The events of a stream, the same however it is split."""
    decoder = GEMINI.stream_decoder(request)
    events = decoder.feed(raw) + decoder.close()
    for size in (1, 7):
        split = GEMINI.stream_decoder(request)
        assert [e for i in range(0, len(raw), size) for e in split.feed(raw[i : i + size])] + split.close() == events
    return events, decoder.error


def streamed(*chunks: Any) -> Response:
    events, error = events_of(sse(*chunks))
    assert error is None
    return fold(events)


def said(events: Any) -> tuple[bytes, list[tuple[str, str]]]:
    encoder = GEMINI.stream_encoder()
    written = b"".join(map(encoder.feed, events)) + encoder.close()
    return written, [(loss.kind, loss.path) for loss in encoder.losses]


# ------------------------------------------------------------------------------------------------------ whole answers


def test_a_blocked_prompt_is_a_refusal() -> None:
    wire = {"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []}, "modelVersion": "m"}
    response = whole(wire)
    assert (response.stop_reason, response.raw_stop_reason, response.content) == ("refusal", "SAFETY", ())
    assert streamed(wire).stop_reason is StopReason.refusal


def test_usage_that_has_no_count_here() -> None:
    response = Response(content=(TextBlock("x"),), usage=TokenUsage(3, cache_creation_input_tokens=2, output_tokens=1))
    encoded = GEMINI.encode_response(response)
    assert encoded.body["usageMetadata"]["promptTokenCount"] == 5
    assert [(loss.kind, loss.path) for loss in encoded.losses] == [("approximated", "usage")]


# ---------------------------------------------------------------------------------------------------------- citations


def test_segments_are_counted_in_bytes_and_read_in_characters() -> None:
    text = "Größe: 1 m. Später mehr."
    web = {"web": {"uri": "https://a.example", "title": "A", "domain": "a.example"}}
    first = {
        "segment": {"endIndex": 13, "text": "Größe: 1 m."},
        "groundingChunkIndices": [1],
        "confidenceScores": [0.5],
    }
    second = {"segment": {"startIndex": 14, "endIndex": 27, "text": "Später mehr."}, "groundingChunkIndices": [0, 1]}
    grounding = {
        "webSearchQueries": ["x"],
        "groundingChunks": [{"web": {"uri": "https://b.example"}}, web, {"web": {"uri": "https://nobody.example"}}],
        "groundingSupports": [first, second],
    }
    response = whole(body({"text": text}, groundingMetadata=grounding))
    block = response.content[0]
    assert isinstance(block, TextBlock)
    spans = [(c.url, c.title, text[c.start : c.end]) for c in block.citations]
    assert spans == [
        ("https://a.example", "A", "Größe: 1 m."),
        ("https://b.example", None, "Später mehr."),
        ("https://a.example", "A", "Später mehr."),
    ]


def test_a_segment_is_about_the_text_that_says_it() -> None:
    search = {"toolCall": {"id": "t", "toolType": "FILE_SEARCH"}}
    chunk_of_file = {"retrievedContext": {"text": "Paris is the capital.", "fileSearchStore": "s"}}
    support = {"segment": {"endIndex": 6, "text": "Paris."}, "groundingChunkIndices": [0]}
    grounding = {"groundingChunks": [chunk_of_file], "groundingSupports": [support]}
    response = whole(
        body(search, {"text": "So. Paris"}, {"text": "Paris.", "thoughtSignature": "c2ln"}, groundingMetadata=grounding)
    )
    assert [len(getattr(block, "citations", ())) for block in response.content] == [0, 0, 1]
    assert response.content[2].citations[0].text == "Paris is the capital."  # type: ignore[union-attr]


def test_citations_of_our_own_making() -> None:
    one, two = (
        Citation("url", url="u", title="U", start=0, end=2),
        Citation("url", url="u", title="U", start=3, end=5),
    )
    loose, page = Citation("url", url="v"), Citation("page", index=1, start=2)
    response = Response(content=(TextBlock("ab cd", citations=(one, two, loose)),))
    assert GEMINI.decode_response(GEMINI.encode_response(response).body).content == response.content
    encoded = GEMINI.encode_response(Response(content=(TextBlock("ab", citations=(page,)),)))
    assert [(loss.kind, loss.path) for loss in encoded.losses] == [("dropped", "content/0/citations/0")]


# ------------------------------------------------------------------------------------------------------------ streams


@pytest.mark.parametrize(
    ("raw", "framing"),
    [
        (sse(chunk({"text": "a"}), body({"text": "b"})), "crlf"),
        (sse(chunk({"text": "a"}), body({"text": "b"}), end="\n\n"), "lf"),
        (b"\r\n[" + b"\n,\r\n".join(json.dumps(w).encode() for w in (chunk({"text": "a"}), body({"text": "b"}))) + b"]",
         "array"),
        (b"\n" + json.dumps(body({"text": "ab"})).encode(), "one answer"),
        (b"\xef\xbb\xbf" + sse(chunk({"text": "a"}), body({"text": "b"})), "bom"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_framings(raw: bytes, framing: str) -> None:
    events, error = events_of(raw)
    assert error is None
    assert fold(events).content == (TextBlock("ab"),)


JOINS: list[tuple[list[Wire], list[Any]]] = [
    ([{"text": "a"}, {"text": "b"}], [TextBlock("ab")]),
    ([{"text": "a", "thought": True}, {"text": "b", "thought": True}, {"text": "c"}],
     [ThinkingBlock(text="ab"), TextBlock("c")]),
    ([{"text": "a"}, {"text": "", "thoughtSignature": "c2ln"}], [TextBlock("a"), TextBlock("", signature="c2ln")]),
    ([{"text": "a", "thoughtSignature": "c2ln"}, {"text": "b"}], [TextBlock("a", signature="c2ln"), TextBlock("b")]),
    ([{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"text": "b"}],
     [TextBlock("a"), ImageBlock(Base64Source("image/png", "AAAA")), TextBlock("b")]),
    ([call("f", id="1", args={}), {"text": ""}], [ToolUseBlock("1", "f"), TextBlock("")]),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "blocks"), JOINS, ids=str)
def test_parts_of_chunks_join_only_if_they_are_unsigned_texts(parts: list[Wire], blocks: list[Any]) -> None:
    assert list(streamed(*map(chunk, parts), body()).content) == blocks


def test_parts_of_one_chunk_stay_apart() -> None:
    response = streamed(body({"text": "a"}, {"text": "b"}))
    assert response.content == (TextBlock("a"), TextBlock("b"))
    written, losses = said(unfold(response))
    assert fold(events_of(written)[0]).content == response.content
    assert losses == []


def test_a_stream_says_what_a_whole_says() -> None:
    grounding = {
        "groundingChunks": [{"web": {"uri": "u", "title": "U"}}],
        "groundingSupports": [
            {"segment": {"startIndex": 2, "endIndex": 5, "text": "é c"}, "groundingChunkIndices": [0]}
        ],
    }
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}
    text, signed = {"text": "ab é c"}, {"text": "", "thoughtSignature": "c2ln"}
    grounding["groundingSupports"][0]["segment"] = {"startIndex": 3, "endIndex": 7, "text": "é c"}
    last = body(signed, groundingMetadata=grounding)
    answer = {
        **body(text, signed, groundingMetadata=grounding),
        "usageMetadata": usage,
        "responseId": "r",
        "modelVersion": "m",
    }
    chunks = (chunk({"text": "ab "}), chunk({"text": "é c"}), {**last, "usageMetadata": usage})
    head = {"responseId": "r", "modelVersion": "m"}
    events, _ = events_of(sse(*({**wire, **head} for wire in chunks)))
    assert fold(events) == whole(answer)
    assert events[0] == MessageStart("r", "m")
    assert [e.citation.url for e in events if isinstance(e, CitationDelta)] == ["u"]
    assert [e.usage for e in events if isinstance(e, UsageUpdate)] == [TokenUsage(1, output_tokens=2)]


def test_code_and_its_result_are_paired_without_ids() -> None:
    code, result = {"executableCode": {"code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}
    response = streamed(chunk(code), body(result))
    assert response == whole(body(code, result))
    first, second = response.content
    assert isinstance(first, ServerToolUseBlock)
    assert isinstance(second, ServerToolResultBlock)
    assert first.id == second.tool_use_id == "call_0"


def test_two_finish_reasons_and_what_comes_between() -> None:
    response = streamed(body({"text": "a"}), chunk({"text": "b"}), body({"text": "c"}, finish="MAX_TOKENS"))
    assert (response.text, response.stop_reason) == ("abc", "max_tokens")


def test_other_candidates_are_put_together_in_the_residue() -> None:
    def pair(one: str, other: str, **end: Any) -> Wire:
        second = {"content": {"parts": [{"text": other}], "role": "model"}, "index": 1, **end}
        return {"candidates": [*chunk({"text": one}, **end)["candidates"], second]}

    response = streamed(pair("a", "x"), pair("b", "y", finishReason="STOP"))
    assert response.text == "ab"
    assert response.extras["gemini"]["candidates"][1]["content"]["parts"] == [{"text": "xy"}]


def test_probabilities_append() -> None:
    def likely(word: str, **end: Any) -> Wire:
        return chunk({"text": word}, logprobsResult={"chosenCandidates": [{"token": word}]}, **end)

    response = streamed(likely("a"), likely("b", finishReason="STOP"))
    assert response.extras["gemini"]["candidates"][0]["logprobsResult"] == {
        "chosenCandidates": [{"token": "a"}, {"token": "b"}]
    }


# ------------------------------------------------------------------------------------------------------ streamed calls


CALLS: list[tuple[list[Wire], list[tuple[str, Wire]]]] = [
    ([call("f", args={"a": 1})], [("f", {"a": 1})]),
    ([call("f")], [("f", {})]),
    ([call("f", args={"c": "Boston"}), call("f", args={"c": "Rome"})], [("f", {"c": "Boston"}), ("f", {"c": "Rome"})]),
    ([call("f", args={"c": "Bos"}), call("f", args={"c": "Boston", "d": 1})], [("f", {"c": "Boston", "d": 1})]),
    ([call("f", args={}, id="1"), call("f", args={}, id="2")], [("f", {}), ("f", {})]),
    ([call("f", args={}, id="1"), call("f", args={"x": 1}, id="1")], [("f", {"x": 1})]),
    ([call("f", args={}), call("g", args={})], [("f", {}), ("g", {})]),
    (
        [
            call("f", willContinue=True),
            call(partialArgs=[{"jsonPath": "$.a[0].b", "stringValue": "x", "willContinue": True}], willContinue=True),
            call(partialArgs=[{"jsonPath": "$.a[0].b", "stringValue": "y"}], willContinue=True),
            call(partialArgs=[{"jsonPath": "$.a[1]", "numberValue": 2.0}, {"jsonPath": "$.n", "nullValue": "NULL"}],
                 willContinue=True),
            call(partialArgs=[{"jsonPath": "$['odd.key']", "boolValue": True}], willContinue=True),
            call(),
            call("g", willContinue=True),
            call(),
        ],
        [("f", {"a": [{"b": "xy"}, 2], "n": None, "odd.key": True}), ("g", {})],
    ),
    ([call("f", willContinue=True), call("f", args={"a": 1})], [("f", {"a": 1})]),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "calls"), CALLS, ids=lambda value: str(value)[:70])
def test_calls_in_chunks(parts: list[Wire], calls: list[tuple[str, Wire]]) -> None:
    events, error = events_of(sse(*map(chunk, parts), body()))
    response = fold(events)
    assert error is None
    assert [(block.name, block.input) for block in response.tool_uses] == calls
    assert [block.id for block in response.tool_uses if block.id.startswith("call_")] == [
        f"call_{i}"
        for i, block in enumerate(response.content)
        if block.id.startswith("call_")  # type: ignore[union-attr]
    ]
    written, losses = said(events)
    assert fold(events_of(written)[0]).content == response.content
    assert losses == []


@pytest.mark.parametrize(
    "piece",
    [
        {"jsonPath": "a", "stringValue": "x"},
        {"jsonPath": "$", "stringValue": "x"},
        {"jsonPath": "$..a", "stringValue": "x"},
        {"jsonPath": "$.a"},
        {"jsonPath": "$[0]", "stringValue": "x"},
        {"jsonPath": "$.s.t", "stringValue": "x"},
        {"jsonPath": "$.l[999999999]", "stringValue": "x"},
        {},
    ],
    ids=str,
)
def test_a_piece_that_fits_nowhere_is_passed_by(piece: Wire) -> None:
    first = call("f", partialArgs=[{"jsonPath": "$.s", "stringValue": "x"}, {"jsonPath": "$.l[0]", "numberValue": 1}])
    first["functionCall"]["willContinue"] = True
    response = streamed(chunk(first), chunk(call(partialArgs=[piece])), body())
    assert response.tool_uses[0].input == {"s": "x", "l": [1]}


def test_arguments_that_a_strict_schema_made_null_come_back_absent() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    request = Request(tools=(ToolDefinition("f", input_schema=schema, strict=True), ToolDefinition("t", kind="text")))
    wire = body(call("f", id="1", args={"a": "x", "b": None}), call("t", id="2", args={"input": "words"}))
    response = GEMINI.decode_response(wire, request=request)
    assert [block.input for block in response.tool_uses] == [{"a": "x"}, {}]
    assert (response.tool_uses[1].kind, response.tool_uses[1].input_text) == ("text", "words")
    events, _ = events_of(sse(wire), request)
    assert fold(events).content == response.content
    texts = [event.partial_json for event in events if isinstance(event, ToolUseInputDelta)]
    assert texts == ['{"a":"x","b":null}', "words"]


# ---------------------------------------------------------------------------------------------------- ends and errors


@pytest.mark.parametrize(
    "raw", [b"", b"data: ", sse(chunk({"text": "a"})), sse(chunk(call("f", willContinue=True))), b"[{"]
)
def test_a_cut_stream_never_looks_finished(raw: bytes) -> None:
    events, error = events_of(raw)
    assert isinstance(error, NetworkError)
    last = events[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.stop_reason is StopReason.error
    with pytest.raises(NetworkError):
        list(decode_stream([raw], dialect="gemini"))


def test_an_error_inside_a_stream() -> None:
    failure = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    array = b"[" + json.dumps(chunk({"text": "a"})).encode() + b"," + json.dumps(failure).encode() + b"]"
    for raw in (sse(chunk({"text": "a"}), failure), array, sse(chunk({"text": "a"}), [failure])):
        events, error = events_of(raw)
        assert isinstance(error, OverloadedError)
        assert (error.provider_status, error.provider_code) == (503, "UNAVAILABLE")
        assert fold(events).text == "a"


def test_what_is_not_understood_is_handed_on() -> None:
    raw = sse(chunk({"text": "a"}), "hello", [1]) + b"data: not json\n\ndata: [DONE]\n\n" + sse(body({"text": "b"}))
    events, error = events_of(raw)
    assert error is None
    assert [event.raw for event in events if isinstance(event, Unknown)] == ["hello", [1], "not json"]
    assert fold(events).text == "ab"


def test_an_array_that_is_none() -> None:
    _, error = events_of(b"[1]")
    assert isinstance(error, ParseError)


def test_how_long_to_wait_is_told_in_the_details() -> None:
    wire = GEMINI.encode_error(RateLimitError("slow", retry_after=12.5))
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"}
    assert json.loads(wire.body)["error"]["details"] == [retry]
    error = GEMINI.decode_error(wire.status, {}, wire.body)
    assert error.retry_after == 12.5
    error.retry_after = 3.0
    assert json.loads(GEMINI.encode_error(error).body)["error"]["details"] == [{**retry, "retryDelay": "3s"}]


# ------------------------------------------------------------------------------------------------------------ writing


def test_a_signature_that_comes_late_has_a_part_of_its_own() -> None:
    thought = ThinkingBlock(text="hm", signature="c2ln")
    events = [
        MessageStart("r", "m"),
        BlockStart(0, ThinkingBlock()),
        ThinkingDelta(0, "hm"),
        BlockComplete(0, thought),
        MessageComplete(Response(content=(thought,), id="r", model="m")),
    ]
    written, losses = said(events)
    assert fold(events_of(written)[0]).content == (ThinkingBlock(text="hm"), ThinkingBlock(signature="c2ln"))
    assert losses == [("moved", "content/0/signature")]


def test_a_signature_that_is_known_goes_with_its_text() -> None:
    response = Response(content=(TextBlock("a", signature="c2ln"), TextBlock("b")), id="r", model="m")
    written, losses = said(unfold(response))
    assert fold(events_of(written)[0]).content == response.content
    assert losses == []


@pytest.mark.parametrize("late", [True, False])
def test_a_signature_that_is_not_base64_is_left_out(late: bool) -> None:
    """The official client raises at the whole answer, or at the chunk that has it."""
    thought = ThinkingBlock(text="hm", signature="sig-first")
    response = Response(content=(thought,), id="r", model="m")
    lost = [("dropped", "content/0/signature")]
    encoded = GEMINI.encode_response(response)
    assert encoded.body["candidates"][0]["content"]["parts"] == [{"text": "hm", "thought": True}]
    assert [(loss.kind, loss.path) for loss in encoded.losses] == lost
    begun = ThinkingBlock() if late else ThinkingBlock(signature="sig-first")
    events = [MessageStart("r", "m"), BlockStart(0, begun), ThinkingDelta(0, "hm"), BlockComplete(0, thought)]
    written, losses = said([*events, MessageComplete(response)])
    assert b"ignature" not in written
    assert fold(events_of(written)[0]).content == (ThinkingBlock(text="hm"),)
    assert losses == lost


def test_an_odd_signature_that_the_wire_had_goes_back_as_it_came() -> None:
    signed = ({"text": "hm", "thought": True, "thoughtSignature": "sig-first"}, call("f", id="c", args={}))
    signed[1]["thoughtSignature"] = "sig-first"
    wire = body(*signed)
    response = whole(wire)
    assert [block.signature for block in response.content] == ["sig-first", "sig-first"]
    assert GEMINI.encode_response(response).body == wire
    events, error = events_of(sse(wire))
    assert error is None
    written, losses = said(events)
    assert fold(events_of(written)[0]).content == fold(events).content == response.content
    assert losses == []


def test_calls_without_ids_are_not_taken_for_one() -> None:
    response = whole(body({"text": "x"}, call("f", args={}), call("f", args={}), {"text": "y"}, call("f", args={})))
    written, losses = said(unfold(response))
    assert fold(events_of(written)[0]).content == response.content
    assert losses == []


def test_blocks_that_are_open_together() -> None:
    first, second = ToolUseBlock("1", "f", input={"a": 1}), TextBlock("after", signature="c2ln")
    events = [
        MessageStart(),
        ToolUseStart(0, "1", "f", ToolUseBlock("1", "f")),
        BlockStart(1, TextBlock("", signature="c2ln")),
        TextDelta(1, "after"),
        ToolUseInputDelta(0, '{"a":1}'),
        BlockComplete(1, second),
        ToolUseEnd(0, {"a": 1}, first),
        MessageComplete(Response(content=(first, second), stop_reason="tool_use")),
    ]
    written, losses = said(events)
    assert fold(events_of(written)[0]).content == (first, second)
    assert losses == []


def test_a_stream_that_fails() -> None:
    encoder = GEMINI.stream_encoder()
    encoder.feed(MessageStart())
    written = encoder.fail(ServerError("broken"))
    assert json.loads(written.removeprefix(b"data: ")) == {
        "error": {"code": 500, "message": "broken", "status": "INTERNAL"}
    }
    assert encoder.fail(ServerError("again")) == b""
    assert encoder.close() == b""

"""Odd things that streams do in the wild (corpus/README.md), each as a small stream written by hand.

Every row is checked in the same way: events are legal, they fold to what the row says, and any split of the bytes
gives the same events. Blocks are compared by what they say; marks and residue have tests of their own.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    AdapterError,
    AudioBlock,
    Base64Source,
    Citation,
    ErrorClass,
    Event,
    MessageComplete,
    NetworkError,
    OpaqueBlock,
    ParseError,
    RateLimitError,
    RedactedThinkingBlock,
    RefusalBlock,
    Response,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StopReason,
    StreamGrammar,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    TokenUsage,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    Unknown,
    UsageUpdate,
    dialect,
    fold,
)

Json = Any
CHAT, CLAUDE = "openai-chat", "anthropic-messages"

# ------------------------------------------------------------------------------------------------------ the check


def events_of(name: str, chunks: list[bytes]) -> tuple[list[Event], AdapterError | None]:
    decoder = dialect(name).stream_decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    events += decoder.close()
    assert decoder.close() == []
    assert decoder.feed(b"data: {}\n\n") == []
    return events, decoder.error


def read(name: str, body: bytes) -> tuple[list[Event], AdapterError | None]:
    """The events of a stream, found legal and the same for any split."""
    events, error = events_of(name, [body])
    grammar = StreamGrammar()
    for event in events:
        grammar.check(event)
    assert grammar.state == "done"
    splits = [[body[i : i + 1] for i in range(len(body))], [body[i : i + 7] for i in range(0, len(body), 7)]]
    step = max(1, len(body) // 40)
    splits += [[body[:cut], b"", body[cut:]] for cut in range(0, len(body), step)]
    for split in splits:
        assert events_of(name, split) == (events, error)
    return events, error


def bare(block: Any) -> Any:
    """A block without marks and residue."""
    if isinstance(block, TextBlock):
        block = replace(block, citations=tuple(replace(c, extras={}, forms={}) for c in block.citations))
    return replace(block, extras={}, forms={})


def folded(name: str, body: bytes) -> Response:
    events, error = read(name, body)
    response = fold(events)
    assert response.error == error
    return response


def check(
    name: str, body: bytes, *blocks: Any, stop: str = "end_turn", usage: TokenUsage | None = None, **fields: Any
) -> Response:
    response = folded(name, body)
    assert tuple(map(bare, response.content)) == blocks
    assert response.stop_reason == stop
    if usage is not None:
        assert response.usage == usage
    for field, value in fields.items():
        assert getattr(response, field) == value, field
    return response


# ----------------------------------------------------------------------------------------------------------- chat


def sse(*payloads: Json, done: bool = True) -> bytes:
    lines = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    return "".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])]).encode()


def chunk(delta: Json = None, finish: str | None = None, index: int = 0, **top: Json) -> Json:
    choice = {"index": index, "delta": {} if delta is None else delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **top}


def text(content: str, finish: str | None = None, **top: Json) -> Json:
    return chunk({"content": content}, finish, **top)


def call(name: Json = None, arguments: Json = None, **fields: Json) -> Json:
    """An entry of tool_calls; ``...`` leaves a key out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not ...}
    return {**fields, "function": function}


def calls(*entries: Json, finish: str | None = None, **top: Json) -> Json:
    return chunk({"tool_calls": list(entries)}, finish, **top)


COUNTS = {
    "prompt_tokens": 30,
    "completion_tokens": 5,
    "total_tokens": 35,
    "prompt_tokens_details": {"cached_tokens": 20},
}
USAGE = TokenUsage(10, 20, 0, 5)
HELLO = (text("Hel"), text("lo"), chunk(finish="stop"))
F, G = ToolUseBlock("a", "f", input={"x": 1}), ToolUseBlock("b", "g", input={"y": 2})

CHAT_FRAMES: dict[str, bytes] = {
    "plain": sse(*HELLO),
    "CRLF": sse(*HELLO).replace(b"\n", b"\r\n"),
    "CR": sse(*HELLO).replace(b"\n", b"\r"),
    "comments": b": OPENROUTER PROCESSING\n\n" + sse(HELLO[0], done=False) + b":\n: keep-alive\n\n" + sse(*HELLO[1:]),
    "BOM": b"\xef\xbb\xbf" + sse(*HELLO),
    "no space after the colon": sse(*HELLO).replace(b"data: ", b"data:"),
    "event, id and retry lines": sse(*HELLO).replace(b"data: {", b"event: message\nid: 7\nretry: 10\ndata: {"),
    "data on several lines": sse(*HELLO).replace(b', "object"', b',\ndata: "object"'),
    "[DONE] twice": sse(*HELLO) + b"data: [DONE]\n\n",
    "[DONE] missing": sse(*HELLO, done=False),
    "[DONE] without its blank line": sse(*HELLO)[:-2],
    "last chunk without its blank line": sse(*HELLO, done=False)[:-2],
    "trailing data after [DONE]": sse(*HELLO) + sse(text("ignored")),
    "blank lines while queued": b"\n\n\n" + sse(*HELLO),
    "role on every chunk": sse(*(chunk({"role": "assistant", "content": c}) for c in ("Hel", "lo")), HELLO[2]),
    "empty content here and there": sse(text(""), HELLO[0], text(""), *HELLO[1:]),
    "content null": sse(chunk({"role": "assistant", "content": None}), *HELLO),
    "an empty choices chunk first": sse({"id": "c", "model": "m", "choices": [], "prompt_filter_results": []}, *HELLO),
    "a choice without a delta": sse(
        HELLO[0], HELLO[1], {"id": "c", "model": "m", "choices": [{"index": 0, "finish_reason": "stop"}]}
    ),
    "a choice without an index": sse(
        *({"id": "c", "model": "m", "choices": [{"delta": {"content": c}}]} for c in ("Hel", "lo")), HELLO[2]
    ),
    "content on the finish chunk": sse(text("Hel"), text("lo", "stop")),
    "content after the finish chunk": sse(text("Hel", "stop"), text("lo")),
    "finish_reason twice": sse(*HELLO, chunk({"content": ""}, "stop", usage=COUNTS)),
    "whole message beside an empty delta": sse(
        *HELLO[:2],
        {"id": "c", "model": "m", "choices": [
            {"index": 0, "finish_reason": "stop", "delta": {}, "message": {"role": "assistant", "content": "Hello"}}]},
    ),
    "whole message instead of a delta": sse(
        {"id": "c", "model": "m", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}]},
    ),
    "obfuscation": sse(*({**c, "obfuscation": "x" * n} for n, c in enumerate(HELLO, 3))),
    "mistral padding": sse(*({**c, "p": "abc"[:n]} for n, c in enumerate(HELLO, 1))),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAT_FRAMES)
def test_chat_framing_and_ends(name: str) -> None:
    response = check(CHAT, CHAT_FRAMES[name], TextBlock("Hello"), raw_stop_reason="stop", error=None)
    assert (response.id, response.model) == ("c", "m")
    assert not {"obfuscation", "p"} & response.extras.get(CHAT, {}).keys()


def test_done_alone_is_an_end() -> None:
    check(CHAT, sse(text("Hello")), TextBlock("Hello"), raw_stop_reason=None, error=None)


def test_an_empty_stream_with_an_end_is_an_empty_answer() -> None:
    check(CHAT, sse(), error=None)


CHAT_USAGE: dict[str, tuple[Json, ...]] = {
    "in an empty-choices chunk": (*HELLO, {"id": "c", "choices": [], "usage": COUNTS}),
    "null before": (*({**c, "usage": None} for c in HELLO), {"id": "c", "choices": [], "usage": COUNTS}),
    "on the finish chunk": (*HELLO[:2], {**HELLO[2], "usage": COUNTS}),
    "on a content chunk": ({**HELLO[0], "usage": COUNTS}, *HELLO[1:]),
    "growing on every chunk": (
        *({**c, "usage": {**COUNTS, "completion_tokens": n, "total_tokens": 30 + n}} for n, c in enumerate(HELLO, 3)),
    ),
    "under x_groq": (*HELLO[:2], {**HELLO[2], "x_groq": {"id": "req_1", "usage": COUNTS}}),
    "under x_groq and at the top": (
        *HELLO[:2], {**HELLO[2], "x_groq": {"usage": COUNTS}}, {"id": "c", "choices": [], "usage": COUNTS},
    ),
    "hits and misses": (
        *HELLO, {"id": "c", "choices": [], "usage": {
            "prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35, "prompt_cache_hit_tokens": 20,
            "prompt_cache_miss_tokens": 10}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAT_USAGE)
def test_chat_usage(name: str) -> None:
    check(CHAT, sse(*CHAT_USAGE[name]), TextBlock("Hello"), usage=USAGE)


def test_no_usage_is_none() -> None:
    assert folded(CHAT, sse(*HELLO)).usage is None


def two(*entries: Json) -> tuple[Json, ...]:
    return (*entries, chunk(finish="tool_calls"))


CHAT_CALLS: dict[str, tuple[Json, ...]] = {
    "as OpenAI does": two(
        calls(call("f", "", index=0, id="a", type="function")),
        calls(call(..., '{"x":', index=0)), calls(call(..., "1}", index=0)),
        calls(call("g", "", index=1, id="b", type="function")),
        calls(call(..., '{"y":2}', index=1)),
    ),
    "fragments that alternate": two(
        calls(call("f", "", index=0, id="a"), call("g", "", index=1, id="b")),
        calls(call(..., '{"y"', index=1), call(..., '{"x"', index=0)),
        calls(call(..., ":1}", index=0)), calls(call(..., ":2}", index=1)),
    ),
    "two ids on one index": two(
        calls(call("f", '{"x":1}', index=0, id="a")), calls(call("g", '{"y":2}', index=0, id="b")),
    ),
    "two ids on one index, in fragments": two(
        calls(call("f", '{"x"', index=0, id="a")), calls(call(..., ":1}", index=0)),
        calls(call("g", '{"y"', index=0, id="b")), calls(call(..., ":2}", index=0)),
    ),
    "several calls in one delta": two(
        calls(call("f", '{"x":1}', index=0, id="a"), call("g", '{"y":2}', index=1, id="b"))
    ),
    "several calls in one delta, one index": two(
        calls(call("f", '{"x":1}', index=0, id="a"), call("g", '{"y":2}', index=0, id="b"))
    ),
    "no index": two(calls(call("f", '{"x":1}', id="a")), calls(call("g", '{"y":2}', id="b"))),
    "no index, several in one delta": two(calls(call("f", '{"x":1}', id="a"), call("g", '{"y":2}', id="b"))),
    "no index, in fragments": two(
        calls(call("f", '{"x"', id="a")), calls(call(..., ":1}")),
        calls(call("g", '{"y"', id="b")), calls(call(..., ":2}")),
    ),
    "index null": two(calls(call("f", '{"x":1}', id="a", index=None)), calls(call("g", '{"y":2}', id="b", index=None))),
    "id repeated on later deltas": two(
        calls(call("f", "", index=0, id="a")), calls(call(None, '{"x":1}', index=0, id="a")),
        calls(call("g", "", index=1, id="b")), calls(call(None, '{"y":2}', index=1, id="b")),
    ),
    "id and name empty on later deltas": two(
        calls(call("f", '{"x"', index=0, id="a")), calls(call("", ":1}", index=0, id="")),
        calls(call("g", '{"y"', index=1, id="b")), calls(call("", ":2}", index=1, id="")),
    ),
    "id and name null on later deltas": two(
        calls(call("f", '{"x"', index=0, id="a")), calls(call(None, ":1}", index=0, id=None)),
        calls(call("g", '{"y"', index=1, id="b")), calls(call(None, ":2}", index=1, id=None)),
    ),
    "name repeated": two(
        calls(call("f", '{"x"', index=0, id="a")), calls(call("f", ":1}", index=0, id="a")),
        calls(call("g", '{"y":2}', index=1, id="b")),
    ),
    "name late": two(
        calls(call(..., "", index=0, id="a")), calls(call("f", '{"x":1}', index=0)),
        calls(call("", "", index=1, id="b")), calls(call("g", '{"y":2}', index=1)),
    ),
    "name after the arguments": two(
        calls(call(..., '{"x"', index=0, id="a")), calls(call(..., ":1}", index=0)), calls(call("f", "", index=0)),
        calls(call("g", '{"y":2}', index=1, id="b")),
    ),
    "id late": two(
        calls(call("f", "", index=0)), calls(call(..., '{"x":1}', index=0, id="a")),
        calls(call("g", '{"y":2}', index=1, id="")), calls(call(..., "", index=1, id="b")),
    ),
    "arguments null": two(
        calls(call("f", None, index=0, id="a")), calls(call(..., '{"x":1}', index=0)),
        calls(call("g", '{"y":2}', index=1, id="b")), calls(call(..., None, index=1)),
    ),
    "no arguments at first": two(
        calls(call("f", ..., index=0, id="a")), calls(call(..., '{"x":1}', index=0)),
        calls(call("g", '{"y":2}', index=1, id="b")),
    ),
    "function null on the way": two(
        calls(call("f", '{"x":1}', index=0, id="a")), calls({"index": 0, "function": None}),
        calls(call("g", '{"y":2}', index=1, id="b")),
    ),
    "whole calls with the finish": (
        calls(call("f", '{"x":1}', index=0, id="a"), call("g", '{"y":2}', index=1, id="b"), finish="tool_calls"),
    ),
    "calls after the finish": (
        calls(call("f", '{"x":1}', index=0, id="a"), finish="tool_calls"), calls(call("g", '{"y":2}', index=1, id="b")),
    ),
    "finish_reason stop": (
        calls(call("f", '{"x":1}', index=0, id="a"), call("g", '{"y":2}', index=1, id="b")), chunk(finish="stop"),
    ),
    "a later index first": two(
        calls(call("f", '{"x":1}', index=3, id="a")), calls(call("g", '{"y":2}', index=7, id="b")),
    ),
    "tool_calls null and empty around": two(
        chunk({"tool_calls": None}), chunk({"tool_calls": []}), calls(call("f", '{"x":1}', index=0, id="a")),
        chunk({"tool_calls": []}), calls(call("g", '{"y":2}', index=1, id="b")), chunk({"tool_calls": None}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAT_CALLS)
def test_chat_calls_never_cross_wires(name: str) -> None:
    check(CHAT, sse(*CHAT_CALLS[name]), F, G, stop="tool_use")


@pytest.mark.parametrize("name", CHAT_CALLS)
def test_chat_call_events_agree_with_each_other(name: str) -> None:
    """Start, fragments and end of one index speak of one call."""
    events, _ = read(CHAT, sse(*CHAT_CALLS[name]))
    for index in (0, 1):
        mine = [event for event in events if getattr(event, "index", None) == index]
        start, *pieces, end = mine
        assert isinstance(start, ToolUseStart)
        assert isinstance(end, ToolUseEnd)
        assert (start.id, start.name) == (end.block.id, end.block.name)
        said = "".join(piece.partial_json for piece in pieces if isinstance(piece, ToolUseInputDelta))
        assert json.loads(said) == end.final_input == end.block.input


NO_IDS: dict[str, tuple[Json, ...]] = {
    "id empty": two(calls(call("f", '{"x":1}', index=0, id=""), call("g", '{"y":2}', index=1, id=""))),
    "id absent": two(calls(call("f", '{"x":1}', index=0), call("g", '{"y":2}', index=1))),
    "id null": two(calls(call("f", '{"x":1}', index=0, id=None)), calls(call("g", '{"y":2}', index=1, id=None))),
    "no index either, one delta": two(calls(call("f", '{"x":1}', id=""), call("g", '{"y":2}', id=""))),
    "no index either, two deltas": two(calls(call("f", '{"x":1}', id="")), calls(call("g", '{"y":2}', id=""))),
}


@pytest.mark.parametrize("name", NO_IDS)
def test_calls_without_ids_are_numbered_by_their_block(name: str) -> None:
    body = sse(*NO_IDS[name])
    response = check(CHAT, body, replace(F, id="call_0"), replace(G, id="call_1"), stop="tool_use")
    whole = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": None, "tool_calls": [
            {"type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
            {"type": "function", "function": {"name": "g", "arguments": '{"y":2}'}}]}}]}  # fmt: skip
    assert [b.id for b in dialect(CHAT).decode_response(whole).tool_uses] == [b.id for b in response.tool_uses]
    again = dialect(CHAT).encode_response(response).body
    assert all(not call.get("id") for call in again["choices"][0]["message"]["tool_calls"])


def test_one_call_of_two_has_no_id() -> None:
    """The start and the end of a call give it the same id, even if ours is known only at the end."""
    body = sse(*two(calls(call("f", '{"x":1}', index=0, id="")), calls(call("g", '{"y":2}', index=1, id="b"))))
    events, _ = read(CHAT, body)
    starts = {e.index: (e.id, e.name) for e in events if isinstance(e, ToolUseStart)}
    ends = {e.index: (e.block.id, e.block.name) for e in events if isinstance(e, ToolUseEnd)}
    assert starts == ends
    assert {b.name: (b.id, b.input) for b in fold(events).tool_uses} == {
        "f": ("call_0", {"x": 1}),
        "g": ("b", {"y": 2}),
    }


def test_a_call_that_never_gets_a_name_does_not_disturb_the_others() -> None:
    body = sse(*two(calls(call("", '{"x":1}', index=0, id="a")), calls(call("g", '{"y":2}', index=1, id="b"))))
    check(CHAT, body, replace(F, name=""), G, stop="tool_use")


ARGUMENTS: tuple[tuple[str, dict[str, Any], str | None], ...] = (
    # written         input     input_text
    ("{}", {}, None),
    ("", {}, ""),
    ("null", {}, "null"),
    ('{"x": 1}', {"x": 1}, '{"x": 1}'),
    ('{"x":1}', {"x": 1}, None),
    ('{"x":', {}, '{"x":'),
    ("[1]", {}, "[1]"),
    ('{"x":1}{"x":1}', {}, '{"x":1}{"x":1}'),
)


@pytest.mark.parametrize(("written", "input", "kept"), ARGUMENTS)
def test_arguments_as_they_were_written(written: str, input: dict[str, Any], kept: str | None) -> None:
    body = sse(calls(call("f", written, index=0, id="a"), finish="tool_calls"))
    check(CHAT, body, ToolUseBlock("a", "f", input=input, input_text=kept), stop="tool_use")


def test_arguments_as_an_object() -> None:
    body = sse(calls(call("f", {"x": 1}, index=0, id="a"), finish="tool_calls"))
    check(CHAT, body, F, stop="tool_use")


def test_a_custom_call() -> None:
    body = sse(
        calls({"index": 0, "id": "a", "type": "custom", "custom": {"name": "patch", "input": ""}}),
        calls({"index": 0, "custom": {"input": "*** "}}),
        calls({"index": 0, "custom": {"input": "x"}}, finish="tool_calls"),
    )
    check(CHAT, body, ToolUseBlock("a", "patch", "text", input_text="*** x"), stop="tool_use")


def test_a_legacy_function_call() -> None:
    body = sse(
        chunk({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"x"'}}),
        chunk({"function_call": {"arguments": ":1}"}}),
        chunk(finish="function_call"),
    )
    response = check(CHAT, body, replace(F, id="call_0"), stop="tool_use", raw_stop_reason="function_call")
    message = dialect(CHAT).encode_response(response).body["choices"][0]["message"]
    assert message["function_call"] == {"name": "f", "arguments": '{"x":1}'}
    assert "tool_calls" not in message


def test_unknown_fields_of_a_call_survive() -> None:
    google = {"google": {"thought_signature": "c2ln"}}
    body = sse(calls(call("f", '{"x":1}', index=0, id="a", type="function", extra_content=google), finish="tool_calls"))
    response = check(CHAT, body, F, stop="tool_use")
    assert response.content[0].extras[CHAT]["extra_content"] == google


REASONING: dict[str, tuple[Json, ...]] = {
    "reasoning_content": (chunk({"reasoning_content": "h"}), chunk({"reasoning_content": "m"})),
    "reasoning": (chunk({"reasoning": "h"}), chunk({"reasoning": "m"})),
    "both, equal": (
        chunk({"reasoning": "h", "reasoning_content": "h"}), chunk({"reasoning": "m", "reasoning_content": "m"}),
    ),
    "beside null content": (
        chunk({"content": None, "reasoning_content": "h"}), chunk({"content": "", "reasoning_content": "m"}),
    ),
    "with details": (
        chunk({"reasoning": "h", "reasoning_details": [{"type": "reasoning.text", "text": "h", "index": 0}]}),
        chunk({"reasoning": "m", "reasoning_details": [{"type": "reasoning.text", "text": "m", "index": 0}]}),
    ),
    "thinking as a part": (
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]}),
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]}),
    ),
    "thinking and text as parts": (
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
        chunk({"content": [{"type": "text", "text": "H"}, {"type": "text", "text": "e"}]}),
        chunk({"content": [{"type": "text", "text": "llo"}]}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REASONING)
def test_reasoning_in_all_spellings(name: str) -> None:
    rest = () if "text as parts" in name else (text("Hel"), text("lo"))
    response = folded(CHAT, sse(*REASONING[name], *rest, chunk(finish="stop")))
    thoughts = [b for b in response.content if isinstance(b, ThinkingBlock)]
    assert "".join(b.text for b in thoughts) == "hm"
    assert response.text == "Hello"
    assert isinstance(response.content[0], ThinkingBlock)


def test_text_before_reasoning_is_put_behind_it() -> None:
    check(
        CHAT,
        sse(text("Hel"), chunk({"reasoning_content": "hm"}), text("lo", "stop")),
        ThinkingBlock("hm"),
        TextBlock("Hello"),
    )


def test_reasoning_details_are_merged_by_index() -> None:
    """What a router wants back unmodified: texts grow, signatures and encrypted data stay with their entry."""
    body = sse(
        chunk(
            {
                "reasoning": "a",
                "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0, "format": "x"}],
            }
        ),
        chunk({"reasoning": "b", "reasoning_details": [{"type": "reasoning.text", "text": "b", "index": 0}]}),
        chunk({"reasoning_details": [{"type": "reasoning.text", "signature": "c2ln", "index": 0}]}),
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "ZW5j", "index": 1}]}),
        text("Hello", "stop"),
    )
    response = check(CHAT, body, ThinkingBlock("ab"), TextBlock("Hello"))
    message = dialect(CHAT).encode_response(response).body["choices"][0]["message"]
    assert message["reasoning"] == "ab"
    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "text": "ab", "index": 0, "format": "x", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "data": "ZW5j", "index": 1},
    ]


def test_a_refusal() -> None:
    body = sse(chunk({"role": "assistant", "content": "", "refusal": None}), chunk({"refusal": "I "}),
               chunk({"refusal": "cannot."}), chunk(finish="stop"))  # fmt: skip
    check(CHAT, body, RefusalBlock("I cannot."), stop="refusal", raw_stop_reason="stop")


def test_annotations() -> None:
    cited = {
        "type": "url_citation",
        "url_citation": {"url": "https://a.test", "title": "A", "start_index": 0, "end_index": 5},
    }
    more = {
        "type": "url_citation",
        "url_citation": {"url": "https://b.test", "title": "B", "start_index": 0, "end_index": 5},
    }
    expected = tuple(Citation(kind="url", url=f"https://{x}.test", title=x.upper(), start=0, end=5) for x in "ab")
    body = sse(*HELLO[:2], chunk({"content": "", "annotations": [cited]}), chunk({"annotations": [more]}), HELLO[2])
    check(CHAT, body, TextBlock("Hello", expected))


def test_audio() -> None:
    body = sse(
        chunk({"role": "assistant", "content": None, "audio": {"id": "audio_1", "transcript": "He"}}),
        chunk({"audio": {"transcript": "llo"}}),
        chunk({"audio": {"data": "UklG"}}),
        chunk({"audio": {"data": "Rg=="}}),
        chunk({"audio": {"expires_at": 9}}),
        chunk(finish="stop"),
    )
    response = folded(CHAT, body)
    [audio] = response.content
    assert isinstance(audio, AudioBlock)
    assert isinstance(audio.source, Base64Source)
    assert (audio.source.data, audio.transcript) == ("UklGRg==", "Hello")
    assert audio.extras[CHAT] == {"id": "audio_1", "expires_at": 9}


def test_several_choices_interleaved() -> None:
    """The first choice is the answer; the others are put together and kept in their place."""
    body = sse(
        chunk({"role": "assistant", "content": "Hel"}),
        chunk({"role": "assistant", "content": "an"}, index=1),
        chunk({"tool_calls": [call("f", '{"x"', index=0, id="a", type="function")]}, index=2),
        text("lo"),
        chunk({"content": "other"}, index=1),
        chunk({"tool_calls": [call(..., ":1}", index=0)]}, index=2),
        chunk(finish="length", index=1),
        chunk(finish="stop"),
        chunk(finish="tool_calls", index=2),
    )
    response = check(CHAT, body, TextBlock("Hello"), raw_stop_reason="stop")
    _, second, third = dialect(CHAT).encode_response(response).body["choices"]
    assert (second["message"]["content"], second["finish_reason"], second["index"]) == ("another", "length", 1)
    [kept] = third["message"]["tool_calls"]
    assert (kept["id"], kept["function"], third["index"]) == ("a", {"name": "f", "arguments": '{"x":1}'}, 2)


def test_only_another_choice_was_finished() -> None:
    body = sse(chunk({"content": "an"}), chunk({"content": "other"}, "stop", index=1), done=False)
    assert isinstance(folded(CHAT, body).error, NetworkError)


def test_log_probabilities_accumulate() -> None:
    def probable(token: str, **fields: Json) -> Json:
        choice = {"index": 0, "delta": {"content": token}, "logprobs": {"content": [{"token": token}], "refusal": None}}
        return {"id": "c", "model": "m", "choices": [{**choice, **fields}]}

    for rows in (
        (probable("Hel", finish_reason=None), probable("lo", finish_reason=None), HELLO[2]),
        (probable("Hel"), probable("lo"), HELLO[2]),
        (probable("Hel"), probable("lo", finish_reason="stop")),
    ):
        response = check(CHAT, sse(*rows), TextBlock("Hello"))
        logprobs = response.extras[CHAT]["choices"][0]["logprobs"]
        assert logprobs["content"] == [{"token": "Hel"}, {"token": "lo"}]


def test_unknown_fields_of_chunks_choices_and_deltas_survive() -> None:
    body = sse(
        {**HELLO[0], "provider": "X", "system_fingerprint": "fp"},
        chunk({"content": "lo", "provider_metadata": {"a": 1}}),
        {"id": "c", "model": "m", "choices": [
            {"index": 0, "delta": {}, "finish_reason": "stop", "native_finish_reason": "STOP", "stop_reason": 7}]},
        {"id": "c", "choices": [], "timings": {"n": 1}, "citations": ["https://a.test"]},
    )  # fmt: skip
    response = check(CHAT, body, TextBlock("Hello"))
    wire = dialect(CHAT).encode_response(response).body
    assert (wire["provider"], wire["system_fingerprint"]) == ("X", "fp")
    assert (wire["timings"], wire["citations"]) == ({"n": 1}, ["https://a.test"])
    assert (wire["choices"][0]["native_finish_reason"], wire["choices"][0]["stop_reason"]) == ("STOP", 7)
    assert wire["choices"][0]["message"]["provider_metadata"] == {"a": 1}


WORDS: tuple[tuple[str, str], ...] = (
    ("stop", "end_turn"),
    ("length", "max_tokens"),
    ("content_filter", "refusal"),
    ("eos", "end_turn"),
    ("model_length", "context_overflow"),
    ("insufficient_system_resource", "error"),
    ("error", "error"),
    ("", "end_turn"),
    ("some_new_word", "end_turn"),
)


@pytest.mark.parametrize(("word", "reason"), WORDS)
def test_finish_words(word: str, reason: str) -> None:
    check(CHAT, sse(text("Hello"), chunk(finish=word)), TextBlock("Hello"), stop=reason, raw_stop_reason=word)


def test_an_unknown_word_beside_a_call_is_tool_use() -> None:
    body = sse(calls(call("f", '{"x":1}', index=0, id="a")), chunk(finish="some_new_word"))
    check(CHAT, body, F, stop="tool_use", raw_stop_reason="some_new_word")


NO_ID: tuple[Json, ...] = ({"id": ""}, {"id": None}, {})


@pytest.mark.parametrize("fields", NO_ID, ids=str)
def test_a_response_without_an_id(fields: Json) -> None:
    rows = [{**{k: v for k, v in c.items() if k != "id"}, **fields} for c in HELLO]
    check(CHAT, sse(*rows), TextBlock("Hello"), id=None)


CUT_HELLO = TextBlock("Hello", incomplete=True)
CHAT_FAULTS: tuple[tuple[str, Json, ErrorClass], ...] = (
    ("a chunk with choices", {"id": "c", "error": {"code": 429, "message": "slow"}, "choices": [
        {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}, ErrorClass.rate_limit),
    ("an error alone", {"error": {"message": "x", "type": "server_error", "param": None, "code": None}},
     ErrorClass.server_error),
    ("numeric code", {"error": {"code": 502, "message": "bad gateway"}}, ErrorClass.server_error),
    ("context", {"error": {"message": "maximum context length is 5", "code": 400}}, ErrorClass.context_overflow),
    ("a plain string", {"error": "model not loaded"}, ErrorClass.server_error),
    ("under x_groq", {"id": "c", "x_groq": {"error": "over capacity"}, "choices": []}, ErrorClass.rate_limit),
    ("key", {"error": {"message": "bad key", "code": "invalid_api_key"}}, ErrorClass.auth),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "error_class"), [row[1:] for row in CHAT_FAULTS], ids=[row[0] for row in CHAT_FAULTS]
)
def test_an_error_inside_a_chat_stream(fault: Json, error_class: ErrorClass) -> None:
    response = check(CHAT, sse(text("Hel"), text("lo"), fault, text("never")), CUT_HELLO, stop="error")
    error = response.error
    assert isinstance(error, AdapterError)
    assert error.error_class == error_class
    assert error.response is not None
    assert error.response.content == response.content


def test_data_that_is_not_json_comes_through() -> None:
    events, error = read(CHAT, sse(HELLO[0], "not json", '"a string"', "[1, 2]", *HELLO[1:]))
    assert error is None
    assert [event.raw for event in events if isinstance(event, Unknown)]
    assert fold(events).text == "Hello"


HOSTILE_CHAT: tuple[Json, ...] = (
    {"choices": None},
    {"choices": "x"},
    {"choices": {"index": 0}},
    {"choices": [None]},
    {"choices": ["x", 3]},
    {"choices": [{"delta": "x"}]},
    {"choices": [{"delta": ["x"]}]},
    {"choices": [{"index": "zero", "delta": {"content": "x"}}]},
    {"choices": [{"index": {"a": 1}, "delta": {"content": "x"}}]},
    {"choices": [{"index": 1, "delta": "x"}]},
    {"choices": [{"index": 0, "delta": {"content": 3}}]},
    {"choices": [{"index": 0, "delta": {"content": {"a": 1}}}]},
    {"choices": [{"index": 0, "delta": {"content": ["x", None, 3]}}]},
    {"choices": [{"index": 0, "delta": {"content": [{"type": "text"}]}}]},
    {"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": None}]}}]},
    {"choices": [{"index": 0, "delta": {"content": [{"type": "thinking", "thinking": "x"}]}}]},
    {"choices": [{"index": 0, "delta": {"content": [{"type": "thinking", "thinking": [None]}]}}]},
    {"choices": [{"index": 0, "delta": {"content": [{"type": "new", "x": 1}]}}]},
    {"choices": [{"index": 0, "delta": {"refusal": 3}}]},
    {"choices": [{"index": 0, "delta": {"reasoning_content": {"a": 1}}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": "x"}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": {"index": 0}}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [None, "x", 3]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": 3, "function": {"name": 4}}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "function": "x"}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": {}, "id": "a", "function": {"name": "f"}}]}}]},
    {"choices": [{"index": 0, "delta": {"function_call": "x"}}]},
    {"choices": [{"index": 0, "delta": {"function_call": {"name": 3}}}]},
    {"choices": [{"index": 0, "delta": {"audio": "x"}}]},
    {"choices": [{"index": 0, "delta": {"annotations": "x"}}]},
    {"choices": [{"index": 0, "delta": {"annotations": [3, {"type": "url_citation", "url_citation": 3}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": {"a": 1}}]},
    {"choices": [{"index": 0, "delta": {}, "logprobs": "x"}]},
    {"choices": [], "usage": "x"},
    {"choices": [], "usage": [1]},
    {"choices": [], "usage": {"prompt_tokens": "x", "completion_tokens": None, "prompt_tokens_details": 3}},
    {"choices": [], "id": 3, "model": ["m"], "created": "x", "object": None},
    {"choices": [], "x_groq": "x"},
    {},
    {"type": "ping"},
)


@pytest.mark.parametrize("odd", HOSTILE_CHAT, ids=json.dumps)
def test_no_chat_chunk_ever_raises(odd: Json) -> None:
    """Whatever a server sends: no exception, legal events, and the text around it arrives."""
    for body in (sse(HELLO[0], odd, *HELLO[1:]), sse(odd, *HELLO)):
        events, _ = read(CHAT, body)
        response = fold(events)
        assert "Hello" in response.text.replace("x", "")
        dialect(CHAT).encode_response(response)


def test_a_chat_stream_cut_at_any_byte_never_looks_finished() -> None:
    body = sse(
        chunk({"reasoning_content": "hm"}), text("Hel"), text("lo"),
        calls(call("f", '{"x"', index=0, id="a")), calls(call(..., ":1}", index=0)), chunk(finish="tool_calls"),
        {"id": "c", "choices": [], "usage": COUNTS},
    )  # fmt: skip
    finished_at = body.index(b'"finish_reason": "tool_calls"')
    end = body.index(b"\n\n", finished_at)
    for cut in range(len(body)):
        events, error = events_of(CHAT, [body[:cut]])
        response = fold(events)
        assert isinstance(events[-1], MessageComplete)
        assert "Hello".startswith(response.text)
        if cut < end:
            assert isinstance(error, NetworkError)
            assert error.response == response
            assert response.stop_reason is StopReason.error
        else:
            assert error is None
            assert response.tool_uses[0].input == {"x": 1}


# S4: pieces of arguments, what the call says, and what of it is text
MIXED_ARGUMENTS: dict[str, tuple[tuple[Json, ...], dict[str, Json], str | None]] = {
    "an object": (({"x": 1},), {"x": 1}, None),
    "nothing, then an object": (("", None, {"x": 1}), {"x": 1}, None),
    "an object, then nothing": (({"x": 1}, "", None), {"x": 1}, None),
    "a newer object": (({"x": 1}, {"x": 2}), {"x": 2}, None),
    "text, then an object": (('{"x": ', {"y": 1}), {}, '{"x": {"y":1}'),
    "text, then an object that completes it": (('{"x": ', {"y": 1}, "}"), {"x": {"y": 1}}, '{"x": {"y":1}}'),
    "an object, then text": (({"x": 1}, "!"), {}, '{"x":1}!'),
    "text, then a list": (("[1", [2]), {}, "[1[2]"),
}


@pytest.mark.parametrize(("pieces", "input", "text"), MIXED_ARGUMENTS.values(), ids=MIXED_ARGUMENTS)
def test_chat_arguments_that_change_their_type(pieces: tuple[Json, ...], input: Json, text: str | None) -> None:
    rows = [calls(call("f" if not place else None, piece, index=0, id="a")) for place, piece in enumerate(pieces)]
    expected = ToolUseBlock("a", "f", input=input, input_text=text)
    check(CHAT, sse(*rows, chunk(finish="tool_calls")), expected, stop="tool_use")


def test_a_choice_below_the_first_is_none() -> None:
    stray = chunk({"tool_calls": [call("g", "{}", index=0, id="b")]}, index=-1)
    rows = (calls(call("f", '{"x":', index=0, id="a")), stray, calls(call(..., "1}", index=0)), chunk(finish="stop"))
    check(CHAT, sse(*rows), F, stop="tool_use")


def test_a_cut_call_keeps_what_was_written_and_is_not_run() -> None:
    body = sse(calls(call("f", '{"path": "/tm', index=0, id="a")), done=False)
    cut = ToolUseBlock("a", "f", input_text='{"path": "/tm', incomplete=True)
    response = check(CHAT, body, cut, stop="error")
    assert response.tool_uses[0].input == {}


# ------------------------------------------------------------------------------------------------------ anthropic


def named(*events: Json) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def start(**fields: Json) -> Json:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 10, "cache_read_input_tokens": 20,
                                                "cache_creation_input_tokens": 3, "output_tokens": 1}}  # fmt: skip
    return {"type": "message_start", "message": {**message, **fields}}


def opened(index: int, **block: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, kind: str, **fields: Json) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def closed(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


def last(reason: str | None = "end_turn", usage: Json = None, **fields: Json) -> Json:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": usage or {"output_tokens": 5}, **fields}


STOP = {"type": "message_stop"}
TEXT = (
    opened(0, type="text", text=""),
    piece(0, "text_delta", text="Hel"),
    piece(0, "text_delta", text="lo"),
    closed(0),
)
PLAIN = (start(), *TEXT, last(), STOP)
PING = {"type": "ping"}

CLAUDE_FRAMES: dict[str, bytes] = {
    "plain": named(*PLAIN),
    "CRLF": named(*PLAIN).replace(b"\n", b"\r\n"),
    "no event names": sse(*PLAIN, done=False),
    "ping anywhere": named(PING, start(), PING, TEXT[0], PING, *TEXT[1:], PING, last(), PING, STOP, PING),
    "[DONE] at the end": named(*PLAIN) + b"data: [DONE]\n\n",
    "[DONE] before the end": named(*PLAIN[:-1]) + b"data: [DONE]\n\n" + named(STOP),
    "comments": b": x\n\n" + named(*PLAIN),
    "message_start not first": named(*TEXT, start(), last(), STOP),
    "message_start spliced in again": named(start(), *TEXT[:2], start(id="other", model="x"), *TEXT[2:], last(), STOP),
    "text at the start of its block": named(
        start(), opened(0, type="text", text="Hel"), piece(0, "text_delta", text="lo"), closed(0), last(), STOP
    ),
    "block never stopped": named(start(), *TEXT[:3], last(), STOP),
    "block stopped twice": named(start(), *TEXT, closed(0), last(), STOP),
    "stop of a block never started": named(start(), *TEXT, closed(9), last(), STOP),
    "no message_stop": named(*PLAIN[:-1]),
    "no message_stop, and usage after the stop reason": named(start(), *TEXT, last(), last(None)),
    "unknown event": named(start(), {"type": "brand_new", "x": 1}, *TEXT, last(), STOP),
    "unknown delta": named(start(), *TEXT[:2], piece(0, "brand_new_delta", x=1), *TEXT[2:], last(), STOP),
    "two message_deltas": named(start(), *TEXT, last(None, {"output_tokens": 2}), last(), STOP),
    "everything after message_stop is ignored": named(*PLAIN, opened(1, type="text", text="x"), last("refusal")),
}


@pytest.mark.parametrize("name", CLAUDE_FRAMES)
def test_anthropic_framing_and_ends(name: str) -> None:
    usage = TokenUsage(10, 20, 3, 5)
    response = check(
        CLAUDE, CLAUDE_FRAMES[name], TextBlock("Hello"), usage=usage, raw_stop_reason="end_turn", error=None
    )
    assert (response.id, response.model) == ("m", "claude")


# S4
MISPLACED: dict[str, tuple[Json, ...]] = {
    "a block that never started": (start(), *TEXT, piece(9, "text_delta", text="x"), last(), STOP),
    "no block ever started": (start(), piece(0, "text_delta", text="x"), closed(0), last(), STOP),
    "arguments without a call": (start(), *TEXT, piece(1, "input_json_delta", partial_json="{}"), last(), STOP),
    "a block that was stopped": (start(), *TEXT, piece(0, "text_delta", text="x"), last(), STOP),
    "a block of another kind": (start(), *TEXT[:3], piece(0, "thinking_delta", thinking="x"), closed(0), last(), STOP),
    "a signature of no thought": (start(), *TEXT, piece(1, "signature_delta", signature="x"), last(), STOP),
}


@pytest.mark.parametrize("name", MISPLACED)
def test_what_an_anthropic_stream_says_of_no_open_block_is_an_error(name: str) -> None:
    """Text that belongs nowhere would be missing from an answer that looks whole."""
    events, error = read(CLAUDE, named(*MISPLACED[name]))
    assert isinstance(error, ParseError)
    assert fold(events).stop_reason is StopReason.error


# S4
EMPTY_STARTS: dict[str, Json] = {
    "null": {"input": None},
    "an empty string": {"input": ""},
    "nothing": {},
}


@pytest.mark.parametrize("input", EMPTY_STARTS.values(), ids=EMPTY_STARTS)
def test_a_call_may_begin_with_any_empty_input(input: Json) -> None:
    block = {"type": "tool_use", "id": "a", "name": "f", **input}
    pieces = (opened(0, **block), piece(0, "input_json_delta", partial_json='{"x":1}'), closed(0))
    check(
        CLAUDE, named(start(), *pieces, last("tool_use"), STOP), ToolUseBlock("a", "f", input={"x": 1}), stop="tool_use"
    )
    check(CLAUDE, named(start(), pieces[0], closed(0), last("tool_use"), STOP), ToolUseBlock("a", "f"), stop="tool_use")


@pytest.mark.parametrize("text", [{"text": None}, {}], ids=["null", "nothing"])
def test_a_text_may_begin_without_its_text(text: Json) -> None:
    rows = (start(), opened(0, type="text", **text), piece(0, "text_delta", text="Hello"), closed(0), last(), STOP)
    check(CLAUDE, named(*rows), TextBlock("Hello"))


def test_a_call_that_does_not_begin_as_one_never_becomes_one() -> None:
    """Its start was read as a block that we do not know, and events of a call would have no beginning."""
    block = {"type": "tool_use", "id": 3, "name": "f", "input": {}}
    rows = (start(), opened(0, **block), piece(0, "input_json_delta", partial_json='{"x":1}'), closed(0), last(), STOP)
    check(CLAUDE, named(*rows), OpaqueBlock(CLAUDE, {**block, "input": {"x": 1}}))


def test_unknown_things_come_through_as_unknown() -> None:
    new_event, new_delta = {"type": "brand_new", "x": 1}, piece(0, "brand_new_delta", x=1)
    events, error = read(CLAUDE, named(start(), new_event, *TEXT[:2], new_delta, *TEXT[2:], last(), STOP))
    assert error is None
    assert [event.raw for event in events if isinstance(event, Unknown)] == [new_event, new_delta]


def test_an_unknown_block_is_carried_whole() -> None:
    block = {"type": "brand_new", "x": {"y": [1]}}
    check(CLAUDE, named(start(), opened(0, **block), closed(0), last(), STOP), OpaqueBlock(CLAUDE, block))


def test_thinking_with_a_signature_in_pieces() -> None:
    body = named(
        start(), opened(0, type="thinking", thinking="", signature=""),
        piece(0, "thinking_delta", thinking="h"), piece(0, "thinking_delta", thinking="m", estimated_tokens=3),
        piece(0, "signature_delta", signature="c2"), piece(0, "signature_delta", signature="ln"), closed(0),
        last(), STOP,
    )  # fmt: skip
    check(CLAUDE, body, ThinkingBlock("hm", signature="c2ln"))


def test_thinking_that_is_only_a_signature() -> None:
    body = named(
        start(), opened(0, type="thinking", thinking="", signature=""), piece(0, "signature_delta", signature="c2ln"),
        closed(0), last(), STOP,
    )  # fmt: skip
    check(CLAUDE, body, ThinkingBlock("", signature="c2ln"))


def test_redacted_thinking() -> None:
    body = named(start(), opened(0, type="redacted_thinking", data="ZGF0YQ=="), closed(0), last(), STOP)
    check(CLAUDE, body, RedactedThinkingBlock("ZGF0YQ=="))


CLAUDE_CALLS: dict[str, tuple[tuple[Json, ...], dict[str, Any], str | None]] = {
    "in pieces": (
        (piece(0, "input_json_delta", partial_json=""), piece(0, "input_json_delta", partial_json='{"x": '),
         piece(0, "input_json_delta", partial_json="1}")),
        {"x": 1}, None,
    ),
    "empty": ((piece(0, "input_json_delta", partial_json=""),), {}, None),
    "no delta at all": ((), {}, None),
    "cut short": ((piece(0, "input_json_delta", partial_json='{"x": '),), {}, '{"x": '),
    "not an object": ((piece(0, "input_json_delta", partial_json="[1]"),), {}, "[1]"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAUDE_CALLS)
def test_anthropic_calls(name: str) -> None:
    pieces, input, kept = CLAUDE_CALLS[name]
    body = named(start(), opened(0, type="tool_use", id="toolu_1", name="f", input={}), *pieces, closed(0),
                 last("tool_use"), STOP)  # fmt: skip
    check(CLAUDE, body, ToolUseBlock("toolu_1", "f", input=input, input_text=kept), stop="tool_use")


def test_whole_input_at_the_start() -> None:
    """Programmatic tool calls come whole in their start."""
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    body = named(
        start(), opened(0, type="tool_use", id="toolu_1", name="f", input={"x": 1}, caller=caller), closed(0),
        last("tool_use"), STOP,
    )  # fmt: skip
    response = check(CLAUDE, body, ToolUseBlock("toolu_1", "f", input={"x": 1}), stop="tool_use")
    assert response.content[0].extras == {CLAUDE: {"caller": caller}}


def test_calls_open_together() -> None:
    """Not what the provider does, but gateways do."""
    body = named(
        start(),
        opened(0, type="tool_use", id="a", name="f", input={}), opened(1, type="tool_use", id="b", name="g", input={}),
        piece(1, "input_json_delta", partial_json='{"y"'), piece(0, "input_json_delta", partial_json='{"x"'),
        piece(0, "input_json_delta", partial_json=":1}"), piece(1, "input_json_delta", partial_json=":2}"),
        closed(1), closed(0), last("tool_use"), STOP,
    )  # fmt: skip
    check(CLAUDE, body, F, G, stop="tool_use")


def test_an_index_used_twice_by_a_spliced_stream() -> None:
    body = named(
        start(), *TEXT, start(id="second"), opened(0, type="tool_use", id="a", name="f", input={}),
        piece(0, "input_json_delta", partial_json='{"x":1}'), closed(0), last("tool_use"), STOP,
    )  # fmt: skip
    check(CLAUDE, body, TextBlock("Hello"), F, stop="tool_use", id="m")


HALF_CALL = (opened(0, type="tool_use", id="a", name="f", input={}), piece(0, "input_json_delta", partial_json='{"x'))
WHOLE_CALL = (
    opened(0, type="tool_use", id="b", name="g", input={}), piece(0, "input_json_delta", partial_json='{"y":2}'),
    closed(0),
)  # fmt: skip
HALF_F = ToolUseBlock("a", "f", input_text='{"x', incomplete=True)


def test_a_stream_that_begins_anew_finishes_nothing_of_what_had_come() -> None:
    """A gateway that lost its provider asks again and goes on with the new answer in the same stream."""
    body = named(start(), *HALF_CALL, start(id="second"), *WHOLE_CALL, last("tool_use"), STOP)
    response = check(CLAUDE, body, HALF_F, G, stop="tool_use", id="m")
    assert [call.incomplete for call in response.tool_uses] == [True, False]
    body = named(start(), *TEXT[:2], start(id="second"), *TEXT, last(), STOP)
    check(CLAUDE, body, TextBlock("Hel", incomplete=True), TextBlock("Hello"))
    body = named(start(), *TEXT[:2], start(id="second"), last(), STOP)
    check(CLAUDE, body, TextBlock("Hel", incomplete=True))


def test_a_call_whose_answer_had_no_end_before_the_next_began_is_incomplete() -> None:
    """The output limit may have cut it off: an answer that is over says so."""
    other = (opened(0, type="tool_use", id="a", name="f", input={}),
             piece(0, "input_json_delta", partial_json='{"x":1}'), closed(0))  # fmt: skip
    body = named(start(), *other, start(id="second"), *WHOLE_CALL, last("tool_use"), STOP)
    check(CLAUDE, body, replace(F, incomplete=True), G, stop="tool_use")
    body = named(start(), *other, last("max_tokens"), start(id="second"), *WHOLE_CALL, last("tool_use"), STOP)
    check(CLAUDE, body, replace(F, incomplete=True), G, stop="tool_use")
    body = named(start(), *other, last("tool_use"), start(id="second"), *WHOLE_CALL, last("tool_use"), STOP)
    check(CLAUDE, body, F, G, stop="tool_use")


def test_what_goes_on_for_a_block_of_the_answer_before_is_an_error() -> None:
    half = (opened(1, type="text", text=""), piece(1, "text_delta", text="x"))
    events, error = read(CLAUDE, named(start(), *half, start(), *TEXT, half[1], last(), STOP))
    assert isinstance(error, ParseError)
    assert fold(events).content == (TextBlock("x", incomplete=True), TextBlock("Hello"))


def test_anthropic_citations() -> None:
    cited = {"type": "char_location", "cited_text": "c", "document_index": 0, "document_title": "D",
             "start_char_index": 0, "end_char_index": 1, "file_id": None}  # fmt: skip
    web = {"type": "web_search_result_location", "url": "https://a.test", "title": "A", "cited_text": "w",
           "encrypted_index": "Eo8B"}  # fmt: skip
    body = named(
        start(), opened(0, type="text", text="", citations=[]), piece(0, "text_delta", text="Hello"),
        piece(0, "citations_delta", citation=cited), piece(0, "citations_delta", citation=web), closed(0), last(), STOP,
    )  # fmt: skip
    expected = (
        Citation(kind="char", text="c", index=0, title="D", start=0, end=1),
        Citation(kind="url", url="https://a.test", title="A", text="w"),
    )
    response = check(CLAUDE, body, TextBlock("Hello", expected))
    assert dialect(CLAUDE).encode_response(response).body["content"][0]["citations"] == [cited, web]


def test_compaction() -> None:
    body = named(
        start(), opened(0, type="compaction", content=None),
        piece(0, "compaction_delta", content="summary", encrypted_content="enc"), closed(0), last("compaction"), STOP,
    )  # fmt: skip
    whole = {"type": "compaction", "content": "summary", "encrypted_content": "enc"}
    check(CLAUDE, body, OpaqueBlock(CLAUDE, whole), stop="pause_turn", raw_stop_reason="compaction")


def test_server_tools() -> None:
    found = [
        {"type": "web_search_result", "url": "https://a.test", "title": "A", "encrypted_content": "e", "page_age": None}
    ]
    body = named(
        start(), opened(0, type="server_tool_use", id="s", name="web_search", input={}),
        piece(0, "input_json_delta", partial_json='{"query"'), piece(0, "input_json_delta", partial_json=':"q"}'),
        closed(0),
        opened(1, type="web_search_tool_result", tool_use_id="s", content=found), closed(1),
        opened(2, type="mcp_tool_use", id="t", name="add", server_name="n", input={}),
        piece(2, "input_json_delta", partial_json='{"a":1}'), closed(2),
        opened(3, type="mcp_tool_result", tool_use_id="t", is_error=False, content=[]), closed(3),
        last("pause_turn"), STOP,
    )  # fmt: skip
    check(
        CLAUDE, body,
        ServerToolUseBlock("s", "web_search", {"query": "q"}, CLAUDE),
        ServerToolResultBlock("s", "web_search", found, CLAUDE),
        ServerToolUseBlock("t", "add", {"a": 1}, CLAUDE),
        ServerToolResultBlock("t", "mcp", [], CLAUDE, False),
        stop="pause_turn",
    )  # fmt: skip


def test_cumulative_usage_replaces() -> None:
    body = named(
        start(), *TEXT,
        last(None, {"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3,
                    "output_tokens": 4}),
        last("end_turn", {"input_tokens": 12, "cache_read_input_tokens": 25, "cache_creation_input_tokens": 3,
                          "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 2}}),
        STOP,
    )  # fmt: skip
    events, _ = read(CLAUDE, body)
    updates = [event.usage for event in events if isinstance(event, UsageUpdate)]
    assert updates[0] == TokenUsage(10, 20, 3, 1)
    assert updates[-1] == TokenUsage(12, 25, 3, 9, 2)
    assert fold(events).usage == TokenUsage(12, 25, 3, 9, 2)


def test_usage_that_says_only_the_output_keeps_the_rest() -> None:
    check(CLAUDE, named(*PLAIN), TextBlock("Hello"), usage=TokenUsage(10, 20, 3, 5))


def test_a_stop_reason_is_not_forgotten_by_a_later_delta() -> None:
    body = named(start(), *TEXT, last("max_tokens"), last(None, {"output_tokens": 6}), STOP)
    check(CLAUDE, body, TextBlock("Hello"), stop="max_tokens", usage=TokenUsage(10, 20, 3, 6))


def test_message_delta_fields_are_residue() -> None:
    managed = {"applied_edits": []}
    body = named(start(), *TEXT, last(context_management=managed), STOP)
    response = check(CLAUDE, body, TextBlock("Hello"))
    assert dialect(CLAUDE).encode_response(response).body["context_management"] == managed


def test_an_error_event() -> None:
    fault = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}
    response = check(CLAUDE, named(start(), *TEXT[:3], fault, *PLAIN), CUT_HELLO, stop="error")
    error = response.error
    assert isinstance(error, RateLimitError)
    assert (error.provider_code, error.message, error.request_id) == ("overloaded_error", "Overloaded", "req_1")
    assert response.usage == TokenUsage(10, 20, 3, 1)


HOSTILE_CLAUDE: tuple[Json, ...] = (
    {"type": "message_start"},
    {"type": "message_start", "message": None},
    {"type": "message_start", "message": "x"},
    {"type": "content_block_start", "index": 5},
    {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_start", "index": 5, "content_block": None},
    {"type": "content_block_start", "index": 5, "content_block": "x"},
    {"type": "content_block_start", "index": 5, "content_block": {}},
    {"type": "content_block_start", "index": 5, "content_block": {"type": "text"}},
    {"type": "content_block_start", "index": 5, "content_block": {"type": "text", "text": None}},
    {"type": "content_block_start", "index": 5, "content_block": {"type": "thinking", "thinking": None}},
    {"type": "content_block_start", "index": 5, "content_block": {"type": "tool_use", "id": "a", "name": "f"}},
    {
        "type": "content_block_start",
        "index": 5,
        "content_block": {"type": "tool_use", "id": 3, "name": None, "input": {}},
    },
    {
        "type": "content_block_start",
        "index": 5,
        "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": "x"},
    },
    {"type": "content_block_start", "index": {"a": 1}, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0},
    {"type": "content_block_delta", "index": 0, "delta": None},
    {"type": "content_block_delta", "index": 0, "delta": "x"},
    {"type": "content_block_delta", "index": 0, "delta": {}},
    piece(0, "text_delta"),
    piece(0, "text_delta", text=None),
    piece(0, "text_delta", text=3),
    piece(0, "text_delta", text={"a": 1}),
    piece(0, "citations_delta", citation=None),
    piece(0, "citations_delta", citation="x"),
    piece(0, "citations_delta", citation={}),
    piece(0, "signature_delta", signature=None),
    piece(0, "input_json_delta", partial_json=None),
    piece([0], "text_delta", text="x"),  # type: ignore[arg-type]
    {"type": "content_block_stop"},
    {"type": "content_block_stop", "index": {"a": 1}},
    {"type": "message_delta"},
    {"type": "message_delta", "delta": None, "usage": None},
    {"type": "message_delta", "delta": "x", "usage": "x"},
    {"type": "message_delta", "delta": {}, "usage": {"output_tokens": "x", "input_tokens": None}},
    {"type": None},
    {"type": ["x"]},
    {"no": "type"},
    {},
)


@pytest.mark.parametrize("odd", HOSTILE_CLAUDE, ids=json.dumps)
def test_no_anthropic_event_ever_raises(odd: Json) -> None:
    """Whatever a server sends: no exception, legal events, and the text around it arrives."""
    for rows in ((odd, *PLAIN), (start(), TEXT[0], odd, *TEXT[1:], last(), STOP), (start(), *TEXT, odd, last(), STOP)):
        events, _ = read(CLAUDE, sse(*rows, done=False))
        response = fold(events)
        assert "Hello" in response.text
        dialect(CLAUDE).encode_response(response)


def test_anthropic_data_that_is_not_json_comes_through() -> None:
    events, error = read(CLAUDE, sse(start(), "not json", "3", *TEXT, last(), STOP, done=False))
    assert error is None
    assert fold(events).text == "Hello"


def test_an_anthropic_stream_cut_at_any_byte_never_looks_finished() -> None:
    body = named(
        start(), opened(0, type="thinking", thinking="", signature=""), piece(0, "thinking_delta", thinking="hm"),
        piece(0, "signature_delta", signature="c2ln"), closed(0),
        opened(1, type="text", text=""), piece(1, "text_delta", text="Hello"), closed(1),
        opened(2, type="tool_use", id="a", name="f", input={}), piece(2, "input_json_delta", partial_json='{"x":1}'),
        closed(2), last("tool_use"), STOP,
    )  # fmt: skip
    finished_at = body.index(named(STOP)) - 2  # a stop reason and no open block
    for cut in range(len(body)):
        events, error = events_of(CLAUDE, [body[:cut]])
        response = fold(events)
        assert "Hello".startswith(response.text)
        if cut < finished_at:
            assert isinstance(error, NetworkError)
            assert response.stop_reason is StopReason.error
            assert error.response == response
        else:
            assert error is None
        assert all(call.incomplete is (error is not None) for call in response.tool_uses)  # S1
    assert events_of(CLAUDE, [body[:-2]])[1] is None


def test_text_is_told_as_it_comes() -> None:
    """A fragment of the wire is an event at once, not at the end of its block."""
    for name, rows in ((CHAT, [sse(c, done=False) for c in HELLO[:2]]), (CLAUDE, [named(e) for e in PLAIN[:4]])):
        decoder = dialect(name).stream_decoder()
        told = [event.text for row in rows for event in decoder.feed(row) if isinstance(event, TextDelta)]
        assert told == ["Hel", "lo"]


def test_a_thinking_part_whose_text_is_a_number_is_carried_whole() -> None:  # R11
    part = {"type": "thinking", "thinking": [{"type": "text", "text": 1.5}]}
    chunk = {"choices": [{"index": 0, "delta": {"content": [part]}, "finish_reason": "stop"}]}
    decoder = dialect("openai-chat").stream_decoder()
    events = [*decoder.feed(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()), *decoder.close()]
    assert decoder.error is None
    assert fold(events).content == (OpaqueBlock("openai-chat", part),)


def test_an_empty_thought_of_a_chat_stream_does_not_close_the_thought() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    chunks = [{"content": [thought]}, {"content": [{"type": "thinking", "thinking": []}]}, {"content": "Yes."}]
    decoder = dialect("openai-chat").stream_decoder()
    events = []
    for delta in chunks:
        wire = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        events += decoder.feed(f"data: {json.dumps(wire)}\n\n".encode())
    assert [event.type for event in events if event.type in ("block.start", "block.complete")] == ["block.start"] * 2

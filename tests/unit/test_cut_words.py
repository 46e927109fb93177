"""The judge of cut streams: what it takes for finished, from streams written by hand. No dialect is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cases.test_stream_cases import written
from lab.cuts.check import Recorded, cut_stream, target_faults
from lab.cuts.frames import read_frames
from lab.cuts.state import StreamState
from lab.cuts.words import read_state

Json = Any
ARGUMENTS = '{"a":1}'


def sse(*values: Json) -> bytes:
    return b"".join(b"data: " + (v if isinstance(v, bytes) else json.dumps(v).encode()) + b"\n\n" for v in values)


def chat(delta: Json, finish: str | None = None) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def gemini(*parts: Json, **more: Json) -> Json:
    return {"candidates": [{"content": {"parts": list(parts)}, **more}]}


CALL = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
MESSAGES = (
    {"type": "content_block_start", "index": 0, "content_block": CALL},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ARGUMENTS}},
)
MESSAGES_STOP = {"type": "content_block_stop", "index": 0}
MESSAGES_NEXT = {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}
LINES = [
    json.loads(line) for line in Path(__file__).with_name("cut_words.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Streams with a call, and whether it is ``surely`` finished and ``seemingly`` so, to whoever reads them; how streams
end and fail; streams with an open call, and what must not be written of them: the ``fault`` that is found in it."""


def of(key: str) -> Any:
    return pytest.mark.parametrize(
        "line", [line for line in LINES if key in line], ids=lambda line: f"{line['dialect']}: {line['case']}"
    )


def bytes_of(dialect: str, wire: Json) -> bytes:
    return wire.encode() if isinstance(wire, str) else b"".join(written(dialect, frame) for frame in wire)


def told(dialect: str, data: bytes) -> StreamState:
    return read_state(dialect, read_frames(dialect, data))


@of("surely")
def test_when_a_call_is_finished(line: Json) -> None:
    found = told(line["dialect"], bytes_of(line["dialect"], line["wire"]))
    assert found.finished_calls(surely=True)[ARGUMENTS] == line["surely"]
    assert found.finished_calls(surely=False)[ARGUMENTS] == line["seemingly"]


@of("end")
def test_the_last_word_and_the_error(line: Json) -> None:
    dialect = line["dialect"]
    end, failure = bytes_of(dialect, line["end"]), bytes_of(dialect, line["failure"])
    assert told(dialect, end).is_finished
    assert told(dialect, failure).failed
    assert not told(dialect, b"").is_finished
    assert not told(dialect, end[:-8]).is_finished


def test_what_comes_after_an_end_of_gemini_takes_it_back() -> None:
    first = gemini({"text": "a"}, finishReason="STOP")
    assert told("gemini", sse(first)).is_finished
    assert told("gemini", sse(first, gemini({"text": ""}))).is_finished
    assert not told("gemini", sse(first, gemini({"text": "b"}))).is_finished
    assert told("gemini", sse(first, gemini({"text": "b"}), gemini(finishReason="STOP"))).is_finished


@of("fault")
def test_guilty_bytes_are_found(line: Json) -> None:
    wire = bytes_of(line["dialect"], line["wire"])
    for open_call in (line for line in LINES if "open" in line):
        source = told(open_call["dialect"], bytes_of(open_call["dialect"], open_call["open"]))
        faults = list(target_faults(source, line["dialect"], wire, failed=True))
        assert any(line["fault"] in said for said in faults), (open_call["dialect"], faults)


def test_a_text_that_was_open_is_no_finished_item() -> None:
    text = {"type": "output_text", "text": "Hel"}
    source = told("openai-chat", sse(chat({"content": "Hel"})))
    done = {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "content": [text]}}
    faults = list(target_faults(source, "openai-responses", sse(done, {"type": "error"}), failed=True))
    assert faults == ["an unfinished text is finished: Hel"]


MESSAGES_BEGIN = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}}
MESSAGES_TEXT = (
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
)
MESSAGES_LAST = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
MESSAGES_OVER = {"type": "message_stop"}


def test_a_call_that_was_open_when_the_answer_began_anew_is_never_finished() -> None:
    spliced = (MESSAGES_BEGIN, *MESSAGES, MESSAGES_BEGIN, *MESSAGES_TEXT, MESSAGES_STOP, MESSAGES_LAST)
    for frames, finished in ((spliced[:-1], False), (spliced, True), ((*spliced, MESSAGES_OVER), True)):
        told = read_state("anthropic-messages", read_frames("anthropic-messages", sse(*frames)))
        assert told.is_finished is finished
        assert not told.finished_calls(surely=True)
        assert not told.finished_calls(surely=False)


def test_a_message_that_is_only_begun_twice_goes_on() -> None:
    frames = (MESSAGES_BEGIN, *MESSAGES, MESSAGES_BEGIN, MESSAGES_STOP, MESSAGES_NEXT)
    told = read_state("anthropic-messages", read_frames("anthropic-messages", sse(*frames)))
    assert told.finished_calls(surely=True) == {ARGUMENTS: 1}


def test_an_answer_that_begins_anew_is_cut_at_every_byte() -> None:
    frames = (MESSAGES_BEGIN, *MESSAGES, MESSAGES_BEGIN, *MESSAGES_TEXT, MESSAGES_STOP, MESSAGES_LAST, MESSAGES_OVER)
    data = sse(*frames)
    judged = [*cut_stream(Recorded("anthropic-messages", data), range(len(data) + 1))]
    assert len(judged) > len(frames)
    assert [fault for one in judged for fault in one.faults] == []

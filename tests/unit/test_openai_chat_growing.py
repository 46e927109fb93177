"""Unknown fields of Chat streams grow piece by piece, in linear time."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from interlingua import AudioBlock, Base64Source, Event, decode_stream, dialect, fold
from interlingua.codec.streams.growing import accumulate


def test_it_grows_in_place_and_leaves_the_deltas_alone() -> None:
    first = {"marks": [{"index": 0, "text": "a"}], "more": {"list": [1], "word": "x"}}
    second = {"marks": [{"index": 0, "text": "b"}, {"index": 1, "text": "c"}], "more": {"list": [2], "word": None}}
    original = copy.deepcopy((first, second))
    turn: dict[str, Any] = {}
    accumulate(turn, first)
    marks = turn["marks"]
    accumulate(turn, second)
    assert turn["marks"] is marks
    assert turn["marks"] == [{"index": 0, "text": "ab"}, {"index": 1, "text": "c"}]
    assert turn["more"] == {"list": [1, 2], "word": "x"}
    assert (first, second) == original


def test_a_further_choice_grows_as_the_first_one_does() -> None:
    pieces: list[dict[str, Any]] = [
        {"content": [{"type": "text", "text": "a"}], "audio": {"id": "s", "data": "AA"}},
        {"content": [{"type": "text", "text": "b"}], "audio": {"data": "BB"}},
        {"function_call": {"name": "f", "arguments": "{"}},
        {"function_call": {"arguments": "}"}},
    ]

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choices = [{"index": index, "delta": delta, "finish_reason": finish} for index in (0, 1)]
        return f"data: {json.dumps({'id': '1', 'model': 'm', 'choices': choices})}\n\n".encode()

    stream = [*map(chunk, pieces), chunk({}, "stop"), b"data: [DONE]\n\n"]
    response = fold(decode_stream(stream, dialect="openai-chat"))
    first, second = dialect("openai-chat").encode_response(response).body["choices"]
    assert first["message"] == second["message"]
    assert second["message"]["content"] == [{"type": "text", "text": "ab"}]
    assert second["message"]["audio"] == {"id": "s", "data": "AABB"}
    assert second["message"]["function_call"] == {"name": "f", "arguments": "{}"}


# -------------------------------------------------------------------------------------------------------- linear time


def steps_of(work: Callable[[], object]) -> int:
    """How many bytecode instructions the interpreter runs for this work."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def delta_of(delta: Any) -> bytes:
    return f"data: {json.dumps({'id': 'c', 'choices': [{'index': 0, 'delta': delta}]})}\n\n".encode()


def read_calls(number: int, end: bytes) -> object:
    decoder = dialect("openai-chat").stream_decoder()
    for place in range(number):
        function = {"name": "f", "arguments": "{}"}
        decoder.feed(delta_of({"tool_calls": [{"index": place, "id": f"call_{place}", "function": function}]}))
    return [*decoder.feed(end), *decoder.close()]


@pytest.mark.parametrize("end", [b"data: [DONE]\n\n", b""], ids=["finished", "cut"])
def test_twice_as_many_calls_are_twice_the_work(end: bytes) -> None:
    steps_of(lambda: read_calls(100, end))  # warm up: imports, caches and specialised bytecode
    few, many = steps_of(lambda: read_calls(100, end)), steps_of(lambda: read_calls(200, end))
    assert many < 2.2 * few


def test_sound_grows_without_being_copied() -> None:
    decoder: Any = dialect("openai-chat").stream_decoder()
    pieces = ["AAAA", "BBBB", "CCCC"]
    events: list[Event] = []
    for place, piece in enumerate(pieces):
        events += decoder.feed(delta_of({"audio": {"id": "a", "data": piece, "transcript": str(place), "n": place}}))
    assert decoder.answer.audio == {"data": pieces, "transcript": ["0", "1", "2"]}
    (audio,) = fold([*events, *decoder.feed(b"data: [DONE]\n\n")]).content
    assert isinstance(audio, AudioBlock)
    assert (audio.source, audio.transcript) == (Base64Source("audio/wav", "".join(pieces)), "012")

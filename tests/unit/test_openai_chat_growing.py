"""What a Chat stream says piece by piece under names that no table knows: it grows, and no dearer each time."""

from __future__ import annotations

import copy
import json
from typing import Any

from interlingua import decode_stream, fold
from interlingua.dialects.openai_chat.assembly import accumulate


def test_it_grows_in_place_and_leaves_the_deltas_alone() -> None:
    first = {"marks": [{"index": 0, "text": "a"}], "more": {"list": [1], "word": "x"}}
    second = {"marks": [{"index": 0, "text": "b"}, {"index": 1, "text": "c"}], "more": {"list": [2], "word": None}}
    told = copy.deepcopy((first, second))
    turn: dict[str, Any] = {}
    accumulate(turn, first)
    marks = turn["marks"]
    accumulate(turn, second)
    assert turn["marks"] is marks
    assert turn["marks"] == [{"index": 0, "text": "ab"}, {"index": 1, "text": "c"}]
    assert turn["more"] == {"list": [1, 2], "word": "x"}
    assert (first, second) == told


def test_token_probabilities_of_all_chunks_are_there() -> None:
    def chunk(token: str) -> bytes:
        logprobs = {"content": [{"token": token, "logprob": -0.1}], "refusal": None}
        choice = {"index": 0, "delta": {"content": token}, "logprobs": logprobs, "finish_reason": None}
        wire = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return f"data: {json.dumps(wire)}\n\n".encode()

    end = b'data: {"id":"1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    response = fold(decode_stream([*map(chunk, "abc"), end], dialect="openai-chat"))
    told = response.extras["openai-chat"]["choices"][0]["logprobs"]
    assert [entry["token"] for entry in told["content"]] == ["a", "b", "c"]

"""Usage on every recorded answer, in every dialect: disjoint buckets, the wire's own totals, streams as whole ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from interlingua import Response, TokenUsage, dialect
from recorded_usage import FILES, Heard, Wire, heard
from shared_data import needs_shared

AT_LEAST = {
    "openai-chat": 3_300, "mistral": 240, "openai-responses": 1_500, "anthropic-messages": 1_450, "gemini": 1_100,
    "bedrock-converse": 240, "bedrock-converse-stream": 40, "ollama": 60,
}  # fmt: skip
BUCKETS = ("input_tokens", "cached_input_tokens", "cache_creation_input_tokens", "output_tokens", "reasoning_tokens")


def _sum(*keys: str) -> Callable[[Wire], int]:
    return lambda wire: sum(wire[key] for key in keys if type(wire.get(key)) is int)


# what the wire says of the whole prompt, and of everything
PROMPT = {
    "openai-chat": _sum("prompt_tokens"),
    "openai-responses": _sum("input_tokens"),
    "anthropic-messages": _sum("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "gemini": _sum("promptTokenCount", "toolUsePromptTokenCount"),
    "bedrock-converse": _sum("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
    "ollama": _sum("prompt_eval_count"),
}
ANSWER = {
    "openai-chat": _sum("completion_tokens"),
    "openai-responses": _sum("output_tokens"),
    "anthropic-messages": _sum("output_tokens"),
    "gemini": _sum("candidatesTokenCount", "thoughtsTokenCount"),
    "bedrock-converse": _sum("outputTokens"),
    "ollama": _sum("eval_count"),
}
TOTAL = {
    "openai-chat": "total_tokens",
    "openai-responses": "total_tokens",
    "gemini": "totalTokenCount",
    "bedrock-converse": "totalTokens",
}

# Totals that do not add up on the wire itself, by sender: how many, and why. Each is marked in ``forms``.
OFF = {
    ("openai-chat", "vercel-gateway"): 11,  # Gemini's thoughts are in neither the completion nor the total, but billed
    ("openai-chat", "google"): 2,  # thoughts are in the total only
    ("mistral", "mistral"): 4,  # seconds of sound are in the total only
    ("gemini", "google"): 5,  # two fixtures edited by hand, and streams whose total leaves out the thoughts
}


# How many answers have an output count without the reasoning, by sender.
OUTSIDE = {("openai-chat", "vercel-gateway"): 11, ("openai-chat", "xai"): 31}


def recorded(test: Callable[[str], None]) -> Any:
    return needs_shared(pytest.mark.parametrize("file", FILES)(test))


def usage_of(one: Heard) -> TokenUsage:
    assert one.response.usage is not None, one.id
    return one.response.usage


def mark_of(response: Response, name: str) -> Any:
    mark = response.forms.get(name)
    return mark.get("usage", {}) if isinstance(mark, dict) else {}


@recorded
def test_there_is_enough_of_it(file: str) -> None:
    assert len(heard(file)) >= AT_LEAST[file]


@recorded
def test_no_bucket_is_negative_and_reasoning_is_part_of_the_output(file: str) -> None:
    for one in heard(file):
        usage = usage_of(one)
        assert min(getattr(usage, name) for name in BUCKETS) >= 0, one.id
        assert usage.reasoning_tokens <= usage.output_tokens, one.id
        assert not usage.estimated, one.id


@recorded
def test_the_input_buckets_are_disjoint(file: str) -> None:
    """Their sum is the prompt as the wire counts it."""
    for one in heard(file):
        assert usage_of(one).total_input_tokens == PROMPT[one.dialect](one.wire), one.id


@recorded
def test_the_output_is_all_that_was_written(file: str) -> None:
    """Including the reasoning that the wire leaves out of its own count."""
    outside: Counter[tuple[str, str]] = Counter()
    for one in heard(file):
        usage, written = usage_of(one), ANSWER[one.dialect](one.wire)
        if usage.output_tokens != written:
            outside[file, one.provider] += 1
            assert usage.output_tokens == written + usage.reasoning_tokens, one.id
    assert outside == {key: count for key, count in OUTSIDE.items() if key[0] == file}


@recorded
def test_totals_are_the_wires_own(file: str) -> None:
    off: Counter[tuple[str, str]] = Counter()
    for one in heard(file):
        total = one.wire.get(TOTAL.get(one.dialect, ""))
        if type(total) is int and total != usage_of(one).total_tokens:
            off[file, one.provider] += 1
            mark = mark_of(one.response, one.dialect)
            assert "total" in mark or TOTAL[one.dialect] in mark, one.id  # and so it is written back
    assert off == {key: count for key, count in OFF.items() if key[0] == file}


# Without it the last event is not an answer.
MARK: dict[str, dict[str, Any]] = {"bedrock-converse": {"stopReason": "end_turn"}}


@recorded
def test_a_stream_says_what_a_whole_answer_would(file: str) -> None:
    """Its last event, read as the body of a whole answer, gives the same usage; so does the last update."""
    for one in heard(file):
        if one.stream:
            whole = {**MARK.get(one.dialect, {}), **one.whole}
            assert dialect(one.dialect).decode_response(whole).usage == usage_of(one), one.id
            assert one.last_update == usage_of(one), one.id


@recorded
def test_usage_survives_being_written_and_read_again(file: str) -> None:
    said = dialect(FILES[file])
    for one in heard(file)[::5]:
        assert said.decode_response(said.encode_response(one.response).body).usage == usage_of(one), one.id


@recorded
def test_recorded_contradictions_are_named(file: str) -> None:
    """More reasoning than answer is left out of the answer, or miscounted; the wire's own numbers are kept."""
    for one in heard(file):
        details = one.wire.get("completion_tokens_details") or one.wire.get("output_tokens_details") or {}
        reasoning = details.get("reasoning_tokens") or 0
        above = reasoning - ANSWER[one.dialect](one.wire) if one.dialect.startswith("openai") else 0
        if above > 0:
            mark = mark_of(one.response, one.dialect)
            kept = (mark.get("completion_tokens_details") or {}).get("reasoning_tokens")
            assert kept == reasoning or mark.get("reasoning") in ("outside", above), one.id


def chat(prompt: int, completion: int, total: int, cached: int = 0, reasoning: int = 0) -> Wire:
    usage: Wire = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    usage |= {"prompt_tokens_details": {"cached_tokens": cached}} if cached else {}
    usage |= {"completion_tokens_details": {"reasoning_tokens": reasoning}} if reasoning else {}
    turn = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [turn], "usage": usage}


def responses(given: int, output: int, total: int, cached: int = 0, reasoning: int = 0) -> Wire:
    usage: Wire = {"input_tokens": given, "output_tokens": output, "total_tokens": total}
    usage |= {"input_tokens_details": {"cached_tokens": cached}} if cached else {}
    usage |= {"output_tokens_details": {"reasoning_tokens": reasoning}} if reasoning else {}
    return {"id": "1", "object": "response", "created_at": 1, "status": "completed", "output": [], "usage": usage}


def gemini(prompt: int, answer: int, total: int, cached: int = 0, thoughts: int = 0) -> Wire:
    usage: Wire = {"promptTokenCount": prompt, "candidatesTokenCount": answer, "totalTokenCount": total}
    usage |= {"cachedContentTokenCount": cached} if cached else {}
    usage |= {"thoughtsTokenCount": thoughts} if thoughts else {}
    turn = {"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP", "index": 0}
    return {"candidates": [turn], "usageMetadata": usage}


CONTRADICTORY = (
    # dialect, wire, ours, the mark that names it
    ("openai-chat", chat(10, 5, 15, cached=30), TokenUsage(0, 10, 0, 5), "prompt_tokens_details"),
    # miscounted; left out; left out, but in the total
    ("openai-chat", chat(42, 16, 58, reasoning=19), TokenUsage(42, 0, 0, 16, 16), "completion_tokens_details"),
    ("openai-chat", chat(9, 2, 11, reasoning=25), TokenUsage(9, 0, 0, 27, 25), "completion_tokens_details"),
    ("openai-chat", chat(9, 2, 36, reasoning=25), TokenUsage(9, 0, 0, 27, 25), "completion_tokens_details"),
    ("openai-chat", chat(11, 15, 401), TokenUsage(11, 0, 0, 15), "total_tokens"),
    ("openai-chat", chat(-1, 5, 4), TokenUsage(0, 0, 0, 5), "prompt_tokens"),
    ("openai-responses", responses(10, 5, 15, cached=30), TokenUsage(0, 10, 0, 5), "input_tokens_details"),
    ("openai-responses", responses(42, 16, 58, reasoning=19), TokenUsage(42, 0, 0, 16, 16), "output_tokens_details"),
    ("openai-responses", responses(9, 2, 11, reasoning=25), TokenUsage(9, 0, 0, 27, 25), "output_tokens_details"),
    ("openai-responses", responses(-1, 5, 4), TokenUsage(0, 0, 0, 5), "input_tokens"),
    ("gemini", gemini(5, 2, 7, cached=9), TokenUsage(0, 5, 0, 2), "cachedContentTokenCount"),
    ("gemini", gemini(17, 492, 61, thoughts=1209), TokenUsage(17, 0, 0, 1701, 1209), "totalTokenCount"),
    ("gemini", gemini(-5, 2, 7), TokenUsage(0, 0, 0, 2), "promptTokenCount"),
)


@pytest.mark.parametrize(("name", "wire", "usage", "mark"), CONTRADICTORY)
def test_contradictions_are_clamped_and_named(name: str, wire: Wire, usage: TokenUsage, mark: str) -> None:
    """The buckets stay in order, the mark says what was wrong, and the wire comes back as it was."""
    said = dialect(name)
    response = said.decode_response(wire)
    assert response.usage == usage
    assert mark in mark_of(response, name)
    assert said.encode_response(response).body == wire

"""Answers: content, usage and why the model stopped."""

from __future__ import annotations

from typing import Any

from interlingua import Citation, RefusalBlock, Response, StopReason, TextBlock, TokenUsage, ToolUseBlock
from pairs.check import check, lossy, said


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    """A message item of Responses."""
    return {"type": "message", "id": "msg_0", "role": "assistant", "status": "completed", "content": list(parts)}


def choice(message: dict[str, Any] | None = None, finish_reason: str = "stop") -> dict[str, Any]:
    spoken = message or {"role": "assistant", "content": "hello"}
    return {"choices": [{"index": 0, "message": spoken, "finish_reason": finish_reason}]}


def candidate(finish_reason: str, *parts: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts) or [{"text": "hello"}]}
    return {"candidates": [{"index": 0, "content": content, "finishReason": finish_reason}]}


def test_text() -> None:
    check(
        Response(content=(TextBlock("hello"),)),
        anthropic_messages={},
        openai_chat={},
        openai_responses={},
        gemini={},
        ollama={},
        bedrock_converse={},
    )


def test_id_and_model() -> None:
    check(
        Response(id="r1", model="m"),
        anthropic_messages={"id": "r1", "model": "m"},
        openai_chat={"id": "r1", "model": "m"},
        openai_responses={"id": "r1", "model": "m"},
        gemini={"responseId": "r1", "modelVersion": "m"},
        ollama=lossy({"model": "m"}, "id dropped"),
        bedrock_converse=lossy({}, "id dropped", "model dropped"),
    )


def test_refusal() -> None:
    approximated = ("content/0 approximated",)
    check(
        Response(content=(RefusalBlock("no"),), stop_reason=StopReason.refusal),
        anthropic_messages=lossy(said([{"type": "text", "text": "no"}], stop_reason="refusal"), *approximated),
        # It is a field of its own, and the finish reason is the usual one.
        openai_chat=choice({"role": "assistant", "content": None, "refusal": "no"}),
        openai_responses=said([message({"type": "refusal", "refusal": "no"})]),
        gemini=lossy(candidate("SAFETY", {"text": "no"}), *approximated),
        ollama=lossy(said({"role": "assistant", "content": "no"}), *approximated, "stop_reason approximated"),
        bedrock_converse=lossy(said([{"text": "no"}], stopReason="content_filtered"), *approximated),
    )


def test_web_citation() -> None:
    cited = TextBlock("hello", (Citation("url", url="https://example.com", title="E", start=0, end=5),))
    annotation = {"start_index": 0, "end_index": 5, "title": "E", "url": "https://example.com"}
    check(
        Response(content=(cited,)),
        # Only Anthropic itself can write one: it needs an encrypted index.
        anthropic_messages=lossy({}, "content/0/citations/0 dropped"),
        openai_chat=choice(
            {
                "role": "assistant",
                "content": "hello",
                "annotations": [{"type": "url_citation", "url_citation": annotation}],
            }
        ),
        openai_responses=said(
            [
                message(
                    {
                        "type": "output_text",
                        "text": "hello",
                        "annotations": [{"type": "url_citation", **annotation}],
                        "logprobs": [],
                    }
                )
            ]
        ),
        gemini={
            "candidates": [
                {
                    "index": 0,
                    "content": {"role": "model", "parts": [{"text": "hello"}]},
                    "finishReason": "STOP",
                    "groundingMetadata": {
                        "groundingChunks": [{"web": {"uri": "https://example.com", "title": "E"}}],
                        "groundingSupports": [
                            {"segment": {"endIndex": 5, "text": "hello"}, "groundingChunkIndices": [0]}
                        ],
                    },
                }
            ]
        },
        ollama=lossy({}, "content/0/citations dropped"),
        bedrock_converse=lossy(
            said(
                [
                    {
                        "citationsContent": {
                            "content": [{"text": "hello"}],
                            "citations": [{"title": "E", "location": {"web": {"url": "https://example.com"}}}],
                        }
                    }
                ]
            ),
            "content/0/citations/0/start dropped",
            "content/0/citations/0/end dropped",
        ),
    )


def test_page_citation() -> None:
    cited = TextBlock("hello", (Citation("page", title="Paper", text="quoted", index=0, start=1, end=2),))
    check(
        Response(content=(cited,)),
        anthropic_messages=said(
            [
                {
                    "type": "text",
                    "text": "hello",
                    "citations": [
                        {
                            "type": "page_location",
                            "document_index": 0,
                            "document_title": "Paper",
                            "cited_text": "quoted",
                            "start_page_number": 1,
                            "end_page_number": 2,
                        }
                    ],
                }
            ]
        ),
        openai_chat=lossy({}, "content/0/citations/0 dropped"),
        openai_responses=lossy({}, "content/0/citations/0 dropped"),
        gemini=lossy({}, "content/0/citations/0 dropped"),
        ollama=lossy({}, "content/0/citations dropped"),
        bedrock_converse=said(
            [
                {
                    "citationsContent": {
                        "content": [{"text": "hello"}],
                        "citations": [
                            {
                                "title": "Paper",
                                "sourceContent": [{"text": "quoted"}],
                                "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}},
                            }
                        ],
                    }
                }
            ]
        ),
    )


# -------------------------------------------------------------------------------------------------------------- usage


ONE_COUNT = (
    "usage/input_tokens approximated",
    "usage/cached_input_tokens approximated",
    "usage/cache_creation_input_tokens approximated",
)


def test_usage_with_a_cache() -> None:
    """Our buckets are disjoint; OpenAI's and Gemini's prompt counts include what was cached, Anthropic's do not."""
    check(
        Response(usage=TokenUsage(input_tokens=3, cached_input_tokens=5, output_tokens=2)),
        anthropic_messages={
            "usage": {
                "input_tokens": 3,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 5,
                "output_tokens": 2,
            }
        },
        openai_chat={
            "usage": {
                "prompt_tokens": 8,
                "completion_tokens": 2,
                "total_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 5},
            }
        },
        openai_responses={
            "usage": {"input_tokens": 8, "input_tokens_details": {"cached_tokens": 5}, "total_tokens": 10}
        },
        gemini={
            "usageMetadata": {
                "promptTokenCount": 8,
                "cachedContentTokenCount": 5,
                "candidatesTokenCount": 2,
                "totalTokenCount": 10,
            }
        },
        # It tells the whole prompt only.
        ollama=lossy({"prompt_eval_count": 8}, *ONE_COUNT),
        bedrock_converse={"usage": {"inputTokens": 3, "cacheReadInputTokens": 5, "outputTokens": 2, "totalTokens": 10}},
    )


def test_usage_of_writing_to_a_cache() -> None:
    check(
        Response(usage=TokenUsage(input_tokens=3, cache_creation_input_tokens=7, output_tokens=2)),
        anthropic_messages={
            "usage": {
                "input_tokens": 3,
                "cache_creation_input_tokens": 7,
                "cache_read_input_tokens": 0,
                "output_tokens": 2,
            }
        },
        openai_chat={
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "total_tokens": 12,
                "prompt_tokens_details": {"cache_write_tokens": 7},
            }
        },
        openai_responses={
            "usage": {"input_tokens": 10, "input_tokens_details": {"cache_write_tokens": 7}, "total_tokens": 12}
        },
        gemini=lossy(
            {"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12}},
            "usage approximated",
        ),
        ollama=lossy({"prompt_eval_count": 10}, *ONE_COUNT),
        bedrock_converse={
            "usage": {"inputTokens": 3, "cacheWriteInputTokens": 7, "outputTokens": 2, "totalTokens": 12}
        },
    )


def test_usage_of_reasoning() -> None:
    """Ours is inside the output, as with all but Gemini, which counts it apart."""
    check(
        Response(usage=TokenUsage(input_tokens=3, output_tokens=9, reasoning_tokens=4)),
        anthropic_messages={"usage": {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}},
        openai_chat={
            "usage": {
                "completion_tokens": 9,
                "total_tokens": 12,
                "completion_tokens_details": {"reasoning_tokens": 4},
            }
        },
        openai_responses={
            "usage": {"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 12}
        },
        gemini={"usageMetadata": {"candidatesTokenCount": 5, "thoughtsTokenCount": 4, "totalTokenCount": 12}},
        ollama=lossy({"eval_count": 9}, "usage/reasoning_tokens dropped"),
        bedrock_converse=lossy({"usage": {"outputTokens": 9, "totalTokens": 12}}, "usage/reasoning_tokens dropped"),
    )


# -------------------------------------------------------------------------------------------------------- stop reasons


def cut(reason: str) -> dict[str, Any]:
    """An answer of Responses that ended early: so did its last item."""
    last = message({"type": "output_text", "text": "hello", "annotations": [], "logprobs": []})
    return {
        "status": "incomplete",
        "incomplete_details": {"reason": reason},
        "output": [{**last, "status": "incomplete"}],
    }


def test_stopped_for_length() -> None:
    check(
        Response(stop_reason=StopReason.max_tokens),
        anthropic_messages={"stop_reason": "max_tokens"},
        openai_chat=choice(finish_reason="length"),
        openai_responses=cut("max_output_tokens"),
        gemini=candidate("MAX_TOKENS"),
        ollama={"done_reason": "length"},
        bedrock_converse={"stopReason": "max_tokens"},
    )


def test_stopped_by_a_sequence() -> None:
    approximated = ("stop_reason approximated",)
    check(
        Response(stop_reason=StopReason.stop_sequence),
        anthropic_messages={"stop_reason": "stop_sequence"},
        openai_chat=lossy({}, *approximated),
        openai_responses=lossy({}, *approximated),
        gemini=lossy({}, *approximated),
        ollama=lossy({}, *approximated),
        bedrock_converse={"stopReason": "stop_sequence"},
    )


def test_stopped_to_go_on_later() -> None:
    approximated = ("stop_reason approximated",)
    check(
        Response(stop_reason=StopReason.pause_turn),
        anthropic_messages={"stop_reason": "pause_turn"},
        openai_chat=lossy({}, *approximated),
        openai_responses=lossy({}, *approximated),
        gemini=candidate("CONTINUATION"),
        ollama=lossy({}, *approximated),
        bedrock_converse=lossy({}, *approximated),
    )


def test_stopped_by_a_filter() -> None:
    check(
        Response(stop_reason=StopReason.refusal),
        anthropic_messages={"stop_reason": "refusal"},
        openai_chat=choice(finish_reason="content_filter"),
        openai_responses=cut("content_filter"),
        gemini=candidate("SAFETY"),
        ollama=lossy({}, "stop_reason approximated"),
        bedrock_converse={"stopReason": "content_filtered"},
    )


def test_stopped_by_a_full_context() -> None:
    approximated = ("stop_reason approximated",)
    check(
        Response(stop_reason=StopReason.context_overflow),
        anthropic_messages={"stop_reason": "model_context_window_exceeded"},
        openai_chat=lossy(choice(finish_reason="length"), *approximated),
        openai_responses=lossy(cut("max_output_tokens"), *approximated),
        gemini=lossy(candidate("MAX_TOKENS"), *approximated),
        ollama=lossy({"done_reason": "length"}, *approximated),
        bedrock_converse={"stopReason": "model_context_window_exceeded"},
    )


def test_stopped_to_call() -> None:
    """Where there is no word for it, the calls themselves tell."""
    call = ToolUseBlock("c1", "add", input={})
    check(
        Response(content=(TextBlock("hello"), call), stop_reason=StopReason.tool_use),
        anthropic_messages=said(
            [{"type": "text", "text": "hello"}, {"type": "tool_use", "id": "c1", "name": "add", "input": {}}],
            stop_reason="tool_use",
        ),
        openai_chat=choice(
            {
                "role": "assistant",
                "content": "hello",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
            },
            "tool_calls",
        ),
        openai_responses=said(
            [
                message({"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}),
                {
                    "type": "function_call",
                    "id": "fc_1",
                    "call_id": "c1",
                    "name": "add",
                    "arguments": "{}",
                    "status": "completed",
                },
            ]
        ),
        gemini=candidate("STOP", {"text": "hello"}, {"functionCall": {"id": "c1", "name": "add", "args": {}}}),
        ollama=said(
            {
                "role": "assistant",
                "content": "hello",
                "tool_calls": [{"id": "c1", "function": {"index": 0, "name": "add", "arguments": {}}}],
            }
        ),
        bedrock_converse=said(
            [{"text": "hello"}, {"toolUse": {"toolUseId": "c1", "name": "add", "input": {}}}], stopReason="tool_use"
        ),
    )

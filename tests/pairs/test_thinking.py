"""Reasoning in the history, in answers, and how it is asked for."""

from __future__ import annotations

from interlingua import (
    Block,
    Message,
    RedactedThinkingBlock,
    Request,
    Response,
    Role,
    TextBlock,
    Thinking,
    ThinkingBlock,
)
from pairs.check import check, lossy, said

SO = TextBlock("so")
PROOF, SECRET = "cHJvb2Y=", "c2VjcmV0"


def turn(*blocks: Block) -> Message:
    return Message(Role.assistant, blocks)


def test_signed_thought() -> None:
    check(
        turn(ThinkingBlock("hm", signature=PROOF), SO),
        anthropic_messages={
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm", "signature": PROOF}, {"type": "text", "text": "so"}],
        },
        openai_chat=lossy({"role": "assistant", "content": "so"}, "content/0 dropped"),
        openai_responses=[
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": PROOF,
            },
            {"type": "message", "role": "assistant", "content": "so"},
        ],
        gemini={
            "role": "model",
            "parts": [{"text": "hm", "thought": True, "thoughtSignature": PROOF}, {"text": "so"}],
        },
        ollama=lossy({"role": "assistant", "thinking": "hm", "content": "so"}, "content/0/signature dropped"),
        bedrock_converse={
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": PROOF}}},
                {"text": "so"},
            ],
        },
    )


def test_thought_whose_text_is_withheld() -> None:
    """The signature is the payload: it must go back."""
    check(
        turn(ThinkingBlock("", signature=PROOF), SO),
        anthropic_messages={
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "", "signature": PROOF}, {"type": "text", "text": "so"}],
        },
        openai_chat=lossy({"role": "assistant", "content": "so"}, "content/0 dropped"),
        openai_responses=[
            {"type": "reasoning", "summary": [], "encrypted_content": PROOF},
            {"type": "message", "role": "assistant", "content": "so"},
        ],
        gemini={
            "role": "model",
            "parts": [{"text": "", "thought": True, "thoughtSignature": PROOF}, {"text": "so"}],
        },
        ollama=lossy({"role": "assistant", "content": "so"}, "content/0 dropped"),
        bedrock_converse={
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "", "signature": PROOF}}},
                {"text": "so"},
            ],
        },
    )


def test_unsigned_thought() -> None:
    check(
        turn(ThinkingBlock("hm"), SO),
        anthropic_messages=lossy(
            {"role": "assistant", "content": [{"type": "text", "text": "so"}]}, "content/0 dropped"
        ),
        openai_chat=lossy({"role": "assistant", "content": "so"}, "content/0 dropped"),
        openai_responses=lossy({"type": "message", "role": "assistant", "content": "so"}, "content/0 dropped"),
        gemini={"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "so"}]},
        ollama={"role": "assistant", "thinking": "hm", "content": "so"},
        bedrock_converse={
            "role": "assistant",
            "content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "so"}],
        },
    )


def test_redacted_thought() -> None:
    check(
        turn(RedactedThinkingBlock(SECRET), SO),
        anthropic_messages={
            "role": "assistant",
            "content": [{"type": "redacted_thinking", "data": SECRET}, {"type": "text", "text": "so"}],
        },
        openai_chat=lossy({"role": "assistant", "content": "so"}, "content/0 dropped"),
        openai_responses=lossy(
            [
                {"type": "reasoning", "summary": [], "encrypted_content": SECRET},
                {"type": "message", "role": "assistant", "content": "so"},
            ],
            "content/0 approximated",
        ),
        gemini=lossy({"role": "model", "parts": [{"text": "so"}]}, "content/0 dropped"),
        ollama=lossy({"role": "assistant", "content": "so"}, "content/0 dropped"),
        bedrock_converse={
            "role": "assistant",
            "content": [{"reasoningContent": {"redactedContent": SECRET}}, {"text": "so"}],
        },
    )


def test_thought_in_an_answer() -> None:
    check(
        Response(content=(ThinkingBlock("hm"), TextBlock("hello"))),
        anthropic_messages=said(
            [{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": "hello"}]
        ),
        openai_chat=said({"role": "assistant", "reasoning_content": "hm", "content": "hello"}),
        openai_responses=said(
            [
                {
                    "type": "reasoning",
                    "id": "rs_0",
                    "summary": [{"type": "summary_text", "text": "hm"}],
                },
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}],
                },
            ]
        ),
        gemini=said([{"text": "hm", "thought": True}, {"text": "hello"}]),
        ollama=said({"role": "assistant", "thinking": "hm", "content": "hello"}),
        bedrock_converse=said([{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "hello"}]),
    )


def test_effort() -> None:
    check(
        Request(thinking=Thinking(effort="high")),
        anthropic_messages={"output_config": {"effort": "high"}},
        openai_chat={"reasoning_effort": "high"},
        openai_responses={"reasoning": {"effort": "high"}},
        gemini={"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}},
        ollama={"think": "high"},
        bedrock_converse={"outputConfig": {"effort": "high"}},
    )


def test_an_effort_that_not_all_know() -> None:
    check(
        Request(thinking=Thinking(effort="xhigh")),
        anthropic_messages={"output_config": {"effort": "xhigh"}},
        openai_chat={"reasoning_effort": "xhigh"},
        openai_responses={"reasoning": {"effort": "xhigh"}},
        gemini=lossy(
            {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}}, "thinking/effort approximated"
        ),
        ollama=lossy({"think": "max"}, "thinking/effort approximated"),
        bedrock_converse={"outputConfig": {"effort": "xhigh"}},
    )


def test_budget() -> None:
    check(
        Request(max_output_tokens=4096, thinking=Thinking(mode="enabled", budget=2048)),
        anthropic_messages={"max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 2048}},
        openai_chat=lossy({"max_completion_tokens": 4096}, "thinking/mode dropped", "thinking/budget dropped"),
        openai_responses=lossy({"max_output_tokens": 4096}, "thinking/mode dropped", "thinking/budget dropped"),
        gemini={"generationConfig": {"maxOutputTokens": 4096, "thinkingConfig": {"thinkingBudget": 2048}}},
        ollama=lossy({"options": {"num_predict": 4096}, "think": True}, "thinking/budget dropped"),
        bedrock_converse={
            "inferenceConfig": {"maxTokens": 4096},
            "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        },
    )


def test_disabled() -> None:
    check(
        Request(thinking=Thinking(mode="disabled")),
        anthropic_messages={"thinking": {"type": "disabled"}},
        openai_chat={"reasoning_effort": "none"},
        openai_responses={"reasoning": {"effort": "none"}},
        gemini={"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
        ollama={"think": False},
        bedrock_converse={"additionalModelRequestFields": {"thinking": {"type": "disabled"}}},
    )


def test_no_effort() -> None:
    """Every protocol can say it, and reads it as thinking that is switched off."""
    read = ("thinking/effort approximated", "thinking/mode added")
    check(
        Request(thinking=Thinking(effort="none")),
        anthropic_messages=lossy({"thinking": {"type": "disabled"}}, *read),
        openai_chat=lossy({"reasoning_effort": "none"}, *read),
        openai_responses=lossy({"reasoning": {"effort": "none"}}, *read),
        gemini=lossy({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, *read),
        ollama=lossy({"think": False}, *read),
        bedrock_converse=lossy({"additionalModelRequestFields": {"thinking": {"type": "disabled"}}}, *read),
    )


def test_adaptive() -> None:
    check(
        Request(thinking=Thinking(mode="adaptive")),
        anthropic_messages={"thinking": {"type": "adaptive"}},
        openai_chat=lossy({}, "thinking/mode dropped"),
        openai_responses=lossy({}, "thinking/mode dropped"),
        gemini={"generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}},
        ollama=lossy({"think": True}, "thinking/mode approximated"),
        bedrock_converse={"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}},
    )

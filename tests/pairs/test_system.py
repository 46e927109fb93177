"""System text: one, several, cached, and later in the conversation."""

from __future__ import annotations

from interlingua import CacheMark, Message, Request, Role, TextBlock
from pairs.check import check, lossy
from pairs.frames import HI

KIND, BRIEF = TextBlock("Be kind."), TextBlock("Be brief.")


def test_system() -> None:
    check(
        Request(system=(KIND,)),
        anthropic_messages={"system": [{"type": "text", "text": "Be kind."}]},
        openai_chat={"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]},
        openai_responses={"instructions": "Be kind."},
        gemini={"systemInstruction": {"parts": [{"text": "Be kind."}]}},
        ollama={"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]},
        bedrock_converse={"system": [{"text": "Be kind."}]},
    )


def test_system_of_several_blocks() -> None:
    check(
        Request(system=(KIND, BRIEF)),
        anthropic_messages={"system": [{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Be brief."}]},
        openai_chat={
            "messages": [
                {
                    "role": "system",
                    "content": [{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Be brief."}],
                },
                {"role": "user", "content": "hi"},
            ]
        },
        openai_responses={
            "input": [
                {
                    "role": "developer",
                    "content": [
                        {"type": "input_text", "text": "Be kind."},
                        {"type": "input_text", "text": "Be brief."},
                    ],
                },
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            ]
        },
        gemini={"systemInstruction": {"parts": [{"text": "Be kind."}, {"text": "Be brief."}]}},
        ollama={
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "hi"},
            ]
        },
        bedrock_converse={"system": [{"text": "Be kind."}, {"text": "Be brief."}]},
    )


def test_cached_system() -> None:
    check(
        Request(system=(TextBlock("Be kind.", cache=CacheMark()),)),
        anthropic_messages={
            "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        },
        openai_chat={
            "messages": [
                {
                    "role": "system",
                    "content": [{"type": "text", "text": "Be kind.", "prompt_cache_breakpoint": {"mode": "explicit"}}],
                },
                {"role": "user", "content": "hi"},
            ]
        },
        openai_responses={
            "input": [
                {
                    "role": "developer",
                    "content": [
                        {
                            "type": "input_text",
                            "text": "Be kind.",
                            "prompt_cache_breakpoint": {"mode": "explicit"},
                        }
                    ],
                },
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            ]
        },
        gemini=lossy({"systemInstruction": {"parts": [{"text": "Be kind."}]}}, "system/0/cache dropped"),
        ollama=lossy(
            {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]},
            "system/0/cache dropped",
        ),
        bedrock_converse={"system": [{"text": "Be kind."}, {"cachePoint": {"type": "default"}}]},
    )


def test_system_in_the_middle() -> None:
    answer = Message(Role.assistant, (TextBlock("yes?"),))
    later = Message(Role.system, (BRIEF,))
    check(
        Request(messages=(HI, answer, later, HI)),
        anthropic_messages={
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {"role": "assistant", "content": [{"type": "text", "text": "yes?"}]},
                {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            ]
        },
        openai_chat={
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "yes?"},
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "hi"},
            ]
        },
        openai_responses={
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {"type": "message", "role": "assistant", "content": "yes?"},
                {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            ]
        },
        # There is no place for it but the front.
        gemini=lossy(
            {
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
                "contents": [
                    {"role": "user", "parts": [{"text": "hi"}]},
                    {"role": "model", "parts": [{"text": "yes?"}]},
                    {"role": "user", "parts": [{"text": "hi"}]},
                ],
            },
            "messages/2 moved",
        ),
        ollama={
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "yes?"},
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "hi"},
            ]
        },
        bedrock_converse={
            "messages": [
                {"role": "user", "content": [{"text": "hi"}]},
                {"role": "assistant", "content": [{"text": "yes?"}]},
                {"role": "system", "content": [{"text": "Be brief."}]},
                {"role": "user", "content": [{"text": "hi"}]},
            ]
        },
    )

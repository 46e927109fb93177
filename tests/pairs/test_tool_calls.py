"""The model calls tools: whole, in parallel, with nothing, with nonsense, with free text."""

from __future__ import annotations

from interlingua import Block, Message, Response, Role, StopReason, TextBlock, ToolUseBlock
from pairs.check import check, lossy, said

DEEP = {"city": "Zürich", "when": [1, None, {"x": 0.5}], "exact": True}
DEEP_TEXT = '{"city":"Zürich","when":[1,null,{"x":0.5}],"exact":true}'


def turn(*blocks: Block) -> Message:
    return Message(Role.assistant, blocks)


def test_call() -> None:
    check(
        turn(ToolUseBlock("c1", "add", input={"a": 1})),
        anthropic_messages={
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}],
        },
        openai_chat={
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}],
        },
        openai_responses={"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}'},
        gemini={"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}}]},
        ollama={
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": {"a": 1}}}],
        },
        bedrock_converse={
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 1}}}],
        },
    )


def test_text_and_parallel_calls_with_deep_input() -> None:
    check(
        turn(TextBlock("Let me see."), ToolUseBlock("c1", "add", input=DEEP), ToolUseBlock("c2", "add", input={})),
        anthropic_messages={
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "add", "input": DEEP},
                {"type": "tool_use", "id": "c2", "name": "add", "input": {}},
            ],
        },
        openai_chat={
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": DEEP_TEXT}},
                {"id": "c2", "type": "function", "function": {"name": "add", "arguments": "{}"}},
            ],
        },
        openai_responses=[
            {"type": "message", "role": "assistant", "content": "Let me see."},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": DEEP_TEXT},
            {"type": "function_call", "call_id": "c2", "name": "add", "arguments": "{}"},
        ],
        gemini={
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"id": "c1", "name": "add", "args": DEEP}},
                {"functionCall": {"id": "c2", "name": "add", "args": {}}},
            ],
        },
        ollama={
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"id": "c1", "function": {"name": "add", "arguments": DEEP}},
                {"id": "c2", "function": {"name": "add", "arguments": {}}},
            ],
        },
        bedrock_converse={
            "role": "assistant",
            "content": [
                {"text": "Let me see."},
                {"toolUse": {"toolUseId": "c1", "name": "add", "input": DEEP}},
                {"toolUse": {"toolUseId": "c2", "name": "add", "input": {}}},
            ],
        },
    )


def test_malformed_arguments() -> None:
    """What the model wrote survives where arguments are text; elsewhere it is lost, and said so."""
    written = '{"a": 1'
    check(
        turn(ToolUseBlock("c1", "add", input_text=written)),
        anthropic_messages=lossy(
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {}}]},
            "content/0/input_text dropped",
        ),
        openai_chat={
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": written}}],
        },
        openai_responses={"type": "function_call", "call_id": "c1", "name": "add", "arguments": written},
        gemini=lossy(
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "add", "args": {}}}]},
            "content/0/input_text dropped",
        ),
        ollama=lossy(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": {}}}],
            },
            "content/0/input_text dropped",
        ),
        bedrock_converse=lossy(
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "add", "input": {}}}]},
            "content/0/input_text dropped",
        ),
    )


def test_arguments_spelled_otherwise() -> None:
    """Prompt caches stay warm: the same protocol gets the very same text."""
    written = '{ "a" : 1 }'
    check(
        turn(ToolUseBlock("c1", "add", input={"a": 1}, input_text=written)),
        anthropic_messages=lossy(
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}]},
            "content/0/input_text dropped",
        ),
        openai_chat={
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": written}}],
        },
        openai_responses={"type": "function_call", "call_id": "c1", "name": "add", "arguments": written},
        gemini=lossy(
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}}]},
            "content/0/input_text dropped",
        ),
        ollama=lossy(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": {"a": 1}}}],
            },
            "content/0/input_text dropped",
        ),
        bedrock_converse=lossy(
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 1}}}]},
            "content/0/input_text dropped",
        ),
    )


def test_free_text_call() -> None:
    approximated = ("content/0/kind approximated", "content/0/input_text approximated", "content/0/input added")
    wrapped = {"input": "print(1)"}
    check(
        turn(ToolUseBlock("c1", "add", "text", input_text="print(1)")),
        anthropic_messages=lossy(
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": wrapped}]},
            *approximated,
        ),
        openai_chat={
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "add", "input": "print(1)"}}],
        },
        openai_responses={"type": "custom_tool_call", "call_id": "c1", "name": "add", "input": "print(1)"},
        gemini=lossy(
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "add", "args": wrapped}}]}, *approximated
        ),
        ollama=lossy(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": wrapped}}],
            },
            *approximated,
        ),
        bedrock_converse=lossy(
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "add", "input": wrapped}}]},
            *approximated,
        ),
    )


def test_call_in_an_answer() -> None:
    check(
        Response(content=(ToolUseBlock("c1", "add", input={"a": 1}),), stop_reason=StopReason.tool_use),
        anthropic_messages=said(
            [{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}], stop_reason="tool_use"
        ),
        openai_chat={
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
                        ],
                    },
                    "finish_reason": "tool_calls",
                }
            ]
        },
        openai_responses=said(
            [
                {
                    "type": "function_call",
                    "id": "fc_0",
                    "call_id": "c1",
                    "name": "add",
                    "arguments": '{"a":1}',
                    "status": "completed",
                }
            ]
        ),
        # There is no word for it: a turn with calls ends in STOP, or stop.
        gemini=said([{"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}}]),
        ollama=said(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c1", "function": {"index": 0, "name": "add", "arguments": {"a": 1}}}],
            }
        ),
        bedrock_converse=said(
            [{"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 1}}}], stopReason="tool_use"
        ),
    )

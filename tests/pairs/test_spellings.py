"""The same thing spelled otherwise: read as the same, written back as it was, and the same to everybody else."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import Message, Request, Role, TextBlock, ToolChoice, ToolDefinition, ToolResultBlock, ToolUseBlock
from pairs.check import spelled
from pairs.frames import GONE, HI

ANT, CHAT, RESP, GEM = "anthropic-messages", "openai-chat", "openai-responses", "gemini"

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ADD = ToolDefinition("add", "Adds.", SCHEMA)
CALLED = (
    HI,
    Message(Role.assistant, (ToolUseBlock("c1", "add", input={"a": 1}),)),
    Message(Role.tool, (ToolResultBlock("c1", (TextBlock("3"),)),)),
)
KIND = TextBlock("Be kind.")
FUNCTION = {"name": "add", "description": "Adds.", "parameters": SCHEMA}


@pytest.mark.parametrize(
    ("canonical", "name", "cell"),
    [
        pytest.param(Request(system=(KIND,)), ANT, {"system": "Be kind."}, id="anthropic: system is a string"),
        pytest.param(
            Request(), ANT, {"messages": [{"role": "user", "content": "hi"}]}, id="anthropic: content is a string"
        ),
        pytest.param(
            Request(tools=(ADD,)),
            ANT,
            {"tools": [{"type": "custom", "name": "add", "description": "Adds.", "input_schema": SCHEMA}]},
            id="anthropic: a tool says that it is custom",
        ),
        pytest.param(
            Request(tools=(ADD,), messages=CALLED),
            ANT,
            {
                "tools": [{"name": "add", "description": "Adds.", "input_schema": SCHEMA}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                    {
                        "role": "assistant",
                        "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}],
                    },
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]},
                ],
            },
            id="anthropic: a result is a string",
        ),
        pytest.param(
            Request(max_output_tokens=9), CHAT, {"max_tokens": 9, "max_completion_tokens": GONE}, id="chat: max_tokens"
        ),
        pytest.param(Request(stop_sequences=("END",)), CHAT, {"stop": "END"}, id="chat: stop is a string"),
        pytest.param(
            Request(),
            CHAT,
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
            id="chat: content is a list",
        ),
        pytest.param(
            Request(system=(KIND,)),
            CHAT,
            {"messages": [{"role": "developer", "content": "Be kind."}, {"role": "user", "content": "hi"}]},
            id="chat: the developer speaks",
        ),
        pytest.param(
            Request(tools=(ADD,), tool_choice=ToolChoice.specific("add")),
            CHAT,
            {"functions": [FUNCTION], "function_call": {"name": "add"}},
            id="chat: functions of older clients",
        ),
        pytest.param(
            Request(tools=(ADD,), tool_choice=ToolChoice.any()),
            CHAT,
            {"tools": [{"type": "function", "function": FUNCTION}], "tool_choice": "any"},
            id="chat: any, as Mistral spells it",
        ),
        pytest.param(Request(), RESP, {"input": "hi"}, id="responses: input is a string"),
        pytest.param(
            Request(), RESP, {"input": [{"role": "user", "content": "hi"}]}, id="responses: content is a string"
        ),
        pytest.param(
            Request(),
            RESP,
            {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]},
            id="responses: a message says that it is one",
        ),
        pytest.param(
            Request(messages=(HI, Message(Role.assistant, (TextBlock("yes?"),)), HI)),
            RESP,
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                    {"role": "assistant", "content": "yes?"},
                    {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                ]
            },
            id="responses: the assistant's text does not say that it is a message",
        ),
        pytest.param(
            Request(system=(KIND,)),
            RESP,
            {
                "input": [
                    {"role": "system", "content": "Be kind."},
                    {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                ]
            },
            id="responses: system as an item",
        ),
        pytest.param(Request(), GEM, {"contents": [{"parts": [{"text": "hi"}]}]}, id="gemini: no role"),
        pytest.param(
            Request(max_output_tokens=9),
            GEM,
            {"generationConfig": GONE, "generation_config": {"max_output_tokens": 9}},
            id="gemini: snake_case",
        ),
        pytest.param(
            Request(system=(KIND,)),
            GEM,
            {"systemInstruction": {"role": "user", "parts": [{"text": "Be kind."}]}},
            id="gemini: a role that is ignored",
        ),
        pytest.param(
            Request(tools=(ADD,)),
            GEM,
            {
                "tools": [
                    {
                        "functionDeclarations": [
                            {
                                "name": "add",
                                "description": "Adds.",
                                "parameters": {
                                    "type": "OBJECT",
                                    "properties": {"a": {"type": "INTEGER"}},
                                    "required": ["a"],
                                },
                            }
                        ]
                    }
                ]
            },
            id="gemini: a schema in capitals",
        ),
    ],
)
def test_spelling(canonical: Request, name: str, cell: Any) -> None:
    spelled(canonical, name, cell)

"""What tools answered: text, several, failures, structured values, pictures."""

from __future__ import annotations

from interlingua import (
    Base64Source,
    Block,
    ImageBlock,
    JsonBlock,
    Message,
    Role,
    TextBlock,
    ToolResultBlock,
)
from pairs.check import check, lossy

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"


def results(*blocks: ToolResultBlock) -> Message:
    return Message(Role.tool, blocks)


def result(*content: Block, id: str = "c1", is_error: bool | None = None) -> ToolResultBlock:
    return ToolResultBlock(id, content, name="add", is_error=is_error)


NAMELESS = ("content/0/name dropped",)


def test_result() -> None:
    check(
        results(result(TextBlock("3"))),
        anthropic_messages=lossy(
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "3"}]}],
            },
            *NAMELESS,
            reads=results(ToolResultBlock("c1", (TextBlock("3"),))),
        ),
        openai_chat=lossy(
            {"role": "tool", "tool_call_id": "c1", "content": "3"},
            *NAMELESS,
            reads=results(ToolResultBlock("c1", (TextBlock("3"),))),
        ),
        openai_responses={"type": "function_call_output", "call_id": "c1", "output": "3", "name": "add"},
        gemini={
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "add", "response": {"output": "3"}}}],
        },
        ollama={"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": "3"},
        bedrock_converse=lossy(
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "3"}]}}]},
            *NAMELESS,
            reads=results(ToolResultBlock("c1", (TextBlock("3"),))),
        ),
    )


def test_a_result_without_a_name() -> None:
    check(
        results(ToolResultBlock("c1", (TextBlock("3"),))),
        anthropic_messages={
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "3"}]}],
        },
        openai_chat={"role": "tool", "tool_call_id": "c1", "content": "3"},
        openai_responses={"type": "function_call_output", "call_id": "c1", "output": "3"},
        gemini=lossy(
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "add", "response": {"output": "3"}}}],
            },
            "content/0/name added",
        ),
        ollama=lossy(
            {"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": "3"}, "content/0/name added"
        ),
        bedrock_converse={"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "3"}]}}]},
    )


def test_all_results_of_a_turn_are_one_message() -> None:
    both = (ToolResultBlock("c1", (TextBlock("3"),)), ToolResultBlock("c2", (TextBlock("4"),)))
    check(
        results(*both),
        anthropic_messages={
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "3"}]},
                {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "4"}]},
            ],
        },
        openai_chat=[
            {"role": "tool", "tool_call_id": "c1", "content": "3"},
            {"role": "tool", "tool_call_id": "c2", "content": "4"},
        ],
        openai_responses=[
            {"type": "function_call_output", "call_id": "c1", "output": "3"},
            {"type": "function_call_output", "call_id": "c2", "output": "4"},
        ],
        gemini=lossy(
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "add", "response": {"output": "3"}}},
                    {"functionResponse": {"id": "c2", "name": "add", "response": {"output": "4"}}},
                ],
            },
            "content/0/name added",
            "content/1/name added",
        ),
        ollama=lossy(
            [
                {"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": "3"},
                {"role": "tool", "tool_call_id": "c2", "tool_name": "add", "content": "4"},
            ],
            "content/0/name added",
            "content/1/name added",
        ),
        bedrock_converse={
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c1", "content": [{"text": "3"}]}},
                {"toolResult": {"toolUseId": "c2", "content": [{"text": "4"}]}},
            ],
        },
    )


def test_failed() -> None:
    flag = "content/0/is_error approximated"
    check(
        results(result(TextBlock("no"), is_error=True)),
        anthropic_messages=lossy(
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "no"}],
                        "is_error": True,
                    }
                ],
            },
            *NAMELESS,
            reads=results(ToolResultBlock("c1", (TextBlock("no"),), is_error=True)),
        ),
        # Reading never guesses the flag back from the words.
        openai_chat=lossy(
            {"role": "tool", "tool_call_id": "c1", "content": "Error: no"},
            *NAMELESS,
            flag,
            "content/0/content/0 approximated",
            reads=results(ToolResultBlock("c1", (TextBlock("Error: no"),))),
        ),
        openai_responses=lossy(
            {"type": "function_call_output", "call_id": "c1", "output": "Error: no", "name": "add"},
            flag,
            "content/0/content/0/text approximated",
            reads=results(result(TextBlock("Error: no"))),
        ),
        gemini={
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "add", "response": {"error": "no"}}}],
        },
        ollama=lossy(
            {"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": "Error: no"},
            flag,
            "content/0/content approximated",
            reads=results(result(TextBlock("Error: no"))),
        ),
        bedrock_converse=lossy(
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "no"}], "status": "error"}}],
            },
            *NAMELESS,
            reads=results(ToolResultBlock("c1", (TextBlock("no"),), is_error=True)),
        ),
    )


def test_said_to_be_no_failure() -> None:
    """Three-valued: false is not the same as not said."""
    check(
        results(ToolResultBlock("c1", (TextBlock("3"),), is_error=False)),
        anthropic_messages={
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "3"}],
                    "is_error": False,
                }
            ],
        },
        openai_chat=lossy({"role": "tool", "tool_call_id": "c1", "content": "3"}, "content/0/is_error dropped"),
        openai_responses=lossy(
            {"type": "function_call_output", "call_id": "c1", "output": "3"}, "content/0/is_error dropped"
        ),
        gemini=lossy(
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "add", "response": {"output": "3"}}}],
            },
            "content/0/name added",
            "content/0/is_error dropped",
        ),
        ollama=lossy(
            {"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": "3"},
            "content/0/name added",
            "content/0/is_error dropped",
        ),
        bedrock_converse={
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "3"}], "status": "success"}}],
        },
    )


def test_structured_result() -> None:
    value = {"sum": 3, "parts": [1, 2]}
    text = '{"sum":3,"parts":[1,2]}'
    check(
        results(result(JsonBlock(value))),
        anthropic_messages=lossy(
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": text}]}],
            },
            *NAMELESS,
            "content/0/content/0 approximated",
        ),
        openai_chat=lossy(
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": text}]},
            *NAMELESS,
            "content/0/content/0 approximated",
        ),
        openai_responses=lossy(
            {"type": "function_call_output", "call_id": "c1", "output": text, "name": "add"},
            "content/0/content/0 approximated",
        ),
        gemini={
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "add", "response": value}}],
        },
        ollama=lossy(
            {"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": text},
            "content/0/content/0 approximated",
        ),
        bedrock_converse=lossy(
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"json": value}]}}]},
            *NAMELESS,
            reads=results(ToolResultBlock("c1", (JsonBlock(value),))),
        ),
    )


def test_text_that_is_a_json_object() -> None:
    """For Gemini it goes as the object that it spells; a text that spells no object goes as ``output``."""
    check(
        results(ToolResultBlock("c1", (TextBlock('{"sum":3}'),))),
        anthropic_messages={
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": '{"sum":3}'}]}
            ],
        },
        openai_chat={"role": "tool", "tool_call_id": "c1", "content": '{"sum":3}'},
        openai_responses={"type": "function_call_output", "call_id": "c1", "output": '{"sum":3}'},
        gemini=lossy(
            {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "add", "response": {"sum": 3}}}]},
            "content/0/name added",
            "content/0/content/0 approximated",
        ),
        ollama=lossy(
            {"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": '{"sum":3}'}, "content/0/name added"
        ),
        bedrock_converse={
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": '{"sum":3}'}]}}],
        },
    )


def test_result_with_a_picture() -> None:
    block = ToolResultBlock("c1", (TextBlock("see"), ImageBlock(Base64Source("image/png", PNG))))
    url = f"data:image/png;base64,{PNG}"
    check(
        results(block),
        anthropic_messages={
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [
                        {"type": "text", "text": "see"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    ],
                }
            ],
        },
        # A tool message is text: the picture goes to a user message behind it.
        openai_chat=lossy(
            [
                {"role": "tool", "tool_call_id": "c1", "content": "see"},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]},
            ],
            "content/0/content/1 moved",
        ),
        openai_responses=lossy(
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [
                    {"type": "input_text", "text": "see"},
                    {"type": "input_image", "image_url": url, "detail": "auto"},
                ],
            },
            "content/0/content/1/detail added",
        ),
        gemini=lossy(
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "c1",
                            "name": "add",
                            "response": {"output": "see"},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
                        }
                    }
                ],
            },
            "content/0/name added",
        ),
        ollama=lossy(
            {"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": "see", "images": [PNG]},
            "content/0/name added",
        ),
        bedrock_converse={
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "c1",
                        "content": [{"text": "see"}, {"image": {"format": "png", "source": {"bytes": PNG}}}],
                    }
                }
            ],
        },
    )


def test_empty_result() -> None:
    check(
        results(ToolResultBlock("c1")),
        anthropic_messages={"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
        openai_chat={"role": "tool", "tool_call_id": "c1", "content": ""},
        openai_responses={"type": "function_call_output", "call_id": "c1", "output": ""},
        gemini=lossy(
            {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "add", "response": {}}}]},
            "content/0/name added",
        ),
        ollama=lossy({"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": ""}, "content/0/name added"),
        bedrock_converse={"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": []}}]},
    )

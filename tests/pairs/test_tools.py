"""Tools and the choice among them."""

from __future__ import annotations

from typing import Any

from interlingua import CacheMark, Request, ServerTool, Tool, ToolChoice, ToolDefinition
from pairs.check import check, lossy

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CLOSED = {**SCHEMA, "additionalProperties": False}
ADDED_STRICT = "tools/0/strict added"


def tools(*defined: Tool) -> Request:
    return Request(tools=defined)


def function(**fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": fields}


def test_tool_without_description() -> None:
    check(
        tools(ToolDefinition("sum", input_schema=SCHEMA)),
        anthropic_messages={"tools": [{"name": "sum", "input_schema": SCHEMA}]},
        openai_chat={"tools": [function(name="sum", parameters=SCHEMA)]},
        openai_responses=lossy(
            {"tools": [{"type": "function", "name": "sum", "parameters": SCHEMA, "strict": False}]}, ADDED_STRICT
        ),
        gemini={"tools": [{"functionDeclarations": [{"name": "sum", "parametersJsonSchema": SCHEMA}]}]},
        ollama={"tools": [function(name="sum", parameters=SCHEMA)]},
        bedrock_converse={"toolConfig": {"tools": [{"toolSpec": {"name": "sum", "inputSchema": {"json": SCHEMA}}}]}},
    )


def test_several_tools() -> None:
    """All functions live in one Tool object for Gemini."""
    one, two = ToolDefinition("one", "One.", SCHEMA), ToolDefinition("two", "Two.", SCHEMA)
    check(
        tools(one, two),
        anthropic_messages={
            "tools": [
                {"name": "one", "description": "One.", "input_schema": SCHEMA},
                {"name": "two", "description": "Two.", "input_schema": SCHEMA},
            ]
        },
        openai_chat={
            "tools": [
                function(name="one", description="One.", parameters=SCHEMA),
                function(name="two", description="Two.", parameters=SCHEMA),
            ]
        },
        openai_responses=lossy(
            {
                "tools": [
                    {
                        "type": "function",
                        "name": "one",
                        "description": "One.",
                        "parameters": SCHEMA,
                        "strict": False,
                    },
                    {
                        "type": "function",
                        "name": "two",
                        "description": "Two.",
                        "parameters": SCHEMA,
                        "strict": False,
                    },
                ]
            },
            ADDED_STRICT,
            "tools/1/strict added",
        ),
        gemini={
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "one", "description": "One.", "parametersJsonSchema": SCHEMA},
                        {"name": "two", "description": "Two.", "parametersJsonSchema": SCHEMA},
                    ]
                }
            ]
        },
        ollama={
            "tools": [
                function(name="one", description="One.", parameters=SCHEMA),
                function(name="two", description="Two.", parameters=SCHEMA),
            ]
        },
        bedrock_converse={
            "toolConfig": {
                "tools": [
                    {"toolSpec": {"name": "one", "description": "One.", "inputSchema": {"json": SCHEMA}}},
                    {"toolSpec": {"name": "two", "description": "Two.", "inputSchema": {"json": SCHEMA}}},
                ]
            }
        },
    )


def test_strict_tool() -> None:
    check(
        tools(ToolDefinition("sum", "Sums.", CLOSED, strict=True)),
        anthropic_messages={
            "tools": [{"name": "sum", "description": "Sums.", "input_schema": CLOSED, "strict": True}],
        },
        openai_chat={"tools": [function(name="sum", description="Sums.", parameters=CLOSED, strict=True)]},
        openai_responses={
            "tools": [{"type": "function", "name": "sum", "description": "Sums.", "parameters": CLOSED, "strict": True}]
        },
        gemini=lossy(
            {
                "tools": [
                    {"functionDeclarations": [{"name": "sum", "description": "Sums.", "parametersJsonSchema": CLOSED}]}
                ]
            },
            "tools/0/strict dropped",
        ),
        # The server's parser drops the keywords that it does not know.
        ollama=lossy(
            {"tools": [function(name="sum", description="Sums.", parameters=SCHEMA)]},
            "tools/0/strict dropped",
            "tools/0/input_schema approximated",
        ),
        bedrock_converse={
            "toolConfig": {
                "tools": [
                    {
                        "toolSpec": {
                            "name": "sum",
                            "description": "Sums.",
                            "inputSchema": {"json": CLOSED},
                            "strict": True,
                        }
                    }
                ]
            }
        },
    )


def test_strict_tool_with_optionals() -> None:
    """Where strict demands every property, an optional one becomes nullable; what comes back is restored."""
    loose = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    }
    nullable = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    shut = {**loose, "additionalProperties": False}
    check(
        tools(ToolDefinition("weather", "Weather.", loose, strict=True)),
        # Claude's subset lets properties be optional; objects are closed.
        anthropic_messages=lossy(
            {"tools": [{"name": "weather", "description": "Weather.", "input_schema": shut, "strict": True}]},
            "tools/0/input_schema approximated",
        ),
        openai_chat=lossy(
            {"tools": [function(name="weather", description="Weather.", parameters=nullable, strict=True)]},
            "tools/0/input_schema approximated",
        ),
        openai_responses=lossy(
            {
                "tools": [
                    {
                        "type": "function",
                        "name": "weather",
                        "description": "Weather.",
                        "parameters": nullable,
                        "strict": True,
                    }
                ]
            },
            "tools/0/input_schema approximated",
        ),
        gemini=lossy(
            {
                "tools": [
                    {
                        "functionDeclarations": [
                            {"name": "weather", "description": "Weather.", "parametersJsonSchema": loose}
                        ]
                    }
                ]
            },
            "tools/0/strict dropped",
        ),
        ollama=lossy(
            {"tools": [function(name="weather", description="Weather.", parameters=loose)]}, "tools/0/strict dropped"
        ),
        bedrock_converse=lossy(
            {
                "toolConfig": {
                    "tools": [
                        {
                            "toolSpec": {
                                "name": "weather",
                                "description": "Weather.",
                                "inputSchema": {"json": shut},
                                "strict": True,
                            }
                        }
                    ]
                }
            },
            "tools/0/input_schema approximated",
        ),
    )


def test_cached_tool() -> None:
    dropped = "tools/0/cache dropped"
    check(
        tools(ToolDefinition("sum", "Sums.", SCHEMA, cache=CacheMark())),
        anthropic_messages={
            "tools": [
                {
                    "name": "sum",
                    "description": "Sums.",
                    "input_schema": SCHEMA,
                    "cache_control": {"type": "ephemeral"},
                }
            ]
        },
        openai_chat=lossy({"tools": [function(name="sum", description="Sums.", parameters=SCHEMA)]}, dropped),
        openai_responses=lossy(
            {
                "tools": [
                    {"type": "function", "name": "sum", "description": "Sums.", "parameters": SCHEMA, "strict": False}
                ]
            },
            dropped,
            ADDED_STRICT,
        ),
        gemini=lossy(
            {
                "tools": [
                    {"functionDeclarations": [{"name": "sum", "description": "Sums.", "parametersJsonSchema": SCHEMA}]}
                ]
            },
            dropped,
        ),
        ollama=lossy({"tools": [function(name="sum", description="Sums.", parameters=SCHEMA)]}, dropped),
        bedrock_converse={
            "toolConfig": {
                "tools": [
                    {"toolSpec": {"name": "sum", "description": "Sums.", "inputSchema": {"json": SCHEMA}}},
                    {"cachePoint": {"type": "default"}},
                ]
            }
        },
    )


def test_free_text_tool() -> None:
    wrapped = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    approximated = ("tools/0/kind approximated", "tools/0/input_schema added")
    check(
        tools(ToolDefinition("run", "Runs code.", kind="text")),
        anthropic_messages=lossy(
            {"tools": [{"name": "run", "description": "Runs code.", "input_schema": wrapped}]}, *approximated
        ),
        openai_chat={"tools": [{"type": "custom", "custom": {"name": "run", "description": "Runs code."}}]},
        openai_responses={"tools": [{"type": "custom", "name": "run", "description": "Runs code."}]},
        gemini=lossy(
            {
                "tools": [
                    {
                        "functionDeclarations": [
                            {"name": "run", "description": "Runs code.", "parametersJsonSchema": wrapped}
                        ]
                    }
                ]
            },
            *approximated,
        ),
        ollama=lossy({"tools": [function(name="run", description="Runs code.", parameters=wrapped)]}, *approximated),
        bedrock_converse=lossy(
            {
                "toolConfig": {
                    "tools": [
                        {"toolSpec": {"name": "run", "description": "Runs code.", "inputSchema": {"json": wrapped}}}
                    ]
                }
            },
            *approximated,
        ),
    )


def test_server_tool() -> None:
    """A provider's built-in tool is carried whole to its own; others get their own tool like it, if they have one."""
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    check(
        tools(ServerTool("anthropic-messages", search)),
        anthropic_messages={"tools": [search]},
        openai_chat=lossy({}, "tools/0 dropped"),
        openai_responses=lossy({"tools": [{"type": "web_search"}]}, "tools/0/max_uses dropped"),
        gemini=lossy({"tools": [{"googleSearch": {}}]}, "tools/0/max_uses dropped"),
        ollama=lossy({}, "tools/0 dropped"),
        bedrock_converse=lossy({}, "tools/0 dropped"),
    )
    memory = {"type": "memory_20250818", "name": "memory"}
    check(
        tools(ServerTool("anthropic-messages", memory)),
        anthropic_messages={"tools": [memory]},
        openai_chat=lossy({}, "tools/0 dropped"),
        openai_responses=lossy({}, "tools/0 dropped"),
        gemini=lossy({}, "tools/0 dropped"),
        ollama=lossy({}, "tools/0 dropped"),
        bedrock_converse=lossy({}, "tools/0 dropped"),
    )


# ------------------------------------------------------------------------------------------------------------- choice


def test_choice_auto() -> None:
    check(
        ToolChoice.auto(),
        anthropic_messages={"tool_choice": {"type": "auto"}},
        openai_chat={"tool_choice": "auto"},
        openai_responses={"tool_choice": "auto"},
        gemini={"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
        ollama=lossy({}, "tool_choice dropped"),
        bedrock_converse={"toolConfig": {"toolChoice": {"auto": {}}}},
    )


def test_choice_any() -> None:
    check(
        ToolChoice.any(),
        anthropic_messages={"tool_choice": {"type": "any"}},
        openai_chat={"tool_choice": "required"},
        openai_responses={"tool_choice": "required"},
        gemini={"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
        ollama=lossy({}, "tool_choice dropped"),
        bedrock_converse={"toolConfig": {"toolChoice": {"any": {}}}},
    )


def test_choice_of_one() -> None:
    check(
        ToolChoice.specific("add"),
        anthropic_messages={"tool_choice": {"type": "tool", "name": "add"}},
        openai_chat={"tool_choice": {"type": "function", "function": {"name": "add"}}},
        openai_responses={"tool_choice": {"type": "function", "name": "add"}},
        gemini={"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}}},
        ollama=lossy({}, "tool_choice dropped"),
        bedrock_converse={"toolConfig": {"toolChoice": {"tool": {"name": "add"}}}},
    )


def test_choice_of_none() -> None:
    from pairs.frames import GONE

    check(
        ToolChoice.none(),
        anthropic_messages={"tool_choice": {"type": "none"}},
        openai_chat={"tool_choice": "none"},
        openai_responses={"tool_choice": "none"},
        gemini={"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
        # There is no such choice: no tool is offered.
        ollama=lossy({"tools": GONE}, "tool_choice approximated", "tools/0 dropped"),
        bedrock_converse=lossy({"toolConfig": GONE}, "tool_choice approximated", "tools/0 dropped"),
    )


def test_one_call_at_a_time() -> None:
    check(
        ToolChoice.any(parallel=False),
        anthropic_messages={"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
        openai_chat={"tool_choice": "required", "parallel_tool_calls": False},
        openai_responses={"tool_choice": "required", "parallel_tool_calls": False},
        gemini=lossy({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "tool_choice/parallel dropped"),
        ollama=lossy({}, "tool_choice dropped"),
        bedrock_converse=lossy({"toolConfig": {"toolChoice": {"any": {}}}}, "tool_choice/parallel dropped"),
    )


def test_parallel_alone() -> None:
    check(
        ToolChoice(parallel=False),
        anthropic_messages=lossy(
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, "tool_choice/mode added"
        ),
        openai_chat={"parallel_tool_calls": False},
        openai_responses={"parallel_tool_calls": False},
        gemini=lossy({}, "tool_choice/parallel dropped"),
        ollama=lossy({}, "tool_choice dropped"),
        bedrock_converse=lossy({}, "tool_choice/parallel dropped"),
    )


def test_some_are_allowed() -> None:
    check(
        ToolChoice(mode="auto", allowed=("add",)),
        anthropic_messages=lossy({"tool_choice": {"type": "auto"}}, "tool_choice/allowed dropped"),
        openai_chat={
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "add"}}]},
            }
        },
        openai_responses={
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "add"}],
            }
        },
        # Names go with ANY or VALIDATED; the latter leaves the model free to answer in words.
        gemini=lossy(
            {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED", "allowedFunctionNames": ["add"]}}},
        ),
        ollama=lossy({}, "tool_choice dropped"),
        bedrock_converse=lossy({"toolConfig": {"toolChoice": {"auto": {}}}}, "tool_choice/allowed dropped"),
    )

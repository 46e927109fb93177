"""What is written for each compatible server: one row per provider, one test per quirk. Facts: the sheet of quirks."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interlingua import (
    CacheMark,
    Message,
    Request,
    Target,
    TextBlock,
    Thinking,
    ThinkingBlock,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
)
from interlingua.dialects.openai_chat import QUIRKS, Quirks

Json = Any
CHAT = "openai-chat"
STRICT_SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def written(provider: str | None, request: Request) -> Any:
    return dialect(CHAT, provider=provider).encode_request(request)


# Every row says what is different from OpenAI; a column that a row leaves out is OpenAI's.
LOCAL = {"max_tokens": "max_tokens", "cache": None, "developer": "system", "free_text": False}
ROWS: dict[str, dict[str, Json]] = {
    "openai": {},
    "azure": {},
    "mistral": LOCAL
    | {"seed": "random_seed", "top_k": True, "any": "any", "stream_options": False, "reasoning": "part"},
    "deepseek": LOCAL | {"reasoning": "reasoning_content", "thinking": "thinking", "parallel": False},
    "groq": LOCAL | {"max_tokens": "max_completion_tokens", "reasoning": "reasoning"},
    "xai": LOCAL | {"max_tokens": "max_completion_tokens"},
    "together": LOCAL | {"top_k": True, "reasoning": "reasoning"},
    "fireworks": LOCAL | {"top_k": True, "reasoning": "reasoning_content", "any": "any"},
    "openrouter": LOCAL | {"top_k": True, "reasoning": "reasoning", "thinking": "reasoning", "cache": "cache_control"},
    "cerebras": LOCAL | {"max_tokens": "max_completion_tokens", "reasoning": "reasoning"},
    "perplexity": LOCAL | {"stream_options": False, "parallel": False, "strict": False},
    "vllm": LOCAL | {"top_k": True, "reasoning": "reasoning"},
    "llamacpp": LOCAL | {"top_k": True, "reasoning": "reasoning_content"},
    "local": LOCAL | {"top_k": True, "reasoning": "reasoning_content"},
    "lmstudio": LOCAL | {"top_k": True, "reasoning": "reasoning_content"},
    "ollama": LOCAL | {"reasoning": "reasoning"},
    "cohere": {"max_tokens": "max_tokens", "cache": None, "parallel": False, "free_text": False},
    "google": LOCAL,
    "github-copilot": LOCAL,
    "huggingface": LOCAL,
    "venice": LOCAL,
    "zai": LOCAL | {"reasoning": "reasoning_content", "thinking": "thinking"},
    "moonshot": LOCAL | {"reasoning": "reasoning_content", "thinking": "thinking"},
}
EVERYTHING = Request(
    (
        Message("user", (TextBlock("?", cache=CacheMark()), TextBlock("!"))),
        Message("assistant", (ThinkingBlock("hm"), TextBlock("so"))),
        Message("user", "go on"),
    ),
    "m",
    dialect(CHAT).decode_request({"messages": [{"role": "developer", "content": "be kind"}]}).system,
    (ToolDefinition("f", None, STRICT_SCHEMA, strict=True), ToolDefinition("script", kind="text")),
    ToolChoice.any(parallel=False),
    9,
    top_k=4,
    seed=3,
    thinking=Thinking(mode="enabled", effort="high"),
    stream=True,
)


def test_every_provider_and_every_quirk_has_a_row() -> None:
    assert ROWS.keys() == QUIRKS.keys()
    tested = {
        *(
            "max_tokens_key",
            "seed_key",
            "top_k",
            "thinking_key",
            "replay_thinking",
            "thinking_param",
            "cache_key",
            "ids",
        ),
        *("any_word", "developer_role", "stream_usage", "parallel", "strict", "free_text", "list_content"),
    }
    assert set(Quirks.__struct_fields__) == tested


# ------------------------------------------------------------------------------------------------------------ mistral


def mistral(*ids: str, extra: tuple[Message, ...] = ()) -> list[tuple[str, str]]:
    """The ids written for calls and results, in pairs."""
    history = [Message("user", "?"), *extra]
    for id in ids:
        history += [Message("assistant", (ToolUseBlock(id, "f"),)), Message("tool", (ToolResultBlock(id, "1"),))]
    messages = written("mistral", Request(tuple(history))).body["messages"]
    calls = [call["id"] for turn in messages for call in turn.get("tool_calls") or ()]
    results = [turn["tool_call_id"] for turn in messages if turn["role"] == "tool"]
    return list(zip(calls, results, strict=True))


# --------------------------------------------------------------------------------------------------------- openrouter


def test_a_custom_row_is_only_data() -> None:
    quirks = replace(QUIRKS["vllm"], any_word="anything", seed_key="dice")
    request = Request((Message("user", "?"),), tools=EVERYTHING.tools, tool_choice=ToolChoice.any(), seed=6)
    body = dialect(CHAT).encode_request(request, Target("mine", quirks=quirks)).body
    assert (body["tool_choice"], body["dice"]) == ("anything", 6)

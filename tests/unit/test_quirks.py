"""What is written for each compatible server: one row per provider, one test per quirk. Facts: the sheet of quirks."""

from __future__ import annotations

import re
from typing import Any

import pytest
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
DEFAULTS: dict[str, Json] = {
    "max_tokens": "max_completion_tokens",
    "seed": "seed",
    "top_k": False,
    "reasoning": None,  # the field in which reasoning goes back
    "thinking": "reasoning_effort",  # how it is asked for
    "cache": "prompt_cache_breakpoint",
    "any": "required",
    "developer": "developer",
    "stream_options": True,
    "parallel": True,
    "strict": True,
    "free_text": True,
}
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


def facts(body: Json) -> dict[str, Json]:
    """What a body says in each of the columns."""
    user, assistant = body["messages"][1:3]
    reasoning = next((key for key in ("reasoning_content", "reasoning") if assistant.get(key) == "hm"), None)
    if isinstance(assistant["content"], list) and assistant["content"][0]["type"] == "thinking":
        reasoning = "part"
    asked = next((key for key in ("thinking", "reasoning") if key in body), "reasoning_effort")
    part = user["content"][0]
    return {
        "max_tokens": next(key for key in ("max_tokens", "max_completion_tokens") if body.get(key) == 9),
        "seed": next(key for key in ("seed", "random_seed") if body.get(key) == 3),
        "top_k": body.get("top_k") == 4,
        "reasoning": reasoning,
        "thinking": asked,
        "cache": next((key for key in ("prompt_cache_breakpoint", "cache_control") if key in part), None),
        "any": body["tool_choice"],
        "developer": body["messages"][0]["role"],
        "stream_options": body.get("stream_options") == {"include_usage": True},
        "parallel": body.get("parallel_tool_calls") is False,
        "strict": body["tools"][0]["function"].get("strict") is True,
        "free_text": body["tools"][1]["type"] == "custom",
    }


@pytest.mark.parametrize("provider", ROWS)
def test_what_is_written_for_a_provider(provider: str) -> None:
    assert facts(written(provider, EVERYTHING).body) == DEFAULTS | ROWS[provider]


@pytest.mark.parametrize("provider", ROWS)
def test_a_target_says_the_same_as_a_bound_dialect(provider: str) -> None:
    bound = written(provider, EVERYTHING)
    for target in (Target(provider), Target("someone", quirks=QUIRKS[provider])):
        assert dialect(CHAT).encode_request(EVERYTHING, target) == bound


@pytest.mark.parametrize("provider", ROWS)
def test_what_a_provider_has_no_word_for_is_declared(provider: str) -> None:
    row = DEFAULTS | ROWS[provider]
    lost = {loss.path for loss in written(provider, EVERYTHING).losses}
    for column, path in (
        ("top_k", "top_k"),
        ("reasoning", "messages/1/content/0"),
        ("cache", "messages/0/content/0/cache"),
        ("parallel", "tool_choice/parallel"),
        ("strict", "tools/0/strict"),
        ("free_text", "tools/1/kind"),
    ):
        assert (path in lost) is (not row[column]), column


def test_an_unknown_provider_is_spoken_to_as_openai() -> None:
    assert written("nobody-knows", EVERYTHING).body == written(None, EVERYTHING).body
    assert facts(written(None, EVERYTHING).body) == DEFAULTS


# ------------------------------------------------------------------------------------------------- marks and quirks


# ----------------------------------------------------------------------------------------------------------- deepseek


# ------------------------------------------------------------------------------------------------------------ mistral

NINE = re.compile(r"[a-zA-Z0-9]{9}").fullmatch


def mistral(*ids: str, extra: tuple[Message, ...] = ()) -> list[tuple[str, str]]:
    """The ids written for calls and results, in pairs."""
    history = [Message("user", "?"), *extra]
    for id in ids:
        history += [Message("assistant", (ToolUseBlock(id, "f"),)), Message("tool", (ToolResultBlock(id, "1"),))]
    messages = written("mistral", Request(tuple(history))).body["messages"]
    calls = [call["id"] for turn in messages for call in turn.get("tool_calls") or ()]
    results = [turn["tool_call_id"] for turn in messages if turn["role"] == "tool"]
    return list(zip(calls, results, strict=True))


def test_mistral_ids_are_nine_letters_and_pair_up() -> None:
    pairs = mistral("call_abc", "toolu_01ABCdefGHI", "functions.Bash:0", "x" * 64, "a", "é€ \n")
    for call, result in pairs:
        assert call == result
        assert NINE(call)
    assert len({call for call, _ in pairs}) == len(pairs)


def test_derived_ids_are_the_same_every_time_and_as_the_history_grows() -> None:
    short = mistral("call_1", "call_2")
    assert mistral("call_1", "call_2") == short
    assert mistral("call_1", "call_2", "call_3")[:2] == short


def test_a_derived_id_never_takes_one_that_comes_later() -> None:
    [(derived, _)] = mistral("call_1")
    first, second = mistral("call_1", derived)
    assert second == (derived, derived)  # issued: attached back exactly
    assert first[0] == first[1] != derived


def test_long_ids_read_from_chat_are_fitted_too() -> None:
    """An id that OpenAI itself would refuse is written back as it was read, but not to a server with another rule."""
    long = "chatcmpl-tool-" + "a1" * 20
    call = {"id": long, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = {"messages": [
        {"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": long, "content": "1"}]}  # fmt: skip
    request = dialect(CHAT).decode_request(body)
    assert dialect(CHAT).encode_request(request).body == body
    _, turn, result = written("mistral", request).body["messages"]
    assert NINE(turn["tool_calls"][0]["id"])
    assert turn["tool_calls"][0]["id"] == result["tool_call_id"]


# --------------------------------------------------------------------------------------------------------- openrouter


def test_a_custom_row_is_only_data() -> None:
    quirks = replace(QUIRKS["vllm"], any_word="anything", seed_key="dice")
    request = Request((Message("user", "?"),), tools=EVERYTHING.tools, tool_choice=ToolChoice.any(), seed=6)
    body = dialect(CHAT).encode_request(request, Target("mine", quirks=quirks)).body
    assert (body["tool_choice"], body["dice"]) == ("anything", 6)

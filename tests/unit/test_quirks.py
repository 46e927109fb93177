"""What is written for each compatible server: one row per provider, one test per quirk. Facts: the sheet of quirks."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    CacheMark,
    DocumentBlock,
    Message,
    Origin,
    Request,
    Target,
    TextBlock,
    Thinking,
    ThinkingBlock,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
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


def test_free_text_is_an_argument_where_a_server_has_functions_only() -> None:
    """llama.cpp answers 500 to a tool of the type `custom`."""
    offered = {"type": "custom", "custom": {"name": "run", "description": "a script"}}
    call = {"id": "call_1", "type": "custom", "custom": {"name": "run", "input": "ls"}}
    read = dialect(CHAT).decode_request(
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "done"},
            ],
            "tools": [offered],
            "tool_choice": {"type": "custom", "custom": {"name": "run"}},
        }
    )
    body: Json = written("openai", read).body
    assert (body["tools"], body["messages"][1]["tool_calls"]) == ([offered], [call])
    body = written("llamacpp", read).body
    assert body["tools"][0]["function"]["parameters"]["required"] == ["input"]
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "run", "arguments": '{"input":"ls"}'}
    assert body["tool_choice"] == {"type": "function", "function": {"name": "run"}}
    assert "custom" not in str(body)
    made = replace(read, tool_choice=ToolChoice.specific("run"))
    assert written("llamacpp", made).body["tool_choice"] == body["tool_choice"]


def test_an_unknown_provider_is_spoken_to_as_openai() -> None:
    assert written("nobody-knows", EVERYTHING).body == written(None, EVERYTHING).body
    assert facts(written(None, EVERYTHING).body) == DEFAULTS


# ------------------------------------------------------------------------------------------------- marks and quirks


def test_a_named_server_wins_over_how_it_was_spelled() -> None:
    """A request read in one spelling is written in the spelling of the server that was named."""
    body = {
        "model": "m", "messages": [{"role": "user", "content": "?"}], "max_tokens": 9, "random_seed": 3,
        "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "any", "stream": True,
    }  # fmt: skip
    request = dialect(CHAT).decode_request(body)
    assert dialect(CHAT).encode_request(request).body == body
    openai = written("openai", request).body
    assert (openai["max_completion_tokens"], openai["seed"], openai["tool_choice"]) == (9, 3, "required")
    assert openai["stream_options"] == {"include_usage": True}
    assert not openai.keys() & {"max_tokens", "random_seed"}


def test_reasoning_is_returned_under_the_key_of_the_server_that_was_named() -> None:
    body = {
        "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "x", "reasoning_content": "hm"}]
    }
    request = dialect(CHAT).decode_request(body)
    assert dialect(CHAT).encode_request(request).body == body
    turn = written("groq", request).body["messages"][1]
    assert turn == {"role": "assistant", "content": "x", "reasoning": "hm"}


def test_reasoning_of_another_provider_is_never_replayed() -> None:
    history = (
        Message("user", "?"),
        Message("assistant", (ThinkingBlock("hm"), TextBlock("x")), origin=Origin("groq", CHAT)),
    )
    encoded = dialect(CHAT).encode_request(Request(history), Target("deepseek"))
    assert "reasoning_content" not in encoded.body["messages"][1]
    assert [loss.path for loss in encoded.losses] == ["messages/1/content/0"]


# ----------------------------------------------------------------------------------------------------------- deepseek

CALLED = (
    Message("user", "?"),
    Message("assistant", (ThinkingBlock("hm"), ToolUseBlock("call_1", "f"))),
    Message("tool", (ToolResultBlock("call_1", "1"),)),
    Message("assistant", (ToolUseBlock("call_2", "f"),)),
    Message("tool", (ToolResultBlock("call_2", "2"),)),
    Message("assistant", "done"),
)


def test_deepseek_turns_with_calls_bring_their_reasoning_even_if_empty() -> None:
    turns = [turn for turn in written("deepseek", Request(CALLED)).body["messages"] if turn["role"] == "assistant"]
    assert [turn.get("reasoning_content") for turn in turns] == ["hm", "", None]


def test_other_servers_get_no_empty_reasoning() -> None:
    for provider in ("openai", "groq", "vllm"):
        for turn in written(provider, Request(CALLED)).body["messages"]:
            assert "" not in (turn.get("reasoning_content"), turn.get("reasoning"))


def test_deepseek_thinking_is_a_switch() -> None:
    request = Request((Message("user", "?"),), thinking=Thinking(mode="disabled"))
    assert written("deepseek", request).body["thinking"] == {"type": "disabled"}
    assert written("openai", request).body["reasoning_effort"] == "none"
    asked = Request((Message("user", "?"),), thinking=Thinking(effort="low", budget=99))
    assert written("openrouter", asked).body["reasoning"] == {"effort": "low", "max_tokens": 99}


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


def test_an_id_that_mistral_takes_is_kept() -> None:
    assert mistral("D681PevKs") == [("D681PevKs", "D681PevKs")]


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


def test_derived_ids_are_declared() -> None:
    losses = written("mistral", Request(CALLED)).losses
    paths = {loss.path for loss in losses if loss.kind == "approximated"}
    assert {"messages/1/content/1/id", "messages/2/content/0/tool_use_id"} <= paths


def test_openai_takes_forty_characters() -> None:
    history = (
        Message("user", "?"),
        Message("assistant", (ToolUseBlock("x" * 41, "f"), ToolUseBlock("y" * 40, "f"))),
        Message("tool", (ToolResultBlock("x" * 41, "1"), ToolResultBlock("y" * 40, "2"))),
    )
    _, turn, first, second = written("openai", Request(history)).body["messages"]
    fitted, kept = (call["id"] for call in turn["tool_calls"])
    assert len(fitted) <= 40
    assert kept == "y" * 40
    assert (first["tool_call_id"], second["tool_call_id"]) == (fitted, kept)


def test_mistral_takes_documents_by_url_and_reasoning_as_parts() -> None:
    paper = DocumentBlock(UrlSource("https://a.test/b.pdf"))
    history = (Message("user", (paper, TextBlock("?"))), Message("assistant", (ThinkingBlock("hm"), TextBlock("so"))))
    user, assistant = written("mistral", Request(history)).body["messages"]
    assert user["content"][0] == {"type": "document_url", "document_url": "https://a.test/b.pdf"}
    assert assistant["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "so"},
    ]
    encoded = written("openai", Request(history))
    assert "messages/0/content/0" in {loss.path for loss in encoded.losses}


# --------------------------------------------------------------------------------------------------------- openrouter


def test_openrouter_takes_anthropics_cache_marks() -> None:
    blocks = (TextBlock("long", cache=CacheMark()), TextBlock("longer", cache=CacheMark(ttl="1h")))
    content = written("openrouter", Request((Message("user", blocks),))).body["messages"][0]["content"]
    assert [part["cache_control"] for part in content] == [{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}]


def test_openais_own_breakpoints_have_their_own_times() -> None:
    blocks = (TextBlock("a", cache=CacheMark(ttl="30m")), TextBlock("b", cache=CacheMark(ttl="1h")))
    encoded = written("openai", Request((Message("user", blocks),)))
    said = [part["prompt_cache_breakpoint"] for part in encoded.body["messages"][0]["content"]]
    assert said == [{"mode": "explicit", "ttl": "30m"}, {"mode": "explicit"}]
    assert [loss.path for loss in encoded.losses] == ["messages/0/content/1/cache/ttl"]


def test_a_custom_row_is_only_data() -> None:
    quirks = replace(QUIRKS["vllm"], any_word="anything", seed_key="dice")
    request = Request((Message("user", "?"),), tools=EVERYTHING.tools, tool_choice=ToolChoice.any(), seed=6)
    body = dialect(CHAT).encode_request(request, Target("mine", quirks=quirks)).body
    assert (body["tool_choice"], body["dice"]) == ("anything", 6)

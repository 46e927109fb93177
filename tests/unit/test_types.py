"""The language itself: what may be built, what may be loaded, what counts as equal."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import interlingua
from interlingua import (
    Base64Source,
    Block,
    BlockBase,
    CacheMark,
    Citation,
    DocumentBlock,
    ErrorClass,
    Event,
    EventBase,
    FileSource,
    ImageBlock,
    JsonBlock,
    Message,
    MessageStart,
    OpaqueBlock,
    Origin,
    Request,
    Response,
    Role,
    ServerTool,
    StopReason,
    TextBlock,
    TextDelta,
    Thinking,
    ThinkingBlock,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)

# ------------------------------------------------------------------------------------------- closed vocabularies

ROLES = ("system", "user", "assistant", "tool")
STOPS = (
    *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "context_overflow"),
    *("cancelled", "error"),
)
ERRORS = (
    *("rate_limit", "auth", "server_error", "network", "timeout", "context_overflow", "invalid_request"),
    *("tool_error", "cancelled", "other"),
)


def test_the_vocabularies_are_those_of_the_design() -> None:
    assert tuple(Role) == ROLES
    assert tuple(StopReason) == STOPS
    assert tuple(ErrorClass) == ERRORS


@pytest.mark.parametrize("word", ["developer", "User", "", None, 3, "model"])
def test_an_unknown_role_raises_when_built_and_when_loaded(word: Any) -> None:
    with pytest.raises(ValueError, match="Role"):
        Message(word, "hi")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"role": word, "content": []}, Message)


@pytest.mark.parametrize("word", ["stop", "END_TURN", "", None])
def test_an_unknown_stop_reason_raises_when_built_and_when_loaded(word: Any) -> None:
    with pytest.raises(ValueError, match="StopReason"):
        Response((), word)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode({"stop_reason": word}), type=Response)


def test_an_unknown_error_class_raises() -> None:
    with pytest.raises(ValueError, match="ErrorClass"):
        interlingua.AdapterError("x", error_class="boom")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ErrorClass"):
        interlingua.error_type("boom")  # type: ignore[arg-type]


def test_plain_words_become_members() -> None:
    assert Message("user").role is Role.user
    assert Response((), "refusal").stop_reason is StopReason.refusal
    assert Message("user").role == "user"


def test_an_unknown_block_tag_does_not_load() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"role": "user", "content": [{"type": "hologram"}]}, Message)


# ------------------------------------------------------------------------------------------------ strings are texts


def test_a_string_is_one_text_block() -> None:
    assert Message("user", "hi").content == (TextBlock("hi"),)
    assert Response("hi").content == (TextBlock("hi"),)
    assert ToolResultBlock("a", "hi").content == (TextBlock("hi"),)  # type: ignore[arg-type]
    assert Request(system="hi").system == (TextBlock("hi"),)
    assert Message("user", "").content == (TextBlock(""),)


def test_lists_become_tuples() -> None:
    assert Message("user", [TextBlock("a")]).content == (TextBlock("a"),)
    assert ToolResultBlock("a", [TextBlock("x")]).content == (TextBlock("x"),)  # type: ignore[arg-type]
    request = Request([Message("user", "hi")], stop_sequences=["x"], betas=["b"])  # type: ignore[arg-type]
    assert (request.messages, request.stop_sequences, request.betas) == ((Message("user", "hi"),), ("x",), ("b",))


def test_text_and_calls_of_an_answer() -> None:
    call = ToolUseBlock("a", "f")
    response = Response((ThinkingBlock("hm"), TextBlock("a"), call, TextBlock("b")), origin=Origin("p", "d", "m"))
    assert response.text == "ab"
    assert response.tool_uses == (call,)
    assert response.message == Message("assistant", response.content)
    assert response.message.origin == Origin("p", "d", "m")
    assert response.message.text == "ab"


# -------------------------------------------------------------------------------------------------------- equality


def test_who_said_it_does_not_count() -> None:
    assert Message("user", "x", origin=Origin("a")) == Message("user", "x", origin=Origin("b"))
    assert FileSource("f", dialect="a") == FileSource("f", dialect="b")


DIFFERENT: tuple[tuple[Any, Any], ...] = (
    (Message("user", "x"), Message("user", "y")),
    (Message("user", "x"), Message("assistant", "x")),
    (Message("user", "x"), Message("user", "x", id="1")),
    (Message("user", "x"), Message("user", "x", extras={"d": {"a": 1}})),
    (Message("user", "x"), Message("user", "x", forms={"d": {"a": 1}})),
    (Message("user", "x"), "x"),
    (TextBlock("x"), TextBlock("x", cache=CacheMark())),
    (TextBlock("x"), TextBlock("x", signature="")),
    (TextBlock("x"), ThinkingBlock("x")),
    (ToolResultBlock("a", is_error=None), ToolResultBlock("a", is_error=False)),
    (ThinkingBlock("", signature=None), ThinkingBlock("", signature="s")),
    (FileSource("f"), FileSource("g")),
    (FileSource("f"), FileSource("f", media_type="x")),
    (FileSource("f"), Base64Source("f", "f")),
    (ToolChoice.auto(), ToolChoice()),
    (ToolChoice.any(), ToolChoice.any(parallel=False)),
)


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=str)
def test_what_differs_is_not_equal(one: Any, other: Any) -> None:
    assert one != other


def test_values_are_frozen_and_not_hashable() -> None:
    with pytest.raises(AttributeError):
        TextBlock("x").text = "y"  # type: ignore[misc]
    for value in (Message("user", "x"), FileSource("f")):
        with pytest.raises(TypeError):
            hash(value)


def test_empty_defaults_are_not_shared() -> None:
    one, other = TextBlock("a"), TextBlock("b")
    one.extras["d"] = 1
    assert other.extras == {}


# --------------------------------------------------------------------------------------------------- save and load

CALL = ToolUseBlock("a", "f", input={"x": None}, input_text="{ }")
PICTURE = ImageBlock(Base64Source("image/png", "eA=="))
SAVED: tuple[Any, ...] = (
    Request(
        (
            Message("user", (TextBlock("x", (Citation(kind="url", url="u"),), cache=CacheMark(ttl="1h")),)),
            Message("assistant", (ThinkingBlock("", signature="s"), CALL)),
            Message("tool", (ToolResultBlock("a", (JsonBlock({"y": [1]}), PICTURE), is_error=False),)),
        ),
        "m", (TextBlock("s"),), (ToolDefinition("f", strict=True), ServerTool("d", {"type": "t"})),
        ToolChoice(mode="any", allowed=("f",)), 5, 0.5, thinking=Thinking(effort="low"),
        extras={"d": {"k": [None, ""]}}, forms={"d": {"blank": {"x": None}}},
    ),
    Response((OpaqueBlock("d", {"a": [1, {"b": None}]}),), "pause_turn", "raw", "id", "m", TokenUsage(1, 2, 3, 4, 5)),
    Response((DocumentBlock(FileSource("f", dialect="d")),), raw_stop_reason=7),
)  # fmt: skip


@pytest.mark.parametrize("value", SAVED, ids=lambda value: type(value).__name__)
def test_what_is_saved_loads_equal(value: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=type(value)) == value
    assert copy.deepcopy(value) == value


def test_defaults_are_not_written() -> None:
    assert msgspec.json.decode(msgspec.json.encode(Message("user", "x"))) == {
        "role": "user",
        "content": [{"type": "text", "text": "x"}],
    }


def test_absent_null_and_empty_stay_apart() -> None:
    for block in (ToolResultBlock("a"), ToolResultBlock("a", is_error=False), ToolResultBlock("a", (TextBlock(""),))):
        assert msgspec.json.decode(msgspec.json.encode(block), type=ToolResultBlock) == block


# ------------------------------------------------------------------------------------------------------------- tags

TAGS = {
    "text", "image", "document", "audio", "video", "thinking", "redacted_thinking", "tool_use", "tool_result", "json",
    "server_tool_use", "server_tool_result", "refusal", "opaque",
}  # fmt: skip
EVENT_TAGS = {
    "message.start", "block.start", "text.delta", "thinking.delta", "citation.delta", "tool.use_start",
    "tool.use_input_delta", "tool.use_end", "block.complete", "usage.update", "unknown", "message.complete",
}  # fmt: skip


def test_blocks_and_events_have_the_designs_tags() -> None:
    assert {kind.__struct_config__.tag for kind in Block.__args__} == TAGS
    assert {kind.__struct_config__.tag for kind in Event.__args__} == EVENT_TAGS
    assert TextBlock("x").type == "text"
    assert TextDelta(0, "x").type == "text.delta"
    assert MessageStart().type == "message.start"


def test_every_block_may_be_signed_and_cached() -> None:
    for kind in Block.__args__:
        assert issubclass(kind, BlockBase)
        assert {"signature", "cache", "extras", "forms"} <= set(kind.__struct_fields__)
    for event in Event.__args__:
        assert issubclass(event, EventBase)
        assert "extras" in event.__struct_fields__


def test_every_type_is_at_the_top_level() -> None:
    for kind in (*Block.__args__, *Event.__args__):
        assert getattr(interlingua, kind.__name__) is kind


def test_usage_totals_are_derived() -> None:
    usage = TokenUsage(10, 200, 30, 40, 5)
    assert (usage.total_input_tokens, usage.total_tokens) == (240, 280)
    assert replace(usage, input_tokens=11).total_tokens == 281


def test_tool_choices_by_name() -> None:
    assert ToolChoice.specific("f") == ToolChoice(mode="specific", name="f")
    assert ToolChoice.none() == ToolChoice(mode="none")
    assert ToolChoice(parallel=False).mode is None  # may be the only thing set

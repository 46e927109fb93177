"""Strategies for legal histories, tools, choices and requests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from interlingua.testing.examples import PARAMETERS
from interlingua.testing.samples import FOREIGN
from interlingua.testing.strategies.blocks import (
    CACHES,
    answer_blocks,
    cut_short,
    marked,
    maybe,
    names,
    residue,
    result_contents,
    system_blocks,
    texts,
    user_blocks,
)
from interlingua.types import (
    Block,
    Json,
    Message,
    Origin,
    Request,
    Role,
    ServerTool,
    Thinking,
    Tool,
    ToolAnnotations,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)

# ------------------------------------------------------------------------------------------------------ conversations


@st.composite
def conversations(draw: st.DrawFn, dialect: str | None = None, *, turns: int = 4) -> tuple[Message, ...]:
    """A legal history: the user first, every call answered right behind its turn, some turns cut off."""
    messages: list[Message] = [draw(_messages(Role.user, dialect))]
    for turn in range(draw(st.integers(0, turns))):
        if draw(st.integers(0, 5)) == 0:
            messages.append(draw(_messages(Role.system, dialect)))
        answer = draw(_messages(Role.assistant, dialect))
        content = _with_ids(answer.content, turn)
        if draw(st.integers(0, 7)) == 0:
            content = cut_short(content)
        messages.append(replace(answer, content=content, origin=draw(_origins(dialect))))
        calls = [block for block in content if isinstance(block, ToolUseBlock)]
        if calls:
            messages.append(Message(Role.tool, tuple(_answering(draw(_answers(dialect)), call) for call in calls)))
        if not calls or draw(st.booleans()):
            messages.append(draw(_messages(Role.user, dialect)))
    return tuple(messages)


@cache
def _messages(role: Role, dialect: str | None) -> SearchStrategy[Message]:
    block = {Role.user: user_blocks(dialect), Role.system: system_blocks(), Role.assistant: answer_blocks(dialect)}[
        role
    ]
    content = st.lists(block, min_size=1, max_size=4).map(tuple)
    whose = dialect if role is Role.assistant else None  # other turns may share one turn on the wire
    return st.builds(Message, st.just(role), content, extras=residue(whose))


@cache
def _origins(dialect: str | None) -> SearchStrategy[Origin | None]:
    return st.sampled_from([None, Origin(dialect=dialect), Origin(dialect=FOREIGN), Origin("p", dialect, "m")])


def _with_ids(content: tuple[Block, ...], turn: int) -> tuple[Block, ...]:
    """The content with ids of calls that are unique in the conversation."""
    return tuple(
        replace(block, id=f"{block.id}_{turn}_{index}") if isinstance(block, ToolUseBlock) else block
        for index, block in enumerate(content)
    )


@cache
def _answers(dialect: str | None) -> SearchStrategy[ToolResultBlock]:
    """A result whose call is filled in later; it repeats the name of its tool or not."""
    named, failed = st.sampled_from([None, "named"]), st.sampled_from([None, True, False])
    return marked(st.builds(ToolResultBlock, st.just(""), result_contents(dialect), named, failed))


def _answering(result: ToolResultBlock, call: ToolUseBlock) -> ToolResultBlock:
    return replace(result, tool_use_id=call.id, name=call.name if result.name else None)


@cache
def tools(dialect: str | None = None) -> SearchStrategy[Tool]:
    """Tools of the caller, or one that a provider runs."""
    schemas = st.sampled_from(
        [
            {},
            {"type": "object"},
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"deep": {"type": "array", "items": {"enum": ["x", None]}}}},
        ]
    )
    flags = maybe(st.booleans())
    annotations = maybe(st.builds(ToolAnnotations, flags, flags, flags, flags))
    defined = st.builds(
        ToolDefinition,
        names(),
        maybe(texts(empty=False)),
        schemas,
        annotations,
        flags,
        CACHES,
        extras=residue(dialect),
    )
    free = st.builds(ToolDefinition, names(), maybe(texts(empty=False)), kind=st.just("text"))
    raw: dict[str, Json] = {"x_search": {"deep": 1}}
    server = st.builds(ServerTool, st.sampled_from([dialect or FOREIGN, FOREIGN]), st.just(raw))
    return defined | defined | free | server


def tool_choices(offered: Sequence[Tool]) -> SearchStrategy[ToolChoice]:
    """A choice among the offered tools."""
    names = [tool.name for tool in offered if isinstance(tool, ToolDefinition)]
    parallel = maybe(st.booleans())
    some: SearchStrategy[ToolChoice] = st.one_of(
        st.builds(ToolChoice.auto, parallel=parallel),
        st.builds(ToolChoice.any, parallel=parallel),
        st.just(ToolChoice.none()),
        st.builds(ToolChoice, parallel=st.booleans()),
    )
    if not names:
        return some
    name = st.sampled_from(names)
    allowed = st.builds(
        ToolChoice, st.sampled_from(["auto", "any"]), allowed=st.lists(name, min_size=1, unique=True).map(tuple)
    )
    return some | st.builds(ToolChoice.specific, name, parallel=parallel) | allowed


@cache
def thinking() -> SearchStrategy[Thinking]:
    """How much to reason, in any of the ways that providers have."""
    settings = st.builds(
        Thinking,
        st.sampled_from([None, "adaptive", "enabled", "disabled", "between_tools"]),
        st.sampled_from([None, "none", "minimal", "low", "medium", "high", "xhigh", "max", "heroic"]),
        maybe(st.integers(1024, 4096)),
        st.sampled_from([None, "summarized", "omitted"]),
        extras=residue(None),
    )
    return settings.filter(lambda value: any((value.mode, value.effort, value.budget, value.display)))


STRICT = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
LOOSE = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}},
    "required": ["b"],
}


@cache
def _settings(dialect: str | None) -> dict[str, SearchStrategy[Any]]:
    """Every field of a request except its messages and its tool choice."""
    offered = st.lists(tools(dialect), max_size=3, unique_by=lambda tool: getattr(tool, "name", ""))
    return {
        **{name: st.sampled_from(values) for name, values in PARAMETERS.items()},
        "model": st.sampled_from(["m", "claude-x", "gpt-x"]),
        "system": st.lists(system_blocks(), max_size=3).map(tuple),
        "tools": offered.map(tuple),
        "max_output_tokens": st.integers(5_000, 99_999),
        "stop_sequences": st.lists(texts(empty=False), min_size=1, max_size=3).map(tuple),
        "output_schema": st.sampled_from([STRICT, LOOSE]),
        "output_name": st.sampled_from(["city", "no name!"]),
        "output_description": st.sampled_from(["A city.", "What is known of it."]),
        "thinking": thinking(),
        "metadata": st.sampled_from([{"user_id": "u"}, {"team": "blue"}, {"user_id": "u", "team": "blue"}]),
        "top_logprobs": st.integers(0, 5),
        "extras": residue(dialect),
    }


@st.composite
def requests(draw: st.DrawFn, dialect: str | None = None, *, turns: int = 3) -> Request:
    """A request with any of its fields set."""
    settings = _settings(dialect)
    chosen = draw(st.sets(st.sampled_from(sorted(settings)), max_size=6))
    fields: dict[str, Any] = {name: draw(settings[name]) for name in sorted(chosen)}
    if draw(st.booleans()):
        fields["tool_choice"] = draw(tool_choices(fields.get("tools", ())))
    return Request(messages=draw(conversations(dialect, turns=turns)), **fields)

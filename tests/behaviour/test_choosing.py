"""Which tools are sent, in which order, and how the others are reported."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from interlingua import Message, Request, ServerTool, ToolChoice, ToolDefinition, ToolResultBlock, ToolUseBlock
from interlingua.client.behaviour.tool_filter import choose
from interlingua.types import CacheMark, ImageBlock, UrlSource
from interlingua.types.tools import Tool

FILLER = [ToolDefinition(name=f"filler_{i}", description="Does nothing of note.") for i in range(10)]
MAIL = ToolDefinition(name="post_letter", description="Sends an email to somebody.")
RATES = ToolDefinition(name="fx", description="Exchange rates of currencies.")


def asked(text: str, tools: Sequence[Tool], *more: Message, choice: ToolChoice | None = None) -> Request:
    return Request(messages=(Message(role="user", content=text), *more), tools=tools, tool_choice=choice)


def names(tools: Sequence[Tool]) -> list[str]:
    return [tool.name for tool in tools if isinstance(tool, ToolDefinition)]


def call(name: str, id: str = "c1") -> tuple[Message, Message]:
    return (
        Message(role="assistant", content=(ToolUseBlock(id=id, name=name),)),
        Message(role="tool", content=(ToolResultBlock(tool_use_id=id, content="exchange rates of currencies"),)),
    )


# --------------------------------------------------------------------------------------------------------- relevance


def test_the_relevant_tool_stays_in_the_callers_order() -> None:
    chosen = choose(asked("Write an email to Ann.", [*FILLER, MAIL, RATES]), 3)
    assert names(chosen.tools) == ["filler_0", "filler_1", "post_letter"]
    assert chosen.left_out == (*(f"filler_{i}" for i in range(2, 10)), "fx")
    assert chosen.warnings == ()


def test_within_the_limit_all_tools_are_sent() -> None:
    request = asked("Write an email to Ann.", [*FILLER, MAIL])
    assert choose(request, 11).tools is request.tools
    assert choose(request, 11).left_out == ()


def test_the_last_user_message_is_the_question() -> None:
    request = asked("exchange rates", [*FILLER, RATES, MAIL], Message(role="user", content="Now email Ann."))
    assert names(choose(request, 1).tools) == ["post_letter"]


def test_tool_results_are_not_the_question() -> None:
    request = asked("Email Ann.", [*FILLER, RATES, MAIL], *call("filler_0"))
    assert names(choose(request, 2).tools) == ["filler_0", "post_letter"]


def test_a_picture_alone_is_no_question() -> None:
    picture = Message(role="user", content=(ImageBlock(source=UrlSource(url="https://example.com/a.png")),))
    assert names(choose(asked("Email Ann.", [*FILLER, MAIL], picture), 1).tools) == ["post_letter"]
    assert names(choose(Request(messages=(picture,), tools=[*FILLER, MAIL]), 2).tools) == ["filler_0", "filler_1"]
    assert names(choose(Request(tools=[*FILLER, MAIL]), 2).tools) == ["filler_0", "filler_1"]


# ----------------------------------------------------------------------------------------------------- always or first


def test_core_tools_come_first() -> None:
    chosen = choose(asked("email", [*FILLER, MAIL]), 2, core_tools=("filler_7", "absent"))
    assert names(chosen.tools) == ["filler_7", "post_letter"]


def test_then_skills_then_connectors_then_relevance() -> None:
    tools = [*FILLER, ToolDefinition(name="pdf_fill"), ToolDefinition(name="jira_get"), MAIL]
    request = asked("email", tools)

    def chosen(limit: int) -> list[str]:
        kin: dict[str, list[str]] = {"active_skills": ["pdf"], "active_connectors": ["jira"]}
        return names(choose(request, limit, core_tools=["filler_9"], **kin).tools)

    assert chosen(2) == ["filler_9", "pdf_fill"]
    assert chosen(3) == ["filler_9", "pdf_fill", "jira_get"]
    assert chosen(4) == ["filler_9", "pdf_fill", "jira_get", "post_letter"]
    assert chosen(5) == ["filler_0", "filler_9", "pdf_fill", "jira_get", "post_letter"]


def test_core_and_skill_tools_stay_over_the_limit_and_a_warning_says_so() -> None:
    chosen = choose(asked("email", [*FILLER, MAIL]), 2, core_tools=["filler_1"], active_skills=["filler"])
    assert names(chosen.tools) == names(FILLER)
    assert chosen.left_out == ("post_letter",)
    assert len(chosen.warnings) == 1
    assert chosen.warnings[0].startswith("10 tools are sent, 8 over the limit of 2:")


def test_a_big_connector_gives_its_relevant_tools() -> None:
    tools = [ToolDefinition(name=f"jira_{i}") for i in range(5)] + [ToolDefinition(name="jira_sprint"), MAIL]
    assert names(choose(asked("the sprint", tools), 2, active_connectors=["jira"]).tools) == ["jira_0", "jira_sprint"]


@pytest.mark.parametrize(
    ("name", "prefix", "belongs"),
    [
        ("app_list", "app", True),
        ("app.list", "app", True),
        ("app-list", "app", True),
        ("appList", "app", True),
        ("app", "app", True),
        ("apply", "app", False),
        ("app2", "app", False),
        ("mcp__github__issue", "mcp__github", True),
        ("mcp__github__issue", "mcp__github__", True),
        ("mcp__github__issue", "mcp__git", False),
        ("anything", "", False),
    ],
)
def test_a_prefix_ends_where_a_word_ends(name: str, prefix: str, belongs: bool) -> None:
    tools = [*FILLER, ToolDefinition(name=name)]
    assert (name in names(choose(asked("x", tools), 1, active_skills=[prefix]).tools)) is belongs


@pytest.mark.parametrize(
    "choice",
    [
        ToolChoice.specific("filler_8"),
        ToolChoice(allowed=("filler_8",)),
        ToolChoice(mode="any", allowed=("filler_8",)),
    ],
)
def test_what_the_choice_names_stays(choice: ToolChoice) -> None:
    assert "filler_8" in names(choose(asked("email", [*FILLER, MAIL], choice=choice), 1).tools)


def test_tools_of_the_provider_stay_and_count() -> None:
    search = ServerTool(dialect="openai-responses", raw={"type": "web_search"})
    chosen = choose(asked("email", [*FILLER, search, MAIL]), 2)
    assert chosen.tools == (search, MAIL)


# --------------------------------------------------------------------------------------------------------- the history


def test_tools_called_before_keep_their_places() -> None:
    request = asked("rates", [*FILLER, RATES, MAIL], *call("filler_8"), Message(role="user", content="email"))
    assert names(choose(request, 2).tools) == ["filler_8", "post_letter"]


def test_they_leave_places_for_the_tools_of_a_new_question() -> None:
    calls = [message for i in range(10) for message in call(f"filler_{i}", f"c{i}")]
    request = asked("go", [*FILLER, RATES, MAIL], *calls, Message(role="user", content="email"))
    assert names(choose(request, 4).tools) == ["filler_0", "filler_8", "filler_9", "post_letter"]


def test_a_tool_in_use_stays_whatever_the_limit() -> None:
    """In a conversation that began without the limit, and gets it between a call and its result."""
    request = asked("email", [*FILLER, MAIL], *call("filler_8"))
    chosen = choose(request, 1)
    assert names(chosen.tools) == ["filler_8", "post_letter"]
    assert "over the limit of 1" in chosen.warnings[0]


words = st.sampled_from("email rates folder file search weather run stop plan image".split())
sentences = st.lists(words, min_size=1, max_size=5).map(" ".join)
tool_sets = st.lists(sentences, min_size=3, max_size=25).map(
    lambda said: [ToolDefinition(name=f"{text.split()[0]}_{i}", description=text) for i, text in enumerate(said)]
)


# The same examples in every run; `pytest --hypothesis-profile=thorough` looks for more.
THOROUGH = settings.get_current_profile_name() == "thorough"
modest = settings() if THOROUGH else settings(max_examples=150, derandomize=True)


@modest
@given(tool_sets, st.lists(sentences, min_size=1, max_size=3), st.integers(1, 12), st.data())
def test_the_choice_holds_through_a_tool_loop(
    tools: list[ToolDefinition], questions: list[str], limit: int, data: st.DataObject
) -> None:
    """Whichever tools a model calls, the next step offers the same tools; only a new question may change them."""
    history: list[Message] = []
    for turn, question in enumerate(questions):
        history.append(Message(role="user", content=question))
        offered = choose(Request(messages=history, tools=tools), limit, core_tools=["run_0"], active_skills=["plan"])
        for step in range(data.draw(st.integers(0, 4))):
            history += call(data.draw(st.sampled_from(names(offered.tools))), f"c{turn}_{step}")
            again = choose(Request(messages=history, tools=tools), limit, core_tools=["run_0"], active_skills=["plan"])
            assert again == offered


@modest
@given(tool_sets, sentences, st.integers(1, 12), st.sets(words, max_size=2), st.sets(words, max_size=2))
def test_laws_of_every_choice(
    tools: list[ToolDefinition], question: str, limit: int, skills: set[str], connectors: set[str]
) -> None:
    chosen = choose(asked(question, tools), limit, active_skills=sorted(skills), active_connectors=sorted(connectors))
    kept = names(chosen.tools)
    must = [name for name in names(tools) if name.split("_")[0] in skills]
    assert len(kept) == min(len(tools), max(limit, len(must) if len(tools) > limit else 0))
    assert [name for name in names(tools) if name in kept] == kept  # the caller's order
    assert sorted([*kept, *chosen.left_out]) == sorted(names(tools))
    assert set(must) <= set(kept)
    assert bool(chosen.warnings) == (len(kept) > limit)


# ----------------------------------------------------------------------------------------------------------- the cache


def test_a_cache_mark_moves_to_the_last_tool_that_stays() -> None:
    marked = ToolDefinition(name="last", cache=CacheMark(ttl="1h"))
    chosen = choose(asked("email", [*FILLER, MAIL, marked]), 2)
    assert [(tool.name, tool.cache) for tool in chosen.tools if isinstance(tool, ToolDefinition)] == [
        ("filler_0", None),
        ("post_letter", CacheMark(ttl="1h")),
    ]


def test_the_tools_own_cache_mark_is_not_overwritten() -> None:
    mine = ToolDefinition(name="email", cache=CacheMark(ttl="5m"))
    chosen = choose(asked("email", [mine, ToolDefinition(name="other", cache=CacheMark(ttl="1h"))]), 1)
    assert chosen.tools == (mine,)
    first = choose(asked("email", [ToolDefinition(name="other", cache=CacheMark()), ToolDefinition(name="email")]), 1)
    assert names(first.tools) == ["email"]

"""The rows of the presets, and for which models they are."""

from __future__ import annotations

import pytest

from interlingua.client.behaviour import CORE_TOOLS, PRESETS, Behaviour, Preset, preset
from interlingua.client.config import Retry

CODING = preset("coding-agent")

# provider, model, row: the model's own name decides, whichever door it stands behind
MODELS = (
    ("anthropic", "claude-opus-4-7", "claude"),
    ("bedrock", "us.anthropic.claude-opus-4-7-v1:0", "claude"),
    ("vertex-anthropic", "claude-sonnet-4-6@20260101", "claude"),
    ("openrouter", "anthropic/claude-opus-4.7", "claude"),
    ("anthropic", None, "claude"),
    ("anthropic", "a-finetune", "claude"),
    ("openai", "gpt-5", "openai"),
    ("openai-chat", "gpt-4o-mini", "openai"),
    ("openai", "o4-mini", "openai"),
    ("openai", "ft:gpt-4o:acme", "openai"),
    ("openai", None, "openai"),
    ("azure", "gpt-5", "openai"),
    ("azure", "my-deployment", "openai"),
    ("openrouter", "openai/gpt-5", "openai"),
    ("google", "gemini-2.5-pro", "gemini"),
    ("vertex", "gemini-3-pro", "gemini"),
    ("vertex", None, "gemini"),
    ("openrouter", "google/gemini-2.5-flash", "gemini"),
    ("google", "gemma-3-27b", None),  # known, and not Gemini
    ("azure", "llama-3.3-70b", None),
    ("groq", "gpt-oss-120b", None),  # open weights: whoever serves them
    ("bedrock", None, None),  # many families live there
    ("bedrock", "amazon.nova-pro-v1:0", None),
    ("mistral", "mistral-large-latest", None),
    ("ollama", "qwen3:8b", None),
    ("somebody-new", "something-new", None),
)


@pytest.mark.parametrize(("provider", "model", "row"), MODELS)
def test_families(provider: str, model: str | None, row: str | None) -> None:
    expected = CODING.default if row is None else CODING.rows[row]
    assert CODING.behaviour_for(provider, model) is expected


def test_a_row_for_a_provider_holds_where_the_family_has_none() -> None:
    groq, claude = Behaviour(max_tools=8), Behaviour(max_tools=9)
    made = Preset(name="mine", rows={"groq": groq, "claude": claude, "mine": groq})
    assert made.behaviour_for("groq", "llama-3.3-70b") is groq
    assert made.behaviour_for("groq", "gpt-5") is groq
    assert made.behaviour_for("groq", "claude-opus-4-7") is claude
    assert made.behaviour_for("mine", "whatever") is groq
    assert made.behaviour_for("openai", "gpt-5") == Behaviour()


# ------------------------------------------------------------------------------------------------------ coding-agent


@pytest.mark.parametrize(("row", "count"), [("claude", 60), ("openai", 20), ("gemini", 30)])
def test_maximum_of_tools(row: str, count: int) -> None:
    assert CODING.rows[row].max_tools == count


def test_without_a_row() -> None:
    assert CODING.default == Behaviour(max_tools=20)


@pytest.mark.parametrize(
    ("row", "times", "base", "cap", "classes"),
    [
        ("claude", 3, 1, 30, {"rate_limit", "server_error", "network", "timeout"}),
        ("openai", 5, 2, 60, {"rate_limit", "server_error", "network", "timeout", "tool_error"}),
        ("gemini", 3, 1, 30, {"rate_limit", "server_error", "network", "timeout"}),
    ],
)
def test_retries(row: str, times: int, base: float, cap: float, classes: set[str]) -> None:
    """A preset repeats all that is repeated without one."""
    behaviour = CODING.rows[row]
    assert behaviour.retry is not None
    assert (behaviour.max_retries, behaviour.retry.base, behaviour.retry.cap) == (times, base, cap)
    assert set(behaviour.retry.classes) == classes


def test_only_openai_gets_rules_a_forced_call_and_strict_tools() -> None:
    openai = CODING.rows["openai"]
    assert (openai.strict, openai.force_first_tool) == (True, True)
    for other in (CODING.rows["claude"], CODING.rows["gemini"], CODING.default):
        assert (other.addendum, other.strict, other.force_first_tool, other.parallel) == (None, None, False, None)


def test_the_addendum_has_the_seven_rules() -> None:
    addendum = CODING.rows["openai"].addendum or ""
    rules = [line for line in addendum.splitlines() if line.startswith("- ")]
    assert len(rules) == 7
    for rule, words in zip(
        rules,
        (("call it",), ("three or more", "TodoWrite"), ("Read", "Edit"), ("Write",), ("same turn",), ("Save", "link"),
         ("fails", "again")),
        strict=True,
    ):  # fmt: skip
        assert all(word in rule for word in words), rule


def test_core_tools() -> None:
    assert CODING.core_tools == CORE_TOOLS
    files, rest = "Read Write Edit Bash Glob Grep", "TodoWrite AskUserQuestion Task WebSearch WebFetch Skill"
    assert (*files.split(), *rest.split(), "EnterPlanMode", "ExitPlanMode") == CORE_TOOLS


def test_everything_is_off_by_default() -> None:
    plain = Behaviour()
    assert (plain.addendum, plain.strict, plain.parallel, plain.max_tools) == (None, None, None, None)
    assert (plain.force_first_tool, plain.retry, plain.max_retries) == (False, None, None)
    assert Preset(name="empty").behaviour_for("openai", "gpt-5") == plain
    assert Behaviour(retry=Retry()) != plain


def test_an_unknown_preset_names_the_known() -> None:
    assert preset("coding-agent") is PRESETS["coding-agent"]
    with pytest.raises(ValueError, match=r"no preset is called 'coding'; known: coding-agent"):
        preset("coding")

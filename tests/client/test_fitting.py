"""Requests fitted to known models: what is changed, what is refused, and that providers agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from client.support import PROVIDERS, WAYS, ask, call
from interlingua import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    InvalidRequestError,
    LossyTranslation,
    Message,
    Request,
    ServerToolUseBlock,
    TextBlock,
    Thinking,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
)
from interlingua.client.embedded import Script, Step
from interlingua.client.fitting import Fitter, fit_request
from interlingua.models.catalogue import Catalogue, Families
from interlingua.models.catalogue.facts import capabilities
from interlingua.models.catalogue.families import Recorded
from interlingua.models.providers import PROVIDERS as ROWS
from interlingua.testing import strategies
from interlingua.types.base import Json
from lab.oracles import WARNING, problems
from shared_data import corpus, needs_shared

BARE = Catalogue([Families(), Recorded()])  # what an install without the packaged data knows
SCHEMA: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
TOOL = ToolDefinition("f", "A tool.", SCHEMA)
PICTURE = ImageBlock(Base64Source("image/png", "aGk="))
PAPER = DocumentBlock(Base64Source("application/pdf", "aGk="))


def fit(name: str, catalogue: Catalogue = BARE, **fields: Any) -> tuple[Request, list[tuple[str, str]], Request]:
    """A request fitted to ``provider:model``, the losses, and the request as it was."""
    provider, model = name.split(":", 1)
    unsupported = fields.pop("unsupported", None)
    request = Request(**{"messages": [Message("user", "hi")], "model": model, **fields})
    able = catalogue.capabilities_for(provider, model)
    fitted, losses = fit_request(request, catalogue.facts(provider, model), able, unsupported)
    assert all(loss.reason.startswith(f"{model} ") for loss in losses)
    return fitted, [(loss.path, loss.kind) for loss in losses], request


# ------------------------------------------------------------------------------------------------------------ thinking

T = Thinking
BUDGET, EFFORT = ("thinking/budget", "approximated"), ("thinking/effort", "approximated")
MODE, LEAST = ("thinking/mode", "approximated"), ("thinking", "approximated")
GIVEN, DROPPED = ("thinking/budget", "added"), ("thinking", "dropped")

# ruff: noqa: E501
# fmt: off
ASKED = (
    # model                         asked                              taken                              lost
    # Claude decides for itself since 4.7, and takes a budget before 4.6
    ("anthropic:claude-opus-5-5",   T(mode="enabled", budget=10_000),  T(mode="adaptive", effort="medium"), [BUDGET]),
    ("anthropic:claude-opus-5-5",   T(budget=60_000),                  T(mode="adaptive", effort="max"),  [BUDGET]),
    ("anthropic:claude-opus-5-5",   T(budget=9, effort="low"),         T(mode="adaptive", effort="low"),  [BUDGET]),
    ("anthropic:claude-opus-5-5",   T(mode="enabled"),                 T(mode="adaptive"),                [MODE]),
    ("anthropic:claude-opus-5-5",   T(mode="enabled", effort="high"),  T(mode="adaptive", effort="high"), [MODE]),
    ("anthropic:claude-opus-5-5",   T(effort="minimal"),               T(effort="low"),                   [EFFORT]),
    ("anthropic:claude-opus-5-5",   T(mode="adaptive", effort="max"),  ...,                               []),
    ("anthropic:claude-opus-5-5",   T(mode="disabled"),                ...,                               []),
    ("anthropic:claude-opus-5-5",   T(budget=0),                       T(mode="disabled"),                []),
    ("anthropic:claude-opus-5-5",   T(effort="none"),                  T(mode="disabled"),                []),
    ("bedrock:us.anthropic.claude-opus-4-7-v1:0", T(budget=10_000),    T(mode="adaptive", effort="medium"), [BUDGET]),
    ("anthropic:claude-opus-4-6",   T(effort="xhigh"),                 T(effort="high"),                  [EFFORT]),
    ("anthropic:claude-opus-4-6",   T(mode="enabled", budget=4_000),   ...,                               []),
    ("anthropic:claude-opus-4-5",   T(mode="enabled", effort="high"),  T(mode="enabled", effort="high", budget=16_384), [GIVEN]),
    ("anthropic:claude-opus-4-5",   T(effort="high"),                  ...,                               []),
    ("anthropic:claude-sonnet-4-5", T(effort="high"),                  T(mode="enabled", budget=16_384),  [EFFORT]),
    ("anthropic:claude-sonnet-4-5", T(effort="whatever"),              T(mode="enabled", budget=8_192),   [EFFORT]),
    ("anthropic:claude-sonnet-4-5", T(mode="adaptive"),                T(mode="enabled", budget=8_192),   [MODE, GIVEN]),
    ("anthropic:claude-sonnet-4-5", T(mode="enabled"),                 T(mode="enabled", budget=8_192),   [GIVEN]),
    ("anthropic:claude-sonnet-4-5", T(mode="enabled", budget=2_000),   ...,                               []),
    ("anthropic:claude-sonnet-4-5", T(display="summarized"),           None,                              [DROPPED]),
    ("anthropic:claude-3-7-sonnet", T(effort="low"),                   T(mode="enabled", budget=2_048),   [EFFORT]),
    ("anthropic:claude-3-haiku",    T(effort="low"),                   None,                              [DROPPED]),
    ("anthropic:claude-3-haiku",    T(mode="disabled"),                None,                              []),
    # OpenAI has words
    ("openai:gpt-5",                T(mode="enabled", budget=2_000),   T(effort="low"),                   [BUDGET]),
    ("openai:gpt-5",                T(mode="enabled"),                 T(effort="medium"),                [MODE]),
    ("openai:gpt-5",                T(mode="enabled", effort="high"),  T(effort="high"),                  []),
    ("openai:gpt-5",                T(effort="xhigh"),                 T(effort="high"),                  [EFFORT]),
    ("openai:gpt-5",                T(effort="none"),                  T(effort="minimal"),               [LEAST]),
    ("openai:gpt-5",                T(mode="disabled"),                T(effort="minimal"),               [LEAST]),
    ("openai:gpt-5",                T(display="summarized"),           ...,                               []),
    ("openai:gpt-5.1",              T(effort="minimal"),               T(effort="low"),                   [EFFORT]),
    ("openai:gpt-5.1",              T(effort="none"),                  T(mode="disabled"),                []),
    ("openai:gpt-6.1-sol",          T(effort="max"),                   ...,                               []),
    ("openai:gpt-6.1-sol",          T(mode="disabled"),                ...,                               []),
    ("openai:o3",                   T(effort="minimal"),               T(effort="low"),                   [EFFORT]),
    ("openai-chat:o4-mini",         T(mode="disabled"),                T(effort="low"),                   [LEAST]),
    ("openai-chat:gpt-4o",          T(effort="high"),                  None,                              [DROPPED]),
    ("openai-chat:gpt-4o",          T(effort="none"),                  None,                              []),
    ("ollama:gpt-oss:20b",          T(mode="disabled"),                T(effort="low"),                   [LEAST]),
    # Gemini has a budget until 2.5 and levels since 3
    ("google:gemini-2.5-flash",     T(effort="high"),                  T(mode="enabled", budget=16_384),  [EFFORT]),
    ("google:gemini-2.5-flash",     T(effort="max"),                   T(mode="enabled", budget=24_576),  [EFFORT, BUDGET]),
    ("google:gemini-2.5-flash",     T(budget=50_000),                  T(budget=24_576),                  [BUDGET]),
    ("google:gemini-2.5-flash",     T(budget=-1),                      T(mode="adaptive"),                []),
    ("google:gemini-2.5-flash",     T(mode="adaptive"),                ...,                               []),
    ("google:gemini-2.5-flash",     T(mode="disabled"),                ...,                               []),
    ("google:gemini-2.5-pro",       T(mode="disabled"),                T(mode="enabled", budget=128),     [LEAST]),
    ("google:gemini-2.5-pro",       T(budget=0),                       T(mode="enabled", budget=128),     [LEAST]),
    ("google:gemini-2.5-pro",       T(budget=1),                       T(budget=128),                     [BUDGET]),
    ("google:gemini-3-pro-preview", T(budget=2_000),                   T(effort="low"),                   [BUDGET]),
    ("google:gemini-3-pro-preview", T(effort="medium"),                T(effort="high"),                  [EFFORT]),
    ("google:gemini-3-pro-preview", T(budget=0),                       T(effort="low"),                   [LEAST]),
    ("google:gemini-3.8-flash",     T(effort="minimal"),               T(effort="low"),                   [EFFORT]),
    ("google:gemini-3.8-flash",     T(effort="xhigh"),                 T(effort="high"),                  [EFFORT]),
    ("google:gemini-3.5-flash-lite", T(effort="minimal"),              ...,                               []),
    ("google:gemini-2.0-flash",     T(budget=100),                     None,                              [DROPPED]),
    # others
    ("moonshot:kimi-k3",            T(effort="high"),                  T(mode="enabled"),                 [EFFORT]),
    ("moonshot:kimi-k3",            T(budget=99),                      T(mode="enabled"),                 [BUDGET]),
    ("moonshot:kimi-k3",            T(mode="adaptive"),                T(mode="enabled"),                 [MODE]),
    ("moonshot:kimi-k3",            T(mode="disabled"),                ...,                               []),
    ("deepseek:deepseek-v4-pro",    T(effort="medium"),                ...,                               []),
    ("ollama:qwen3:8b",             T(mode="enabled"),                 ...,                               []),
    # OpenRouter has one form for all models
    ("openrouter:anthropic/claude-opus-5.5", T(budget=2_000),          ...,                               []),
    ("openrouter:anthropic/claude-haiku-4.5", T(effort="high"),         ...,                               []),
    ("openrouter:google/gemini-2.5-flash", T(mode="enabled", effort="low"), T(effort="low"),            []),
    # unknown models
    ("vllm:my-own-finetune",        T(mode="between_tools", effort="huge", budget=7), ...,                  []),
)
# fmt: on


@pytest.mark.parametrize(("name", "asked", "taken", "lost"), ASKED)
def test_how_each_model_is_asked_to_think(name: str, asked: Thinking, taken: Any, lost: list[tuple[str, str]]) -> None:
    fitted, losses, request = fit(name, thinking=asked)
    assert fitted.thinking == (asked if taken is ... else taken)
    assert losses == lost
    if taken is ...:
        assert fitted is request  # nothing else was touched


@pytest.mark.parametrize(("name", "asked", "taken", "lost"), ASKED)
def test_fitting_twice_changes_nothing_more(
    name: str, asked: Thinking, taken: Any, lost: list[tuple[str, str]]
) -> None:
    """Fitting once is enough, and the packaged data do not contradict our own rows."""
    fitted, _, _ = fit(name, thinking=asked)
    again, losses, _ = fit(name, thinking=fitted.thinking, unsupported="refuse")
    assert (again.thinking, losses) == (fitted.thinking, [])
    assert fit(name, Catalogue(), thinking=asked)[0].thinking == fitted.thinking


@pytest.mark.parametrize(("name", "asked", "taken", "lost"), ASKED)
def test_strict_callers_are_refused_instead(
    name: str, asked: Thinking, taken: Any, lost: list[tuple[str, str]]
) -> None:
    if [kind for _, kind in lost if kind != "added"]:
        with pytest.raises(InvalidRequestError, match=re.escape(name.split(":", 1)[1])):
            fit(name, thinking=asked, unsupported="refuse")
    else:
        fit(name, thinking=asked, unsupported="refuse")


@pytest.mark.parametrize(("limit", "taken"), [(None, 16_384), (8_000, 4_000), (1_500, 1_024), (1_024, None), (9, None)])
@pytest.mark.parametrize(
    "name", ["anthropic:claude-sonnet-4-5", "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"]
)
def test_thoughts_leave_room_for_the_answer(name: str, limit: int | None, taken: int | None) -> None:
    fitted, losses, _ = fit(name, thinking=T(effort="high"), max_output_tokens=limit)
    assert (fitted.thinking.budget if fitted.thinking else None) == taken
    assert losses == [EFFORT if taken else DROPPED]
    provider, model = name.split(":", 1)
    body: Any = dialect(ROWS[provider].dialect, provider).encode_request(fitted).body
    assert [line for line in problems(body, ROWS[provider].dialect) if not line.startswith(WARNING)] == []
    assert model in fitted.model  # type: ignore[operator]


# --------------------------------------------------------------------------------------------------- other parameters

SAMPLING = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "stop_sequences": ("x",), "seed": 1}

# fmt: off
DROPPED_BY = (
    # model                              beside                            what it does not take
    ("anthropic:claude-opus-5-5",        {},                               {"temperature", "top_p", "top_k"}),
    ("bedrock:anthropic.claude-opus-4-7-v1:0", {},                         {"temperature", "top_p", "top_k"}),
    ("anthropic:claude-sonnet-4-5",      {},                               set()),
    ("anthropic:claude-sonnet-4-5",      {"thinking": T(mode="enabled", budget=2_000)}, {"temperature", "top_k"}),
    ("anthropic:claude-sonnet-4-5",      {"thinking": T(mode="disabled")}, set()),
    ("anthropic:claude-3-haiku-20240307", {},                              set()),
    ("openai-chat:gpt-5",                {},                               {"temperature", "top_p", "stop_sequences"}),
    ("openai:o3",                        {},                               {"temperature", "top_p", "stop_sequences"}),
    ("openai:gpt-6.1-sol",               {},                               set()),
    ("openai:gpt-6.1-sol",               {"thinking": T(effort="high")},   {"temperature", "top_p"}),
    ("openai:gpt-6.1-sol",               {"thinking": T(effort="none")},   set()),
    ("openai-chat:gpt-4o",               {},                               set()),
    ("google:gemini-3.8-flash",          {},                               set()),
    ("openrouter:anthropic/claude-opus-5.5", {},                           set()),  # left out there, silently
    ("ollama:nobody-knows",              {},                               set()),
)
# fmt: on


@pytest.mark.parametrize(("name", "beside", "rejected"), DROPPED_BY)
def test_parameters_that_a_model_rejects(name: str, beside: dict[str, Any], rejected: set[str]) -> None:
    fitted, losses, request = fit(name, **SAMPLING, **beside)
    assert {path for path, _ in losses} == rejected
    for field in SAMPLING:
        assert getattr(fitted, field) == (getattr(Request(), field) if field in rejected else getattr(request, field))


def test_dropping_a_default_value_is_no_loss() -> None:
    """Recorded: a temperature of 1 is taken by models that take no other."""
    for name in ("anthropic:claude-opus-5-5", "openai-chat:gpt-5-nano"):
        fitted, losses, _ = fit(name, temperature=1.0, top_p=1, unsupported="refuse")
        assert (fitted.temperature, fitted.top_p, losses) == (None, None, [])


def test_a_models_own_limit() -> None:
    fitted, losses, _ = fit("anthropic:claude-3-haiku-20240307", max_output_tokens=8_000)
    assert (fitted.max_output_tokens, losses) == (4_096, [("max_output_tokens", "approximated")])


FORCED = {"tools": (TOOL,), "tool_choice": ToolChoice.specific("f")}
BY_TOOL = {"output_schema": SCHEMA}


@pytest.mark.parametrize("forcing", [FORCED, BY_TOOL])
@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-20250514", "deepseek:deepseek-v4-flash"])
def test_a_forced_call_disables_thinking(name: str, forcing: dict[str, Any]) -> None:
    """Recorded: ``Thinking mode does not support this tool_choice``."""
    fitted, losses, _ = fit(name, thinking=T(mode="enabled", budget=2_000, effort="low"), **forcing)
    assert fitted.thinking == T(mode="disabled")
    assert losses == [DROPPED]
    assert fit(name, thinking=T(mode="enabled", budget=2_000), tools=(TOOL,))[0].thinking != T(mode="disabled")


def test_a_model_that_thinks_by_default_is_told_not_to() -> None:
    fitted, losses, _ = fit("deepseek:deepseek-v4-flash", **FORCED)
    assert (fitted.thinking, losses) == (T(mode="disabled"), [("thinking", "added")])
    assert fit("anthropic:claude-sonnet-4-5", **FORCED)[1] == []
    assert fit("anthropic:claude-opus-5-5", **FORCED, thinking=T(mode="adaptive"))[1] == []


# ------------------------------------------------------------------------------------------------------------- content

# fmt: off
REFUSED = (
    # model                             request                                            what is said
    ("anthropic:claude-3-haiku-20240307", {"messages": [Message("user", (PAPER,))]},       "takes no documents"),
    ("anthropic:claude-2.1",            {"tools": (TOOL,)},                                "calls no tools"),
    ("openai-chat:gpt-3.5-turbo",       {"messages": [Message("user", (PICTURE,))]},       "takes no images"),
    ("openai-chat:o3-mini",             {"messages": [Message("user", (PICTURE,))]},       "takes no images"),
    ("openai-chat:o1-mini",             {"system": "Be brief."},                           "takes no system prompt"),
    ("openai-chat:o1-mini",             {"messages": [Message("system", "Be brief.")]},    "takes no system prompt"),
    ("deepseek:deepseek-v4-flash",      {"messages": [Message("user", (PICTURE,))]},       "takes no images"),
    ("google:gemini-3.8-flash",         {"messages": [Message("user", (ImageBlock(Base64Source("image/gif", "aGk=")),))]},
                                                                                           "takes no image/gif"),
    ("openai:gpt-4o",                   {"messages": [Message("user", (ImageBlock(Base64Source("image/heic", "aGk=")),))]},
                                                                                           "takes no image/heic"),
    ("anthropic:claude-sonnet-5",       {"messages": [Message("user", "hi"), Message("assistant", "Well,")]},
                                                                                           "messages/1: claude-sonnet-5 does not continue"),
)
# fmt: on


@pytest.mark.parametrize(("name", "fields", "said"), REFUSED)
def test_content_that_a_model_cannot_read(name: str, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequestError, match=re.escape(said)) as caught:
        fit(name, **fields)
    assert name.split(":", 1)[1] in caught.value.message


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "openai:gpt-4o", "google:gemini-3.8-flash"])
def test_a_final_assistant_message_where_the_model_takes_it(name: str) -> None:
    fit(name, messages=[Message("user", "hi"), Message("assistant", "Well,")])


def test_a_paused_turn_is_continued() -> None:
    paused = Message("assistant", (ServerToolUseBlock(id="s1", name="web_search", input={}),))
    fit("anthropic:claude-sonnet-5", messages=[Message("user", "hi"), paused])


def test_an_unknown_model_gets_everything_as_written() -> None:
    """Nothing is refused, everything is sent as written."""
    everything = Request(
        [Message("user", (TextBlock("look"), PICTURE, PAPER))],
        model="my-own-finetune",
        system="Be brief.",
        tools=(TOOL,),
        tool_choice=ToolChoice.any(parallel=True),
        max_output_tokens=10**9,
        output_schema=SCHEMA,
        thinking=T(mode="between_tools", effort="huge", budget=3),
        stream=True,
        **SAMPLING,
    )
    facts = BARE.facts("vllm", "my-own-finetune")
    fitted, losses = fit_request(everything, facts, BARE.capabilities_for("vllm", "my-own-finetune"), "refuse")
    assert fitted is everything
    assert losses == ()


# ------------------------------------------------------------------------------------ what others say of what we made

MODELS = tuple(dict.fromkeys(name for name, *_ in ASKED))
WISHES = tuple(dict.fromkeys(repr(asked) for _, asked, *_ in ASKED))
THOUGHTS = {repr(asked): asked for _, asked, *_ in ASKED}


@pytest.mark.parametrize("name", MODELS)
def test_every_fitted_request_is_valid_for_the_sdk(name: str) -> None:
    """For each form of thinking and each model: no body breaks a rule of its protocol."""
    provider = name.partition(":")[0]
    spoken = ROWS[provider].dialect
    for wish in WISHES:
        for limit in (None, 900, 30_000):
            fitted, _, _ = fit(name, thinking=THOUGHTS[wish], max_output_tokens=limit, **SAMPLING)
            body: Any = dialect(spoken, provider).encode_request(fitted).body
            wrong = [line for line in problems(body, spoken) if not line.startswith(WARNING)]
            assert [line for line in wrong if not _is_compatible(line, provider)] == [], wish


def _is_compatible(line: str, provider: str) -> bool:
    """Whether the SDK's complaint is about values that only a compatible server has."""
    own = ("top_k", "thinking", "reasoning", "random_seed")
    return (
        ROWS[provider].dialect == "openai-chat"
        and provider not in ("openai-chat", "azure")
        and any(w in line for w in own)
    )


# Bodies that providers were recorded to refuse, by the fact that we know of it.
# fmt: off
RULES = {
    # a claude that decides for itself takes no budget; one that does not, nothing else
    r"claude-(opus|sonnet|haiku)-5": lambda body: body.get("thinking", {}).get("type") in (None, "adaptive", "disabled"),
    r"claude-(sonnet|haiku)-4-5":    lambda body: body.get("thinking", {}).get("type") in (None, "enabled", "disabled"),
    r"claude-3-haiku":               lambda body: "thinking" not in body and "output_config" not in body,
    r"gpt-5$":                       lambda body: body.get("reasoning", {}).get("effort") != "none",
    r"gpt-4o":                       lambda body: "reasoning_effort" not in body,
    r"gemini-3":                     lambda body: "thinkingBudget" not in thoughts(body),
    r"gemini-2\.5-pro":              lambda body: thoughts(body).get("thinkingBudget", 128) not in range(128),
}
# fmt: on


def thoughts(body: Any) -> dict[str, Json]:
    return body.get("generationConfig", {}).get("thinkingConfig", {})


@pytest.mark.parametrize("name", MODELS)
def test_no_fitted_request_is_one_that_the_model_refuses(name: str) -> None:
    provider, model = name.split(":", 1)
    if provider not in ("anthropic", "openai", "openai-chat", "google"):
        return
    rules = [rule for pattern, rule in RULES.items() if re.search(pattern, model)]
    for wish in WISHES:
        fitted, _, _ = fit(name, thinking=THOUGHTS[wish], max_output_tokens=30_000)
        body = dialect(ROWS[provider].dialect, provider).encode_request(fitted).body
        assert all(rule(body) for rule in rules), (wish, body)


# -------------------------------------------------------------------------------------------------- through the client


@pytest.mark.parametrize("way", WAYS)
def test_losses_reach_the_response(way: str, caplog: pytest.LogCaptureFixture) -> None:
    request = ask(model="claude-opus-5-5", temperature=0.5, thinking=T(budget=2_000))
    outcome = call(way, "anthropic", Script(Step(act="echo")), request)
    assert outcome.response is not None
    told = [(loss.path, loss.kind) for loss in outcome.response.losses]
    assert told == [BUDGET, ("temperature", "dropped")]
    (record,) = caplog.records
    assert [loss["path"] for loss in record.interlingua["losses"]] == ["thinking/budget", "temperature"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", WAYS)
def test_losses_are_judged_by_the_callers_policy(way: str, caplog: pytest.LogCaptureFixture) -> None:
    request, script = ask(model="gpt-5", temperature=0.5), Script(Step(act="echo"))
    outcome = call(way, "openai", script, request, on_loss="raise")
    assert isinstance(outcome.error, LossyTranslation)
    assert "temperature: gpt-5 does not take this parameter" in outcome.error.message
    assert outcome.transport.requests == []
    assert call(way, "openai", script, request, on_loss="allow").response is not None
    assert caplog.records == []


def test_a_refusal_names_provider_and_request() -> None:
    request = ask(model="gpt-5", temperature=0.5, request_id="r1")
    outcome = call("complete", "openai", Script(), request, unsupported="refuse")
    assert outcome.error is not None
    assert (outcome.error.provider, outcome.error.request_id) == ("openai", "r1")
    assert outcome.error.message == "temperature: gpt-5 does not take this parameter"


# ------------------------------------------------------------------------------------------------------ recorded truth

# Cases in which we are stricter than the server was, and why that stays.
STRICTER = {
    ("ollama", "deepseek-r1:latest"): "the server took pictures for a model that cannot see them, and ignored them",
    ("openrouter", "google/gemini-2.5-flash"): "a video in OpenRouter's own words; the dialect has none of its own",
    ("google", "gemini-3-pro-preview"): "a budget is still taken, against the vendor's advice; a level is asked for",
}


FULL = Catalogue()
MODEL_IN_PATH = {"gemini": r"/models/([^/:]+):", "bedrock-converse": r"/model/([^/]+)/converse"}


@cache
def recorded(name: str) -> tuple[tuple[dict[str, Any], Request], ...]:
    """The recorded requests of a dialect that name a model, decoded, each with its record."""
    return tuple(_recorded(name))


def _recorded(name: str) -> Iterator[tuple[dict[str, Any], Request]]:
    for record in corpus(name):
        place = re.search(MODEL_IN_PATH.get(name, "$()"), unquote(record["url_path"] or ""))
        if isinstance(record.get("request"), dict) and place is not None:
            model, stream = place[1] or None, record.get("stream")
            request = dialect(name).decode_request(record["request"], model=model, stream=stream)
            if request.model:
                yield record, request


def held(name: str, record: dict[str, Any], request: Request) -> list[str]:
    """The reasons why the request would be refused or changed."""
    provider = record.get("provider") or PROVIDERS[name]
    facts = FULL.facts(provider, request.model or "")
    try:
        _, losses = fit_request(request, facts, capabilities(facts, name))
    except InvalidRequestError as error:
        return [error.message]
    return [f"{loss.path}: {loss.reason}" for loss in losses]


@needs_shared
@pytest.mark.parametrize("name", PROVIDERS)
def test_recorded_requests_that_providers_accepted_are_not_changed(name: str) -> None:
    taken = [(record, request) for record, request in recorded(name) if 200 <= (record.get("status") or 0) < 300]
    assert len(taken) > 50
    told = [((record.get("provider"), request.model), held(name, record, request)) for record, request in taken]
    assert [(key, why) for key, why in told if why and key not in STRICTER] == []


# fmt: off
FORESEEN = (
    # dialect              what the provider said                                    what we say before
    ("anthropic-messages", "does not support assistant message prefill",             "does not continue"),
    ("anthropic-messages", "does not support effort level 'xhigh'",                  "has no effort 'xhigh'"),
    ("openai-chat",        "Unsupported parameter: 'stop' is not supported",         "stop_sequences"),
    ("openai-chat",        "does not support 'developer' with this model",           "takes no system prompt"),
    ("openai-chat",        "does not support 'system' with this model",              "takes no system prompt"),
    ("openai-chat",        "unknown variant `image_url`, expected `text`",           "takes no images"),
    ("openai-chat",        "unknown variant `input_audio`, expected `text`",         "takes no audio"),
    ("openai-chat",        "unknown variant `file`, expected `text`",                "takes no documents"),
    ("openai-chat",        "Thinking mode does not support this tool_choice",        "cannot be forced to call"),
    ("bedrock-converse",   "doesn't support the video content block",                "takes no video"),
)
# fmt: on


@needs_shared
@pytest.mark.parametrize(("name", "theirs", "ours"), FORESEEN)
def test_recorded_requests_that_providers_refused_are_refused(name: str, theirs: str, ours: str) -> None:
    found = [
        held(name, record, request)
        for record, request in recorded(name)
        if record.get("status") == 400 and theirs in str(record.get("response"))
    ]
    assert found
    assert all(ours in "; ".join(told) for told in found), found


def test_fitting_changes_no_request_in_place() -> None:
    request = ask(model="gpt-5", temperature=0.5, thinking=T(budget=9))
    copy = replace(request)
    fit_request(request, BARE.facts("openai", "gpt-5"), BARE.capabilities_for("openai", "gpt-5"))
    assert request == copy


# ----------------------------------------------------------------------------------------------------------- one look

KNOWN = (
    "anthropic:claude-opus-4-7",
    "openai:gpt-5",
    "openai-chat:gpt-4o",
    "openai-chat:o1-mini",
    "google:gemini-3-pro",
    "ollama:llama3.1",
    "deepseek:deepseek-reasoner",
    "vllm:my-own-finetune",
)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)
@given(request=strategies.requests(), name=st.sampled_from(KNOWN))
def test_a_request_that_passes_the_fast_check_needs_no_change(request: Request, name: str) -> None:
    provider, model = name.split(":", 1)
    facts, able = FULL.facts(provider, model), FULL.capabilities_for(provider, model)
    if Fitter(facts, able).accepts(request):
        assert fit_request(request, facts, able, "refuse") == (request, ())


@pytest.mark.parametrize("name", KNOWN[:3])
def test_an_agents_usual_request_passes_the_fast_check(name: str) -> None:
    provider, model = name.split(":", 1)
    turn = Message("assistant", [ToolUseBlock("c1", "f", input={"a": "x"})])
    result = Message("tool", [ToolResultBlock("c1", (TextBlock("done"),))])
    request = Request([Message("user", "hi"), turn, result], model, "Be kind.", [TOOL], max_output_tokens=999)
    assert Fitter(FULL.facts(provider, model), FULL.capabilities_for(provider, model)).accepts(request)

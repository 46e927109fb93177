"""Facts by the model's name, without extra packages, and what a future model inherits."""

from __future__ import annotations

import pytest

from interlingua import (
    AudioBlock,
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
    Request,
    TextBlock,
    Thinking,
    VideoBlock,
    dialect,
)
from interlingua.dialects import DIALECTS
from interlingua.models.catalogue import Catalogue, Facts, Families, capabilities_for
from interlingua.models.catalogue.facts import CEILINGS, capabilities
from interlingua.models.catalogue.families import FAMILIES, family_facts, home
from interlingua.models.catalogue.tiers import TIERS
from interlingua.models.providers import PROVIDERS

BARE = Catalogue([Families()])
SAMPLING = {"temperature", "top_p", "top_k"}

REJECTED = (
    # model, the fields it refuses
    ("claude-opus-4-7", SAMPLING),
    ("claude-opus-4-8", SAMPLING),
    ("claude-opus-5-5", SAMPLING),
    ("claude-sonnet-5", SAMPLING),
    ("claude-haiku-5-5-20260901", SAMPLING),
    ("claude-mythos-1", SAMPLING),
    ("claude-opus-9", SAMPLING),  # not released yet
    ("us.anthropic.claude-opus-4-7-v1:0", SAMPLING),
    ("anthropic/claude-opus-4.7", SAMPLING),
    ("claude-opus-4-6", set()),
    ("claude-sonnet-4-6", set()),
    ("claude-sonnet-4-5@20250929", set()),
    ("claude-4-opus", set()),
    ("claude-sonnet-4-20250514", set()),
    ("anthropic.claude-3-5-sonnet-20241022-v2:0", set()),
    ("o3-mini", {"temperature", "top_p", "stop_sequences"}),
    ("gpt-5", {"temperature", "top_p", "stop_sequences"}),
    ("gpt-5-mini-2025-08-07", {"temperature", "top_p", "stop_sequences"}),
    ("gpt-5.4-nano", set()),  # recorded with a temperature 31 times
    ("gpt-4o", set()),
    ("gemini-3-pro-preview", set()),
    ("nobody-knows-me", set()),
)


@pytest.mark.parametrize(("model", "fields"), REJECTED)
def test_rejected_parameters(model: str, fields: set[str]) -> None:
    assert BARE.rejected_parameters(model) == fields


@pytest.mark.parametrize(
    ("model", "thinking", "fields"),
    [
        ("claude-sonnet-4-5", Thinking(mode="enabled", budget=2048), {"temperature", "top_k"}),
        ("claude-sonnet-4-5", Thinking(mode="disabled"), set()),
        ("gpt-6.1-sol", Thinking(effort="high"), {"temperature", "top_p"}),
        ("gpt-6.1-sol", Thinking(effort="none"), set()),
        ("gemini-2.5-pro", Thinking(budget=0), set()),
    ],
)
def test_some_are_refused_only_while_thinking(model: str, thinking: Thinking, fields: set[str]) -> None:
    assert BARE.rejected_parameters(model, thinking=thinking) == fields


@pytest.mark.parametrize(
    ("model", "forms"),
    [
        ("claude-opus-5-5", ("adaptive", "effort")),
        ("claude-opus-4-6", ("adaptive", "effort", "budget")),
        ("claude-opus-4-1", ("budget",)),
        ("claude-3-7-sonnet-latest", ("budget",)),
        ("claude-3-haiku-20240307", ()),
        ("gpt-7", ("effort",)),
        ("gpt-4o", ()),
        ("gemini-2.5-flash", ("adaptive", "budget")),  # a budget of -1 is up to the model
        ("gemini-4-pro", ("level",)),
        ("gemini-2.0-flash", ()),
        ("deepseek-v4-pro", ("toggle", "effort")),
    ],
)
def test_thinking_forms(model: str, forms: tuple[str, ...]) -> None:
    facts = family_facts(model)
    assert facts is not None
    assert facts.thinking_forms == forms
    assert facts.thinking == bool(forms)


def test_a_recorded_refusal_is_known() -> None:
    """``This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.``"""
    facts = family_facts("claude-opus-4-6")
    assert facts is not None
    assert set(facts.efforts or ()) == {"low", "medium", "high", "max"}


@pytest.mark.parametrize(
    ("model", "maker"),
    [
        ("claude-opus-9", "anthropic"),
        ("gpt-6.1-sol", "openai"),
        ("o3", "openai"),
        ("gemini-9-flash", "google"),
        ("mistral-large-latest", "mistral"),
        ("grok-5", "xai"),
        ("gpt-oss-120b", None),  # open weights: served by many
        ("llama-3.3-70b", None),
    ],
)
def test_home(model: str, maker: str | None) -> None:
    assert home(model) == maker


def test_homes_are_providers() -> None:
    assert {row.home for row in FAMILIES if row.home} <= set(PROVIDERS)


def test_no_two_family_rows_have_the_same_pattern() -> None:
    """The later row would hide the facts of the earlier one."""
    assert len({row.pattern for row in FAMILIES}) == len(FAMILIES)


MEDIA = {
    "images": ImageBlock(source=Base64Source(media_type="image/png", data="aGk=")),
    "documents": DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk=")),
    "audio": AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk=")),
    "video": VideoBlock(source=Base64Source(media_type="video/mp4", data="aGk=")),
}


@pytest.mark.parametrize("kind", MEDIA)
@pytest.mark.parametrize("name", DIALECTS)
def test_ceilings_are_what_the_dialects_can_say(name: str, kind: str) -> None:
    turn = Message(role="user", content=(TextBlock(text="look"), MEDIA[kind]))
    losses = dialect(name).encode_request(Request(model="m", messages=(turn,))).losses
    lost = any((loss.kind, loss.path) == ("dropped", "messages/0/content/1") for loss in losses)
    assert (kind in CEILINGS[name]) == (not lost)


def test_an_ability_ends_where_the_protocol_does() -> None:
    assert BARE.capabilities_for("google", "gemini-3.8-flash").video
    assert not BARE.capabilities_for("openrouter", "google/gemini-3.8-flash").video
    assert BARE.capabilities_for("openrouter", "google/gemini-3.8-flash").audio


def test_an_unknown_model_is_given_the_benefit_of_the_doubt() -> None:
    able = BARE.capabilities_for("vllm", "my-own-finetune")
    assert not BARE.knows("vllm", "my-own-finetune")
    assert able.images
    assert able.tools
    assert able.structured_output
    assert able.max_context_tokens is None


def test_false_in_a_layer_is_a_word() -> None:
    assert not capabilities(Facts(tools=False, images=False), "gemini").tools
    assert capabilities(Facts(images=False), "gemini").image_types == ()


# ------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("anthropic:claude-opus-5-5", "anthropic", "claude-opus-5-5"),
        ("anthropic:opus", "anthropic", TIERS["anthropic"][0]),
        ("google:sonnet", "google", TIERS["google"][1]),
        ("openai:fast", "openai", TIERS["openai"][2]),
        ("haiku", "anthropic", TIERS["anthropic"][2]),
        ("gpt-5", "openai", "gpt-5"),
        ("gemini-9", "google", "gemini-9"),
        ("ollama:llama3:8b", "ollama", "llama3:8b"),
        ("openrouter:anthropic/claude-opus-5.5", "openrouter", "anthropic/claude-opus-5.5"),
        ("vllm:whatever-i-serve", "vllm", "whatever-i-serve"),
        ("bedrock:us.anthropic.claude-opus-4-7-v1:0", "bedrock", "us.anthropic.claude-opus-4-7-v1:0"),
        ("ollama:fast", "ollama", "fast"),  # no row for local servers: sent as written
    ],
)
def test_resolve(name: str, provider: str, model: str) -> None:
    row, wire = BARE.resolve(name)
    assert (row.name, wire) == (provider, model)


def test_a_bare_name_goes_where_the_caller_is() -> None:
    row, model = BARE.resolve("llama3:8b", "ollama")
    assert (row.name, model) == ("ollama", "llama3:8b")
    assert BARE.resolve("deep", "google")[1] == TIERS["google"][0]


def test_an_unknown_provider_raises_naming_the_known() -> None:
    with pytest.raises(ValueError, match=r"no provider is called 'antropic'.*anthropic.*openai"):
        BARE.resolve("antropic:claude-opus-5-5")


def test_a_bare_name_that_nobody_owns_says_what_to_write() -> None:
    with pytest.raises(ValueError, match="Write provider:model"):
        BARE.resolve("my-own-finetune")
    with pytest.raises(ValueError, match="Write provider:model"):
        BARE.resolve("balanced")


def test_aliases_and_tiers_can_be_overridden() -> None:
    own = Catalogue([Families()], aliases={"work": "openai:deep"}, tiers={("openai", "deep"): "gpt-5-pro"})
    assert own.resolve("work")[1] == "gpt-5-pro"
    assert own.resolve("openai:opus")[1] == "gpt-5-pro"
    assert own.resolve("openai:fast")[1] == TIERS["openai"][2]


def test_tiers_are_of_known_providers_and_known_models() -> None:
    assert set(TIERS) <= set(PROVIDERS)
    assert [model for row in TIERS.values() for model in row if family_facts(model) is None] == []


def test_capabilities_say_whether_anybody_knows_the_model() -> None:
    assert capabilities_for("anthropic", "claude-sonnet-5").known
    assert not capabilities_for("openai", "a-model-of-next-year").known
    assert not capabilities_for("ollama", "my-own").known


def test_no_model_answers_more_than_its_window() -> None:
    """Layers may describe different versions of a model: one its window, another its output limit."""
    facts = Facts(max_context_tokens=64_000, max_output_tokens=384_000)
    assert capabilities(facts, "openai-chat").max_output_tokens == 64_000
    able = capabilities_for("deepseek", "deepseek-reasoner")
    if able.max_output_tokens is not None and able.max_context_tokens is not None:
        assert able.max_output_tokens <= able.max_context_tokens

"""Costs: by hand from published prices, against genai-prices' own figures, and what is marked, zero or unknown."""

from __future__ import annotations

import json
import statistics
from datetime import UTC, datetime
from itertools import product
from typing import Any

import msgspec
import pytest

from interlingua import Message, Origin, Response, TextBlock, TokenUsage
from interlingua.codec.saving import from_json, to_json
from interlingua.models.catalogue import prices as module
from interlingua.models.catalogue.layers import GENAI_NAMES, FetchedModels
from interlingua.models.catalogue.prices import Billed, GenaiPriceTable, ModelsDevPrices, OwnPrices, Price, Rates
from interlingua.models.pricing import Cost, Pricing, detailed_usage, reprice
from recorded_usage import FILES, Heard, heard
from shared_data import needs_shared

genai = pytest.importorskip("genai_prices")

AT = datetime(2026, 11, 15, tzinfo=UTC)
PRICING = Pricing()

BY_HAND = (
    # what, provider, model, usage, tier, dollars = (count x published price per million) + ...
    ("plain: $3 in, $15 out", "anthropic", "claude-sonnet-4-5", TokenUsage(10_000, 0, 0, 2_000), None, 0.03 + 0.03),
    ("cache read: $0.30", "anthropic", "claude-sonnet-4-5", TokenUsage(1_000, 50_000, 0, 500), None, 0.0255),
    ("cache write, 5 min: $3.75", "anthropic", "claude-sonnet-4-5", TokenUsage(100, 0, 20_000, 400), None, 0.0813),
    ("cache write, 1 h: $6", "anthropic", "claude-sonnet-4-5",
     TokenUsage(100, 0, 20_000, 400, raw={"cache_creation": {"ephemeral_1h_input_tokens": 20_000}}), None, 0.1263),
    ("over 200k: $6 in, $22.50 out, for all of it", "anthropic", "claude-sonnet-4-5-20250929",
     TokenUsage(250_000, 0, 0, 1_000), None, 1.5 + 0.0225),
    ("3 searches at $10 a thousand; $1 in, $5 out", "anthropic", "claude-haiku-4-5",
     TokenUsage(5_000, 0, 0, 300, raw={"server_tool_use": {"web_search_requests": 3}}), None, 0.005 + 0.0015 + 0.03),
    ("cached: $2.50 in, $1.25 cached, $10 out", "openai", "gpt-4o", TokenUsage(2_000, 6_000, 0, 1_000), None, 0.0225),
    ("reasoning is output: $1.25 in, $10 out", "openai", "gpt-5",
     TokenUsage(1_000, 0, 0, 3_000, reasoning_tokens=2_500), None, 0.00125 + 0.03),
    ("flex is half of it", "openai-chat", "gpt-5", TokenUsage(1_000, 0, 0, 3_000), "flex", 0.000625 + 0.015),
    ("thoughts are output: $1.25 in, $10 out", "google", "gemini-2.5-pro",
     TokenUsage(100_000, 0, 0, 2_000, reasoning_tokens=1_500), None, 0.125 + 0.02),
    ("over 200k: $2.50 in, $0.25 cached, $15 out", "google", "gemini-2.5-pro",
     TokenUsage(200_000, 100_000, 0, 1_000), None, 0.5 + 0.025 + 0.015),
    ("sound: $0.30 text, $1 sound, $2.50 out", "google", "gemini-2.5-flash",
     TokenUsage(1_000, 0, 0, 200, raw={"promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 400}]}), None,
     0.00018 + 0.0004 + 0.0005),
    ("priority is dearer: $2.50 in, $20 out", "openai", "gpt-5", TokenUsage(1_000, 0, 0, 3_000), "priority", 0.0625),
    ("a batch is half of it: $1.50 in, $7.50 out", "anthropic", "claude-sonnet-4-5",
     TokenUsage(10_000, 0, 0, 2_000, raw={"service_tier": "batch"}), None, 0.015 + 0.015),
    ("Bedrock, written for 1 h: $6", "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
     TokenUsage(0, 0, 10_000, 0, raw={"cacheDetails": [{"ttl": "1h", "inputTokens": 10_000}]}), None, 0.066),
    ("reasoning has its own price: $2 in, $8 out, $3 thought", "perplexity", "sonar-deep-research",
     TokenUsage(1_000, 0, 0, 1_000, reasoning_tokens=400), None, 0.002 + 0.0048 + 0.0012),
    ("Bedrock, across regions: $3 in, $15 out", "bedrock", "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
     TokenUsage(1_000, 0, 0, 100), None, 0.003 + 0.0015),
)  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "model", "usage", "tier", "dollars"), [row[1:] for row in BY_HAND], ids=[row[0] for row in BY_HAND]
)
def test_by_hand(provider: str, model: str, usage: TokenUsage, tier: str | None, dollars: float) -> None:
    found = PRICING.cost(usage, provider, model, service_tier=tier, at=AT)
    assert found.cost_usd == pytest.approx(dollars, abs=1e-12)
    assert found.source == "table"
    assert found.pricing_version == f"genai-prices/{genai.__version__}"


USAGES = (
    TokenUsage(12, 0, 0, 7),
    TokenUsage(120_000, 3_000, 0, 4_000, reasoning_tokens=900),
    TokenUsage(150_000, 90_000, 8_000, 2_000),
    TokenUsage(0, 299_999, 0, 1),
)
MODELS = (
    *(("anthropic", "claude-opus-5-5"), ("anthropic", "claude-haiku-5-5"), ("anthropic", "claude-opus-4-6")),
    *(("openai", "gpt-6.1-sol"), ("openai", "gpt-5.4"), ("openai", "o3"), ("openai", "gpt-4.1-mini")),
    *(("google", "gemini-3.1-pro-preview"), ("google", "gemini-3.8-flash"), ("x-ai", "grok-4.7")),
    *(("mistral", "mistral-large-latest"), ("deepseek", "deepseek-v4-pro"), ("groq", "openai/gpt-oss-120b")),
)


@pytest.mark.parametrize("usage", USAGES)
@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_as_genai_prices_says(provider: str, model: str, usage: TokenUsage) -> None:
    theirs = genai.Usage(
        input_tokens=usage.total_input_tokens,
        cache_read_tokens=usage.cached_input_tokens,
        cache_write_tokens=usage.cache_creation_input_tokens,
        output_tokens=usage.output_tokens,
    )
    expected = genai.calc_price(theirs, model, provider_id=provider, genai_request_timestamp=AT).total_price
    ours = PRICING.cost(usage, {"x-ai": "xai"}.get(provider, provider), model, at=AT)
    assert ours.cost_usd == pytest.approx(float(expected), abs=1e-12)


def test_rates_that_are_read_once_cost_the_same_for_every_model() -> None:
    table, package = GenaiPriceTable(), module._genai()
    fast = 0
    for provider in package.data_snapshot.get_snapshot().providers:
        for model in provider.models:
            for usage, tier, at in product(USAGES, (None, "default", "priority"), (AT, AT.replace(year=2024))):
                billed = Billed(usage=usage, service_tier=tier, at=at)
                ours = table.cost(provider.id, model.id, billed)
                assert ours == table._calculated(package, provider.id, model.id, billed), (model.id, tier, at)
            listed = table._listed(package, provider.id, model.id)
            if listed is not None:  # some of its models it does not find itself
                fast += listed.rates_at(AT) is not None and "default" not in listed.tiers
    assert fast > 1500


# The names of the protocol in genai-prices, in the order to try.
FLAVOURS = {
    "openai-chat": ("chat", "default"),
    "openai-responses": ("responses", "default"),
    "anthropic-messages": ("anthropic", "default"),
    "gemini": ("default",),
    "bedrock-converse": ("default",),
    "ollama": ("chat",),
}
TOLD = ("cost", "cost_in_usd_ticks", "cost_details")  # here the tables are asked, not the provider
# genai-prices does not read these names of cached tokens, and charges them in full.
UNREAD = ("num_cached_tokens", "prompt_cache_hit_tokens", "cached_tokens")
AT_LEAST = {
    "openai-chat": 2_850, "mistral": 190, "openai-responses": 1_500, "anthropic-messages": 1_500, "gemini": 1_100,
    "bedrock-converse": 230, "bedrock-converse-stream": 40, "ollama": 0,
}  # fmt: skip


@needs_shared
@pytest.mark.parametrize("file", FILES)
def test_recorded_answers_cost_what_genai_prices_says(file: str) -> None:
    """The cost that genai-prices computes from the raw usage equals ours, for every answer whose model it knows."""
    different, same = [], 0
    for one in heard(file):
        expected = theirs(one)
        if expected is None or one.model is None:
            continue
        ours = Pricing(tables=[GenaiPriceTable()]).cost(bare(one), one.provider, one.model, at=AT).cost_usd
        if ours == pytest.approx(expected, abs=1e-12):
            same += 1
        elif ours is None or ours > expected or not any(one.wire.get(name) for name in UNREAD):
            different.append((one.id, ours, expected))
    assert different == []
    assert same >= AT_LEAST[file]


def bare(one: Heard) -> TokenUsage:
    usage = detailed_usage(one.response)
    raw = usage.raw if isinstance(usage.raw, dict) else {}
    return msgspec.structs.replace(usage, raw={key: value for key, value in raw.items() if key not in TOLD})


def theirs(one: Heard) -> float | None:
    """The cost by genai-prices; None if it does not know the usage, the model or its price."""
    provider, tier = GENAI_NAMES.get(one.provider, one.provider), one.whole.get("service_tier")
    for flavour in FLAVOURS[one.dialect]:
        try:
            read = genai.extract_usage(one.whole, provider_id=provider, api_flavor=flavour)
            context = {"service_tier": tier} if isinstance(tier, str) else None
            found = genai.calc_price(
                read.usage, one.model, provider_id=provider, genai_request_timestamp=AT, price_context=context
            )
        except (LookupError, ValueError, AttributeError):
            continue
        priced = found.model_price.input_mtok is not None or found.model_price.output_mtok is not None
        return float(found.total_price) if priced else None
    return None


# --------------------------------------------------------------------------------------- marked, zero, unknown, own


@pytest.mark.parametrize(
    ("provider", "raw", "dollars"),
    [
        ("openrouter", {"cost": 0.001223, "is_byok": False}, 0.001223),
        ("openrouter", {"cost": 0}, 0.0),  # a free model: the provider says so
        ("perplexity", {"cost": {"total_cost": 0.00995, "request_cost": 0.006}}, 0.00995),
        ("xai", {"cost_in_usd_ticks": 6_709_000}, 0.0006709),
    ],
)
def test_what_the_provider_reports_is_used_and_marked(provider: str, raw: dict[str, Any], dollars: float) -> None:
    found = PRICING.cost(TokenUsage(10, 0, 0, 10, raw=raw), provider, "whatever")
    assert found.cost_usd == pytest.approx(dollars)
    assert (found.pricing_version, found.source) == ("provider", "provider")


@needs_shared
@pytest.mark.parametrize(("provider", "least"), [("openrouter", 300), ("xai", 20)])
def test_recorded_prices_of_providers_are_those_of_the_tables(provider: str, least: int) -> None:
    """The price that a provider reports equals the table's price for the same tokens."""
    off: list[float] = []
    for one in heard("openai-chat"):
        told = PRICING.of(one.response, one.provider, at=AT)
        if one.provider == provider and told.source == "provider" and told.cost_usd and one.model is not None:
            listed = PRICING.cost(bare(one), one.provider, one.model, at=AT).cost_usd
            off += [] if listed is None else [abs(listed - told.cost_usd) / told.cost_usd]
    assert len(off) >= least
    assert statistics.median(off) < 0.001


@pytest.mark.parametrize("provider", ["ollama", "llamacpp", "vllm", "lmstudio"])
def test_local_is_free(provider: str) -> None:
    assert PRICING.cost(TokenUsage(10, 0, 0, 10), provider, "llama3:8b") == Cost(0.0, "local", "local")


def test_what_was_estimated_is_marked() -> None:
    guess = PRICING.cost(TokenUsage(10_000, 0, 0, 2_000, estimated=True), "anthropic", "claude-sonnet-4-5", at=AT)
    assert guess.estimated
    assert guess.cost_usd == pytest.approx(0.06)
    assert not PRICING.cost(TokenUsage(10_000), "anthropic", "claude-sonnet-4-5", at=AT).estimated
    assert PRICING.cost(TokenUsage(1, estimated=True), "nobody", "nothing") == Cost(None, None, "unknown")


@pytest.mark.parametrize(
    ("provider", "model"), [("openai", "no-such-model"), ("no-such-provider", "gpt-4o"), ("venice", "x")]
)
def test_unknown_is_none(provider: str, model: str) -> None:
    assert PRICING.cost(TokenUsage(10, 0, 0, 10), provider, model) == Cost(None, None, "unknown")


def test_a_model_listed_without_a_price_is_unknown() -> None:
    assert PRICING.cost(TokenUsage(10, 0, 0, 10), "cerebras", "qwen-3-coder-480b").cost_usd is None


def test_no_tables_at_all() -> None:
    assert Pricing(tables=()).cost(TokenUsage(1, 0, 0, 1), "openai", "gpt-4o").cost_usd is None


def test_own_prices_go_first_and_have_a_version() -> None:
    own = {"openai:gpt-4o": Price(input=1, output=2), "house-model": Price(input=10, output=20, cache_read=1)}
    pricing = Pricing(own)
    found = pricing.cost(TokenUsage(1_000_000, 0, 0, 1_000_000), "openai", "gpt-4o")
    assert found.cost_usd == 3
    assert found.pricing_version == OwnPrices(own).version
    assert pricing.cost(TokenUsage(0, 1_000_000, 0, 0), "vendor", "house-model").cost_usd == 1
    assert pricing.cost(TokenUsage(1, 0, 0, 0), "openai", "gpt-5").pricing_version != found.pricing_version
    assert Pricing(own, edition="2026-11").cost(TokenUsage(1), "openai", "gpt-4o").pricing_version == "own/2026-11"
    assert OwnPrices({"m": Price(input=1, output=2)}).version != OwnPrices({"m": Price(input=1, output=3)}).version


@pytest.mark.parametrize(
    ("provider", "raw"), [("openrouter", {"cost": 9.0}), ("ollama", None), ("openai", {"service_tier": "flex"})]
)
def test_own_prices_go_before_what_the_provider_reports(provider: str, raw: Any) -> None:
    pricing = Pricing({"m": Price(input=1, output=2)}, edition="mine")
    assert pricing.cost(TokenUsage(1_000_000, raw=raw), provider, "m") == Cost(1.0, "own/mine", "own")
    assert pricing.cost(TokenUsage(1_000_000, raw=raw), provider, "other").source != "own"


def test_own_long_context_rates_hold_for_the_whole_call() -> None:
    price = Price(input=1, output=2, above={200_000: Rates(input=2, output=4), 500_000: Rates(input=3, output=6)})
    pricing = Pricing({"m": price}, tables=())
    assert pricing.cost(TokenUsage(200_000, 0, 0, 0), "p", "m").cost_usd == pytest.approx(0.2)
    assert pricing.cost(TokenUsage(100_000, 150_000, 0, 0), "p", "m").cost_usd == pytest.approx(0.5)
    assert pricing.cost(TokenUsage(600_000, 0, 0, 1_000_000), "p", "m").cost_usd == pytest.approx(1.8 + 6)


def test_reasoning_may_have_a_rate_of_its_own() -> None:
    pricing = Pricing({"m": Price(input=0, output=1, reasoning=10)}, tables=())
    assert pricing.cost(TokenUsage(0, 0, 0, 1_000, reasoning_tokens=400), "p", "m").cost_usd == pytest.approx(0.0046)


def test_models_dev_prices(tmp_path: Any) -> None:
    path = tmp_path / "api.json"
    path.write_text(
        '{"openai": {"models": {"gpt-9": {"cost": {"input": 2, "output": 8, "cache_read": 0.5,'
        ' "context_over_200k": {"input": 4, "output": 12}}}, "gpt-0": {}}}}'
    )
    pricing = Pricing(tables=[ModelsDevPrices(FetchedModels(path), "2026-11-15")])
    assert pricing.cost(TokenUsage(1_000, 1_000, 0, 0), "openai", "gpt-9").cost_usd == pytest.approx(0.0025)
    assert pricing.cost(TokenUsage(300_000, 0, 0, 1_000), "openai", "gpt-9").cost_usd == pytest.approx(1.2 + 0.012)
    assert pricing.cost(TokenUsage(1), "openai", "gpt-9").pricing_version == "models.dev/2026-11-15"
    assert pricing.cost(TokenUsage(1), "openai", "gpt-0").cost_usd is None


def test_the_tiers_of_models_dev_say_where_long_prompts_begin(tmp_path: Any) -> None:
    path = tmp_path / "api.json"
    tiers = [
        {"input": 4, "output": 9, "tier": {"size": 272_000, "type": "context"}},
        {"input": 9, "tier": {"type": "x"}},
    ]
    cost = {"input": 2, "output": 8, "cache_read": 1, "context_over_200k": {"input": 4, "output": 9}, "tiers": tiers}
    path.write_text(json.dumps({"openai": {"models": {"m": {"cost": cost}}}}))
    pricing = Pricing(tables=[ModelsDevPrices(FetchedModels(path))])
    assert pricing.cost(TokenUsage(272_000), "openai", "m").cost_usd == pytest.approx(0.544)
    assert pricing.cost(TokenUsage(300_000, 100_000), "openai", "m").cost_usd == pytest.approx(1.2 + 0.1)


# --------------------------------------------------------------------------------------------- answers and histories


def answer(usage: TokenUsage | None, **more: Any) -> Response:
    return Response(id="r", model="m", content=(), stop_reason="end_turn", usage=usage, **more)


def test_an_answer_says_who_wrote_it() -> None:
    pricing = Pricing({"p:m": Price(input=1, output=1)}, tables=())
    assert pricing.of(answer(TokenUsage(1_000_000), origin=Origin(provider="p", model="m"))).cost_usd == 1
    assert pricing.of(answer(TokenUsage(1_000_000)), "p").cost_usd == 1
    assert pricing.of(answer(TokenUsage(1_000_000))).cost_usd is None


def test_details_are_kept_for_repricing() -> None:
    rest = {"openai-chat": {"usage": {"cost": 0.25}, "service_tier": "flex"}}
    kept = detailed_usage(answer(TokenUsage(5), extras=rest))
    assert kept.raw == {"cost": 0.25, "service_tier": "flex"}
    assert PRICING.cost(kept, "openrouter", "m").cost_usd == 0.25
    assert detailed_usage(answer(None)) == TokenUsage()
    assert detailed_usage(answer(TokenUsage(5, raw={"x": 1}), extras=rest)).raw == {"x": 1}


@needs_shared
@pytest.mark.parametrize("file", FILES)
def test_a_saved_answer_costs_what_it_did(file: str) -> None:
    """A saved response, or a saved message with its usage, keeps what a bill needs: also tier and cache lifetime."""
    for one in heard(file)[::3]:
        origin = Origin(provider=one.provider, model=one.model)
        fresh = msgspec.structs.replace(one.response, origin=origin, model=one.model)
        cost = PRICING.of(fresh, at=AT)
        usage = msgspec.to_builtins(detailed_usage(fresh))
        turn = Message(role="assistant", content=fresh.content, origin=origin, metadata={"usage": usage})
        saved = (from_json(to_json(fresh), Response), from_json(to_json(turn), Message))
        assert set(reprice(saved, PRICING, at=AT)) == {cost}, one.id


def test_a_saved_history_is_repriced() -> None:
    def turn(version: str, raw: Any = None) -> Message:
        told = {"usage": {"input_tokens": 1_000_000, "raw": raw}, "cost_usd": 9.0, "pricing_version": version}
        return Message(
            role="assistant", content=(TextBlock(text="hi"),), origin=Origin(provider="p", model="m"), metadata=told
        )

    history = (Message(role="user", content="hello"), turn("own/old"), turn("provider", {"cost": 9.0}))
    pricing = Pricing({"m": Price(input=4, output=1)}, tables=(), edition="new")
    asked, repriced, reported = pricing.reprice(history)
    assert asked is history[0]
    assert (repriced.metadata["cost_usd"], repriced.metadata["pricing_version"]) == (4.0, "own/new")
    assert reported.metadata["cost_usd"] == 4.0  # the user's own price is asked first
    assert [cost.cost_usd for cost in reprice(history, pricing)] == [None, 4.0, 4.0]
    assert Pricing(tables=()).reprice(history[2:]) == history[2:]  # what the provider told stays
    assert Pricing(tables=()).reprice((turn("provider"),))[0].metadata["cost_usd"] == 9.0  # also if it kept no details
    (unknown,) = Pricing(tables=()).reprice(history[1:2])
    assert (unknown.metadata["cost_usd"], unknown.metadata["pricing_version"]) == (None, None)

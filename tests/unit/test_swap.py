"""Before a conversation moves: legality, losses, and whether caches and signatures survive."""

from __future__ import annotations

import pytest

from interlingua import (
    AdapterCapabilities,
    Base64Source,
    ImageBlock,
    Message,
    Origin,
    Target,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
    plan_swap,
)
from interlingua.codec.history.issuer import same_issuer
from interlingua.models.catalogue.prices import Price
from interlingua.models.pricing import Pricing

THOUGHT = ThinkingBlock("Hm.", signature="c2ln")
CALL = ToolUseBlock("toolu_1", "add", input={"a": 1})
BY_CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-5-20250929")
HISTORY = (
    Message("user", "one and one?"),
    Message("assistant", (THOUGHT, CALL), origin=BY_CLAUDE),
    Message("tool", (ToolResultBlock("toolu_1", "2"),)),
)


def test_a_move_tells_what_it_loses():
    plan = plan_swap(HISTORY, to=Target("deepseek", "deepseek-chat"), pricing=Pricing(tables=()))
    assert plan.legal
    assert ("dropped", "messages/1/content/0") in [(loss.kind, loss.path) for loss in plan.losses]
    assert plan.input_tokens > 0
    assert plan.cost_usd is None
    assert not plan.cache_survives


def test_staying_loses_nothing():
    plan = plan_swap(HISTORY, to=Target("anthropic", "claude-sonnet-4-5-20250929"))
    assert plan.legal
    assert [loss.path for loss in plan.losses] == ["max_output_tokens", "tools"]
    assert plan.cache_survives


def test_a_known_price_gives_the_cost():
    own = Pricing({"deepseek:deepseek-chat": Price(input=2.0, output=2.0)}, tables=())
    plan = plan_swap(HISTORY, to=Target("deepseek", "deepseek-chat"), pricing=own)
    assert plan.cost_usd == pytest.approx(plan.input_tokens * 2.0 / 1e6)


def test_a_local_model_costs_nothing():
    assert plan_swap(HISTORY, to=Target("ollama", "qwen3")).cost_usd == 0.0


def test_an_unanswered_call_is_named():
    plan = plan_swap(HISTORY[:2], to=Target("openai-chat", "gpt-5"))
    assert not plan.legal
    assert "toolu_1" in plan.problems[0]


def test_what_the_model_cannot_take_is_named():
    picture = Message("user", (ImageBlock(Base64Source("image/png", "AAAA")), TextBlock("what is it?")))
    plan = plan_swap((picture,), to=Target("groq", "llama", AdapterCapabilities(images=False)))
    assert plan.problems == ("messages/0: llama takes no images",)


def test_an_unknown_provider_is_an_error_that_names_the_known():
    with pytest.raises(ValueError, match="known: anthropic, azure"):
        plan_swap(HISTORY, to=Target("nobody", "m"))


# origin, dialect, target, whether it may be sent
ISSUERS = [
    (None, "gemini", None, True),
    (Origin(dialect="gemini"), "gemini", None, True),
    (Origin(dialect="gemini"), "openai-chat", None, False),
    (BY_CLAUDE, "anthropic-messages", Target("anthropic", "claude-sonnet-4-5"), True),
    (BY_CLAUDE, "anthropic-messages", Target("anthropic", "claude-opus-4-5"), False),
    (BY_CLAUDE, "anthropic-messages", Target("kimi", "kimi-k2"), False),
    (BY_CLAUDE, "bedrock-converse", Target("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"), False),
    (
        BY_CLAUDE,
        "bedrock-converse",
        Target("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", shares=("anthropic",)),
        True,
    ),
    (Origin("openai", "openai-responses", "gpt-5"), "openai-responses", Target("openai", "gpt-5-mini"), False),
    (Origin("openai", "openai-responses", "gpt-5-2025-08-07"), "openai-responses", Target("openai", "gpt-5"), True),
]


@pytest.mark.parametrize(("origin", "name", "target", "may"), ISSUERS)
def test_opaque_state_goes_to_its_issuer_only(origin, name, target, may):
    assert same_issuer(origin, name, target) is may


def test_a_signature_survives_a_detour():
    """Begun with Claude, continued elsewhere, returned: Claude's own block comes back byte for byte."""
    detour = (
        *HISTORY,
        Message("assistant", "2", origin=Origin("openai", "openai-chat", "gpt-5")),
        Message("user", "ok"),
    )
    away = dialect("openai-chat").encode_messages(detour).body
    assert "c2ln" not in str(away)
    home = dialect("anthropic-messages").encode_messages(detour).body
    assert home[1]["content"][0] == {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}

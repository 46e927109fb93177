"""Providers are rows: each names a dialect that exists, and quirks belong to rows that exist."""

from __future__ import annotations

import pytest

from interlingua import DIALECTS, PROVIDERS, Request, dialect
from interlingua.dialects.openai_chat import QUIRKS
from interlingua.models.providers import provider

WANTED = (
    "azure mistral deepseek groq xai together fireworks openrouter cerebras perplexity vllm llamacpp lmstudio cohere "
    "kimi minimax openai anthropic google ollama bedrock"
).split()


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_row_is_complete(name):
    row = PROVIDERS[name]
    assert row.dialect in DIALECTS
    assert row.base_url.startswith(("https://", "http://localhost"))
    assert row.local is row.base_url.startswith("http://localhost")
    assert row.auth.kind in ("bearer", "header", "sigv4", "google", "none")
    assert (row.auth.header is not None) is (row.auth.kind == "header")
    assert all(other in PROVIDERS for other in row.shares)
    assert dialect(row.dialect, name).provider == name


@pytest.mark.parametrize("name", WANTED)
def test_the_servers_people_use_are_there(name):
    assert name in PROVIDERS


def test_every_chat_provider_has_its_quirks():
    chat = {name for name, row in PROVIDERS.items() if row.dialect == "openai-chat"} - {"openai-chat"}
    assert chat <= QUIRKS.keys()


def test_no_key_is_in_a_url() -> None:
    """A dialect knows no key, and no provider's key travels in the URL."""
    assert not [row.name for row in PROVIDERS.values() if "key" in row.base_url]
    for name in DIALECTS:
        assert "key=" not in (dialect(name).encode_request(Request("?", "m", stream=True)).path or "")


def test_an_unknown_name_names_the_known():
    with pytest.raises(ValueError, match="no provider is called 'nope'; known: anthropic"):
        provider("nope")

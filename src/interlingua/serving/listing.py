"""Lists of models, in the shape of each dialect's own endpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from ..types.base import Json

__all__ = ["LISTS", "Listed", "write_model", "write_models"]

EPOCH = "1970-01-01T00:00:00Z"
METHODS = ("generateContent", "streamGenerateContent", "countTokens")
ARCHITECTURE = "interlingua"
DETAILS: dict[str, Json] = {
    "format": "",
    "family": "",
    "families": [],
    "parameter_size": "",
    "quantization_level": "",
}
CODEX = "client_version="
"""Codex names its version in the query of this one endpoint."""


class Listed(Struct, frozen=True):
    """A model as it is listed. What is not known is left out, or as small as the protocol allows."""

    name: str
    owner: str = "interlingua"
    context_tokens: int | None = None
    output_tokens: int | None = None
    abilities: tuple[str, ...] = ("completion",)
    """What it can do, in Ollama's words."""


def _anthropic(model: Listed) -> dict[str, Json]:
    known = {"max_input_tokens": model.context_tokens, "max_tokens": model.output_tokens}
    told = {key: value for key, value in known.items() if value is not None}
    named = {"type": "model", "id": model.name, "display_name": model.name, "created_at": EPOCH, "lifecycle": "active"}
    return {**named, **told}


def _openai(model: Listed) -> dict[str, Json]:
    return {"id": model.name, "object": "model", "created": 0, "owned_by": model.owner}


def _gemini(model: Listed) -> dict[str, Json]:
    known = {"inputTokenLimit": model.context_tokens, "outputTokenLimit": model.output_tokens}
    told = {key: value for key, value in known.items() if value is not None}
    named = {"name": f"models/{model.name}", "version": "1", "displayName": model.name}
    return {**named, **told, "supportedGenerationMethods": list(METHODS)}


def _ollama(model: Listed) -> dict[str, Json]:
    named: dict[str, Json] = {"name": model.name, "model": model.name, "modified_at": EPOCH}
    return {**named, "size": 0, "digest": "", "details": DETAILS}


def _ollama_shown(model: Listed) -> dict[str, Json]:
    """Clients look for the window under a key that ends so, whatever the architecture."""
    info: dict[str, Json] = {"general.architecture": ARCHITECTURE}
    if model.context_tokens is not None:
        info[f"{ARCHITECTURE}.context_length"] = model.context_tokens
    texts = {"modelfile": "", "parameters": "", "template": "", "modified_at": EPOCH}
    return {**texts, "details": DETAILS, "model_info": info, "capabilities": list(model.abilities)}


def _bedrock(model: Listed) -> dict[str, Json]:
    arn = f"arn:aws:bedrock:us-east-1::inference-profile/{model.name}"
    named = {"inferenceProfileId": model.name, "inferenceProfileName": model.name, "inferenceProfileArn": arn}
    return {**named, "status": "ACTIVE", "type": "SYSTEM_DEFINED", "models": []}


def _anthropic_list(models: list[dict[str, Json]]) -> dict[str, Json]:
    ends = {"first_id": models[0]["id"], "last_id": models[-1]["id"]} if models else {"first_id": None, "last_id": None}
    return {"data": models, "has_more": False, **ends}


class ListForm(Struct, frozen=True):
    """How one model is written, and all of them."""

    model: Callable[[Listed], dict[str, Json]]
    models: Callable[[list[dict[str, Json]]], dict[str, Json]]
    shown: Callable[[Listed], dict[str, Json]] | None = None
    """How one is written to who asks for it alone, where that is another form."""


LISTS: dict[str, ListForm] = {
    "anthropic-messages": ListForm(_anthropic, _anthropic_list),
    "openai-chat": ListForm(_openai, lambda models: {"object": "list", "data": models}),
    "gemini": ListForm(_gemini, lambda models: {"models": models}),
    "ollama": ListForm(_ollama, lambda models: {"models": models}, _ollama_shown),
    "bedrock-converse": ListForm(_bedrock, lambda models: {"inferenceProfileSummaries": models}),
}
"""How each dialect lists models."""
LISTS["openai-responses"] = LISTS["openai-chat"]


def write_models(models: Sequence[Listed], dialect: str, query: str = "") -> dict[str, Json]:
    """The list of models as the dialect's own clients read it. Codex, known by its query, keeps a list of its own."""
    if CODEX in query and dialect.startswith("openai"):
        return {"models": []}
    form = LISTS[dialect]
    return form.models([form.model(model) for model in models])


def write_model(model: Listed, dialect: str) -> dict[str, Json]:
    """One model, as the dialect's own clients read it."""
    form = LISTS[dialect]
    return (form.shown or form.model)(model)

"""Lists of models, in the shape of each dialect's endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from urllib.parse import parse_qsl

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
COUNT = re.compile("[1-9][0-9]{0,5}")
CODEX = "client_version="
"""The key by which Codex sends its version in the query; only this endpoint gets it."""


class Listed(Struct, frozen=True):
    """A model in a list. What is not known is left out, or as small as the protocol allows."""

    name: str
    owner: str = "interlingua"
    context_tokens: int | None = None
    output_tokens: int | None = None
    abilities: tuple[str, ...] = ("completion",)
    """The model's capabilities, in Ollama's words."""


def _anthropic(model: Listed) -> dict[str, Json]:
    limits = {"max_input_tokens": model.context_tokens, "max_tokens": model.output_tokens}
    known = {key: value for key, value in limits.items() if value is not None}
    named = {"type": "model", "id": model.name, "display_name": model.name, "created_at": EPOCH, "lifecycle": "active"}
    return {**named, **known}


def _openai(model: Listed) -> dict[str, Json]:
    return {"id": model.name, "object": "model", "created": 0, "owned_by": model.owner}


def _gemini(model: Listed) -> dict[str, Json]:
    limits = {"inputTokenLimit": model.context_tokens, "outputTokenLimit": model.output_tokens}
    known = {key: value for key, value in limits.items() if value is not None}
    named = {"name": f"models/{model.name}", "version": "1", "displayName": model.name}
    return {**named, **known, "supportedGenerationMethods": list(METHODS)}


def _ollama(model: Listed) -> dict[str, Json]:
    named: dict[str, Json] = {"name": model.name, "model": model.name, "modified_at": EPOCH}
    return {**named, "size": 0, "digest": "", "details": DETAILS}


def _ollama_shown(model: Listed) -> dict[str, Json]:
    """One model in full. Clients find the context window by the end of its key, ``.context_length``."""
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


class Paging(Struct, frozen=True):
    """How a client requests a page of the list: the keys of its query, and the fields that say that there is more."""

    size: str
    after: str
    """The key of the name of the last model on the page before."""
    more: Callable[[str], dict[str, Json]]

    def page(self, models: Sequence[Listed], query: str) -> tuple[Sequence[Listed], dict[str, Json]]:
        """The requested page, and the fields that say that there is more."""
        wanted = dict(parse_qsl(query))
        names = [model.name for model in models]
        start = names.index(wanted[self.after]) + 1 if wanted.get(self.after) in names else 0
        size = wanted.get(self.size, "")
        end = start + int(size) if COUNT.fullmatch(size) else len(models)
        return models[start:end], self.more(names[end - 1]) if end < len(models) else {}


class ListForm(Struct, frozen=True):
    """How one model and the list of models are written."""

    model: Callable[[Listed], dict[str, Json]]
    models: Callable[[list[dict[str, Json]]], dict[str, Json]]
    shown: Callable[[Listed], dict[str, Json]] | None = None
    """How a model is written when it is requested alone; None: as in the list."""
    paging: Paging | None = None


LISTS: dict[str, ListForm] = {
    "anthropic-messages": ListForm(
        _anthropic, _anthropic_list, paging=Paging("limit", "after_id", lambda last: {"has_more": True})
    ),
    "openai-chat": ListForm(_openai, lambda models: {"object": "list", "data": models}),
    "gemini": ListForm(
        _gemini,
        lambda models: {"models": models},
        paging=Paging("pageSize", "pageToken", lambda last: {"nextPageToken": last}),
    ),
    "ollama": ListForm(_ollama, lambda models: {"models": models}, _ollama_shown),
    "bedrock-converse": ListForm(
        _bedrock,
        lambda models: {"inferenceProfileSummaries": models},
        paging=Paging("maxResults", "nextToken", lambda last: {"nextToken": last}),
    ),
}
"""How each dialect lists models."""
LISTS["openai-responses"] = LISTS["openai-chat"]


def write_models(models: Sequence[Listed], dialect: str, query: str = "") -> dict[str, Json]:
    """The list of models as the dialect's own clients read it, or the page that the query requests.

    Codex, recognized by its query, gets an empty list, because it has a list of its own."""
    if CODEX in query and dialect.startswith("openai"):
        return {"models": []}
    form = LISTS[dialect]
    page, more = (models, {}) if form.paging is None else form.paging.page(models, query)
    return {**form.models([form.model(model) for model in page]), **more}


def write_model(model: Listed, dialect: str) -> dict[str, Json]:
    """One model, as the dialect's own clients read it."""
    form = LISTS[dialect]
    return (form.shown or form.model)(model)

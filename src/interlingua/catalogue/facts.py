"""What a layer of the catalogue says about one model: every field may be left open."""

from __future__ import annotations

from functools import reduce
from typing import Any

from msgspec import Struct, structs

from ..types.capabilities import AdapterCapabilities

__all__ = ["CEILINGS", "Facts", "capabilities", "merged"]


class Facts(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Facts of one model. ``None``: this layer does not say.

    ``rejects`` and ``rejects_while_thinking`` hold names of ``Request`` fields. ``thinking_forms`` are the ways in
    which reasoning can be asked for: ``adaptive``, ``budget``, ``effort``, ``level``, ``toggle``; ``efforts`` the
    words that the model takes. ``prefill``: the conversation may end with the assistant's own words.
    """

    images: bool | None = None
    documents: bool | None = None
    audio: bool | None = None
    video: bool | None = None
    thinking: bool | None = None
    tools: bool | None = None
    system_prompt: bool | None = None
    structured_output: bool | None = None
    streaming: bool | None = None
    streaming_tool_calls: bool | None = None
    parallel_tool_calls: bool | None = None
    prompt_caching: bool | None = None
    max_context_tokens: int | None = None
    max_output_tokens: int | None = None
    image_types: tuple[str, ...] | None = None
    rejects: tuple[str, ...] | None = None
    rejects_while_thinking: tuple[str, ...] | None = None
    thinking_forms: tuple[str, ...] | None = None
    efforts: tuple[str, ...] | None = None
    prefill: bool | None = None


MEDIA = ("images", "documents", "audio", "video")

# What each dialect has a word for. A model's own ability ends where its reader's language does.
CEILINGS: dict[str, tuple[str, ...]] = {
    "anthropic-messages": ("images", "documents"),
    "openai-chat": ("images", "documents", "audio"),
    "openai-responses": ("images", "documents"),
    "gemini": ("images", "documents", "audio", "video"),
    "ollama": ("images",),
    "bedrock-converse": ("images", "documents", "audio", "video"),
}
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")

# A model that no layer knows is given the benefit of the doubt: the provider shall refuse it, not we.
UNKNOWN = Facts(images=True, documents=True, audio=True, video=True, thinking=True, structured_output=True)


def merged(*layers: Facts | None) -> Facts:
    """One set of facts; where two layers speak of the same thing, the later wins."""
    return reduce(_over, (layer for layer in layers if layer is not None), Facts())


def _over(below: Facts, above: Facts) -> Facts:
    said = {name: value for name, value in structs.asdict(above).items() if value is not None}
    return structs.replace(below, **said)


def capabilities(facts: Facts, dialect: str) -> AdapterCapabilities:
    """The facts as capabilities. Facts that no layer states are as for an unknown model."""
    known = structs.asdict(_over(UNKNOWN, facts))
    able: dict[str, Any] = {
        name: known[name] for name in AdapterCapabilities.__struct_fields__ if known[name] is not None
    }
    for kind in MEDIA:
        able[kind] = able[kind] and kind in CEILINGS.get(dialect, MEDIA)
    if able["images"]:
        able.setdefault("image_types", IMAGE_TYPES)
    return AdapterCapabilities(**able)

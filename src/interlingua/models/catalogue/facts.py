"""What a layer of the catalogue knows about one model: every field is optional."""

from __future__ import annotations

from functools import reduce
from typing import Any, Literal

from msgspec import Struct, structs

from ...types.capabilities import AdapterCapabilities
from ...types.request import Parameter

__all__ = ["CEILINGS", "Facts", "Form", "capabilities", "merged"]

Form = Literal["adaptive", "budget", "effort", "level", "toggle"]


class Facts(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Facts about one model. ``None``: this layer does not know.

    ``rejects`` and ``rejects_while_thinking`` name fields of ``Request``; ``forces_while_thinking``: a call can be
    forced while thinking. ``thinking_forms`` are the ways to request reasoning (a ``level`` requests it, an ``effort``
    may concern the answer as well); ``efforts`` the words that the model accepts; ``budgets`` the fewest and the most
    tokens of reasoning. ``prompt_caching``: accepts cache marks (providers that cache by themselves need none).
    ``prefill``: the conversation may end with a part of the assistant's answer; False: that is refused.
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
    rejects: tuple[Parameter, ...] | None = None
    rejects_while_thinking: tuple[Parameter, ...] | None = None
    forces_while_thinking: bool | None = None
    thinking_forms: tuple[Form, ...] | None = None
    efforts: tuple[str, ...] | None = None
    budgets: tuple[int, int] | None = None
    prefill: bool | None = None


LIMITED = ("images", "documents", "audio", "video", "prompt_caching")

# The abilities that each dialect can express. A model cannot use what its dialect cannot express.
CEILINGS: dict[str, tuple[str, ...]] = {
    "anthropic-messages": ("images", "documents", "prompt_caching"),
    "openai-chat": ("images", "documents", "audio", "prompt_caching"),
    "openai-responses": ("images", "documents", "prompt_caching"),
    "gemini": ("images", "documents", "audio", "video"),
    "ollama": ("images",),
    "bedrock-converse": ("images", "documents", "audio", "video", "prompt_caching"),
}
# The media types of images that a dialect can name; the other dialects can name any.
IMAGE_TYPES: dict[str, tuple[str, ...]] = {
    "anthropic-messages": ("image/jpeg", "image/png", "image/gif", "image/webp"),
    "bedrock-converse": ("image/jpeg", "image/png", "image/gif", "image/webp"),
}
# The servers that accept cache marks, for dialects where not all do: ``cache_key`` in the dialect's quirks.
MARKING = {"openai-chat": frozenset({"openai", "openai-chat", "azure", "openrouter", "embedded"})}

# An unknown model is assumed to be able to do everything: the provider may refuse a request, not we.
UNKNOWN = Facts(
    images=True, documents=True, audio=True, video=True, thinking=True, structured_output=True, prompt_caching=True
)


def merged(*layers: Facts | None) -> Facts:
    """The facts of all layers; where two layers know the same field, the later wins."""
    return reduce(_over, (layer for layer in layers if layer is not None), Facts())


def _over(below: Facts, above: Facts) -> Facts:
    known = {name: value for name, value in structs.asdict(above).items() if value is not None}
    return structs.replace(below, **known)


def capabilities(facts: Facts, dialect: str, provider: str | None = None) -> AdapterCapabilities:
    """The facts as capabilities. Missing facts are those of an unknown model."""
    known = structs.asdict(_over(UNKNOWN, facts))
    able: dict[str, Any] = {
        name: known[name] for name in AdapterCapabilities.__struct_fields__ if known.get(name) is not None
    }
    window, answer = facts.max_context_tokens, facts.max_output_tokens
    if window is not None and answer is not None:
        able["max_output_tokens"] = min(window, answer)  # two layers may describe different versions of a model
    able["known"] = facts != Facts()
    for ability in LIMITED:
        able[ability] = able[ability] and ability in CEILINGS.get(dialect, LIMITED)
    if provider is not None and provider not in MARKING.get(dialect, (provider,)):
        able["prompt_caching"] = False
    able["image_types"] = _image_types(facts, dialect) if able["images"] else ()
    return AdapterCapabilities(**able)


def _image_types(facts: Facts, dialect: str) -> tuple[str, ...]:
    """The media types that the model accepts and the dialect can name; empty if neither is known."""
    accepted, names = facts.image_types or (), IMAGE_TYPES.get(dialect, ())
    return tuple(kind for kind in accepted if kind in names) if accepted and names else accepted or names

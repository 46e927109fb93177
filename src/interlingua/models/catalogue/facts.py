"""What a layer of the catalogue says about one model: every field may be left open."""

from __future__ import annotations

from functools import reduce
from typing import Any, Literal

from msgspec import Struct, structs

from ...types.capabilities import AdapterCapabilities
from ...types.request import Parameter

__all__ = ["CEILINGS", "Facts", "Form", "capabilities", "merged"]

Form = Literal["adaptive", "budget", "effort", "level", "toggle"]


class Facts(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Facts of one model. ``None``: this layer does not say.

    ``rejects`` and ``rejects_while_thinking`` name fields of ``Request``; ``forces_while_thinking``: a call can be
    forced then. ``thinking_forms`` are the ways in which reasoning can be asked for (a ``level`` is asking, an
    ``effort`` may be about the answer as well); ``efforts`` the words that the model takes; ``budgets`` the least and
    the most tokens of thought. ``prompt_caching``: takes cache marks (who caches unasked needs none). ``prefill``: the
    conversation may end with the assistant's own words; False: it is refused then.
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

# What each dialect has a word for. A model's own ability ends where its reader's language does.
CEILINGS: dict[str, tuple[str, ...]] = {
    "anthropic-messages": ("images", "documents", "prompt_caching"),
    "openai-chat": ("images", "documents", "audio", "prompt_caching"),
    "openai-responses": ("images", "documents", "prompt_caching"),
    "gemini": ("images", "documents", "audio", "video"),
    "ollama": ("images",),
    "bedrock-converse": ("images", "documents", "audio", "video", "prompt_caching"),
}
# The pictures that a dialect can name; the others name any.
IMAGE_TYPES: dict[str, tuple[str, ...]] = {
    "anthropic-messages": ("image/jpeg", "image/png", "image/gif", "image/webp"),
    "bedrock-converse": ("image/jpeg", "image/png", "image/gif", "image/webp"),
}
# Where not all servers of a dialect have a word for cache marks, those that do: ``cache_key`` in the dialect's quirks.
MARKING = {"openai-chat": frozenset({"openai", "openai-chat", "azure", "openrouter", "embedded"})}

# A model that no layer knows is given the benefit of the doubt: the provider shall refuse it, not we.
UNKNOWN = Facts(
    images=True, documents=True, audio=True, video=True, thinking=True, structured_output=True, prompt_caching=True
)


def merged(*layers: Facts | None) -> Facts:
    """One set of facts; where two layers speak of the same thing, the later wins."""
    return reduce(_over, (layer for layer in layers if layer is not None), Facts())


def _over(below: Facts, above: Facts) -> Facts:
    said = {name: value for name, value in structs.asdict(above).items() if value is not None}
    return structs.replace(below, **said)


def capabilities(facts: Facts, dialect: str, provider: str | None = None) -> AdapterCapabilities:
    """The facts as capabilities. Facts that no layer states are as for an unknown model."""
    known = structs.asdict(_over(UNKNOWN, facts))
    able: dict[str, Any] = {
        name: known[name] for name in AdapterCapabilities.__struct_fields__ if known.get(name) is not None
    }
    window, answer = facts.max_context_tokens, facts.max_output_tokens
    if window is not None and answer is not None:
        able["max_output_tokens"] = min(window, answer)  # two layers may speak of different versions of a model
    able["known"] = facts != Facts()
    for ability in LIMITED:
        able[ability] = able[ability] and ability in CEILINGS.get(dialect, LIMITED)
    if provider is not None and provider not in MARKING.get(dialect, (provider,)):
        able["prompt_caching"] = False
    able["image_types"] = _image_types(facts, dialect) if able["images"] else ()
    return AdapterCapabilities(**able)


def _image_types(facts: Facts, dialect: str) -> tuple[str, ...]:
    """What both the model takes and the dialect can name; empty where nobody says."""
    takes, names = facts.image_types or (), IMAGE_TYPES.get(dialect, ())
    return tuple(kind for kind in takes if kind in names) if takes and names else takes or names

"""Usage invariants: what a provider counted, read from the wire without a dialect, against our disjoint buckets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interlingua.types.base import Json
from interlingua.types.response import Response
from interlingua.types.usage import TokenUsage
from lab.fidelity.tally import Fault
from lab.oracles.leaves import is_object

__all__ = ["usage_faults", "wire_usage"]

# Where a whole answer or a stream's chunk keeps its usage object; later ones replace what they repeat.
PLACES: dict[str, tuple[tuple[str, ...], ...]] = {
    "anthropic-messages": (("message", "usage"), ("usage",)),
    "openai-chat": (("x_groq", "usage"), ("usage",)),
    "openai-responses": (("response", "usage"), ("usage",)),
    "gemini": (("usageMetadata",),),
    "ollama": ((),),
    "bedrock-converse": (("metadata", "usage"), ("usage",)),
}
# The counts that add up to all the tokens of the prompt.
PROMPT: dict[str, tuple[str, ...]] = {
    "anthropic-messages": ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "openai-chat": ("prompt_tokens",),
    "openai-responses": ("input_tokens",),
    "gemini": ("promptTokenCount", "toolUsePromptTokenCount"),
    "ollama": ("prompt_eval_count",),
    "bedrock-converse": ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
}
BUCKETS = (
    *("input_tokens", "cached_input_tokens", "cache_creation_input_tokens"),
    *("output_tokens", "reasoning_tokens"),
)


def wire_usage(dialect: str, chunks: Iterable[Json]) -> dict[str, Any]:
    """What the provider counted, by its own names."""
    found: dict[str, Any] = {}
    for chunk in chunks:
        for place in PLACES.get(dialect, ()):
            usage = _at(chunk, place)
            if is_object(usage):
                found.update({key: value for key, value in usage.items() if value is not None})
    return found


def _at(value: Json, place: tuple[str, ...]) -> Json:
    for step in place:
        value = value.get(step) if is_object(value) else None
    return value


def usage_faults(dialect: str, response: Response, counted: dict[str, Any]) -> list[Fault]:
    """What is wrong with the usage of an answer."""
    usage = response.usage
    counts = [counted[key] for key in PROMPT.get(dialect, ()) if isinstance(counted.get(key), int)]
    if usage is None:
        return [Fault("usage is lost", str(counted))] if any(counts) else []
    faults = _bucket_faults(usage)
    if counts and usage.total_input_tokens != sum(counts):
        faults.append(Fault("prompt total", f"{sum(counts)} counted, {usage} ({counted})"))
    return faults


def _bucket_faults(usage: TokenUsage) -> list[Fault]:
    faults = [Fault(f"negative {name}", str(usage)) for name in BUCKETS if getattr(usage, name) < 0]
    if usage.reasoning_tokens > usage.output_tokens:
        faults.append(Fault("more reasoning than output", str(usage)))
    return faults

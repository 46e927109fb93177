"""Token counts. The prompt's include the cached part, the candidates' leave out the thoughts, and what the provider's
own tools brought counts apart.

The marks under ``usage``: ``tools`` (how much of the input that is), ``absent`` (counts that were left out), ``total``
(one that does not add up, and what it would have been), ``cached`` (more than there was input).
"""

from __future__ import annotations

from ...codec.tables import Ledger
from ...types.usage import TokenUsage
from .key_case import Wire
from .media import NAME

PROMPT, CACHED, TOOLS = "promptTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount"
ANSWER, THOUGHTS, TOTAL = "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"
ALWAYS = (PROMPT, ANSWER, TOTAL)
COUNTS = (PROMPT, CACHED, TOOLS, ANSWER, THOUGHTS, TOTAL)


def read_usage(rest: Wire, forms: Wire, blanks: Wire) -> TokenUsage:
    """Pops the counts of ``usageMetadata``."""
    wire: Wire = rest["usageMetadata"]
    counts: dict[str, int] = {}
    empty: Wire = {}
    mark: Wire = {}
    for key in COUNTS:
        value = wire.get(key)
        if type(value) is int and value >= 0:
            counts[key] = wire.pop(key)
            if not value and key not in ALWAYS:
                empty[key] = 0
            continue
        if key in wire and value is None:
            empty[key] = wire.pop(key)
        if key in ALWAYS:
            mark.setdefault("absent", []).append(key)
    usage = from_counts(counts, mark)
    if empty:
        blanks["usageMetadata"] = empty
    if mark:
        forms["usage"] = mark
    if not wire:
        del rest["usageMetadata"]
    return usage


def from_counts(counts: dict[str, int], mark: Wire) -> TokenUsage:
    prompt, cached, tools, answer, thoughts = (counts.get(key, 0) for key in COUNTS[:-1])
    if cached > prompt:
        mark["cached"] = cached
        cached = prompt
    if tools:
        mark["tools"] = tools
    whole = prompt + tools + answer + thoughts
    if counts.get(TOTAL, whole) != whole:
        mark["total"] = [counts[TOTAL], whole]
    return TokenUsage(
        input_tokens=prompt - cached + tools,
        cached_input_tokens=cached,
        output_tokens=answer + thoughts,
        reasoning_tokens=thoughts,
    )


def say_usage(usage: TokenUsage, mark: Wire, ledger: Ledger) -> Wire:
    if usage.cache_creation_input_tokens:
        ledger.lose("approximated", f"{NAME} counts what was written to the cache as input", "usage")
    tools = min(mark.get("tools", 0), usage.input_tokens)
    prompt = usage.total_input_tokens - tools
    thoughts = min(usage.reasoning_tokens, usage.output_tokens)
    if thoughts != usage.reasoning_tokens:
        ledger.lose("approximated", f"{NAME} counts reasoning as part of the output", "usage", "reasoning_tokens")
    whole = usage.total_tokens
    cached = usage.cached_input_tokens
    if cached == prompt:
        cached = mark.get("cached", cached)
    total, then = mark.get("total", (whole, whole))
    counts = (prompt, cached, tools, usage.output_tokens - thoughts, thoughts, total + whole - then)
    absent = mark.get("absent", ())
    return {
        key: count
        for key, count in zip(COUNTS, counts, strict=True)
        if (count or key in ALWAYS) and (key not in absent or (count and key != TOTAL))
    }

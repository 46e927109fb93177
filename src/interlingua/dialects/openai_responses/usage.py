"""Usage. Their input count includes what was read from and written to the cache; ours are disjoint buckets.

Marks: ``absent`` (counts we would write), ``total`` (how far the total is off the sum), ``cached`` (more than the
input: clamped), ``reasoning`` (``outside``: it is not inside the output count; or by how much it is above it: clamped).
"""

from __future__ import annotations

from ...types.usage import TokenUsage
from .wire import Wire, is_object

WRITTEN = "cache_write_tokens"
DETAILS = (
    # details object            their count            needs to be written
    ("input_tokens_details", "cached_tokens"),
    ("input_tokens_details", WRITTEN),
    ("output_tokens_details", "reasoning_tokens"),
)
MISCOUNTED = 1.5
"""Reasoning up to this many times the output that it is part of was counted with another tokenizer."""


def read_usage(wire: Wire, forms: Wire) -> tuple[TokenUsage, Wire]:
    """Our buckets, and what is left of the object."""
    usual = _usual(wire, forms)
    if usual is not None:
        return usual, {}
    rest = dict(wire)
    given, output = _count(rest, "input_tokens", forms), _count(rest, "output_tokens", forms)
    total = rest.get("total_tokens")
    cached, written, reasoning = (_detail(rest, group, key, forms) for group, key in DETAILS)
    if cached + written > given:
        forms["cached"] = [cached, written]
        cached = min(cached, given)
        written = min(written, given - cached)
    if reasoning and (reasoning > output or total == given + output + reasoning):
        if output < reasoning <= MISCOUNTED * output and total == given + output:
            forms["reasoning"], reasoning = reasoning - output, output
        else:
            forms["reasoning"] = "outside"
            output += reasoning
    usage = TokenUsage(given - cached - written, cached, written, output, reasoning)
    if type(total) is int:
        del rest["total_tokens"]
        if total != usage.total_tokens:
            forms["total"] = total - usage.total_tokens
    else:
        forms["total"] = "absent"
    return usage, rest


def _usual(wire: Wire, forms: Wire) -> TokenUsage | None:
    """Two counts, their sum and the details of both, with tokens written to the cache or without."""
    given, output, total = wire.get("input_tokens"), wire.get("output_tokens"), wire.get("total_tokens")
    if type(given) is not int or type(output) is not int or type(total) is not int or given + output != total:
        return None
    read, said = wire.get("input_tokens_details"), wire.get("output_tokens_details")
    if len(wire) != 5 or not is_object(read) or not is_object(said) or len(said) != 1:
        return None
    cached, written, reasoning = read.get("cached_tokens"), read.get(WRITTEN, 0), said.get("reasoning_tokens")
    if type(cached) is not int or type(written) is not int or type(reasoning) is not int:
        return None
    if cached < 0 or written < 0 or cached + written > given or not 0 <= reasoning <= output:
        return None
    if len(read) != 1 + (WRITTEN in read):
        return None
    if len(read) == 1:
        forms["absent"] = [WRITTEN]
    return TokenUsage(given - cached - written, cached, written, output, reasoning)


def _count(rest: Wire, key: str, forms: Wire) -> int:
    if type(value := rest.get(key)) is int and value >= 0:
        count: int = rest.pop(key)
        return count
    forms.setdefault("absent", []).append(key)
    return 0


def _detail(rest: Wire, group: str, key: str, forms: Wire) -> int:
    details = rest.get(group)
    if not is_object(details) or type(value := details.get(key)) is not int or value < 0:
        forms.setdefault("absent", []).append(key)
        return 0
    inner = dict(details)
    count: int = inner.pop(key)
    rest[group] = inner
    if not inner:
        del rest[group]
    return count


def say_usage(usage: TokenUsage, forms: Wire) -> Wire:
    absent = forms.get("absent", ())
    output = usage.output_tokens - (usage.reasoning_tokens if forms.get("reasoning") == "outside" else 0)
    cached, written = forms.get("cached", (usage.cached_input_tokens, usage.cache_creation_input_tokens))
    told = forms.get("reasoning")
    reasoning = usage.reasoning_tokens + (told if type(told) is int else 0)
    wire: Wire = {}
    for key, value in (("input_tokens", usage.total_input_tokens), ("output_tokens", output)):
        if value or key not in absent:
            wire[key] = value
    for (group, key), value in zip(DETAILS, (cached, written, reasoning), strict=True):
        if value or key not in absent:
            wire.setdefault(group, {})[key] = value
    total = forms.get("total", 0)
    if total != "absent":
        wire["total_tokens"] = usage.total_tokens + total
    return wire

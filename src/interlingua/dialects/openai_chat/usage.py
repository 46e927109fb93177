"""Usage. Their prompt count includes what was read from and written to the cache; ours are disjoint buckets.

Some servers say the same number under further names (``ECHOES``): a name that agrees is marked and written again from
our buckets; one that contradicts stays residue. Marks: ``total`` (how far the total is off the sum, or that it was
absent), ``reasoning`` (``outside``: it is not inside the completion count; or a number a little above it: clamped),
``cached`` (a count larger than the prompt: clamped).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...types.usage import TokenUsage
from .._json import is_dict
from .._tables import sift
from .parts import Wire

ECHOES: dict[str, Callable[[TokenUsage], int]] = {
    "prompt_cache_hit_tokens": lambda u: u.cached_input_tokens,
    "prompt_cache_miss_tokens": lambda u: u.total_input_tokens - u.cached_input_tokens,
    "cached_tokens": lambda u: u.cached_input_tokens,
    "num_cached_tokens": lambda u: u.cached_input_tokens,
    "cache_read_input_tokens": lambda u: u.cached_input_tokens,
    "cache_creation_input_tokens": lambda u: u.cache_creation_input_tokens,
    "reasoning_tokens": lambda u: u.reasoning_tokens,
}
CACHE_READS = ("prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens", "cache_read_input_tokens")
WRITTEN = ("cache_write_tokens", "created_cache_tokens")
MISCOUNTED = 1.5
"""Reasoning up to this many times the completion that it is part of was counted with another tokenizer (Doubleword);
more of it was left out of the completion (Gemini models behind Vercel's gateway, whose price shows it)."""


def read_usage(wire: Wire, forms: Wire, blanks: Wire) -> tuple[TokenUsage, Wire]:
    """Our buckets, and what is left of the object."""
    rest = dict(wire)
    if len(rest) == 3 and (usage := _plain(rest)) is not None:
        return usage, {}
    prompt, completion = _count(rest, "prompt_tokens", forms, blanks), _count(rest, "completion_tokens", forms, blanks)
    cached = _bucket(rest, "prompt_tokens_details", ("cached_tokens",), CACHE_READS, forms, blanks)
    written = _bucket(rest, "prompt_tokens_details", WRITTEN, ("cache_creation_input_tokens",), forms, blanks)
    reasoning = _bucket(rest, "completion_tokens_details", ("reasoning_tokens",), ("reasoning_tokens",), forms, blanks)
    if cached + written > prompt:
        forms["cached"] = [cached, written]
        cached = min(cached, prompt)
        written = min(written, prompt - cached)
    if reasoning and (reasoning > completion or rest.get("total_tokens") == prompt + completion + reasoning):
        if completion < reasoning <= MISCOUNTED * completion and rest.get("total_tokens") == prompt + completion:
            forms["reasoning"], reasoning = reasoning, completion
        else:
            forms["reasoning"] = "outside"
            completion += reasoning
    usage = TokenUsage(prompt - cached - written, cached, written, completion, reasoning)
    _read_total(rest, usage, forms, blanks)
    if rest:
        _read_echoes(rest, usage, forms)
        sift(rest, blanks, (None, 0))
    return usage, rest


def _plain(wire: Wire) -> TokenUsage | None:
    """Two counts and their sum."""
    prompt, completion, total = wire.get("prompt_tokens"), wire.get("completion_tokens"), wire.get("total_tokens")
    if type(prompt) is not int or type(completion) is not int or type(total) is not int:
        return None
    return TokenUsage(prompt, 0, 0, completion) if prompt + completion == total and prompt >= 0 <= completion else None


def _bucket(rest: Wire, group: str, keys: tuple[str, ...], echoes: tuple[str, ...], forms: Wire, blanks: Wire) -> int:
    """A count from its details object, else from the first of its other names, then marked as not detailed."""
    found = _detail(rest, group, keys, forms, blanks) if group in rest else None
    if found:
        return found
    for key in echoes:
        other = rest.get(key)
        if type(other) is int and other > 0:
            forms.setdefault("undetailed", []).append(keys[0])
            return other
    return 0


def _count(rest: Wire, key: str, forms: Wire, blanks: Wire) -> int:
    value = rest.get(key)
    if type(value) is int and value >= 0:
        del rest[key]
        return value
    if key not in rest:
        forms.setdefault("absent", []).append(key)
    elif value is None:
        blanks[key] = rest.pop(key)
    else:
        forms.setdefault("absent", []).append(key)  # of another type, or below 0: residue
    return 0


def _detail(rest: Wire, group: str, keys: tuple[str, ...], forms: Wire, blanks: Wire) -> int | None:
    """A count inside a details object; zeros and nulls are blanks, since we write only what there is."""
    details = rest[group]
    if not is_dict(details):
        if details is None:
            blanks[group] = rest.pop(group)
        return None
    inner, found = dict(details), None
    for key in keys:
        value = inner.get(key)
        if key in inner and found is None and (value is None or value == 0) and type(value) is not bool:
            blanks.setdefault(group, {})[key] = inner.pop(key)
        elif type(value) is int and value >= 0 and found is None:
            found = inner.pop(key)
            if key != keys[0]:
                forms[f"{keys[0]} as"] = key
    rest[group] = inner
    if not inner:
        del rest[group]
        if not details:
            blanks[group] = {}
    return found


def _read_total(rest: Wire, usage: TokenUsage, forms: Wire, blanks: Wire) -> None:
    total = rest.get("total_tokens")
    if type(total) is int:
        del rest["total_tokens"]
        if total != usage.total_tokens:
            forms["total"] = total - usage.total_tokens
    elif "total_tokens" in rest and total is None:
        blanks["total_tokens"] = rest.pop("total_tokens")
        forms["total"] = "absent"
    else:
        forms["total"] = "absent"


def _read_echoes(rest: Wire, usage: TokenUsage, forms: Wire) -> None:
    for key, value in ECHOES.items():
        if key in rest and type(rest[key]) is int and rest[key] == value(usage):
            del rest[key]
            forms.setdefault("echoes", []).append(key)


def say_usage(usage: TokenUsage, forms: Wire) -> Wire:
    prompt, completion = usage.total_input_tokens, usage.output_tokens
    if forms.get("reasoning") == "outside":
        completion -= usage.reasoning_tokens
    wire: Wire = {"prompt_tokens": prompt, "completion_tokens": completion}
    for key in forms.get("absent", ()):
        if not wire[key]:
            del wire[key]
    total = forms.get("total", 0)
    if total != "absent":
        wire["total_tokens"] = usage.total_tokens + total
    cached, written = forms.get("cached", (usage.cached_input_tokens, usage.cache_creation_input_tokens))
    hidden = forms.get("undetailed", ())
    _say_details(wire, "prompt_tokens_details", {"cached_tokens": cached, WRITTEN[0]: written}, forms, hidden)
    told = forms.get("reasoning")
    reasoning = told if type(told) is int and usage.reasoning_tokens == usage.output_tokens else usage.reasoning_tokens
    _say_details(wire, "completion_tokens_details", {"reasoning_tokens": reasoning}, forms, hidden)
    return wire | {key: ECHOES[key](usage) for key in forms.get("echoes", ())}


def _say_details(wire: Wire, group: str, counts: Wire, forms: Wire, hidden: Collection[str]) -> None:
    said = {forms.get(f"{key} as", key): value for key, value in counts.items() if value and key not in hidden}
    if said:
        wire[group] = said

"""Usage. Their prompt count includes what was read from and written to the cache; ours are disjoint buckets.

Some servers say the same number under further names (``ECHOES``): a name that agrees is marked and written again from
our buckets; one that contradicts stays residue. Marks: ``total`` (how far the total is off the sum, or that it was
absent), ``reasoning`` (``outside``: it is not inside the completion count; or by how much it is above it: clamped),
``cached`` (a count larger than the prompt: clamped).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...codec.json import is_dict
from ...codec.tables import sift
from ...types.usage import TokenUsage
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
NOTHING: Wire = {}
are_counts = frozenset((int,)).issuperset
MISCOUNTED = 1.5
"""Reasoning up to this many times the completion that it is part of was counted with another tokenizer (Doubleword);
more of it was left out of the completion (Gemini models behind Vercel's gateway, whose price shows it)."""


def read_usage(wire: Wire, forms: Wire, blanks: Wire) -> tuple[TokenUsage, Wire]:
    """Our buckets, and what is left of the object."""
    usual = _plain(wire) if len(wire) == 3 else _detailed(wire, forms, blanks)
    if usual is not None:
        return usual
    rest = dict(wire)
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
            forms["reasoning"], reasoning = reasoning - completion, completion
        else:
            forms["reasoning"] = "outside"
            completion += reasoning
    usage = TokenUsage(prompt - cached - written, cached, written, completion, reasoning)
    _read_total(rest, usage, forms, blanks)
    if rest:
        _read_echoes(rest, usage, forms)
        sift(rest, blanks, (None, 0))
    return usage, rest


def _plain(wire: Wire) -> tuple[TokenUsage, Wire] | None:
    """Two counts and their sum."""
    prompt, completion, total = wire.get("prompt_tokens"), wire.get("completion_tokens"), wire.get("total_tokens")
    if type(prompt) is not int or type(completion) is not int or type(total) is not int:
        return None
    if prompt + completion != total or prompt < 0 or completion < 0:
        return None
    return TokenUsage(prompt, 0, 0, completion), {}


def _detailed(wire: Wire, forms: Wire, blanks: Wire) -> tuple[TokenUsage, Wire] | None:
    """The same with details, of which we have a bucket for all but zeros; and whatever else a server tells."""
    prompt, completion, total = wire.get("prompt_tokens"), wire.get("completion_tokens"), wire.get("total_tokens")
    if type(prompt) is not int or type(completion) is not int or type(total) is not int or prompt + completion != total:
        return None
    rest = wire.copy()
    read: Wire | None = rest.pop("prompt_tokens_details", NOTHING)
    said: Wire | None = rest.pop("completion_tokens_details", NOTHING)
    if type(read) is not dict or type(said) is not dict or {} in wire.values():
        return None
    if not are_counts(map(type, (*read.values(), *said.values()))):
        return None
    cached, written, reasoning = read.get("cached_tokens", 0), read.get(WRITTEN[0], 0), said.get("reasoning_tokens", 0)
    if cached < 0 or written < 0 or cached + written > prompt or not 0 <= reasoning <= completion:
        return None
    del rest["prompt_tokens"], rest["completion_tokens"], rest["total_tokens"]
    unread, unsaid = _zeros(read, "cached_tokens", WRITTEN[0]), _zeros(said, "reasoning_tokens")
    if unread is None or unsaid is None or (rest and _is_undetailed(rest, cached, written, reasoning)):
        return None
    if unread:
        blanks["prompt_tokens_details"] = unread
    if unsaid:
        blanks["completion_tokens_details"] = unsaid
    usage = TokenUsage(prompt - cached - written, cached, written, completion, reasoning)
    if rest:
        _read_echoes(rest, usage, forms)
        sift(rest, blanks, (None, 0))
    return usage, rest


def _zeros(details: Wire, *counted: str) -> Wire | None:
    """What details hold beside counts that were read; None where that is more than zeros."""
    rest = details.copy()
    for key in counted:
        if rest.get(key):
            del rest[key]
    return None if any(rest.values()) else rest


def _is_undetailed(rest: Wire, cached: int, written: int, reasoning: int) -> bool:
    """Whether a count stands under another name alone."""
    if not cached and any(map(rest.get, CACHE_READS)):
        return True
    return bool(
        (not written and rest.get("cache_creation_input_tokens")) or (not reasoning and rest.get("reasoning_tokens"))
    )


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
    reasoning = usage.reasoning_tokens + (told if type(told) is int else 0)
    _say_details(wire, "completion_tokens_details", {"reasoning_tokens": reasoning}, forms, hidden)
    return wire | {key: ECHOES[key](usage) for key in forms.get("echoes", ())}


def _say_details(wire: Wire, group: str, counts: Wire, forms: Wire, hidden: Collection[str]) -> None:
    said = {forms.get(f"{key} as", key): value for key, value in counts.items() if value and key not in hidden}
    if said:
        wire[group] = said

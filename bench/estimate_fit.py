"""Fits the weights of ``interlingua.models.estimate``, and computes their errors."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from estimate_rows import Row, group_of  # pyright: ignore[reportMissingImports]

from interlingua.models.estimate.counting import FEATURES
from interlingua.models.estimate.families import ELSEWHERE, HOUSED, MODELS, SERVERS
from interlingua.models.estimate.text import TEXT

# ------------------------------------------------------------------------------------------------ what is known before

# A word, a number of up to three digits, a run of signs: one token each in every tokenizer that is public.
START = {
    "words": 1.0, "long": 0.05, "upper": 0.1, "digits": 1, "spaced": 1, "signs": 1, "breaks": 0.4, "gaps": 0.5,
    "accents": 0.5, "script": 0.45, "wide": 0.75, "marks": 1,
    "once": 3, "user_turns": 4, "assistant_turns": 4, "system_turns": 4, "calls": 10, "results": 5,
    "toolbox": 30, "tools": 8, "tool_properties": 4, "tool_keywords": 2,
    "output": 10, "output_words": 1, "output_properties": 4, "output_keywords": 2, "thought_words": 0.5,
}  # fmt: skip
# How far a weight may differ from its parent's, in tokens each: little for text, much for what servers add unseen.
SIGMA = {
    "words": 0.06, "long": 0.15, "upper": 0.1, "digits": 0.2, "numerals": 0.2, "spaced": 0.25, "signs": 0.12,
    "breaks": 0.25, "gaps": 0.2, "accents": 0.06, "script": 0.06, "wide": 0.08, "marks": 0.1,
    "once": 20, "system": 5, "systemless": 20, "user_turns": 2, "assistant_turns": 2, "system_turns": 3, "blocks": 1.5,
    "calls": 15, "results": 15, "documents": 10,
    "toolbox": 200, "forced": 50, "tools": 15, "tool_properties": 8, "tool_keywords": 3, "tool_required": 2,
    "tool_described": 3, "tool_titled": 3, "output": 60, "output_words": 1, "output_properties": 6,
    "output_keywords": 3, "thinking": 30, "unthinking": 10, "unstated": 10, "thoughts": 5, "thought_words": 0.7,
    "old_thoughts": 2, "old_thought_words": 0.3, "sealed": 0.1,
}  # fmt: skip
DIGIT_BY_DIGIT = {"digits": 0.0, "numerals": 1.0}
SEALED = 0.75 / 4.4  # encrypted reasoning in a prompt: bytes in a letter of base64, divided by bytes in a token
OLD_WORDS = {"accents": 1.1, "script": 0.6, "wide": 1.25}


def _turns(once: float, turn: float, **more: float) -> dict[str, float]:
    kinds = ("user_turns", "assistant_turns", "system_turns", "system")
    return {"once": once, "systemless": 0, **dict.fromkeys(kinds, turn), **more}


# From published tokenizers and chat templates: the starting weights of families that differ from their group.
KNOWN: dict[str, dict[str, float]] = {
    "gemini": {**DIGIT_BY_DIGIT, "accents": 0.3, "script": 0.3, "wide": 0.6},
    "claude": {"accents": 0.7, "script": 0.6, "wide": 1.1},
    "gpt-4": {**OLD_WORDS, "script": 1.0},
    "gpt-oss": _turns(66, 4),
    "llama-3": _turns(5, 5, **OLD_WORDS),
    "llama-3-1": _turns(30, 5, **OLD_WORDS) | {"system": 0},
    "llama-4": _turns(5, 4),
    "qwen": _turns(3, 5, toolbox=110, **DIGIT_BY_DIGIT) | {"systemless": 22},
    "qwen-3": _turns(3, 5, toolbox=110, unthinking=4, **DIGIT_BY_DIGIT),
    "qwen-3-5": _turns(3, 5, toolbox=250, unthinking=4, **DIGIT_BY_DIGIT),
    "mistral": _turns(1, 2, toolbox=3, **DIGIT_BY_DIGIT),
    "ministral": _turns(1, 2, toolbox=3, **DIGIT_BY_DIGIT),
    "mistral-small": _turns(1, 2, toolbox=3, **DIGIT_BY_DIGIT),
    "deepseek": _turns(2, 1),
    "deepseek-4": _turns(2, 1, toolbox=200),
    "gemma": _turns(5, 5, **DIGIT_BY_DIGIT),
    "glm": _turns(3, 2),
    "kimi": _turns(3, 4) | {"systemless": 10},
    "nova": _turns(0, 1, toolbox=350),
    "nova-2": _turns(0, 1, toolbox=800),
    "sonar": _turns(1, 1),
    "grok-2": _turns(1, 3),
    "grok": _turns(130, 3, toolbox=100) | {"systemless": 50, "sealed": SEALED},
    "open": _turns(3, 4),
}
# Features that, as the makers of a group say, are not in their prompts: there, how much to think is only a setting.
UNFITTED: dict[str, frozenset[str]] = {"gpt": frozenset({"thinking", "unthinking", "unstated"})}
HOUSE = ("once", "system", "systemless")
LOOSE = 0.7  # times SIGMA: how far a family may differ from its group, and a server from the family
NOISE = 0.02  # errors up to this share of the count and half a token do not matter
OUTLIER = (12.0, 6.0, 3.0, 1.5, 1.5, 1.5, 1.5, 1.5)  # times NOISE, by round: rows with larger errors count for less
SWEEPS = 60
HIDDEN = 6  # tokens beyond the text of an answer: more than this is reasoning that was not shown
DOOR_ROWS = 8  # a server with so many rows of a family gets its own weights for it, if other servers have it, too

# ------------------------------------------------------------------------------------------------ the fit

Weights = list[float]
Answers = dict[str, tuple[float, float]]
Judged = tuple[Row, float]


def fit(found: list[Row], parent: Weights, loose: float) -> Weights:
    """The weights with the least relative error: outliers count less, no weight is negative or far from its parent."""
    unfitted = UNFITTED.get(found[0].group, frozenset())
    used = {FEATURES.index(kind) for row in found for kind in row.tally if kind in SIGMA and row.tally[kind]}
    used = sorted(used - {FEATURES.index(kind) for kind in unfitted})
    repeats = Counter((row.family, row.server, row.true, row.tally["words"]) for row in found)
    weights = list(parent)
    for outlier in OUTLIER:
        gram, right = _moments(found, used, weights, outlier, repeats)
        for at, index in enumerate(used):
            pull = (SIGMA[FEATURES[index]] * loose) ** -2
            gram[at][at] += pull
            right[at] += pull * parent[index]
        _descend(gram, right, weights, used)
    return weights


def _moments(
    found: list[Row], used: list[int], weights: Weights, outlier: float, repeats: Counter[Any]
) -> tuple[list[list[float]], list[float]]:
    gram, right = [[0.0] * len(used) for _ in used], [0.0] * len(used)
    for row in found:
        values = [(at, row.tally[FEATURES[index]]) for at, index in enumerate(used)]
        values = [(at, value) for at, value in values if value]
        rest, scale = row.true - row.tally["media"], NOISE * row.true + 0.5
        off = (sum(weights[used[at]] * value for at, value in values) - rest) / scale / outlier
        seldom = repeats[row.family, row.server, row.true, row.tally["words"]] ** -0.5
        trust = seldom / (1 + off * off) / (scale * scale)
        for at, value in values:
            line, share = gram[at], trust * value
            right[at] += share * rest
            for other, further in values:
                line[other] += share * further
    return gram, right


def _descend(gram: list[list[float]], right: list[float], weights: Weights, used: list[int]) -> None:
    """Coordinate descent with weights that are not negative."""
    part = [weights[index] for index in used]
    for _ in range(SWEEPS):
        moved = 0.0
        for at, line in enumerate(gram):
            new = max(0.0, part[at] + (right[at] - sum(map(float.__mul__, line, part))) / line[at])
            moved, part[at] = max(moved, abs(new - part[at])), new
        if moved < 1e-4:
            break
    for at, index in enumerate(used):
        weights[index] = part[at]


def known(name: str, parent: Weights) -> Weights:
    start = KNOWN.get(name, {})
    return [start.get(kind, weight) for kind, weight in zip(FEATURES, parent, strict=True)]


def fit_all(found: list[Row]) -> dict[str, Weights]:
    """The weights of all families and servers: a family starts from its group, a server from the family."""
    made = {"gpt": fit(grouped(found, "group")["gpt"], [START.get(kind, 0.0) for kind in FEATURES], 3)}
    for group, members in grouped(found, "group").items():
        if group != "gpt":
            made[group] = fit(members, known(group, made["gpt"]), LOOSE)
    families, groups = grouped(found, "family"), dict(made)
    for name in dict.fromkeys([*(name for _, name in MODELS), *SERVERS.values(), "open"]):
        parent = known(name, groups.get(group_of(name), groups["gpt"]))
        made[name] = fit(families[name], parent, LOOSE) if name in families else parent
    for name, members in families.items():
        for place, behind in grouped(members, "server").items():
            if DOOR_ROWS <= len(behind) < len(members):
                made[f"{name}@{place}"] = fit(behind, made[name], LOOSE)
    made |= {name + ELSEWHERE: without_house(made[name]) for name in HOUSED}
    reached = [name for name in made if name not in groups or name in SERVERS.values() or name == "open"]
    return {name: [float(f"{weight:.3g}") for weight in made[name]] for name in reached}


def without_house(weights: Weights) -> Weights:
    """The weights without those for the prompt that the maker's own servers add."""
    return [0.0 if kind in HOUSE else weight for kind, weight in zip(FEATURES, weights, strict=True)]


def grouped(found: Iterable[Row], key: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in found:
        groups[getattr(row, key)].append(row)
    return groups


def fit_answers(found: list[Row], made: dict[str, Weights]) -> Answers:
    """The median tokens of an answer beyond its text, once and per call; for families with few answers, the group's."""
    beyond = {"open": (1.0, 12.0)}
    for name, members in [*grouped(found, "group").items(), *grouped(found, "family").items()]:
        beyond[name] = _beyond(members, beyond.get(group_of(name), beyond["open"]), made)
    return {name: beyond.get(name) or beyond.get(group_of(name), beyond["open"]) for name in made if "@" not in name}


def _beyond(found: list[Row], usual: tuple[float, float], made: dict[str, Weights]) -> tuple[float, float]:
    plain = [row.true - answer_text(row, made) for row in found if not row.tally["calls"] and not row.tally["thoughts"]]
    once = statistics.median(plain) if len(plain) >= 10 else usual[0]
    if once > HIDDEN:
        once = usual[0]
    calls = [(row.true - answer_text(row, made) - once) / row.tally["calls"] for row in found if row.tally["calls"]]
    call = statistics.median(calls) if len(calls) >= 10 else usual[1]
    return round(max(0.0, once), 1), round(max(0.0, call), 1)


# ------------------------------------------------------------------------------------------------ the errors


def weights_of(row: Row, made: dict[str, Weights]) -> Weights:
    behind = f"{row.family}@{row.server}"
    return made[behind] if behind in made else made[row.family]


def estimated(row: Row, weights: Weights) -> int:
    weighed = sum(row.tally[kind] * weight for kind, weight in zip(FEATURES, weights, strict=True))
    return max(1, round(weighed) + row.tally["media"])


def prompt_error(row: Row, weights: Weights) -> float:
    return abs(estimated(row, weights) - row.true) / row.true


def answer_text(row: Row, made: dict[str, Weights]) -> float:
    return sum(row.tally[kind] * weight for kind, weight in zip(TEXT, weights_of(row, made), strict=False))


def answer_error(row: Row, made: dict[str, Weights], beyond: Answers) -> float:
    once, call = beyond.get(row.family, beyond["open"])
    return abs(max(1, round(answer_text(row, made) + once + call * row.tally["calls"])) - row.true) / row.true

"""The usual path has no opinion of its own: switched off, everything recorded reads the same.

So do near misses: recorded answers with a key dropped, added, or of another type. What was read is compared as JSON
text, which tells ``true`` from 1.
"""

from __future__ import annotations

import random
from importlib import import_module

import msgspec
import pytest

from interlingua import DIALECTS, ParseError, dialect
from shared_data import corpus, needs_shared


def off(usual):
    """A function that says that nothing is its own, or a table of such."""
    return dict.fromkeys(usual, off(None)) if isinstance(usual, dict) else lambda *_: None


def switch_off(monkeypatch, package, places):
    for module, functions in places.items():
        for function in functions:
            target = import_module(f"interlingua.dialects.{package}.{module}")
            monkeypatch.setattr(target, function, off(getattr(target, function)))


# dialect, its corpus files, the functions of the usual path of answers, the share of recorded answers it reads
ANSWERS = [
    ("gemini", ["gemini"], {"response": ("read_usual",)}, 0.88),
]
ODD = [None, "", "x", "absent", "stop", [], [None], [{}], {}, {"a": None}, {"a": 0}, 0, 1, -1, 10**6, 0.0, True, False]
KEYS = ["x", "error", "index", "status", "reasoning", "annotations", "cached_tokens", "thought", "finish_reason",
        "finishReason", "block_reason", "service_tier", "content", "id", "phase", "namespace"]  # fmt: skip


def answers(name, files):
    """Recorded answers, each with the request that it answers, if that was recorded."""
    speaker = dialect(name)
    for file in files:
        for record in corpus(file):
            if isinstance(record.get("response"), dict) and record["status"] < 300:
                asked = record.get("request")
                yield record["response"], speaker.decode_request(asked) if isinstance(asked, dict) else None


def paths(value, depth=6):
    """The paths of what a value holds; of a list, the first few."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, item in inner if depth else ():
        yield (key,)
        yield from ((key, *path) for path in paths(item, depth - 1))


def near_miss(value, path, chance):
    """A copy with one thing dropped, of another type, or new beside it; what did not change is shared."""
    key, *deeper = path
    copy = value.copy()
    if deeper:
        copy[key] = near_miss(value[key], deeper, chance)
        return copy
    how = chance.random()
    if how < 0.3:
        del copy[key]
    elif how < 0.75 or isinstance(copy, list):
        copy[key] = chance.choice(ODD)
    else:
        copy[chance.choice(KEYS)] = chance.choice(ODD)
    return copy


def read(speaker, cases):
    """What is read of each answer, as text; a refusal to read it is one, too."""
    for body, request in cases:
        try:
            response = speaker.decode_response(body, None, request)
        except ParseError as error:
            yield str(error)
        else:
            error = response.error and repr(response.error)
            yield msgspec.json.encode(msgspec.structs.replace(response, error=error), order="sorted")


def listening(monkeypatch, package, function):
    """How often the usual path speaks, from now on."""
    module = import_module(f"interlingua.dialects.{package}.response")
    usual, spoke = getattr(module, function), []

    def told(*args):
        found = usual(*args)
        spoke.append(found is not None)
        return found

    monkeypatch.setattr(module, function, told)
    return spoke


def compared(name, files, places, monkeypatch):
    """The shares of recordings and of near misses that the usual path reads, and what it reads otherwise."""
    speaker, chance, package = dialect(name), random.Random(name), DIALECTS[name].partition(":")[0]
    recorded = list(answers(name, files))
    missed = [(near_miss(body, chance.choice(list(paths(body))), chance), request) for body, request in recorded * 3]
    spoke = listening(monkeypatch, package, places["response"][0])
    fast, shares = list[object](), list[float]()
    for cases in (recorded, missed):
        fast += read(speaker, cases)
        shares.append(sum(spoke) / len(cases))
        spoke.clear()
    switch_off(monkeypatch, package, places)
    slow = read(speaker, recorded + missed)
    return *shares, [case for case, one, other in zip(recorded + missed, fast, slow, strict=True) if one != other]


@needs_shared
@pytest.mark.parametrize(("name", "files", "places", "share"), ANSWERS, ids=[row[0] for row in ANSWERS])
def test_answers_read_the_same(name, files, places, share, monkeypatch):
    recorded, missed, differ = compared(name, files, places, monkeypatch)
    assert differ == []
    assert recorded >= share
    assert 0.1 < missed < 0.9  # on both sides of the line


@needs_shared
def test_an_opinion_shows(monkeypatch):
    name, files, places, _ = next(row for row in ANSWERS if row[0] == "gemini")
    guilty = import_module("interlingua.dialects.gemini.answers")
    monkeypatch.setitem(guilty.ENDS, "MAX_TOKENS", guilty.END)
    assert compared(name, files, places, monkeypatch)[2]

"""``validate_request``: nonsense is refused in the vendor's own form; no request that a vendor accepted is refused."""

from __future__ import annotations

import copy
import json
import random
from contextlib import suppress
from functools import reduce
from typing import Any

import pytest

from conformance.matrix import SPOKEN
from interlingua import InvalidRequestError, dialect, validate_request
from interlingua.testing.samples import requests
from lab.fidelity.records import corpus_files, file_protocol, read_lines, read_record
from lab.oracles import WARNING, check_order
from pairs.frames import HISTORY, TOOLS, calls, laid_over, request_frame
from shared_data import CORPUS, needs_shared

# fmt: off
# fmt: on


# ---------------------------------------------------------------------------------------------------- nothing else is


@pytest.mark.parametrize("name", SPOKEN)
def test_what_we_write_is_taken(name: str) -> None:
    body = laid_over(request_frame(name), TOOLS[name])
    body[HISTORY.get(name, "messages")] += calls(name, ("c1", "c2"))
    validate_request(body, name)
    for sample in requests(name):
        validate_request(dialect(name).encode_request(sample.value).body, name)


@needs_shared
@pytest.mark.parametrize("path", corpus_files(CORPUS) if CORPUS.is_dir() else [], ids=lambda path: path.name)
def test_recorded_requests_are_taken(path: Any) -> None:
    """All that a provider answered, except one whose result answers no call (the ordering rules agree)."""
    wrong: list[str] = []
    protocol = file_protocol(path)
    for line in read_lines(path) if protocol in SPOKEN else ():
        record = read_record(json.loads(line), protocol)
        if record is None or record.request is None or record.error is not None or not record.generation:
            continue
        try:
            validate_request(record.request, record.dialect)
        except InvalidRequestError as error:
            found = [rule for rule in check_order(record.request, record.dialect) if not rule.startswith(WARNING)]
            wrong += [] if found else [f"{record.id}: {error}"]
    assert wrong == []


ODD: tuple[Any, ...] = (None, True, 0, 1e300, "", "x", [], {}, [None], [[]], {"a": None}, ["x"], float("inf"))


def spoiled(wire: Any, chance: random.Random) -> Any:
    """The same request with something odd in one place or several."""
    if chance.random() < 0.08:
        return copy.deepcopy(chance.choice(ODD))
    if isinstance(wire, dict):
        return {key: spoiled(value, chance) for key, value in wire.items()}
    return [spoiled(item, chance) for item in wire] if isinstance(wire, list) else wire


@pytest.mark.parametrize("name", SPOKEN)
def test_nothing_but_our_own_error_is_raised(name: str) -> None:
    chance = random.Random(name)
    full = reduce(laid_over, [TOOLS[name]], request_frame(name))
    full[HISTORY.get(name, "messages")] += calls(name, ("c1", "c2"))
    for _ in range(2000):
        with suppress(InvalidRequestError):
            validate_request(spoiled(full, chance), name)


@pytest.mark.parametrize("name", SPOKEN)
def test_the_quick_check_agrees_with_the_rows(name: str) -> None:
    """It never accepts a body that a row complains about, and it accepts usual ones."""
    spoken: Any = dialect(name)
    chance, requirements = random.Random(name), spoken.requirements
    full = reduce(laid_over, [TOOLS[name]], request_frame(name))
    full[HISTORY.get(name, "messages")] += calls(name, ("c1", "c2"))
    assert requirements.is_fine(full)
    spoilt = [spoiled(full, chance) for _ in range(3000)]
    bad = [body for body in spoilt if next(requirements.complaints(body), None) is not None]
    assert len(bad) > 1000
    assert not any(map(requirements.is_fine, bad))

"""Changed recorded traffic: only our own errors are raised, and near misses are written back as they were.

``make fuzz`` does the same for as long as one likes, with other seeds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from interlingua import AdapterError, dialect
from interlingua.dialects import DIALECTS
from lab.fidelity.records import Record, read_record
from lab.fuzzing import near_miss, try_record
from shared_data import corpus, needs_shared

RECORDS, NEAR_MISSES, SEED = 60, 1500, 20261116


def recorded(name: str) -> list[Record]:
    files = (name, "bedrock-converse-stream") if name == "bedrock-converse" else (name,)
    found = [read_record(wire, file) for file in files for wire in corpus(file)]
    return [record for record in found if record is not None]


@pytest.fixture
def _quiet() -> Iterator[None]:
    log = logging.getLogger("interlingua")
    before = log.level
    log.setLevel(logging.CRITICAL)  # not by assignment: loggers remember what they let through
    yield
    log.setLevel(before)


@needs_shared
@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("name", DIALECTS)
def test_changed_recordings_raise_nothing_but_our_own_errors(name: str) -> None:  # law 11
    random = Random(f"{SEED} {name}")
    records = random.sample(recorded(name), RECORDS)
    faults = [fault for record in records for fault in try_record(record, random)]
    assert not faults, "\n".join(map(str, faults[:5]))


def inexact(name: str) -> list[str]:
    """The near misses of recorded requests that are not written back as they were."""
    random, speaker, found = Random(f"{SEED} {name}"), dialect(name), list[str]()
    records = [record for record in recorded(name) if isinstance(record.request, dict) and record.generation]
    for _ in range(NEAR_MISSES):
        record = random.choice(records)
        body = near_miss(record.request, random)
        try:
            request = speaker.decode_request(body, record.request_headers, record.model, record.streamed)
            if speaker.encode_request(request).body != body:
                found.append(f"{record.id}: not as it came")
        except AdapterError as error:
            found.append(f"{record.id}: {error}")
    return found


@needs_shared
@pytest.mark.parametrize("name", DIALECTS)
def test_near_misses_are_written_back_exactly(name: str) -> None:
    assert not inexact(name)


# ----------------------------------------------------------------------------------------------- a word as a sentinel


ABSENT: dict[str, Any] = {
    "openai-chat": {
        "id": "absent",
        "model": "absent",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    },
    "openai-responses": {"id": "absent", "model": "absent", "object": "response", "status": "completed", "output": []},
    "anthropic-messages": {
        "id": "absent",
        "model": "absent",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": "absent",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}


@pytest.mark.parametrize("name", ABSENT)
def test_the_word_absent_is_a_word_like_any_other(name: str) -> None:
    body = ABSENT[name]
    response = dialect(name).decode_response(body)
    assert (response.id, response.model) == ("absent", "absent")
    assert dialect(name).encode_response(response).body == body

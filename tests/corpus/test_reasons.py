"""Every reason that occurs when recorded requests are translated to every other dialect: plain and true."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import msgspec

from interlingua import DIALECTS, AdapterError, Loss, dialect
from lab.fidelity.records import Record, corpus_files, file_protocol, has_history, read_lines, read_record
from shared_data import CORPUS, needs_shared
from unit.test_reasons import BANNED

HAS_NONE = re.compile(rf"^({'|'.join(DIALECTS)}) has no `(\w+)`$")


def recorded() -> list[Record]:
    found = []
    for path in corpus_files(Path(CORPUS)):
        records = [read_record(msgspec.json.decode(line), file_protocol(path)) for line in read_lines(path)]
        found += [record for record in records if record is not None and has_history(record)]
    return found


@cache
def translated() -> tuple[dict[tuple[str, str], Loss], dict[str, set[str]]]:
    """An example of every reason by target, and the keys that each dialect's recorded requests have at the top."""
    losses: dict[tuple[str, str], Loss] = {}
    keys: dict[str, set[str]] = defaultdict(set)
    for record in recorded():
        keys[record.dialect].update(record.request or ())
        request = dialect(record.dialect).decode_request(
            record.request, record.request_headers, record.model, record.streamed
        )
        for target in DIALECTS:
            if target != record.dialect:
                try:
                    found = dialect(target).encode_request(request).losses
                except AdapterError:  # a result without its call
                    continue
                losses |= {(target, loss.reason): loss for loss in found}
    return losses, keys


@needs_shared
def test_reasons_are_plain() -> None:
    losses, _ = translated()
    assert len(losses) > 200
    assert sorted({reason for _, reason in losses if BANNED.search(reason)}) == []


@needs_shared
def test_no_target_is_said_to_lack_what_its_recordings_have() -> None:
    losses, keys = translated()
    claims = [(target, found[2]) for target, reason in losses if (found := HAS_NONE.match(reason))]
    assert claims
    assert [(target, key) for target, key in claims if key in keys[target]] == []


@needs_shared
def test_conversations_that_a_server_keeps_are_state() -> None:
    losses, _ = translated()
    weights = {loss.path.rpartition("/")[2]: loss.weight for loss in losses.values() if loss.path.startswith("extras/")}
    assert {key: weights[key] for key in ("previous_response_id", "conversation", "cachedContent", "container")} == {
        "previous_response_id": "state",
        "conversation": "state",
        "cachedContent": "state",
        "container": "state",
    }

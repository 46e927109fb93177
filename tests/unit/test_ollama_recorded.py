"""Recorded Ollama traffic comes back exactly, whole and streamed, at any split."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import Unknown, dialect, fold, unfold
from shared_data import corpus, needs_shared, stream_bytes

OLLAMA = dialect("ollama")
RECORDS = list(corpus("ollama"))
REQUESTS = [record for record in RECORDS if isinstance(record.get("request"), dict)]
ANSWERS = [record for record in RECORDS if isinstance(record.get("response"), dict)]
STREAMS = [record for record in RECORDS if record.get("response_text")]
# Recorded with the sizes of HTTP chunks among the lines.
WITH_CHUNK_SIZES = "langchaingo/"


def by_id(record: Any) -> str:
    return str(record["id"]) if isinstance(record, dict) else repr(record)


@needs_shared
@pytest.mark.parametrize("record", REQUESTS, ids=by_id)
def test_requests(record: dict[str, Any]) -> None:
    encoded = OLLAMA.encode_request(OLLAMA.decode_request(record["request"]))
    assert (encoded.body, encoded.path, encoded.losses) == (record["request"], record["url_path"], ())


@needs_shared
@pytest.mark.parametrize("record", ANSWERS, ids=by_id)
def test_answers(record: dict[str, Any]) -> None:
    response = OLLAMA.decode_response(record["response"])
    encoded = OLLAMA.encode_response(response)
    assert (encoded.body, encoded.losses) == (record["response"], ())
    assert fold(unfold(response)) == response


@needs_shared
@pytest.mark.parametrize("record", STREAMS, ids=by_id)
def test_streams(record: dict[str, Any]) -> None:
    raw = stream_bytes(record) or b""
    whole, pieces = OLLAMA.stream_decoder(), OLLAMA.stream_decoder()
    events = whole.feed(raw) + whole.close()
    split = [event for start in range(0, len(raw), 11) for event in pieces.feed(raw[start : start + 11])]
    assert events == split + pieces.close()
    assert whole.error is None
    unknown = [event.raw for event in events if isinstance(event, Unknown)]
    assert len(unknown) == record["id"].startswith(WITH_CHUNK_SIZES)
    response = fold(events)
    assert response.usage is not None or not any(b"eval_count" in line for line in raw.splitlines()[-4:])

"""What each dialect reads in an error, and writes back: ``tests/cases/errors.jsonl``, one JSON object per line.

``status``, ``headers`` and ``body`` are the answer of a server; a body that is not JSON is a string. ``error`` has the
exception that is read and its fields. Written again it has the same status and body, and is read as the same error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlingua import DIALECTS, ErrorClass, dialect

LINES = [json.loads(text) for text in Path(__file__).with_name("errors.jsonl").read_text(encoding="utf-8").splitlines()]
INSIDE = [line for line in LINES if isinstance(line["body"], dict) and "error" in line["body"]]
TOO_LONG: dict[str, bytes] = dict.fromkeys(("openai-chat", "openai-responses"), b'"code":"context_length_exceeded"')
"""What clients look for, whichever word a local server has for it."""


def named(line: dict[str, Any]) -> str:
    return f"{line['dialect']}: {line['case']}"


def body_of(line: dict[str, Any]) -> bytes:
    body = line["body"]
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


@pytest.mark.parametrize("line", LINES, ids=named)
def test_an_error_is_read_and_written_back(line: dict[str, Any]) -> None:
    speaker, raw = dialect(line["dialect"]), body_of(line)
    error = speaker.decode_error(line["status"], line.get("headers", {}), raw)
    expected = dict(line["error"])
    assert type(error).__name__ == expected.pop("exception")
    assert {name: getattr(error, name) for name in expected} == expected
    assert error.message
    assert error.provider_status == line["status"]
    again = speaker.encode_error(error)
    assert again.status == line["status"]
    assert again.body == raw or json.loads(again.body) == line["body"]
    assert speaker.decode_error(again.status, again.headers, again.body) == error


@pytest.mark.parametrize("line", INSIDE, ids=named)
def test_an_error_inside_a_whole_answer(line: dict[str, Any]) -> None:
    """A body that names an error is read as an error under any status, and is written back unchanged."""
    speaker = dialect(line["dialect"])
    response = speaker.decode_response(line["body"])
    assert response.stop_reason == "error"
    assert speaker.encode_response(response).body == line["body"]


@pytest.mark.parametrize("line", LINES, ids=named)
def test_its_class_travels_to_every_dialect(line: dict[str, Any]) -> None:
    error = dialect(line["dialect"]).decode_error(line["status"], line.get("headers", {}), body_of(line))
    for name in DIALECTS:
        said = dialect(name).encode_error(error)
        again = dialect(name).decode_error(said.status, said.headers, said.body)
        full = (name, said.status) == ("ollama", 503)  # its own 503 means a full queue, and is read as that
        assert (name, again.error_class) == (name, ErrorClass.rate_limit if full else error.error_class)
        if error.error_class is ErrorClass.context_overflow and said.status == 400 and name != line["dialect"]:
            assert TOO_LONG.get(name, b"") in said.body
        if error.error_class is ErrorClass.rate_limit:
            assert (name, again.retryable) == (name, error.retryable)


def test_every_dialect_has_errors() -> None:
    assert {line["dialect"] for line in LINES} == set(DIALECTS)

"""What official clients raise of our errors: their own exception, with our message, status and word.

In ``sdk_errors.jsonl``: ``of`` is our class, or the message of a limit that no waiting lifts; ``raises``, ``status``
and ``word`` are what the client makes of it. ``midway`` fails in the middle of a stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import interlingua
from interlingua import (
    AdapterError,
    BlockStart,
    ErrorClass,
    MessageStart,
    RateLimitError,
    TextBlock,
    TextDelta,
    dialect,
    error_type,
)
from oracles.clients import CLIENTS, Http

Json = Any
LINES = [
    json.loads(line) for line in Path(__file__).with_name("sdk_errors.jsonl").read_text(encoding="utf-8").splitlines()
]
SPENT = "no credit"


def of(key: str) -> Any:
    lines = [pytest.param(line, id=f"{line['client']}: {line[key]}") for line in LINES if key in line]
    return pytest.mark.parametrize("line", lines)


def raised(ask: Callable[[], object]) -> Any:
    """What a client raises, whichever its exceptions are."""
    with pytest.raises(Exception) as caught:  # noqa: PT011, the caller looks at it
        ask()
    return caught.value


@of("of")
def test_an_error_is_their_exception(line: Json) -> None:
    client = CLIENTS[line["client"]]
    error: AdapterError = RateLimitError(SPENT, retryable=False)
    if line["of"] != SPENT:
        words = "prompt is too long" if line["of"] == "context_overflow" else "it broke"
        error = error_type(ErrorClass(line["of"]))(words, request_id="req_9", retry_after=7)
    wire = dialect(client.name).encode_error(error)

    def ask() -> None:
        with client.calls((wire.status, dict(wire.headers), wire.body), client.asks, **client.asked):
            pass

    found = raised(ask)
    assert type(found).__name__ == line["raises"]
    assert client.told(found) == (line["status"], line["word"], error.message)
    if error.request_id and isinstance(client, Http):
        assert found.request_id == "req_9"
        assert found.response.headers["retry-after"] == "7"
    again = dialect(client.name).decode_error(wire.status, wire.headers, wire.body)
    same = ("client", "status", "word")
    alike = {each["of"] for each in LINES if "of" in each and all(each[key] == line[key] for key in same)} - {SPENT}
    assert again.error_class in (alike or {error.error_class})


@of("midway")
def test_a_stream_that_fails_midway_raises(line: Json) -> None:
    client, failure = CLIENTS[line["client"]], getattr(interlingua, line["midway"])(line["message"])
    encoder = dialect(client.name).stream_encoder()
    events = [MessageStart("msg_1", "m"), BlockStart(0, TextBlock("")), TextDelta(0, "par")]
    body = b"".join(map(encoder.feed, events)) + encoder.fail(failure) + encoder.close()
    heard: list[str] = []
    found = raised(lambda: heard.extend(client.hears(body)))
    assert "".join(heard) == "par"
    assert client.told(found) == (line["status"], line["word"], failure.message)
    assert b"[DONE]" not in body

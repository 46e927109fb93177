"""Canonical values survive saving and loading, errors included."""

from __future__ import annotations

import pytest

from interlingua import Message, ParseError, RateLimitError, Request, Response, TextBlock, from_json, to_json


def test_a_request():
    request = Request((Message("user", "hi"),), model="m", system="be terse", temperature=0)
    assert from_json(to_json(request), Request) == request


def test_a_failed_response_keeps_its_error():
    error = RateLimitError("slow down", retry_after=3.0, provider_status=429, extras={"openai-chat": {"error": {}}})
    response = Response((TextBlock("par"),), "error", error=error)
    loaded = from_json(to_json(response), Response)
    assert loaded == response
    assert isinstance(loaded.error, RateLimitError)
    assert loaded.error.retry_after == 3.0


def test_what_is_no_canonical_value_is_refused():
    with pytest.raises(TypeError, match="not a canonical value"):
        to_json({"x": object()})


def test_an_unknown_role_is_refused():
    with pytest.raises(ValueError, match="wizard"):
        from_json(b'{"role":"wizard"}', Message)


DAMAGED = [
    b"",
    b"{",
    b"\xff",
    b"7",
    b"[" * 100_000,
    b'{"content": "no blocks", "stop_reason": "end_turn"}',
    b'{"content": [], "stop_reason": "error", "error": {}}',
    b'{"content": [], "stop_reason": "error", "error": {"error_class": "odd", "message": 7}}',
    b'{"content": [], "stop_reason": "error", "error": {"error_class": [], "message": ""}}',
]


@pytest.mark.parametrize("data", DAMAGED, ids=range(len(DAMAGED)))
def test_what_is_damaged_raises_an_error_of_ours(data):  # law 11
    with pytest.raises(ParseError, match="not the JSON of a Response"):
        from_json(data, Response)

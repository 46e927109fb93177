"""Canonical values survive saving and loading, errors included."""

from __future__ import annotations

import pytest

from interlingua import Message, RateLimitError, Request, Response, TextBlock, from_json, to_json


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

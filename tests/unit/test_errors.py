"""Errors: the tree, what they carry, and how each dialect reads and says them (the table of design §11)."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

import interlingua
from interlingua import (
    AdapterError,
    AuthError,
    CancelledError,
    ContextOverflowError,
    ErrorClass,
    InvalidRequestError,
    Loss,
    LossyTranslation,
    NetworkError,
    NotConfigured,
    OverloadedError,
    ParseError,
    RateLimitError,
    RequestTimeoutError,
    Response,
    ServerError,
    ToolStateError,
    dialect,
    error_type,
)

CHAT, CLAUDE = "openai-chat", "anthropic-messages"

TREE: tuple[tuple[type[AdapterError], type[Exception], ErrorClass, bool], ...] = (
    # exception             its parent            class                         retryable
    (AdapterError, Exception, ErrorClass.other, False),
    (RateLimitError, AdapterError, ErrorClass.rate_limit, True),
    (OverloadedError, RateLimitError, ErrorClass.rate_limit, True),
    (AuthError, AdapterError, ErrorClass.auth, False),
    (NotConfigured, AuthError, ErrorClass.auth, False),
    (ServerError, AdapterError, ErrorClass.server_error, True),
    (NetworkError, AdapterError, ErrorClass.network, True),
    (RequestTimeoutError, AdapterError, ErrorClass.timeout, True),
    (ContextOverflowError, AdapterError, ErrorClass.context_overflow, False),
    (InvalidRequestError, AdapterError, ErrorClass.invalid_request, False),
    (ParseError, InvalidRequestError, ErrorClass.invalid_request, False),
    (LossyTranslation, InvalidRequestError, ErrorClass.invalid_request, False),
    (ToolStateError, AdapterError, ErrorClass.tool_error, True),
    (CancelledError, AdapterError, ErrorClass.cancelled, False),
)


@pytest.mark.parametrize(
    ("kind", "parent", "error_class", "retryable"), TREE, ids=lambda v: getattr(v, "__name__", str(v))
)
def test_the_tree(kind: type[AdapterError], parent: type[Exception], error_class: ErrorClass, retryable: bool) -> None:
    error = kind("x")
    assert kind.__bases__ == (parent,)
    assert (error.error_class, error.retryable, str(error), error.message) == (error_class, retryable, "x", "x")


def test_every_class_has_an_exception() -> None:
    for error_class in ErrorClass:
        assert error_type(error_class)("x").error_class is error_class
        assert error_type(error_class.value) is error_type(error_class)


FULL: dict[str, Any] = {
    "retryable": False, "retry_after": 3.5, "provider": "p", "provider_status": 429, "provider_code": "c",
    "provider_message": "m", "request_id": "r", "attempts": 2, "extras": {CHAT: {"error": {"k": 1}}},
}  # fmt: skip


@pytest.mark.parametrize("kind", [row[0] for row in TREE])
def test_errors_survive_pickling_and_copying(kind: type[AdapterError]) -> None:
    error = kind("x", **FULL, response=Response("partial"))
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert again == error
        assert {k: getattr(again, k) for k in FULL} == FULL
        assert again.response == Response("partial")
        assert str(again) == "x"


def test_a_lossy_translation_keeps_its_losses() -> None:
    error = LossyTranslation("x")
    error.losses = (Loss("seed", "dropped", "no word"),)
    assert pickle.loads(pickle.dumps(error)).losses == error.losses
    assert LossyTranslation("x").losses == ()


def test_equality_asks_for_the_failure() -> None:
    assert ServerError("x") == ServerError("x")
    assert ServerError("x") != ServerError("y")
    assert ServerError("x") != NetworkError("x")
    assert ServerError("x", response=Response("a")) == ServerError("x", response=Response("b"))
    assert ServerError("x") != "x"
    assert len({ServerError("x"), ServerError("x")}) == 1


def test_a_repr_tells_what_is_set() -> None:
    text = repr(RateLimitError("slow", retry_after=3, provider_code="c"))
    assert text.startswith("RateLimitError(")
    assert "slow" in text
    assert "retry_after=3" in text
    assert "request_id" not in text


# ------------------------------------------------------------------------------------------------- reading them

HINTS: tuple[tuple[dict[str, str], float | None], ...] = (
    ({}, None),
    ({"retry-after": "7"}, 7),
    ({"Retry-After": "0.5"}, 0.5),
    ({"retry-after-ms": "1500"}, 1.5),
    ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
    ({"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 10),
    ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:28:10 GMT"}, 0),
    ({"retry-after": "soon"}, None),
)


@pytest.mark.parametrize(("headers", "seconds"), HINTS, ids=str)
def test_retry_hints(headers: dict[str, str], seconds: float | None) -> None:
    for name in (CHAT, CLAUDE):
        assert dialect(name).decode_error(429, headers, b"{}").retry_after == seconds


def test_a_call_state_mismatch_may_be_retried_after_a_second() -> None:
    body = {"error": {"message": "No tool output found for function call call_1."}}
    assert dialect(CHAT).decode_error(400, {}, json.dumps(body).encode()).retry_after == 1


REQUEST_IDS = ((CHAT, {"X-Request-Id": "r1"}), (CHAT, {"mistral-correlation-id": "r1"}), (CLAUDE, {"Request-Id": "r1"}))


@pytest.mark.parametrize(("name", "headers"), REQUEST_IDS)
def test_the_request_id(name: str, headers: dict[str, str]) -> None:
    assert dialect(name, provider="p").decode_error(500, headers, b"{}").request_id == "r1"
    assert dialect(name, provider="p").decode_error(500, headers, b"{}").provider == "p"


def test_the_providers_own_words() -> None:
    body = {"error": {"message": "m", "type": "t", "param": None, "code": "c"}}
    error = dialect(CHAT).decode_error(400, None, json.dumps(body).encode())
    assert (error.provider_code, error.provider_message, error.message) == ("c", "m", "m")
    assert (
        dialect(CHAT)
        .decode_error(400, None, json.dumps({"error": {"message": "m", "code": 123}}).encode())
        .provider_code
        == 123
    )


SAID_BOTH_WAYS = [
    c
    for c in ErrorClass
    if c not in (ErrorClass.network, ErrorClass.cancelled, ErrorClass.other, ErrorClass.tool_error)
]


@pytest.mark.parametrize("name", [CHAT, CLAUDE])
@pytest.mark.parametrize("error_class", SAID_BOTH_WAYS)
def test_a_class_comes_back_as_itself(name: str, error_class: ErrorClass) -> None:
    for retryable in {True, False} if error_class is ErrorClass.rate_limit else {None}:
        error = error_type(error_class)("x", retryable=retryable)
        said = dialect(name).encode_error(error)
        again = dialect(name).decode_error(said.status, said.headers, said.body)
        assert (again.error_class, again.retryable, again.message) == (error_class, error.retryable, "x")


ODD_BODIES = (
    *(b"", b"{}", b"[]", b"null", b"3", b'"x"', b"\xff\xfe", b'{"error": null}', b'{"error": []}'),
    *(b'{"error": {"message": {"a": 1}}}', b'[{"error": {"message": "x"}}]'),
)


@pytest.mark.parametrize("name", [CHAT, CLAUDE])
@pytest.mark.parametrize("body", ODD_BODIES)
def test_no_error_body_ever_raises(name: str, body: bytes) -> None:
    error = dialect(name).decode_error(500, {}, body)
    assert error.error_class is ErrorClass.server_error
    assert isinstance(error.message, str)
    dialect(name).encode_error(error)


def test_every_error_is_public() -> None:
    for kind, *_ in TREE:
        assert getattr(interlingua, kind.__name__) is kind
        assert kind.__doc__

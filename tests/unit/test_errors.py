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

E = ErrorClass


def oops(message: str = "x", **fields: Any) -> Any:
    return {"error": {"message": message, **fields}}


def fail(kind: str, message: str = "x", **fields: Any) -> Any:
    return {"type": "error", "error": {"type": kind, "message": message, **fields}}


SPENT = {"error_code": "enforced_spend_limit_reached"}
SIGNALS: tuple[tuple[str, int, dict[str, str], Any, ErrorClass, bool], ...] = (
    # dialect, status, headers, body, class, retryable
    (CHAT, 401, {}, oops(type="invalid_request_error", code="invalid_api_key"), E.auth, False),
    (CHAT, 403, {}, oops(code="unsupported_country_region_territory"), E.auth, False),
    (CHAT, 429, {}, oops(code="rate_limit_exceeded"), E.rate_limit, True),
    (CHAT, 429, {}, oops(code="insufficient_quota"), E.rate_limit, False),
    (CHAT, 402, {}, oops("Insufficient credits", code=402), E.rate_limit, False),
    (CHAT, 408, {}, oops(), E.timeout, True),
    (CHAT, 504, {}, "<html>gateway</html>", E.timeout, True),
    (CHAT, 413, {}, "too large", E.context_overflow, False),
    (CHAT, 400, {}, oops(code="context_length_exceeded"), E.context_overflow, False),
    (CHAT, 400, {}, oops("This model's maximum context length is 5 tokens."), E.context_overflow, False),
    (CHAT, 400, {}, oops(type="exceed_context_size_error", code=400), E.context_overflow, False),
    (CHAT, 400, {}, oops("No tool call found for function call output with call_id a"), E.tool_error, True),
    (CHAT, 400, {}, oops("No tool output found for function call a"), E.tool_error, True),
    (
        CHAT,
        400,
        {},
        oops("Invalid schema for function 'f'", code="invalid_function_parameters"),
        E.invalid_request,
        False,
    ),
    (CHAT, 404, {}, oops(code="model_not_found"), E.invalid_request, False),
    (CHAT, 500, {}, oops(type="server_error"), E.server_error, True),
    (CHAT, 424, {}, oops(), E.server_error, True),
    (CHAT, 503, {}, "", E.server_error, True),
    (CHAT, 500, {}, None, E.server_error, True),
    (CHAT, 404, {}, {"error": "model 'x' not found"}, E.invalid_request, False),
    (CHAT, 422, {}, {"detail": [{"loc": ["body"], "msg": "field required"}]}, E.invalid_request, False),
    (
        CHAT,
        400,
        {},
        {"object": "error", "message": "bad", "type": "invalid_model", "code": "1500"},
        E.invalid_request,
        False,
    ),
    (CHAT, 500, {"x-should-retry": "false"}, oops(), E.server_error, False),
    (CHAT, 400, {"x-should-retry": "true"}, oops(), E.invalid_request, True),
    (CLAUDE, 400, {}, fail("invalid_request_error"), E.invalid_request, False),
    (CLAUDE, 401, {}, fail("authentication_error"), E.auth, False),
    (CLAUDE, 402, {}, fail("billing_error"), E.rate_limit, False),
    (CLAUDE, 403, {}, fail("permission_error"), E.auth, False),
    (CLAUDE, 404, {}, fail("not_found_error"), E.invalid_request, False),
    (CLAUDE, 409, {}, fail("conflict_error"), E.invalid_request, False),
    (CLAUDE, 413, {}, fail("request_too_large"), E.context_overflow, False),
    (CLAUDE, 413, {}, "<html>413</html>", E.context_overflow, False),
    (CLAUDE, 429, {}, fail("rate_limit_error"), E.rate_limit, True),
    (CLAUDE, 429, {}, fail("rate_limit_error", details=SPENT), E.rate_limit, False),
    (CLAUDE, 500, {}, fail("api_error"), E.server_error, True),
    (CLAUDE, 504, {}, fail("timeout_error"), E.timeout, True),
    (CLAUDE, 529, {}, fail("overloaded_error"), E.rate_limit, True),
    (
        CLAUDE,
        400,
        {},
        fail("invalid_request_error", "prompt is too long: 9 tokens > 5 maximum"),
        E.context_overflow,
        False,
    ),
    (CLAUDE, 418, {}, fail("brand_new_error"), E.invalid_request, False),
    (CLAUDE, 502, {}, "bad gateway", E.server_error, True),
)


def wire(body: Any) -> bytes:
    return b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()


@pytest.mark.parametrize(("name", "status", "headers", "body", "error_class", "retryable"), SIGNALS)
def test_signals(
    name: str, status: int, headers: dict[str, str], body: Any, error_class: ErrorClass, retryable: bool
) -> None:
    error = dialect(name).decode_error(status, headers, wire(body))
    assert (error.error_class, error.retryable) == (error_class, retryable)
    busy = status == 529  # P4
    assert type(error) is (OverloadedError if busy else error_type(error_class))
    assert error.provider_status == status
    assert error.message


@pytest.mark.parametrize(("name", "status", "headers", "body", "error_class", "retryable"), SIGNALS)
def test_what_was_read_is_said_again(
    name: str, status: int, headers: dict[str, str], body: Any, error_class: ErrorClass, retryable: bool
) -> None:
    error = dialect(name).decode_error(status, headers, wire(body))
    again = dialect(name).encode_error(error)
    assert again.status == status
    if isinstance(body, dict):
        assert json.loads(again.body) == body
    else:
        assert again.body == wire(body)


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
    assert dialect(CHAT).decode_error(400, {}, wire(body)).retry_after == 1


REQUEST_IDS = ((CHAT, {"X-Request-Id": "r1"}), (CHAT, {"mistral-correlation-id": "r1"}), (CLAUDE, {"Request-Id": "r1"}))


@pytest.mark.parametrize(("name", "headers"), REQUEST_IDS)
def test_the_request_id(name: str, headers: dict[str, str]) -> None:
    assert dialect(name, provider="p").decode_error(500, headers, b"{}").request_id == "r1"
    assert dialect(name, provider="p").decode_error(500, headers, b"{}").provider == "p"


def test_the_providers_own_words() -> None:
    body = {"error": {"message": "m", "type": "t", "param": None, "code": "c"}}
    error = dialect(CHAT).decode_error(400, None, wire(body))
    assert (error.provider_code, error.provider_message, error.message) == ("c", "m", "m")
    assert dialect(CHAT).decode_error(400, None, wire({"error": {"message": "m", "code": 123}})).provider_code == 123


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


def test_a_class_travels_from_dialect_to_dialect() -> None:
    for _, status, headers, body, error_class, _ in SIGNALS:
        if error_class not in SAID_BOTH_WAYS:
            continue
        source = CLAUDE if isinstance(body, dict) and body.get("type") == "error" else CHAT
        target = CHAT if source == CLAUDE else CLAUDE
        error = dialect(source).decode_error(status, headers, wire(body))
        said = dialect(target).encode_error(error)
        again = dialect(target).decode_error(said.status, said.headers, said.body)
        assert again.error_class is error.error_class


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

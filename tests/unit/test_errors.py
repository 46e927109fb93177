"""Errors: the tree, what they carry, and how each dialect reads and writes them (the table of design §11)."""

from __future__ import annotations

import copy
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


def test_every_error_is_public() -> None:
    for kind, *_ in TREE:
        assert getattr(interlingua, kind.__name__) is kind
        assert kind.__doc__

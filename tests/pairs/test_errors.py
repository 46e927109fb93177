"""Errors: each class in every protocol's own shape, so that a gateway answers in its caller's words."""

from __future__ import annotations

from interlingua import (
    AuthError,
    ContextOverflowError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)
from pairs.check import check, failed


def test_rate_limit() -> None:
    check(
        RateLimitError("slow down"),
        anthropic_messages=failed(
            429, {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
        ),
        openai_chat=failed(
            429,
            {
                "error": {
                    "message": "slow down",
                    "type": "requests",
                    "param": None,
                    "code": "rate_limit_exceeded",
                }
            },
        ),
        openai_responses=failed(
            429,
            {"error": {"message": "slow down", "type": "requests", "param": None, "code": "rate_limit_exceeded"}},
        ),
        gemini=failed(429, {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}),
        ollama=failed(429, {"error": "slow down"}),
        bedrock_converse=failed(429, {"message": "slow down"}, x_amzn_errortype="ThrottlingException"),
    )


def test_authentication() -> None:
    check(
        AuthError("who are you?"),
        anthropic_messages=failed(
            401, {"type": "error", "error": {"type": "authentication_error", "message": "who are you?"}}
        ),
        openai_chat=failed(
            401,
            {
                "error": {
                    "message": "who are you?",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "invalid_api_key",
                }
            },
        ),
        openai_responses=failed(
            401,
            {
                "error": {
                    "message": "who are you?",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "invalid_api_key",
                }
            },
        ),
        gemini=failed(401, {"error": {"code": 401, "message": "who are you?", "status": "UNAUTHENTICATED"}}),
        ollama=failed(401, {"error": "who are you?"}),
        bedrock_converse=failed(403, {"message": "who are you?"}, x_amzn_errortype="AccessDeniedException"),
    )


def test_invalid_request() -> None:
    check(
        InvalidRequestError("what?"),
        anthropic_messages=failed(
            400, {"type": "error", "error": {"type": "invalid_request_error", "message": "what?"}}
        ),
        openai_chat=failed(
            400,
            {"error": {"message": "what?", "type": "invalid_request_error", "param": None, "code": None}},
        ),
        openai_responses=failed(
            400,
            {"error": {"message": "what?", "type": "invalid_request_error", "param": None, "code": None}},
        ),
        gemini=failed(400, {"error": {"code": 400, "message": "what?", "status": "INVALID_ARGUMENT"}}),
        ollama=failed(400, {"error": "what?"}),
        bedrock_converse=failed(400, {"message": "what?"}, x_amzn_errortype="ValidationException"),
    )


def test_server_error() -> None:
    check(
        ServerError("oops"),
        anthropic_messages=failed(500, {"type": "error", "error": {"type": "api_error", "message": "oops"}}),
        openai_chat=failed(500, {"error": {"message": "oops", "type": "server_error", "param": None, "code": None}}),
        openai_responses=failed(
            500, {"error": {"message": "oops", "type": "server_error", "param": None, "code": None}}
        ),
        gemini=failed(500, {"error": {"code": 500, "message": "oops", "status": "INTERNAL"}}),
        ollama=failed(500, {"error": "oops"}),
        bedrock_converse=failed(500, {"message": "oops"}, x_amzn_errortype="InternalServerException"),
    )


def test_timeout() -> None:
    check(
        RequestTimeoutError("too slow"),
        anthropic_messages=failed(504, {"type": "error", "error": {"type": "timeout_error", "message": "too slow"}}),
        openai_chat=failed(
            408,
            {"error": {"message": "too slow", "type": "invalid_request_error", "param": None, "code": "timeout"}},
        ),
        openai_responses=failed(
            408,
            {"error": {"message": "too slow", "type": "invalid_request_error", "param": None, "code": "timeout"}},
        ),
        gemini=failed(504, {"error": {"code": 504, "message": "too slow", "status": "DEADLINE_EXCEEDED"}}),
        ollama=failed(504, {"error": "too slow"}),
        bedrock_converse=failed(408, {"message": "too slow"}, x_amzn_errortype="ModelTimeoutException"),
    )


def test_context_overflow() -> None:
    """Bedrock knows it by the words only; Gemini and Ollama have no word, but a status says it, too."""
    words = "the prompt exceeds the context window"
    check(
        ContextOverflowError(words),
        anthropic_messages=failed(413, {"type": "error", "error": {"type": "request_too_large", "message": words}}),
        openai_chat=failed(
            400,
            {
                "error": {
                    "message": words,
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "context_length_exceeded",
                }
            },
        ),
        openai_responses=failed(
            400,
            {
                "error": {
                    "message": words,
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "context_length_exceeded",
                }
            },
        ),
        gemini=failed(413, {"error": {"code": 413, "message": words, "status": "INVALID_ARGUMENT"}}),
        ollama=failed(413, {"error": words}),
        bedrock_converse=failed(400, {"message": words}, x_amzn_errortype="ValidationException"),
    )


def test_overload() -> None:  # P4
    """Each protocol's own word for a busy service, never a 429, and the hint survives every pair."""
    busy = {
        "message": "too much work",
        "type": "service_unavailable_error",
        "param": None,
        "code": "server_is_overloaded",
    }
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"}
    told = {"code": 503, "message": "too much work", "status": "UNAVAILABLE", "details": [retry]}
    check(
        OverloadedError("too much work", retry_after=2.5),
        anthropic_messages=failed(
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "too much work"}},
            retry_after="2.5",
        ),
        openai_chat=failed(503, {"error": busy}, retry_after="2.5"),
        openai_responses=failed(503, {"error": busy}, retry_after="2.5"),
        gemini=failed(503, {"error": told}, retry_after="2.5"),
        ollama=failed(503, {"error": "too much work"}, retry_after="2.5"),
        bedrock_converse=failed(
            503, {"message": "too much work"}, x_amzn_errortype="ServiceUnavailableException", retry_after="2.5"
        ),
    )

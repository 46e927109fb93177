"""The error body that each provider sends with a status.

Written from the providers' documentation and not with our encoders, so that decoding it is a real test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from ...types.base import Json

__all__ = ["ErrorAnswer", "error_answer"]

REQUEST_ID = "req_embedded"


class ErrorAnswer(NamedTuple):
    """Status, headers and body of an error."""

    status: int
    headers: dict[str, str]
    body: bytes


def _anthropic(status: int, kind: str, message: str, after: float | None) -> tuple[dict[str, str], Json]:
    named = {"type": kind} if kind else {}
    body = {"type": "error", "error": {**named, "message": message}, "request_id": REQUEST_ID}
    return {"request-id": REQUEST_ID, **_seconds(after)}, body


def _openai(status: int, kind: str, message: str, after: float | None) -> tuple[dict[str, str], Json]:
    name, _, code = kind.partition("/")
    body = {"error": {"message": message, "type": name or None, "param": None, "code": code or None}}
    return {"x-request-id": REQUEST_ID, **_seconds(after)}, body


def _gemini(status: int, kind: str, message: str, after: float | None) -> tuple[dict[str, str], Json]:
    error: dict[str, Json] = {"code": status, "message": message, **({"status": kind} if kind else {})}
    if after is not None:
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{after:g}s"}]
    return {}, {"error": error}


def _ollama(status: int, kind: str, message: str, after: float | None) -> tuple[dict[str, str], Json]:
    return _seconds(after), {"error": message}


def _bedrock(status: int, kind: str, message: str, after: float | None) -> tuple[dict[str, str], Json]:
    named = {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/"} if kind else {}
    return {"x-amzn-requestid": REQUEST_ID, **named, **_seconds(after)}, {"message": message}


def _seconds(after: float | None) -> dict[str, str]:
    return {} if after is None else {"retry-after": f"{after:g}"}


OPENAI = {
    400: "invalid_request_error",
    401: "invalid_request_error/invalid_api_key",
    402: "insufficient_quota/billing_hard_limit_reached",
    403: "request_forbidden/unsupported_country_region_territory",
    404: "invalid_request_error/model_not_found",
    413: "invalid_request_error",
    429: "requests/rate_limit_exceeded",
    500: "server_error",
    503: "server_error",
}
# fmt: off
ERROR_TYPES: dict[str, dict[int, str]] = {
    "anthropic-messages": {
        400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
        404: "not_found_error", 409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error",
        500: "api_error", 504: "timeout_error", 529: "overloaded_error",
    },
    "openai-chat": OPENAI,
    "openai-responses": OPENAI,
    "gemini": {
        400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
    },
    "ollama": {},
    "bedrock-converse": {
        400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException",
        408: "ModelTimeoutException", 424: "ModelErrorException", 429: "ThrottlingException",
        500: "InternalServerException", 503: "ServiceUnavailableException",
    },
}
# fmt: on

SHAPES: dict[str, Callable[[int, str, str, float | None], tuple[dict[str, str], Json]]] = {
    "anthropic-messages": _anthropic,
    "openai-chat": _openai,
    "openai-responses": _openai,
    "gemini": _gemini,
    "ollama": _ollama,
    "bedrock-converse": _bedrock,
}


def error_answer(dialect: str, status: int, message: str, after: float | None = None) -> ErrorAnswer:
    """The error that the dialect's provider sends with this status; without a type if its documentation names none."""
    headers, body = SHAPES[dialect](status, ERROR_TYPES[dialect].get(status, ""), message, after)
    return ErrorAnswer(status, {"content-type": "application/json", **headers}, msgspec.json.encode(body))

"""The errors of the conformance suite: one of each class that a server can answer with."""

from __future__ import annotations

from interlingua.errors import AdapterError, error_type
from interlingua.types import ErrorClass

__all__ = ["SPOKEN_CLASSES", "errors"]

SPOKEN_CLASSES = (
    ErrorClass.rate_limit,
    ErrorClass.auth,
    ErrorClass.server_error,
    ErrorClass.timeout,
    ErrorClass.context_overflow,
    ErrorClass.invalid_request,
)
"""The classes of errors that providers send. Clients make the others; a server writes them as best it can."""


def errors() -> list[AdapterError]:
    """One error of each class that a server can send, an exhausted quota, and an error with retry hints."""
    plain = [error_type(word)(f"it failed: {word}") for word in SPOKEN_CLASSES]
    spent = error_type(ErrorClass.rate_limit)("You exceeded your current quota: check billing", retryable=False)
    return [*plain, spent, error_type(ErrorClass.rate_limit)("slow down", retry_after=2.5, request_id="req_1")]

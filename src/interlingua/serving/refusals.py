"""Refusals in the words that clients react to.

Fields that need a server with stored state (a thread, a stored answer, a stored prompt) are refused. An error of
another provider gets the words by which a client of the dialect recognizes the kind of error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ..codec.json import is_dict
from ..errors import AdapterError, ContextOverflowError, InvalidRequestError
from ..types.base import Json

__all__ = ["refuse_state", "with_known_words"]


class Refusal(Struct, frozen=True):
    """A field that is refused, and the message for the client. ``error`` has further fields of the error object."""

    key: str
    why: str
    error: dict[str, Any] = {}
    unless: tuple[Json, ...] = (None, False, "", {})


THREAD = {
    "type": "invalid_request_error",
    "details": {"error_code": "thread_unsupported_request"},
}
RESPONSES_ERROR = {"type": "invalid_request_error", "code": "unsupported_parameter"}

REFUSALS: dict[str, tuple[Refusal, ...]] = {
    "anthropic-messages": (
        Refusal("thread", "this model keeps no threads: send the whole conversation in `messages`", THREAD),
    ),
    "openai-responses": (
        Refusal(
            "previous_response_id",
            "this model stores no responses: send the whole conversation in `input`, with `store: false`",
            {**RESPONSES_ERROR, "param": "previous_response_id"},
        ),
        Refusal(
            "conversation",
            "this model stores no conversations: send the whole conversation in `input`",
            {**RESPONSES_ERROR, "param": "conversation"},
        ),
        Refusal(
            "prompt",
            "this model stores no prompts: send the prompt's own text in `instructions` or `input`",
            {**RESPONSES_ERROR, "param": "prompt"},
        ),
        Refusal(
            "background",
            "this model answers at once: send the request without `background`",
            {**RESPONSES_ERROR, "param": "background"},
        ),
    ),
}
WRAPPED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "anthropic-messages": lambda error: {"type": "error", "error": error},
    "openai-responses": lambda error: {"error": error},
}


def refuse_state(body: Json, dialect: str) -> None:
    """Raise an ``InvalidRequestError``, as the dialect's clients expect it, for a field that needs stored state."""
    if not is_dict(body):
        return
    for refusal in REFUSALS.get(dialect, ()):
        if body.get(refusal.key) not in refusal.unless:
            wire = WRAPPED[dialect]({**refusal.error, "message": refusal.why})
            raise InvalidRequestError(refusal.why, provider_status=400, extras={dialect: wire})


REJECTED = "capability_rejected: "
WORDS: dict[str, dict[type[AdapterError], str]] = {
    # by these words Claude Code knows that it must compact the conversation; in a 413 it looks for ``context window``
    "anthropic-messages": {
        ContextOverflowError: f"{REJECTED}prompt_too_long, it does not fit into the context window",
    }
}
TYPES = {400: "invalid_request_error", 413: "request_too_large"}
TOO_LARGE, BAD = 413, 400


def with_known_words(error: AdapterError, dialect: str) -> AdapterError:
    """The error of another provider with the words that clients of this dialect look for; other errors unchanged."""
    word = WORDS.get(dialect, {}).get(type(error))
    if word is None or dialect in error.extras or error.provider is None:
        return error
    status = TOO_LARGE if error.provider_status == TOO_LARGE else BAD
    message = error.provider_message or error.message
    if REJECTED not in message:
        message = f"{message} ({word})"
    wire = WRAPPED[dialect]({"type": TYPES[status], "message": message})
    return type(error)(
        message,
        retryable=error.retryable,
        retry_after=error.retry_after,
        provider=error.provider,
        provider_status=status,
        provider_code=error.provider_code,
        provider_message=message,
        request_id=error.request_id,
        response=error.response,
        extras={**error.extras, dialect: wire},
    )

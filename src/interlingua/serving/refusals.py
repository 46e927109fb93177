"""What only a server with a memory could do: a thread, a stored answer, a stored prompt. A translator has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ..codec.json import is_dict
from ..errors import InvalidRequestError
from ..types.base import Json

__all__ = ["refuse_state"]


class Refusal(Struct, frozen=True):
    """A field that cannot be honoured, and what the client is told. ``error`` is laid into the error's own object."""

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
    """Raise an ``InvalidRequestError``, as the dialect's own clients expect it, for what needs a server's memory."""
    if not is_dict(body):
        return
    for refusal in REFUSALS.get(dialect, ()):
        if body.get(refusal.key) not in refusal.unless:
            wire = WRAPPED[dialect]({**refusal.error, "message": refusal.why})
            raise InvalidRequestError(refusal.why, provider_status=400, extras={dialect: wire})

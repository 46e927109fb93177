"""Token counts: the request whose tokens are to be counted, and each dialect's own answer."""

from __future__ import annotations

from collections.abc import Callable

from ..codec.json import is_dict
from ..types.base import Json

__all__ = ["counted_request", "write_count"]

ANSWERS: dict[str, Callable[[int], dict[str, Json]]] = {
    "anthropic-messages": lambda tokens: {"input_tokens": tokens},
    "openai-responses": lambda tokens: {"object": "response.input_tokens", "input_tokens": tokens},
    "gemini": lambda tokens: {"totalTokens": tokens},
    "bedrock-converse": lambda tokens: {"inputTokens": tokens},
}
WRAPPED_IN: dict[str, tuple[str, ...]] = {
    "gemini": ("generateContentRequest",),
    "bedrock-converse": ("input", "converse"),
}
"""Where the request is inside the question for its tokens, if it is not the question itself."""


def write_count(tokens: int, dialect: str) -> dict[str, Json]:
    """The answer to a question for the number of input tokens. Chat and Ollama have no such question."""
    return ANSWERS[dialect](tokens)


def counted_request(body: Json, dialect: str) -> Json:
    """The request in the body of a question for its tokens."""
    found = body
    for key in WRAPPED_IN.get(dialect, ()):
        found = found.get(key) if is_dict(found) else None
    return found if is_dict(found) else body

"""Token counts as a server answers them in each dialect, and how to ask the providers that count."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

import msgspec
from msgspec import Struct

from ..codec.json import is_dict
from ..types.base import Json

__all__ = ["COUNTERS", "Counter", "counted_request", "write_count"]

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
"""The keys that the request is wrapped in, in a body that asks for its tokens; none: the body is the request."""


def write_count(tokens: int, dialect: str) -> dict[str, Json]:
    """The body that answers a request for the number of input tokens. Chat and Ollama have no such endpoint."""
    return ANSWERS[dialect](tokens)


def counted_request(body: Json, dialect: str) -> tuple[Json, str]:
    """The request whose tokens a body asks for, and its dialect: Bedrock counts the tokens of Messages too."""
    found = body
    for key in WRAPPED_IN.get(dialect, ()):
        found = found.get(key) if is_dict(found) else None
    if is_dict(found):
        return found, dialect
    wrapped = body.get("input") if is_dict(body) and dialect == "bedrock-converse" else None
    invoked = wrapped.get("invokeModel") if is_dict(wrapped) else None
    if is_dict(invoked) and isinstance(packed := invoked.get("body"), str):
        try:
            return msgspec.json.decode(base64.b64decode(packed)), "anthropic-messages"
        except (binascii.Error, ValueError, RecursionError):
            return {}, "anthropic-messages"
    return body, dialect


class Counter(Struct, frozen=True):
    """How to ask a provider for the tokens of a request. ``at`` replaces ``end`` in the URL for answers."""

    end: str
    at: str
    answer: str
    """The key of the number in the provider's answer."""
    keys: frozenset[str] | None = None
    """The keys of a request that the provider accepts when it counts; None: all."""
    wrapped_in: tuple[str, ...] = ()
    names_model: bool = False
    """Whether the wrapped request names its model, as a resource."""

    def question(self, url: str, wire: Json, model: str) -> tuple[str, Json]:
        """The URL and the body that ask for the tokens of a request."""
        body = {key: value for key, value in wire.items() if self.keys is None or key in self.keys}
        if self.names_model:
            body = {"model": f"models/{model}", **body}
        for key in reversed(self.wrapped_in):
            body = {key: body}
        return url.removesuffix(self.end) + self.at, body

    def read(self, answer: Json) -> int | None:
        """The number in an answer; None if there is none."""
        tokens: Json = answer.get(self.answer) if is_dict(answer) else None
        return tokens if type(tokens) is int and tokens >= 0 else None


MESSAGES = frozenset(
    "model messages system tools tool_choice thinking output_config output_format mcp_servers context_management"
    " cache_control speed".split()
)
RESPONSES = frozenset(
    "model input instructions tools tool_choice parallel_tool_calls reasoning text truncation conversation"
    " previous_response_id personality".split()
)
CONVERSE = frozenset("messages system toolConfig additionalModelRequestFields".split())
GENERATE, COUNT = ":generateContent", ":countTokens"

COUNTERS: dict[str, Counter] = {
    "anthropic": Counter("", "/count_tokens", "input_tokens", MESSAGES),
    "openai": Counter("", "/input_tokens", "input_tokens", RESPONSES),
    "google": Counter(GENERATE, COUNT, "totalTokens", None, WRAPPED_IN["gemini"], names_model=True),
    "vertex": Counter(GENERATE, COUNT, "totalTokens"),
    "bedrock": Counter("/converse", "/count-tokens", "inputTokens", CONVERSE, WRAPPED_IN["bedrock-converse"]),
}
"""The providers that count, by name."""

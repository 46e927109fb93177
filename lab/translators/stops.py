"""The stop reason of an answer in each protocol, as one of four words that all protocols have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lab.oracles.leaves import is_array, is_object

__all__ = ["content_of", "why_stopped"]

Wire = dict[str, Any]
FINISHED, CALLS, LIMIT, REFUSED = "finished", "calls", "limit", "refused"

STOPS: Final[Mapping[str, str]] = {
    "end_turn": FINISHED, "stop_sequence": FINISHED, "stop": FINISHED, "STOP": FINISHED, "completed": FINISHED,
    "tool_use": CALLS, "tool_calls": CALLS, "function_call": CALLS,
    "max_tokens": LIMIT, "length": LIMIT, "MAX_TOKENS": LIMIT, "max_output_tokens": LIMIT,
    "model_context_window_exceeded": LIMIT,
    "refusal": REFUSED, "content_filter": REFUSED, "SAFETY": REFUSED, "PROHIBITED_CONTENT": REFUSED,
    "BLOCKLIST": REFUSED, "SPII": REFUSED, "guardrail_intervened": REFUSED, "content_filtered": REFUSED,
}  # fmt: skip
"""The words of protocols that have a common meaning. Any other word is not judged."""


def first(wire: Wire, key: str) -> Wire:
    """The first object of an array."""
    found = wire.get(key)
    return found[0] if is_array(found) and found and is_object(found[0]) else {}


def inner(wire: Wire, key: str) -> Wire:
    found = wire.get(key)
    return found if is_object(found) else {}


def _responses_word(body: Wire) -> Any:
    return inner(body, "incomplete_details").get("reason") or body.get("status")


READERS: Final[Mapping[str, tuple[Callable[[Wire], Any], Callable[[Wire], Any]]]] = {
    # dialect              the word                                              the content
    "anthropic-messages": (lambda body: body.get("stop_reason"), lambda body: body.get("content")),
    "openai-chat": (lambda body: first(body, "choices").get("finish_reason"),
                    lambda body: first(body, "choices").get("message")),
    "openai-responses": (_responses_word, lambda body: body.get("output")),
    "gemini": (lambda body: first(body, "candidates").get("finishReason"),
               lambda body: first(body, "candidates").get("content")),
    "ollama": (lambda body: body.get("done_reason"), lambda body: body.get("message")),
    "bedrock-converse": (lambda body: body.get("stopReason"), lambda body: inner(body, "output").get("message")),
}  # fmt: skip
CALL_MARKS: Final = ("tool_use", "tool_calls", "function_call", "functionCall", "toolUse", "custom_tool_call")


def content_of(body: Wire, dialect: str) -> Any:
    """The content of an answer."""
    return READERS[dialect][1](body)


def why_stopped(body: Wire, dialect: str) -> str | None:
    """``finished``, ``calls``, ``limit`` or ``refused``. Some protocols have no word for calls: then the content tells.

    None if the word is another one, or if a finished answer has a refusal: protocols differ in these cases.
    """
    word, content = STOPS.get(str(READERS[dialect][0](body))), content_of(body, dialect)
    if word == FINISHED and _refuses(content):
        return None
    return CALLS if word == FINISHED and _has_calls(content) else word


def _refuses(content: Any) -> bool:
    if is_array(content):
        return any(_refuses(part) for part in content)
    return is_object(content) and bool(content.get("refusal") or _refuses(content.get("content")))


def _has_calls(content: Any) -> bool:
    if is_array(content):
        return any(_has_calls(part) for part in content)
    if not is_object(content) or inner(content, "toolUse").get("type") == "server_tool_use":
        return False
    return (
        content.get("type") in CALL_MARKS
        or any(content.get(mark) for mark in CALL_MARKS)
        or _has_calls(content.get("parts") or content.get("content"))
    )

"""The closed vocabularies. Building or loading a value with a word outside them raises.

At run time each is a ``StrEnum``, so members equal and hash like their plain strings. For type checkers the
plain strings are accepted too: ``Message(role="user")`` is how people write it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

__all__ = ["ErrorClass", "ErrorWord", "Role", "RoleWord", "StopReason", "StopWord"]


class Word(StrEnum):
    """A closed vocabulary: an unknown word raises a ``ValueError`` that lists the known ones."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"{value!r} is not a {cls.__name__}; use one of {', '.join(cls)}")


class Role(Word):
    """Who a message is from."""

    system = "system"
    user = "user"
    assistant = "assistant"
    tool = "tool"


class StopReason(Word):
    """Why the model stopped."""

    end_turn = "end_turn"
    max_tokens = "max_tokens"
    stop_sequence = "stop_sequence"
    tool_use = "tool_use"
    pause_turn = "pause_turn"
    refusal = "refusal"
    context_overflow = "context_overflow"
    cancelled = "cancelled"
    error = "error"


class ErrorClass(Word):
    """What kind of failure an error is, the same for every provider."""

    rate_limit = "rate_limit"
    auth = "auth"
    server_error = "server_error"
    network = "network"
    timeout = "timeout"
    context_overflow = "context_overflow"
    invalid_request = "invalid_request"
    tool_error = "tool_error"
    cancelled = "cancelled"
    other = "other"


if TYPE_CHECKING:
    RoleWord = Role | Literal["system", "user", "assistant", "tool"]
    StopWord = (
        StopReason
        | Literal[
            "end_turn",
            "max_tokens",
            "stop_sequence",
            "tool_use",
            "pause_turn",
            "refusal",
            "context_overflow",
            "cancelled",
            "error",
        ]
    )
    ErrorWord = (
        ErrorClass
        | Literal[
            "rate_limit",
            "auth",
            "server_error",
            "network",
            "timeout",
            "context_overflow",
            "invalid_request",
            "tool_error",
            "cancelled",
            "other",
        ]
    )
else:
    RoleWord, StopWord, ErrorWord = Role, StopReason, ErrorClass

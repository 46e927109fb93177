"""What is asked of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from msgspec.structs import force_setattr

from .base import Json, Value
from .blocks import Block, TextBlock
from .messages import Message
from .tools import Tool, ToolChoice

__all__ = ["Request", "Thinking"]

TUPLES = (tuple,) * 5


class Thinking(Value, frozen=True):
    """How much to reason, in the terms providers have: a mode, an effort word, a token budget, what to show."""

    mode: Literal["adaptive", "enabled", "disabled", "between_tools"] | None = None
    effort: str | None = None
    budget: int | None = None
    display: str | None = None


class Request(Value, frozen=True):
    """One call. Every field may be left out; what is left out is not sent."""

    messages: tuple[Message, ...] = ()
    model: str | None = None
    system: tuple[Block, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    max_output_tokens: int | None = None
    temperature: int | float | None = None
    top_p: int | float | None = None
    top_k: int | None = None
    stop_sequences: tuple[str, ...] = ()
    seed: int | None = None
    output_schema: dict[str, Json] | None = None
    thinking: Thinking | None = None
    metadata: dict[str, Json] = {}
    service_tier: str | None = None
    betas: tuple[str, ...] = ()
    stream: bool | None = None
    request_id: str | None = None

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(
            self,
            messages: Iterable[Message] = (),
            model: str | None = None,
            system: str | Iterable[Block] = (),
            tools: Iterable[Tool] = (),
            tool_choice: ToolChoice | None = None,
            max_output_tokens: int | None = None,
            temperature: int | float | None = None,
            top_p: int | float | None = None,
            top_k: int | None = None,
            stop_sequences: Iterable[str] = (),
            seed: int | None = None,
            output_schema: dict[str, Json] | None = None,
            thinking: Thinking | None = None,
            metadata: dict[str, Json] = ...,
            service_tier: str | None = None,
            betas: Iterable[str] = (),
            stream: bool | None = None,
            request_id: str | None = None,
            *,
            extras: dict[str, Json] = ...,
            forms: dict[str, Json] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        system: object = self.system
        if isinstance(system, str):
            force_setattr(self, "system", (TextBlock(text=system),))
        kinds = (type(self.messages), type(self.system), type(self.tools), type(self.stop_sequences), type(self.betas))
        if kinds == TUPLES:
            return  # so it is with every copy
        for name in ("messages", "system", "tools", "stop_sequences", "betas"):
            value = getattr(self, name)
            if type(value) is not tuple:
                force_setattr(self, name, tuple(value))

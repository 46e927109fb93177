"""What is asked of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import force_setattr

from .base import Json, Value
from .blocks import NUMBERS, TEXTS, Block, TextBlock
from .checking import check, check_content
from .messages import Message
from .tools import Tool, ToolChoice

__all__ = ["Request", "Thinking"]

TUPLES = (tuple,) * 5
MESSAGE_TYPES = frozenset({Message})
SHARES = frozenset({int, float, type(None)})


MODES = (None, "adaptive", "enabled", "disabled", "between_tools")


class Thinking(Value, frozen=True):
    """How much to reason, in the terms providers have: a mode, an effort word, a token budget, what to show."""

    mode: Literal["adaptive", "enabled", "disabled", "between_tools"] | None = None
    effort: str | None = None
    budget: int | None = None
    display: str | None = None

    def __post_init__(self) -> None:
        if not TEXTS.issuperset((type(self.mode), type(self.effort), type(self.display))):
            check(self)
        if type(self.budget) not in NUMBERS or self.mode not in MODES:
            check(self)


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
    output_name: str | None = None
    """What ``output_schema`` is called, in protocols that name it."""
    verbosity: str | None = None
    """How long the answer shall be: ``low``, ``medium`` or ``high``."""

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(
            self,
            messages: Iterable[Message] = (),
            model: str | None = None,
            system: str | Block | Iterable[str | Block] = (),
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
            output_name: str | None = None,
            verbosity: str | None = None,
            *,
            extras: dict[str, Json] = ...,
            forms: dict[str, Json] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        kinds = (type(self.messages), type(self.system), type(self.tools), type(self.stop_sequences), type(self.betas))
        if kinds != TUPLES:
            self._as_tuples()
        texts = (self.model, self.service_tier, self.request_id, self.output_name, self.verbosity)
        if not MESSAGE_TYPES.issuperset(map(type, self.messages)) or not TEXTS.issuperset(map(type, texts)):
            check(self)
        if not NUMBERS.issuperset((type(self.max_output_tokens), type(self.top_k), type(self.seed))) or not (
            SHARES.issuperset((type(self.temperature), type(self.top_p)))
        ):
            check(self)

    def _as_tuples(self) -> None:
        """Store what may stand for tuples, and look at every field: nobody but a caller passes these."""
        if type(self.system) is not tuple:
            check_content(self, "system", self.system, TextBlock)
        for name in ("messages", "tools", "stop_sequences", "betas"):
            value: Any = getattr(self, name)
            if isinstance(value, str):
                raise TypeError(f"Request.{name} must be a list, not one string ({value[:60]!r})")
            if type(value) is not tuple and isinstance(value, Iterable):
                force_setattr(self, name, tuple(value))  # pyright: ignore[reportUnknownArgumentType]
        check(self)

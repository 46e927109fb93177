"""What a model answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from msgspec.structs import force_setattr

from .base import Json, Value
from .blocks import BLOCK_TYPES, TEXTS, Block, TextBlock, ThinkingBlock, ToolUseBlock
from .checking import check, check_content
from .loss import Loss
from .messages import ORIGINS, Message, Origin
from .output import T_co
from .usage import TokenUsage
from .words import Role, StopReason

if TYPE_CHECKING:
    from .words import StopWord

__all__ = ["Response"]

Stopped = Literal["limit", "cancelled", "handed_over"]
USAGES = frozenset({TokenUsage, type(None)})


class Response(Value, Generic[T_co], frozen=True, gc=True):  # an error and its partial response refer to each other
    """A whole answer, or the part of it that came before a stream broke off.

    ``raw_stop_reason`` is the provider's own word. The client that made the call sets ``request_id``, ``origin``,
    ``latency_ms``, ``attempts``, ``losses`` and ``raw``; encoders never read ``raw``. A session sets ``stopped``.
    """

    content: tuple[Block, ...] = ()
    stop_reason: StopReason = StopReason.end_turn
    raw_stop_reason: str | int | None = None
    id: str | None = None
    model: str | None = None
    usage: TokenUsage | None = None
    origin: Origin | None = None
    request_id: str | None = None
    latency_ms: float | None = None
    losses: tuple[Loss, ...] = ()
    attempts: int = 0
    raw: Json = None
    error: Json = None
    """An ``AdapterError`` when ``stop_reason`` is ``error`` or ``cancelled``."""
    output: T_co = cast("Any", None)
    """The answer as a value of the type that ``output=`` asked for. None if nothing was asked for, and where an answer
    calls tools, was cancelled or reached a limit. It is on no wire, and ``to_json`` leaves it out."""
    stopped: Stopped | None = None
    """Why a session's turn ended with this answer before the model was done; None if it was done."""
    stopped_reason: str | None = None
    """The reason in ``stopped``, as a sentence."""

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(
            self,
            content: str | Block | Iterable[str | Block] = (),
            stop_reason: StopWord = StopReason.end_turn,
            raw_stop_reason: str | int | None = None,
            id: str | None = None,
            model: str | None = None,
            usage: TokenUsage | None = None,
            origin: Origin | None = None,
            request_id: str | None = None,
            latency_ms: float | None = None,
            losses: tuple[Loss, ...] = (),
            attempts: int = 0,
            raw: Json = None,
            error: Json = None,
            output: T_co = ...,
            stopped: Stopped | None = None,
            stopped_reason: str | None = None,
            *,
            extras: dict[str, Json] = ...,
            forms: dict[str, Json] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.stop_reason) is not StopReason:
            force_setattr(self, "stop_reason", StopReason(self.stop_reason))
        if type(self.content) is not tuple:
            check_content(self, "content", self.content, TextBlock)
        if not BLOCK_TYPES.issuperset(map(type, self.content)):
            check(self)
        if not TEXTS.issuperset(map(type, (self.id, self.model, self.request_id))):
            check(self)
        if type(self.usage) not in USAGES or type(self.origin) not in ORIGINS or type(self.losses) is not tuple:
            check(self)

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.content if type(block) is TextBlock)

    @property
    def thinking(self) -> str:
        """The reasoning that was shown, joined."""
        return "".join(block.text for block in self.content if type(block) is ThinkingBlock)

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        """The calls of the caller's tools."""
        return tuple(block for block in self.content if type(block) is ToolUseBlock)

    @property
    def message(self) -> Message:
        """The answer as a turn of the conversation."""
        return Message(role=Role.assistant, content=self.content, origin=self.origin)

"""What a session and a turn can be told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from ...client.behaviour import Preset
from ...client.embedded import Choice
from ...client.manager import ProviderManager
from ...codec.limits import Limits
from ...errors import InvalidRequestError
from ...models.pricing import Pricing
from ...types.base import Json
from ...types.blocks import Block, TextBlock
from ...types.messages import Message
from ...types.request import Request, Thinking
from ...types.tools import ToolChoice
from ...types.words import Role
from ..history import CachePolicy, new_message_id
from ..tools import Approve
from .history import Repair
from .salvaging import read_leniently
from .storing import Place

__all__ = ["Content", "Overflow", "Settings", "TURN_OPTIONS", "TurnOptions", "as_question", "read_turn_options"]

Content = str | Block | Sequence[str | Block] | Message
"""What a user can say."""


def as_question(content: str | Block | Sequence[str | Block]) -> Message:
    """What a user says, as a message with an id. Nothing at all is refused: providers would."""
    message = Message(Role.user, content, new_message_id())
    if not message.content or message.content == (TextBlock(""),):
        raise InvalidRequestError("the message is empty: say something, or call without content to go on")
    return message


Strategy = Callable[[tuple[Message, ...], int | None], Sequence[Message] | Awaitable[Sequence[Message]]]
Overflow = Literal["truncate", "raise"] | Strategy
"""What to do when the conversation is too long. A strategy is given what is sent and the window, and says what to send
instead: a summary and the latest turns, for instance."""


class TurnOptions(TypedDict, total=False):
    """Fields of a request that a session, or one turn, can set."""

    tool_choice: ToolChoice | None
    max_output_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop_sequences: tuple[str, ...]
    seed: int | None
    output_schema: dict[str, Json] | None
    output_name: str | None
    thinking: Thinking | None
    service_tier: str | None
    betas: tuple[str, ...]


class Settings(TurnOptions, total=False):
    """What both sessions can be told."""

    manager: ProviderManager | None
    behaviour: str | Preset | None
    cache: CachePolicy
    repair: Repair
    overflow: Overflow
    max_steps: int
    tool_timeout: float | None
    approve: Approve | None
    pricing: Pricing | None
    store: Place | None
    messages: Iterable[Message]
    id: str | None
    metadata: Mapping[str, Json] | None
    active_skills: Iterable[str]
    active_connectors: Iterable[str]
    limits: Limits | None
    """How many tools run at once, and in how many threads."""
    fetch_media: bool
    """Whether media by URL are fetched for a model that takes data only; never from private addresses."""
    script: Choice
    """What the model ``"embedded:"`` answers, one line per request; without one it echoes."""


TURN_OPTIONS = tuple(TurnOptions.__annotations__)


def read_turn_options(told: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options with their types, as they were before they were saved; and what cannot be read of them."""
    read, left = read_leniently({name: value for name, value in told.items() if name in TURN_OPTIONS}, Request)
    known = {name: getattr(read, name) for name in told if name in TURN_OPTIONS and name not in left}
    return known, {name: value for name, value in told.items() if name not in known}

"""The arguments of a session, and the request fields that a session or one turn can set."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict, get_type_hints

from ...client.behaviour import Preset
from ...codec.limits import Limits
from ...types.base import Json
from ...types.blocks import Block
from ...types.checking import check_arguments
from ...types.messages import Message
from ...types.request import Request, Thinking
from ...types.tools import ToolChoice
from ..history import CachePolicy
from ..tools import Approve
from .connection import ConnectionArguments
from .history import Repair
from .lenient_reading import read_leniently

__all__ = [
    "TURN_OPTIONS",
    "Content",
    "Overflow",
    "RunOptions",
    "Settings",
    "SettingsArguments",
    "TurnOptions",
    "check_turn_options",
    "read_turn_options",
    "split_arguments",
]

Part = str | Block | Path | bytes
Content = Part | Sequence[Part] | Message
"""What a user's message can be made of. Files are read at once and become a block of their kind, such as an image."""

Strategy = Callable[[tuple[Message, ...], int | None], Sequence[Message] | Awaitable[Sequence[Message]]]
Overflow = Literal["truncate", "raise"] | Strategy
"""What to do when the conversation is too long. A strategy is a function of the messages that would be sent and of the
context window. It returns the messages to send instead, for instance a summary and the latest turns."""


class TurnOptions(TypedDict, total=False):
    """Fields of a request that a session, or one turn, can set."""

    tool_choice: ToolChoice | str | None
    max_output_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop_sequences: str | Iterable[str]
    seed: int | None
    output_schema: dict[str, Json] | None
    output_name: str | None
    output_description: str | None
    thinking: Thinking | str | int | bool | None
    service_tier: str | None
    verbosity: str | None
    frequency_penalty: float | None
    presence_penalty: float | None
    n: int | None
    logprobs: bool | None
    top_logprobs: int | None
    prompt_cache_key: str | None
    user: str | None
    json_output: bool | None
    betas: str | Iterable[str]
    extras: dict[str, Json]
    """By the name of a dialect, fields that are written into its requests as they are."""


class RunOptions(TurnOptions, total=False):
    """The options of a run. A limit that is reached ends the run, and the answer says so (``response.stopped``)."""

    steps: int | None
    """How many answers at most; if not given, the session's ``max_steps``."""
    seconds: float | None
    """How long answers, tools and approvals may take together."""
    tokens: int | None
    dollars: float | None
    """The prices must be known. Like ``tokens``, it is checked after each answer, so the last answer may exceed it."""
    calls: Mapping[str, int] | None
    """How often a tool may be called, by its name."""


TURN_OPTIONS = tuple(TurnOptions.__annotations__)


def check_turn_options(options: Iterable[str]) -> None:
    """Raise for a name that is not an option of a turn."""
    unknown = sorted(set(options) - set(TURN_OPTIONS))
    if unknown and set(unknown) <= set(RunOptions.__annotations__):
        raise TypeError(f"{', '.join(unknown)} limits a run, and this turn is one answer, as send() asks for")
    if unknown:
        raise TypeError(f"a turn has no {', '.join(unknown)}; it can be given {', '.join(TURN_OPTIONS)}")


@dataclass(kw_only=True, eq=False, repr=False)
class Settings:
    """How a session works. Each setting is an attribute of the session; a fork gets the same values."""

    behaviour: str | Preset | None = None
    cache: CachePolicy = "off"
    repair: Repair = "synthesize"
    overflow: Overflow = "truncate"
    max_steps: int = 50
    tool_timeout: float | None = None
    approve: Approve | None = None
    active_skills: Iterable[str] = ()
    active_connectors: Iterable[str] = ()
    fetch_media: bool = False
    """Whether media given by URL are fetched for a model that accepts data only; never from private addresses."""
    upload: bool = False
    """Whether media that are too big for a request are sent to the provider's Files API first, and remembered."""
    limits: Limits | None = None
    """How many tools run at once, and in how many threads."""

    def __post_init__(self) -> None:
        check_arguments("a session", self.settings(), _hints())
        self.active_skills, self.active_connectors = tuple(self.active_skills), tuple(self.active_connectors)

    def settings(self) -> dict[str, Any]:
        """The values of all settings, by name."""
        return {field.name: getattr(self, field.name) for field in fields(Settings)}


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Settings)


class SettingsArguments(TurnOptions, ConnectionArguments, total=False):
    """The fields of ``Settings``, ``TurnOptions`` and ``ConnectionArguments`` as keyword arguments."""

    behaviour: str | Preset | None
    cache: CachePolicy
    repair: Repair
    overflow: Overflow
    max_steps: int
    tool_timeout: float | None
    approve: Approve | None
    active_skills: Iterable[str]
    active_connectors: Iterable[str]
    fetch_media: bool
    upload: bool
    limits: Limits | None


def split_arguments(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Split the arguments of a session into its settings, turn options and connection arguments. Raises for any other
    name."""
    unknown = sorted(set(arguments) - set(SettingsArguments.__annotations__))
    if unknown:
        raise TypeError(f"a session has no {', '.join(unknown)}; a request can be given {', '.join(TURN_OPTIONS)}")
    options = {name: value for name, value in arguments.items() if name in TURN_OPTIONS}
    connection = {name: value for name, value in arguments.items() if name in ConnectionArguments.__annotations__}
    settings = {name: value for name, value in arguments.items() if name not in {**options, **connection}}
    return settings, options, connection


def read_turn_options(stored: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Saved options, as the values that they were before saving, and the options that cannot be read."""
    read, unread = read_leniently({name: value for name, value in stored.items() if name in TURN_OPTIONS}, Request)
    known = {name: getattr(read, name) for name in stored if name in TURN_OPTIONS and name not in unread}
    return known, {name: value for name, value in stored.items() if name not in known}

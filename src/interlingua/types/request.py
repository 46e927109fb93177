"""A request: one call of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec.structs import force_setattr

from .base import Json, Value
from .blocks import BLOCK_TYPES, NUMBERS, TEXTS, Block, TextBlock
from .checking import check, check_content
from .meant import as_choice, as_message, as_thinking_fields, check_model
from .messages import Message
from .tools import Tool, ToolChoice

__all__ = ["Parameter", "Request", "Thinking"]

TUPLES = (tuple,) * 5
MESSAGE_TYPES = frozenset({Message})
TOOL_TYPES: frozenset[type] = frozenset(get_args(Tool))
CHOICES = frozenset({ToolChoice, type(None)})
DICTS = frozenset({dict, type(None)})
SHARES = frozenset({int, float, type(None)})
FLAGS = frozenset({bool, type(None)})


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


THOUGHTS = frozenset({Thinking, type(None)})


class Request(Value, frozen=True):
    """One call. Every field may be left out; what is left out is not sent."""

    messages: tuple[Message, ...] = ()
    """The conversation so far, the newest last."""
    model: str | None = None
    """The model's name, as its provider writes it."""
    system: tuple[Block, ...] = ()
    """The system prompt: instructions before the conversation."""
    tools: tuple[Tool, ...] = ()
    """The tools that the model may call."""
    tool_choice: ToolChoice | None = None
    """Whether the model must call a tool, and which ones it may call."""
    max_output_tokens: int | None = None
    """The most tokens of the answer, reasoning included; a longer one is cut off."""
    temperature: int | float | None = None
    """How random the choice of tokens is; 0 is the least."""
    top_p: int | float | None = None
    """Choose from the likeliest tokens that together have this probability."""
    top_k: int | None = None
    """Choose from this number of the likeliest tokens."""
    stop_sequences: tuple[str, ...] = ()
    """Texts at which the answer ends."""
    seed: int | None = None
    """The same number makes the same random choices again, where the provider supports it."""
    output_schema: dict[str, Json] | None = None
    """The JSON Schema that the answer shall satisfy."""
    thinking: Thinking | None = None
    """How much to reason."""
    metadata: dict[str, Json] = {}
    """The caller's own data for the provider, such as ``user_id``."""
    service_tier: str | None = None
    """The provider's word for a speed and its price."""
    betas: tuple[str, ...] = ()
    """The names of preview features to enable."""
    stream: bool | None = None
    """Whether the answer comes event by event. A client sets it by the verb that is called."""
    request_id: str | None = None
    """The id by which the call can be cancelled, and found in logs."""
    output_name: str | None = None
    """The name of ``output_schema``, for protocols that have one."""
    verbosity: str | None = None
    """How long the answer shall be: ``low``, ``medium`` or ``high``."""
    frequency_penalty: int | float | None = None
    """How much less likely a token becomes with each time it was used."""
    presence_penalty: int | float | None = None
    """How much less likely a token becomes once it was used."""
    n: int | None = None
    """How many answers to give. A response holds the first; the others are in its ``extras``."""
    logprobs: bool | None = None
    """Whether the answer tells how likely each token was."""
    top_logprobs: int | None = None
    """How many of the likeliest tokens the answer lists at each position."""
    prompt_cache_key: str | None = None
    """A name for requests that begin alike, so that they reach the same cache."""
    store: bool | None = None
    """Whether the provider keeps the answer."""
    user: str | None = None
    """An id of the end user. Newer requests of OpenAI have ``metadata["user_id"]`` instead, which is another key."""
    json_output: bool | None = None
    """Whether the answer shall be JSON of any shape; ``output_schema`` asks for a certain one."""
    output_description: str | None = None
    """What ``output_schema`` is for, as a hint to the model."""

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(
            self,
            messages: str | Message | Iterable[Message | Mapping[str, Any]] = (),
            model: str | None = None,
            system: str | Block | Iterable[str | Block] = (),
            tools: Tool | Iterable[Tool] = (),
            tool_choice: ToolChoice | str | None = None,
            max_output_tokens: int | None = None,
            temperature: int | float | None = None,
            top_p: int | float | None = None,
            top_k: int | None = None,
            stop_sequences: str | Iterable[str] = (),
            seed: int | None = None,
            output_schema: dict[str, Json] | None = None,
            thinking: Thinking | str | int | bool | None = None,
            metadata: dict[str, Json] = ...,
            service_tier: str | None = None,
            betas: str | Iterable[str] = (),
            stream: bool | None = None,
            request_id: str | None = None,
            output_name: str | None = None,
            verbosity: str | None = None,
            frequency_penalty: int | float | None = None,
            presence_penalty: int | float | None = None,
            n: int | None = None,
            logprobs: bool | None = None,
            top_logprobs: int | None = None,
            prompt_cache_key: str | None = None,
            store: bool | None = None,
            user: str | None = None,
            json_output: bool | None = None,
            output_description: str | None = None,
            *,
            extras: dict[str, Json] = ...,
            forms: dict[str, Json] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        kinds = (type(self.messages), type(self.system), type(self.tools), type(self.stop_sequences), type(self.betas))
        if (
            kinds != TUPLES
            or not MESSAGE_TYPES.issuperset(map(type, self.messages))
            or type(self.tool_choice) not in CHOICES
            or type(self.thinking) not in THOUGHTS
        ):
            self._convert()
        texts = (self.model, self.service_tier, self.request_id, self.output_name, self.verbosity, self.user)
        counts = (self.max_output_tokens, self.top_k, self.seed, self.n, self.top_logprobs)
        shares = (self.temperature, self.top_p, self.frequency_penalty, self.presence_penalty)
        if not TEXTS.issuperset(map(type, texts)) or not TOOL_TYPES.issuperset(map(type, self.tools)):
            check(self)
        if not BLOCK_TYPES.issuperset(map(type, self.system)):
            check(self)
        if type(self.output_schema) not in DICTS or type(self.metadata) is not dict:
            check(self)
        if not NUMBERS.issuperset(map(type, counts)) or not SHARES.issuperset(map(type, shares)):
            check(self)
        if not FLAGS.issuperset(map(type, (self.logprobs, self.store, self.json_output))):
            check(self)
        if not TEXTS.issuperset((type(self.prompt_cache_key), type(self.output_description))):
            check(self)

    def _convert(self) -> None:
        """Convert the short forms that callers may pass, and check every field."""
        if type(self.system) is not tuple:
            check_content(self, "system", self.system, TextBlock)
        stored: dict[str, Any] = {
            "tools": _as_tuple(self.tools, Value),
            "stop_sequences": _as_tuple(self.stop_sequences),
            "betas": _as_tuple(self.betas),
        }
        messages = _as_tuple(self.messages, (Message, Mapping))
        stored["messages"] = tuple(map(as_message, messages)) if hasattr(messages, "__iter__") else messages
        if (fields := as_thinking_fields(self.thinking)) is not None:
            stored["thinking"] = Thinking(**fields)
        stored["tool_choice"] = as_choice(self.tool_choice, stored["tools"])
        for name, value in stored.items():
            force_setattr(self, name, value)
        check_model(self.model)
        check(self)


Parameter = Literal[
    "tool_choice",
    "max_output_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "seed",
    "thinking",
    "metadata",
    "service_tier",
    "verbosity",
    "frequency_penalty",
    "presence_penalty",
    "n",
    "logprobs",
    "top_logprobs",
    "prompt_cache_key",
    "store",
    "user",
    "json_output",
    "betas",
]
"""The fields of a request that a model may refuse while it takes the rest."""


def _as_tuple(value: Any, kind: Any = ()) -> Any:
    """A string, a value of ``kind`` or an iterable as a tuple. Anything else is left to the check."""
    if isinstance(value, str) or (kind and isinstance(value, kind)):
        return (value,)
    return tuple(value) if hasattr(value, "__iter__") and not hasattr(value, "keys") else value

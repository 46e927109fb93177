"""Short forms that people may write in the place of a value: ``thinking="high"``, ``tool_choice="any"``.

Anything else is a ``TypeError`` that says what was expected. Values that were read from a wire do not come here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from .blocks import TextBlock
from .messages import Message
from .tools import ToolChoice, ToolDefinition

__all__ = ["as_choice", "as_message", "as_thinking_fields", "check_model"]

CHOICES = {"auto": "auto", "any": "any", "required": "any", "none": "none"}
MODES = ("adaptive", "enabled", "disabled", "between_tools")
MOST_WORDS = 3
"""The most words in the name of a model: some servers name a model by a path with spaces."""


def as_message(value: Any) -> Any:
    """The message for a string (a user's) or for a dict with a role and plain content; other values as they are."""
    if isinstance(value, str):
        return Message("user", value)
    if not isinstance(value, Mapping):
        return value
    given = cast("Mapping[str, Any]", value)
    if set(given) != {"role", "content"} or (content := _as_content(given["content"])) is None:
        raise TypeError(
            "a message as a dict has a role, and content that is text: a Message says everything else, "
            "and dialect(name).decode_request(body) reads a request in the words of a provider"
        )
    return Message(given["role"], content)


def _as_content(content: Any) -> Any:
    """Text, or a list of texts, blocks and dicts that every protocol reads as text."""
    if isinstance(content, str) or not isinstance(content, Iterable) or isinstance(content, Mapping):
        return content if isinstance(content, str) else None
    parts = list(map(_as_part, cast("Any", content)))
    return None if None in parts else parts


def _as_part(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    given = cast("Mapping[str, Any]", part)
    return TextBlock(given["text"]) if set(given) == {"type", "text"} and given["type"] == "text" else None


def as_choice(value: Any, tools: Any) -> Any:
    """The choice for a word or for the name of one of the tools; a value that is no string as it is."""
    if not isinstance(value, str):
        return value
    if value in CHOICES:
        return ToolChoice(cast("Any", CHOICES[value]))
    if value in _names(tools):
        return ToolChoice.specific(value)
    words = ", ".join(map(repr, CHOICES))
    raise TypeError(f"tool_choice is one of {words}, the name of a tool of the request, or a ToolChoice; not {value!r}")


def _names(tools: Any) -> list[str]:
    return [tool.name for tool in tools if isinstance(tool, ToolDefinition)] if hasattr(tools, "__iter__") else []


def as_thinking_fields(value: Any) -> dict[str, Any] | None:
    """The fields of ``Thinking`` that a word, a number of tokens, True or False stands for; None for anything else."""
    if isinstance(value, bool):
        return {"mode": "enabled" if value else "disabled"}
    if isinstance(value, int):
        return {"budget": value}
    if isinstance(value, str):
        return {"mode" if value in MODES else "effort": value}
    return None


def check_model(model: Any) -> None:
    """Refuse a sentence as the name of a model: the second argument of ``Request`` is not the system prompt."""
    if not isinstance(model, str) or not any(map(str.isspace, model)):
        return
    if len(model.split()) > MOST_WORDS or "\n" in model or model.rstrip().endswith((".", "!", "?")):
        raise TypeError(f"Request.model must be the name of a model, not {model[:60]!r}; a system prompt is system=")

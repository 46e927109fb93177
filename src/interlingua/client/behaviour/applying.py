"""A behaviour applied to a request. It never changes what the caller has set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...types.blocks import Block, TextBlock
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import Tool, ToolChoice, ToolDefinition
from ...types.words import Role
from ..config import Retry
from .tool_filter import Chosen, choose
from .values import CORE_TOOLS, Behaviour, Preset

__all__ = ["Applied", "apply", "apply_preset", "is_first_turn"]

SYSTEM, ASSISTANT = Role.system, Role.assistant


class Applied(Struct, frozen=True):
    """The request to send, the names of the tools that were left out of it, warnings, and how failures are retried."""

    request: Request
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    retry: Retry | None = None
    max_retries: int | None = None


def apply_preset(
    request: Request,
    preset: Preset,
    provider: str,
    *,
    active_skills: Iterable[str] = (),
    active_connectors: Iterable[str] = (),
) -> Applied:
    """The request with the preset's behaviour for this provider and the request's model applied."""
    return apply(
        request,
        preset.behaviour_for(provider, request.model),
        core_tools=preset.core_tools,
        active_skills=active_skills,
        active_connectors=active_connectors,
    )


def apply(
    request: Request,
    behaviour: Behaviour,
    *,
    core_tools: Iterable[str] = CORE_TOOLS,
    active_skills: Iterable[str] = (),
    active_connectors: Iterable[str] = (),
    first_turn: bool | None = None,
) -> Applied:
    """The request with this behaviour applied. ``Behaviour()`` returns the same request.

    ``active_skills`` and ``active_connectors`` are prefixes of tool names. ``first_turn`` is whether there is no
    assistant message yet; without it, the history is checked.
    """
    first = is_first_turn(request) if first_turn is None else first_turn
    chosen = Chosen(request.tools)
    if behaviour.max_tools is not None:
        chosen = choose(
            request,
            behaviour.max_tools,
            core_tools=core_tools,
            active_skills=active_skills,
            active_connectors=active_connectors,
        )
    changes: dict[str, Any] = {
        "tools": _strict(chosen.tools, behaviour.strict),
        "tool_choice": _choice(request, behaviour, first),
        **_with_addendum(request, behaviour.addendum),
    }
    made = {name: value for name, value in changes.items() if value is not getattr(request, name)}
    applied = replace(request, **made) if made else request
    return Applied(applied, chosen.left_out, chosen.warnings, behaviour.retry, behaviour.max_retries)


def is_first_turn(request: Request) -> bool:
    """Whether there is no assistant message yet."""
    return all(message.role is not ASSISTANT for message in request.messages)


# ------------------------------------------------------------------------------------------------------------- tools


def _strict(tools: tuple[Tool, ...], strict: bool | None) -> tuple[Tool, ...]:
    """``strict`` for tools with a schema that do not set it. Free-text tools have no schema."""
    if strict is None or not any(_leaves_strict_open(tool) for tool in tools):
        return tools
    return tuple(replace(tool, strict=strict) if _leaves_strict_open(tool) else tool for tool in tools)


def _leaves_strict_open(tool: Tool) -> bool:
    return isinstance(tool, ToolDefinition) and tool.kind == "json" and tool.strict is None


def _choice(request: Request, behaviour: Behaviour, first: bool) -> ToolChoice | None:
    """The caller's tool choice; what it leaves unset comes from the behaviour, if the caller has tools of its own."""
    choice = request.tool_choice
    if not any(isinstance(tool, ToolDefinition) for tool in request.tools):
        return choice
    made = choice or ToolChoice()
    if behaviour.force_first_tool and first and made.mode is None and made.name is None and not made.allowed:
        made = replace(made, mode="any")
    if behaviour.parallel is not None and made.parallel is None and made.mode != "none":
        made = replace(made, parallel=behaviour.parallel)
    return made if made != (choice or ToolChoice()) else choice


# ---------------------------------------------------------------------------------------------------------- addendum


def _with_addendum(request: Request, addendum: str | None) -> dict[str, Any]:
    """The addendum after all system text at the beginning of the conversation, in its own block, and only once.

    If that text is in messages, the addendum becomes a message too, because ``Request.system`` comes before messages.
    """
    leading = tuple(takewhile(lambda message: message.role is SYSTEM, request.messages))
    if not addendum or any(addendum in text for text in _texts(request.system, leading)):
        return {}
    block = TextBlock(text=addendum)
    if not leading:
        return {"system": (*request.system, block)}
    added = Message(role=SYSTEM, content=(block,))
    return {"messages": (*leading, added, *request.messages[len(leading) :])}


def _texts(system: Iterable[Block], messages: Iterable[Message]) -> Iterator[str]:
    for blocks in (system, *(message.content for message in messages)):
        yield from (block.text for block in blocks if type(block) is TextBlock)

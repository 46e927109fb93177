"""What of a request's parameters a model takes; thoughts and cache marks have modules of their own."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...types.request import Request, Thinking
from ...types.tools import ToolChoice
from .reader import Reader
from .thinking import thinks

__all__ = ["by_tool", "forced", "limited", "one_call", "rejected"]

# What a field is when it says nothing, and values that say no more than that.
UNSAID: dict[str, Any] = {"stop_sequences": (), "betas": (), "metadata": {}}
USUAL: dict[str, Any] = {"temperature": 1, "top_p": 1}


def forced(request: Request, reader: Reader) -> Request:
    """Where no call can be forced while the model thinks, a forced call comes first."""
    facts, thinking = reader.facts, request.thinking
    if facts.forces_while_thinking is not False or not (by_tool(request, reader) or _forces(request.tool_choice)):
        return request
    if thinking is None and "toggle" in (facts.thinking_forms or ()):
        reader.lose("thinking", "added", "thinks unless it is told not to, and cannot be forced to call then")
    elif thinking is not None and thinks(thinking):
        reader.lose("thinking", "dropped", "cannot be forced to call while it thinks")
    else:
        return request
    return replace(request, thinking=Thinking(mode="disabled"))


def _forces(choice: ToolChoice | None) -> bool:
    return choice is not None and choice.mode in ("any", "specific")


def by_tool(request: Request, reader: Reader) -> bool:
    """Whether a forced tool stands for structured output."""
    return request.output_schema is not None and not reader.able.structured_output


def rejected(request: Request, reader: Reader) -> Request:
    """Without the fields that the model refuses. The value that it takes for granted is no loss."""
    facts = reader.facts
    busy = request.thinking is not None and thinks(request.thinking)
    if not facts.rejects and not busy:
        return request
    changes: dict[str, Any] = {}
    for names, when in ((facts.rejects, ""), (facts.rejects_while_thinking if busy else (), " while it thinks")):
        for name in names or ():
            value, unsaid = getattr(request, name), UNSAID.get(name)
            if value == unsaid or name in changes:
                continue
            changes[name] = unsaid
            if value != USUAL.get(name, unsaid):
                reader.lose(name, "dropped", f"does not take it{when}")
    return replace(request, **changes) if changes else request


def limited(request: Request, reader: Reader) -> Request:
    """Within what the model can write."""
    most, wanted = reader.able.max_output_tokens, request.max_output_tokens
    if most is not None and wanted is not None and wanted > most:
        reader.lose("max_output_tokens", "approximated", f"writes at most {most} tokens")
        return replace(request, max_output_tokens=most)
    return request


def one_call(request: Request, reader: Reader) -> Request:
    """A model that makes one call at a time need not be told to."""
    choice = request.tool_choice
    if choice is None or choice.parallel is None or reader.able.parallel_tool_calls:
        return request
    if choice.parallel:
        reader.lose("tool_choice/parallel", "dropped", "makes one call at a time")
    left = replace(choice, parallel=None)
    return replace(request, tool_choice=None if left == ToolChoice() else left)

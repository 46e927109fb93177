"""Request parameters that a model does not take. Thinking and cache marks have their own modules."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...types.base import unchecked_copy
from ...types.request import Request, Thinking
from ...types.tools import ToolChoice
from .target_model import TargetModel
from .thinking import wants_thinking

__all__ = ["needs_forced_tool", "disable_thinking_if_forced", "limit_output", "drop_parallel", "drop_rejected"]

# The value of a field that is not set (None for all others), and values that are the default of every model.
UNSET: dict[str, Any] = {"stop_sequences": (), "betas": (), "metadata": {}}
DEFAULTS: dict[str, Any] = {"temperature": 1, "top_p": 1}


def disable_thinking_if_forced(request: Request, model: TargetModel) -> Request:
    """If the model cannot be forced to call a tool while it thinks, a forced call disables thinking."""
    facts, thinking = model.facts, request.thinking
    if facts.forces_while_thinking is not False or not (
        needs_forced_tool(request, model) or _forces(request.tool_choice)
    ):
        return request
    if thinking is None and "toggle" in (facts.thinking_forms or ()):
        model.lose(
            "thinking",
            "added",
            "thinks by default, and cannot be forced to call a tool then; thinking was disabled",
        )
    elif thinking is not None and wants_thinking(thinking):
        model.lose("thinking", "dropped", "cannot be forced to call a tool while it thinks")
    else:
        return request
    return replace(request, thinking=Thinking(mode="disabled"))


def _forces(choice: ToolChoice | None) -> bool:
    return choice is not None and choice.mode in ("any", "specific")


def needs_forced_tool(request: Request, model: TargetModel) -> bool:
    """Whether structured output is made with a forced tool."""
    return request.output_schema is not None and not model.able.structured_output


def drop_rejected(request: Request, model: TargetModel) -> Request:
    """Drop the fields that the model refuses. A field with its default value is no loss."""
    facts = model.facts
    is_thinking = request.thinking is not None and wants_thinking(request.thinking)
    if not facts.rejects and not is_thinking:
        return request
    changes: dict[str, Any] = {}
    for names, when in ((facts.rejects, ""), (facts.rejects_while_thinking if is_thinking else (), " while it thinks")):
        for name in names or ():
            value, unset = getattr(request, name), UNSET.get(name)
            if value == unset or name in changes:
                continue
            changes[name] = unset
            if value != DEFAULTS.get(name, unset):
                model.lose(name, "dropped", f"does not take this parameter{when}")
    return unchecked_copy(request, **changes) if changes else request


def limit_output(request: Request, model: TargetModel) -> Request:
    """Lower ``max_output_tokens`` to the model's limit."""
    most, wanted = model.able.max_output_tokens, request.max_output_tokens
    if most is not None and wanted is not None and wanted > most:
        model.lose("max_output_tokens", "approximated", f"writes at most {most} tokens")
        return replace(request, max_output_tokens=most)
    return request


def drop_parallel(request: Request, model: TargetModel) -> Request:
    """Drop ``parallel`` for a model that makes only one call at a time anyway."""
    choice = request.tool_choice
    if choice is None or choice.parallel is None or model.able.parallel_tool_calls:
        return request
    if choice.parallel:
        model.lose("tool_choice/parallel", "dropped", "makes one call at a time")
    left = replace(choice, parallel=None)
    return replace(request, tool_choice=None if left == ToolChoice() else left)

"""An answer of a model as a message of the history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...client.adapter import Adapter
from ...dialects import dialect
from ...models.estimate import estimate_output, estimate_request
from ...types.base import Json
from ...types.blocks import ToolUseBlock
from ...types.messages import Message
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import Role
from ..routing.model_calls import CallModel
from .call_states import entries, refusals

if TYPE_CHECKING:
    from .turns import Turn

__all__ = ["as_message", "complete_calls"]


def complete_calls(response: Response) -> tuple[ToolUseBlock, ...]:
    """The calls of an answer without those that were cut, which are never run."""
    return tuple(call for call in response.tool_uses if not call.incomplete)


def as_message(turn: Turn, response: Response) -> Message:
    """An answer as a message, with what is known of it and of its calls, and with what its provider wants back. The
    answer is counted in the report of the turn."""
    call = turn.call
    assert call is not None
    assert call.ids is not None
    if response.usage is None or not response.usage.total_tokens:
        response = _with_estimated_usage(response, call)
    facts = turn.report.add(response, turn.conversation.pricing, turn.route.record)
    turn.cost = facts.get("cost_usd")
    if response.tool_uses and (states := _call_entries(turn, call, complete_calls(response))):
        facts["calls"] = states
    origin, id, adapter = response.origin, call.ids.message_id, call.adapter
    if origin is None or origin.dialect is None:
        return Message(Role.assistant, response.content, id, origin, facts)
    if isinstance(adapter, Adapter) and (adapter.name, adapter.dialect.name) == (origin.provider, origin.dialect):
        spoken = adapter.dialect
    else:
        spoken = dialect(origin.dialect, origin.provider)
    return replace(spoken.as_turn(response), id=id, origin=origin, metadata=facts)


def _with_estimated_usage(response: Response, call: CallModel) -> Response:
    """Tokens of an answer were spent even if it was cut before its usage came, or if a usage of 0 came first."""
    if not response.content:
        return response
    provider, request = call.adapter.name, call.request
    sent = estimate_request(request, provider, request.model)
    received = estimate_output(response.content, provider, request.model)
    return replace(response, usage=TokenUsage(sent, output_tokens=received, estimated=True))


def _call_entries(turn: Turn, call: CallModel, made: Sequence[ToolUseBlock]) -> dict[str, Json]:
    """What is noted of each call: those that the session refuses, and those that it runs if it runs them all."""
    refused = refusals(made, call.request) if made else {}
    if not (turn.loop and all(one.id in refused or turn.conversation.runs(one) for one in made)):
        made = [one for one in made if one.id in refused]  # the others are left to the caller
    return entries(made, refused)

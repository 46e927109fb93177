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
    """The calls of an answer without the incomplete ones, which are never run."""
    return tuple(call for call in response.tool_uses if not call.incomplete)


def as_message(turn: Turn, response: Response) -> Message:
    """An answer as a message of the history: with its usage, cost and call states as metadata, and with everything that
    its provider wants to get back. Also counts the answer in the report of the turn."""
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
        answered_in = adapter.dialect
    else:
        answered_in = dialect(origin.dialect, origin.provider)
    return replace(answered_in.as_turn(response), id=id, origin=origin, metadata=facts)


def _with_estimated_usage(response: Response, call: CallModel) -> Response:
    """The answer with an estimated usage: it cost tokens even if it was cut off before its usage came."""
    if not response.content:
        return response
    provider, request = call.adapter.name, call.request
    sent = estimate_request(request, provider, request.model)
    received = estimate_output(response.content, provider, request.model)
    return replace(response, usage=TokenUsage(sent, output_tokens=received, estimated=True))


def _call_entries(turn: Turn, call: CallModel, made: Sequence[ToolUseBlock]) -> dict[str, Json]:
    """The entries of the calls that the session refuses, and of those that it runs, if it runs all of them."""
    refused = refusals(made, call.request) if made else {}
    if not (turn.loop and all(one.id in refused or turn.conversation.can_answer(one) for one in made)):
        made = [one for one in made if one.id in refused]  # the caller answers the others
    return entries(made, refused)

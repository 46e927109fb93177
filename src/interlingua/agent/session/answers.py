"""An answer of a model as a message of the history."""

from __future__ import annotations

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
from ..history import new_message_id
from ..routing.model_calls import CallModel

__all__ = ["as_message", "complete", "with_estimated_usage"]


def complete(calls: tuple[ToolUseBlock, ...]) -> tuple[ToolUseBlock, ...]:
    """The calls without those that were cut, which are never run."""
    return tuple(call for call in calls if not call.incomplete)


def with_estimated_usage(response: Response, call: CallModel) -> Response:
    """Tokens of an answer were spent even if it was cut before its usage came, or if a usage of 0 came first."""
    if not response.content:
        return response
    provider, request = call.adapter.name, call.request
    sent = estimate_request(request, provider, request.model)
    received = estimate_output(response.content, provider, request.model)
    return replace(response, usage=TokenUsage(sent, output_tokens=received, estimated=True))


def as_message(response: Response, facts: dict[str, Json], call: CallModel | None) -> Message:
    """An answer as a message of the history, with what its provider wants back."""
    origin, adapter = response.origin, None if call is None else call.adapter
    id = new_message_id() if call is None or call.ids is None else call.ids.message_id
    if origin is None or origin.dialect is None:
        return Message(Role.assistant, response.content, id, origin, facts)
    if isinstance(adapter, Adapter) and (adapter.name, adapter.dialect.name) == (origin.provider, origin.dialect):
        spoken = adapter.dialect
    else:
        spoken = dialect(origin.dialect, origin.provider)
    return replace(spoken.as_turn(response), id=id, origin=origin, metadata=facts)

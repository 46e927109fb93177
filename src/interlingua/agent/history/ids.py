"""The conversation's own ids. The id that a provider gave to a call is kept too, and sent back to it unchanged."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...client.adapter import new_ulid
from ...types.blocks import ToolUseBlock
from ...types.events import Event, MessageComplete, MessageStart, ToolUseEnd, ToolUseInputDelta, ToolUseStart
from ...types.response import Response

__all__ = ["CallIds", "new_message_id", "new_tool_id"]


def new_message_id() -> str:
    """A new id for a message."""
    return f"msg_{new_ulid()}"


def new_tool_id() -> str:
    """A new canonical id for a call."""
    return f"tu_{new_ulid()}"


class CallIds(Struct):
    """Gives one answer and its tool calls the conversation's ids; the same ids in its events and in the whole answer.

    A call is identified by its index in the answer, because a provider's id may be missing or used twice.
    """

    dialect: str
    new_id: Callable[[], str] = new_tool_id
    given: dict[int, str] = {}
    message_id: str = msgspec.field(default_factory=new_message_id)

    def event(self, event: Event) -> Event:
        """The event with the conversation's ids. Most events have no id and are returned unchanged."""
        if type(event) is MessageStart:
            return replace(event, message_id=self.message_id)
        if type(event) is ToolUseInputDelta:
            return ToolUseInputDelta(event.index, event.partial_json, event.extras, self.given.get(event.index))
        if type(event) is ToolUseStart:
            block = self._renamed(event.index, event.block)
            return replace(event, id=block.id, block=block)
        if type(event) is ToolUseEnd:
            return replace(event, block=self._renamed(event.index, event.block))
        if type(event) is MessageComplete:
            return replace(event, response=self.response(event.response))
        return event

    def response(self, response: Response) -> Response:
        """The whole answer with the conversation's ids."""
        if not response.tool_uses:
            return response
        content = [
            self._renamed(index, block) if type(block) is ToolUseBlock else block
            for index, block in enumerate(response.content)
        ]
        return replace(response, content=tuple(content))

    def _renamed(self, index: int, block: ToolUseBlock) -> ToolUseBlock:
        given = self.given.get(index)
        if given is None:
            given = self.given[index] = self.new_id()
        if block.id == given:
            return block
        return replace(block, id=given, native_ids={**block.native_ids, self.dialect: block.id})

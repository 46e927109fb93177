"""A conversation's own ids. What a provider issued is kept beside them, so that it can be given back exactly."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ...client.adapter import new_ulid
from ...types.blocks import Block, ToolUseBlock
from ...types.events import Event, MessageComplete, ToolUseEnd, ToolUseStart
from ...types.response import Response

__all__ = ["Names", "new_message_id", "new_tool_id"]


def new_message_id() -> str:
    """The id of a message."""
    return f"msg_{new_ulid()}"


def new_tool_id() -> str:
    """The canonical id of a call."""
    return f"tu_{new_ulid()}"


class Names:
    """The calls of one answer under the conversation's own ids, the same in its events and in the whole.

    Calls are told apart by their place: an issued id may be used twice, or be missing.
    """

    def __init__(self, dialect: str, new_id: Callable[[], str] = new_tool_id) -> None:
        self._dialect, self._new_id = dialect, new_id
        self._given: dict[int, str] = {}

    def event(self, event: Event) -> Event:
        """An event of the stream; most are passed on as they are."""
        if type(event) is ToolUseStart:
            block = self._named(event.index, event.block)
            return replace(event, id=block.id, block=block)
        if type(event) is ToolUseEnd:
            return replace(event, block=self._named(event.index, event.block))
        if type(event) is MessageComplete:
            return replace(event, response=self.response(event.response))
        return event

    def response(self, response: Response) -> Response:
        """The whole answer."""
        if not any(type(block) is ToolUseBlock for block in response.content):
            return response
        return replace(response, content=tuple(self._block(i, b) for i, b in enumerate(response.content)))

    def _block(self, index: int, block: Block) -> Block:
        return self._named(index, block) if type(block) is ToolUseBlock else block

    def _named(self, index: int, block: ToolUseBlock) -> ToolUseBlock:
        given = self._given.get(index)
        if given is None:
            given = self._given[index] = self._new_id()
        if block.id == given:
            return block
        return replace(block, id=given, native_ids={**block.native_ids, self._dialect: block.id})

"""An answer on its way to a client of another dialect: what only the issuer understands is put into envelopes.

Each dialect has one way. Messages, Bedrock and Responses have blocks of reasoning that clients return untouched: such a
block becomes an envelope, and one more is added where a call or a text is signed. Gemini signs any part: reasoning goes
with the next part, because clients drop thoughts. Chat and Ollama have no place; the vault keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from ..codec.streams.fold import unfold
from ..types.blocks import Block, BlockBase, RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ..types.events import (
    BlockComplete,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    TextDelta,
    ToolUseEnd,
    ToolUseStart,
)
from ..types.messages import Message, Origin
from ..types.response import Response
from .carry import Envelopes, has_state, state_of

__all__ = ["BESIDE", "WITH_NEXT", "Wrapping", "wraps"]

BESIDE: dict[str, Callable[[str], Block]] = {
    "anthropic-messages": RedactedThinkingBlock,
    "bedrock-converse": RedactedThinkingBlock,
    "openai-responses": lambda envelope: ThinkingBlock("", signature=envelope),
}
"""Dialects with a block for opaque state, and how one is made."""
WITH_NEXT = frozenset({"gemini"})
"""Dialects that sign any part."""


def wraps(dialect: str) -> bool:
    """Whether clients of a dialect carry envelopes."""
    return dialect in BESIDE or dialect in WITH_NEXT


B = TypeVar("B", bound=BlockBase)


class Wrapping:
    """The events of one answer, with its state in envelopes. ``state`` is all of it, for the vault."""

    def __init__(self, dialect: str, envelopes: Envelopes) -> None:
        self._dialect, self._envelopes = dialect, envelopes
        self._beside = BESIDE.get(dialect)
        self._origin: Origin | None = None
        self._wraps = wraps(dialect)
        self._places: dict[int, int] = {}
        self._done: list[Block | None] = []
        self._pending: list[Block] = []
        self.blocks: list[Block] = []
        """The finished blocks as they came, which is what the vault keeps."""

    @property
    def state(self) -> Message:
        """The state of the answer so far."""
        return state_of(self.blocks, self._origin)

    def response(self, response: Response) -> Response:
        """A whole answer, wrapped."""
        self._origin = response.origin
        if not any(map(_is_marked, response.content)):
            self.blocks = list(response.content)
            return response
        events = [event for came in unfold(response) for event in self.events(came)]
        return cast("MessageComplete", events[-1]).response

    def events(self, event: Event) -> Sequence[Event]:
        """What becomes of an event."""
        if type(event) is TextDelta:  # nearly all events
            if not self._wraps or self._places[event.index] == event.index:
                return (event,)
            return (replace(event, index=self._places[event.index]),)
        if isinstance(event, MessageStart):
            self._origin = event.origin or self._origin
            self._wraps = wraps(self._dialect) and (self._origin is None or self._origin.dialect != self._dialect)
        elif isinstance(event, BlockComplete | ToolUseEnd):
            self.blocks.append(event.block)
            if self._wraps:
                return self._closed(event)
        elif not self._wraps:
            return (event,)
        elif isinstance(event, BlockStart | ToolUseStart):
            return self._opened(event)
        elif isinstance(event, MessageComplete):
            return (self._complete(event),)
        elif (index := getattr(event, "index", None)) is not None:
            place = self._places[index]
            return (event,) if place == index else (replace(cast("Any", event), index=place),)
        return (event,)

    def _opened(self, event: BlockStart | ToolUseStart) -> list[Event]:
        block = event.block
        added: list[Event] = []
        if isinstance(block, ToolUseBlock) and block.signature is not None and self._beside is not None:
            added = self._added(self._seal([block]))
        place = self._places[event.index] = len(self._done)
        self._done.append(None)
        shown = _unsigned(block) if isinstance(block, ThinkingBlock | TextBlock | ToolUseBlock) else block
        if isinstance(block, RedactedThinkingBlock) and self._beside is not None:
            shown = self._enveloped(block)
        return [*added, replace(cast("Any", event), index=place, block=shown)]

    def _closed(self, event: BlockComplete | ToolUseEnd) -> list[Event]:
        block, place = event.block, self._places[event.index]
        added: list[Event] = []
        if isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            shown = self._enveloped(block)
        elif self._beside is None:
            shown = self._signed(block)
        else:
            shown = _unsigned(block)
            if block.signature is not None and isinstance(block, TextBlock):  # known only at its end
                added = self._added(self._seal([block]))
        self._done[place] = shown
        return [replace(cast("Any", event), index=place, block=shown), *added]

    def _enveloped(self, block: ThinkingBlock | RedactedThinkingBlock) -> Block:
        """A block of reasoning as the client's dialect carries it."""
        if self._beside is None:
            self._pending.append(block)
            return _unsigned(block)
        envelope = self._seal([block])
        if isinstance(block, RedactedThinkingBlock) or not block.text:
            return self._beside(envelope)
        return replace(_unsigned(block), signature=envelope)

    def _signed(self, block: Block) -> Block:
        """A part with the reasoning before it, where any part may be signed."""
        blocks = [*self._pending, *([block] if has_state(block) else ())]
        self._pending.clear()
        return replace(_unsigned(block), signature=self._seal(blocks)) if blocks else block

    def _seal(self, blocks: Sequence[Block]) -> str:
        return self._envelopes.seal(state_of(blocks, self._origin))

    def _added(self, envelope: str) -> list[Event]:
        """A block of its own for an envelope."""
        assert self._beside is not None
        place, block = len(self._done), self._beside(envelope)
        self._done.append(block)
        return [BlockStart(place, block), BlockComplete(place, block)]

    def _complete(self, event: MessageComplete) -> MessageComplete:
        content = tuple(block for block in self._done if block is not None)
        return replace(event, response=replace(event.response, content=content))


def _is_marked(block: Block) -> bool:
    """Whether anything of a block is for its issuer alone."""
    return bool(block.extras) or has_state(block)


def _unsigned(block: B) -> B:
    """Without what only the issuer understands, and the issuer's residue, which is in the envelope."""
    if block.signature is None and not block.extras:
        return block
    return replace(block, signature=None, extras={})

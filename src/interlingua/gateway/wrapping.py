"""Puts the opaque state of an answer into envelopes, for a client of another dialect.

Messages, Bedrock and Responses have blocks of reasoning that clients return untouched: such a block carries an
envelope, and a block is added for a signed call or text. Gemini signs any part: the envelope of reasoning goes into the
next part's signature, because clients drop thoughts. Chat and Ollama have no such field; the vault keeps the state.
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

__all__ = ["IN_BLOCK", "IN_NEXT_PART", "Wrapping", "can_wrap"]

IN_BLOCK: dict[str, Callable[[str], Block]] = {
    "anthropic-messages": RedactedThinkingBlock,
    "bedrock-converse": RedactedThinkingBlock,
    "openai-responses": lambda envelope: ThinkingBlock("", signature=envelope),
}
"""Dialects with a block for opaque state, and how such a block is made of an envelope."""
IN_NEXT_PART = frozenset({"gemini"})
"""Dialects in which any part can have a signature."""


def can_wrap(dialect: str) -> bool:
    """Whether clients of a dialect return envelopes."""
    return dialect in IN_BLOCK or dialect in IN_NEXT_PART


B = TypeVar("B", bound=BlockBase)


class Wrapping:
    """Rewrites the events of one answer: its state goes into envelopes. ``state`` is all of it, for the vault."""

    def __init__(self, dialect: str, envelopes: Envelopes) -> None:
        self._dialect, self._envelopes = dialect, envelopes
        self._make_block = IN_BLOCK.get(dialect)
        self._origin: Origin | None = None
        self._wraps = can_wrap(dialect)
        self._places: dict[int, int] = {}
        self._done: list[Block | None] = []
        self._pending: list[Block] = []
        self.blocks: list[Block] = []
        """The finished blocks as the provider sent them, for the vault."""

    @property
    def state(self) -> Message:
        """The state of the answer so far."""
        return state_of(self.blocks, self._origin)

    def response(self, response: Response) -> Response:
        """A whole answer with its state in envelopes."""
        self._origin = response.origin
        if not any(map(_is_marked, response.content)):
            self.blocks = list(response.content)
            return response
        events = [event for came in unfold(response) for event in self.events(came)]
        return cast("MessageComplete", events[-1]).response

    def events(self, event: Event) -> Sequence[Event]:
        """What the client gets for an event."""
        if type(event) is TextDelta:  # nearly all events
            if not self._wraps or self._places[event.index] == event.index:
                return (event,)
            return (replace(event, index=self._places[event.index]),)
        if isinstance(event, MessageStart):
            self._origin = event.origin or self._origin
            self._wraps = can_wrap(self._dialect) and (self._origin is None or self._origin.dialect != self._dialect)
        elif isinstance(event, BlockComplete | ToolUseEnd):
            self.blocks.append(event.block)
            if self._wraps:
                return self._close_block(event)
        elif not self._wraps:
            return (event,)
        elif isinstance(event, BlockStart | ToolUseStart):
            return self._open_block(event)
        elif isinstance(event, MessageComplete):
            return (self._complete(event),)
        elif (index := getattr(event, "index", None)) is not None:
            place = self._places[index]
            return (event,) if place == index else (replace(cast("Any", event), index=place),)
        return (event,)

    def _open_block(self, event: BlockStart | ToolUseStart) -> list[Event]:
        block = event.block
        added: list[Event] = []
        if isinstance(block, ToolUseBlock) and block.signature is not None and self._make_block is not None:
            added = self._envelope_block(self._seal([block]))
        place = self._places[event.index] = len(self._done)
        self._done.append(None)
        shown = _without_state(block) if isinstance(block, ThinkingBlock | TextBlock | ToolUseBlock) else block
        if isinstance(block, RedactedThinkingBlock) and self._make_block is not None:
            shown = self._with_envelope(block)
        return [*added, replace(cast("Any", event), index=place, block=shown)]

    def _close_block(self, event: BlockComplete | ToolUseEnd) -> list[Event]:
        block, place = event.block, self._places[event.index]
        added: list[Event] = []
        if isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            shown = self._with_envelope(block)
        elif self._make_block is None:
            shown = self._with_signature(block)
        else:
            shown = _without_state(block)
            if block.signature is not None and isinstance(block, TextBlock):  # known only at its end
                added = self._envelope_block(self._seal([block]))
        self._done[place] = shown
        return [replace(cast("Any", event), index=place, block=shown), *added]

    def _with_envelope(self, block: ThinkingBlock | RedactedThinkingBlock) -> Block:
        """A block of reasoning in the form that carries its state in the client's dialect."""
        if self._make_block is None:
            self._pending.append(block)
            return _without_state(block)
        envelope = self._seal([block])
        if isinstance(block, RedactedThinkingBlock) or not block.text:
            return self._make_block(envelope)
        return replace(_without_state(block), signature=envelope)

    def _with_signature(self, block: Block) -> Block:
        """A part whose signature is an envelope of its own state and of the reasoning before it."""
        blocks = [*self._pending, *([block] if has_state(block) else ())]
        self._pending.clear()
        return replace(_without_state(block), signature=self._seal(blocks)) if blocks else block

    def _seal(self, blocks: Sequence[Block]) -> str:
        return self._envelopes.seal(state_of(blocks, self._origin))

    def _envelope_block(self, envelope: str) -> list[Event]:
        """The events of an added block that holds an envelope."""
        assert self._make_block is not None
        place, block = len(self._done), self._make_block(envelope)
        self._done.append(block)
        return [BlockStart(place, block), BlockComplete(place, block)]

    def _complete(self, event: MessageComplete) -> MessageComplete:
        content = tuple(block for block in self._done if block is not None)
        return replace(event, response=replace(event.response, content=content))


def _is_marked(block: Block) -> bool:
    """Whether a block has residue or state, which only its issuer understands."""
    return bool(block.extras) or has_state(block)


def _without_state(block: B) -> B:
    """A block without its signature and its issuer's residue, both of which are in the envelope."""
    if block.signature is None and not block.extras:
        return block
    return replace(block, signature=None, extras={})

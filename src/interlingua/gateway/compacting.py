"""Compaction for clients of Responses, on models that do not offer it: the model writes a summary, sent in an envelope.

A client asks for it at a separate endpoint, or with a ``compaction_trigger`` as the last item of a request. It gets
exactly one ``compaction`` item, whose content only the gateway can read. When the item comes back, the summary takes
its place. Providers that offer compaction get the client's own request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from ..codec.json import is_dict, is_list
from ..errors import ServerError
from ..relaying import Carrier
from ..types.base import Json
from ..types.blocks import Block, OpaqueBlock, TextBlock
from ..types.events import BlockComplete, BlockStart, Event, MessageComplete, MessageStart, Unknown, UsageUpdate
from ..types.loss import Loss
from ..types.messages import Message
from ..types.request import Request
from ..types.response import Response
from ..types.tools import ToolChoice
from ..types.words import Role, StopReason
from .carry import ENVELOPE, Envelopes
from .peek import Peek

__all__ = ["COMPACTION", "Compacting", "as_compacted", "is_triggered", "open_summaries"]

RESPONSES, COMPACTION, TRIGGER = "openai-responses", "compaction", "compaction_trigger"
SUMMARY_PROMPT = (
    "Write a summary of our conversation so far, by which another assistant can go on with the work without having read"
    " it. Keep what was asked and decided, what was done and found (names of files, commands, values, errors), what is"
    " unfinished and what comes next. Answer with the summary alone."
)
SUMMARY_INTRO = "Here is a summary of our conversation until now:\n\n"
PASSED_EVENTS = (MessageStart, UsageUpdate, Unknown)
BROKEN = Loss("", "dropped", "the summary came back in an envelope that this gateway did not write", "state")
NO_USAGE: dict[str, Json] = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def is_triggered(peek: Peek) -> bool:
    """Whether the last item of a Responses request asks for compaction."""
    if TRIGGER.encode() not in peek.body:
        return False
    items: Json = peek.get("input")
    return is_list(items) and bool(items) and is_dict(items[-1]) and items[-1].get("type") == TRIGGER


class Compacting:
    """A ``Carrier`` whose answer is one ``compaction`` item: the summary that the model writes, in an envelope."""

    def __init__(self, carrier: Carrier, envelopes: Envelopes, id: str) -> None:
        self._carrier, self._envelopes, self._id = carrier, envelopes, id

    def restore(self, request: Request) -> tuple[Request, tuple[Loss, ...]]:
        """The request for a summary, in which no tool may be called and no schema is required."""
        request, losses = self._carrier.restore(request)
        turns = [_without_trigger(turn) for turn in request.messages]
        prompt = Message(Role.user, (TextBlock(SUMMARY_PROMPT),))
        choice = ToolChoice("none") if request.tools else None
        messages = (*(turn for turn in turns if turn.content), prompt)
        return replace(request, messages=messages, tool_choice=choice, output_schema=None), losses

    def response(self, response: Response) -> Response:
        """A whole answer, its content replaced by the item."""
        return replace(response, content=(self._item(response),), stop_reason=StopReason.end_turn)

    def events(self, event: Event) -> Sequence[Event]:
        """What the client gets for an event of the answer. The item follows when the summary is complete."""
        if isinstance(event, PASSED_EVENTS):
            return (event,)
        if not isinstance(event, MessageComplete):
            return ()
        if event.error is not None:
            return (replace(event, response=replace(event.response, content=())),)
        item = self._item(event.response)
        return (BlockStart(0, item), BlockComplete(0, item), replace(event, response=self.response(event.response)))

    def _item(self, response: Response) -> OpaqueBlock:
        text = response.text
        if not text.strip() or response.stop_reason not in (StopReason.end_turn, StopReason.stop_sequence):
            raise ServerError(f"the model wrote no whole summary; it stopped for {response.stop_reason}")
        envelope = self._envelopes.seal(Message(Role.user, (TextBlock(text),)))
        return OpaqueBlock(RESPONSES, {"id": f"cmp_{self._id}", "type": COMPACTION, "encrypted_content": envelope})


def _without_trigger(turn: Message) -> Message:
    kept = tuple(block for block in turn.content if _type_of(block) != TRIGGER)
    return turn if len(kept) == len(turn.content) else replace(turn, content=kept)


def _type_of(block: Block) -> Json:
    raw: Json = block.raw if isinstance(block, OpaqueBlock) else None
    return raw.get("type") if is_dict(raw) else None


def _envelope_in(block: Block) -> str | None:
    """The envelope in a compaction item of this gateway; None for any other block."""
    if _type_of(block) != COMPACTION:
        return None
    text: Json = cast("Any", block).raw.get("encrypted_content")
    return text if isinstance(text, str) and text.startswith(ENVELOPE) else None


def open_summaries(request: Request, envelopes: Envelopes) -> tuple[Request, tuple[Loss, ...]]:
    """The request with each compaction item replaced by its summary, and a loss for each that could not be opened."""
    if not any(_envelope_in(block) for turn in request.messages for block in turn.content):
        return request, ()
    turns: list[Message] = []
    losses: list[Loss] = []
    for index, turn in enumerate(request.messages):
        kept: list[Block] = []
        for place, block in enumerate(turn.content):
            envelope = _envelope_in(block)
            if envelope is None:
                kept.append(block)
                continue
            state = envelopes.open(envelope)
            if state is None:
                losses.append(replace(BROKEN, path=f"messages/{index}/content/{place}"))
                continue
            if kept:
                turns.append(replace(turn, content=tuple(kept)))
                kept = []
            text = "".join(block.text for block in state.content if isinstance(block, TextBlock))
            turns.append(Message(Role.user, (TextBlock(SUMMARY_INTRO + text),)))
        if kept or not turn.content:
            turns.append(replace(turn, content=tuple(kept)))
    return replace(request, messages=tuple(turns)), tuple(losses)


def as_compacted(request: Json, answer: Json) -> dict[str, Json]:
    """The answer of the endpoint for compaction: the user's messages of the request, then the one item."""
    items: Json = request.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": [{"type": "input_text", "text": items}]}]
    messages = [{"type": "message", **item} for item in items if is_dict(item) and item.get("role") == "user"]
    compacted = [item for item in answer["output"] if item["type"] == COMPACTION]
    copied = {key: answer[key] for key in ("id", "created_at")}
    usage = answer.get("usage") or NO_USAGE
    return {**copied, "object": "response.compaction", "output": [*messages, *compacted], "usage": usage}

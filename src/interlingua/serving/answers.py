"""Answers as a server writes them: with the requested model's name, ids, a time, and usage only if it was requested.

A dialect has no clock and no randomness, so an answer decoded from another dialect has no time and only numbers as ids.
Here both are arguments. They are added as residue of the dialect, which its encoder writes like any other residue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, cast

from msgspec.structs import replace

from ..codec.base import StreamEncoder
from ..codec.framing import SseDecoder, encode_array_close, encode_array_element, encode_array_open
from ..codec.history.joining import Joining, answer_join, has_neighbours
from ..codec.json import is_dict
from ..dialects import dialect as find
from ..errors import AdapterError
from ..types.base import Json, unchecked_copy
from ..types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
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
from ..types.loss import Encoded, Loss
from ..types.messages import Origin
from ..types.request import Request
from ..types.response import Response
from .facts import SERVED
from .refusals import with_known_words

__all__ = ["AnswerWriter", "asks_for_usage"]

ITEM_IDS: dict[str, dict[type[Block], Callable[[str], Json]]] = {
    "openai-responses": {
        TextBlock: lambda id: {"item": {"id": f"msg_{id}"}},
        RefusalBlock: lambda id: {"item": {"id": f"msg_{id}"}},
        ThinkingBlock: lambda id: {"item": {"id": f"rs_{id}"}},
        ToolUseBlock: lambda id: {"id": f"fc_{id}"},
    }
}
"""The residue that holds the id of an item, for protocols whose clients refer to items by id in later turns."""

USAGE_IF_ASKED = {"openai-chat": ("stream_options", "include_usage")}
"""The path at which a request asks for the usage of a stream, in protocols that leave it out otherwise."""


def asks_for_usage(body: Json, dialect: str) -> bool:
    """Whether the stream that answers this request must contain its usage."""
    wanted = body
    for key in USAGE_IF_ASKED.get(dialect, ()):
        wanted = wanted.get(key) if is_dict(wanted) else None
    return wanted is True or dialect not in USAGE_IF_ASKED


class AnswerWriter:
    """One answer of a server. For a stream, events in and bytes out; ``write_whole`` writes any other answer.

    ``id`` is unique among all answers of the server: the ids of the answer and of its items are made from it.
    ``created`` is the time in seconds, ``model`` the name of the model in the answer. ``usage``: whether a stream
    contains its usage. ``array``: whether the stream is a JSON array, as Gemini writes it to clients that do not
    request server-sent events.
    """

    def __init__(
        self,
        dialect: str,
        request: Request,
        *,
        id: str,
        created: int,
        model: str | None = None,
        usage: bool = True,
        array: bool = False,
    ) -> None:
        self.dialect, self.request, self.model, self.usage = dialect, request, model, usage
        self._codec, self._served, self._token = find(dialect), SERVED[dialect], id
        self._id = f"{self._served.id_prefix}{id}"
        served = self._served
        self._extras: dict[str, Json] = (
            {} if served.time_key is None else {dialect: {served.time_key: served.time(created)}}
        )
        self._item_ids = ITEM_IDS.get(dialect, {})
        self._finished: list[tuple[Block, Block]] = []
        self._joining: Joining | None = None
        self._array = SseDecoder() if array else None
        self._first = True

    @cached_property
    def _encoder(self) -> StreamEncoder:
        return self._codec.stream_encoder(self.request)

    @property
    def content_type(self) -> str:
        """The content type of the stream."""
        return "application/json" if self._array is not None else self._served.stream_type

    @property
    def keep_alive(self) -> bytes:
        """Bytes that may be sent while there is no event to write."""
        if self._array is None:
            return self._served.keep_alive
        return b"" if self._first else b"\n"

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the stream could not express so far."""
        joined = self._joining.losses if self._joining is not None else ()
        encoded = self._encoder.losses if "_encoder" in vars(self) else ()
        return (*joined, *encoded)

    # ------------------------------------------------------------------------------------------------- a stream

    def feed(self, event: Event) -> bytes:
        """The bytes of an event; often empty."""
        if type(event) is TextDelta and self._array is None:  # nearly all events
            return self._encoder.feed(event if self._joining is None else self._joining.text(event))
        if type(event) is MessageStart:
            self._joining = self._joining_for(event.origin)
        events = (event,) if self._joining is None else self._joining.events(event)
        written = self._write(events[0]) if len(events) == 1 else b"".join(map(self._write, events))
        return written if self._array is None else self._elements(written)

    def _write(self, event: Event) -> bytes:
        stamp = self._stamps.get(type(event))
        return self._encoder.feed(event if stamp is None else stamp(self, event))

    def _joining_for(self, origin: Origin | None) -> Joining | None:
        """How texts are joined where readers show only the last one; None for an answer of the dialect itself."""
        same_dialect = origin is not None and origin.dialect == self.dialect
        join = answer_join(self._codec.text_join, self.request)
        return None if same_dialect or join == "apart" else Joining(self.dialect, join)

    def fail(self, error: AdapterError) -> bytes:
        """The bytes that end the stream with an error; empty if it has ended."""
        written = self._encoder.fail(with_known_words(error, self.dialect))
        return written if self._array is None else self._elements(written)

    def close(self) -> bytes:
        """The bytes still missing at the end of a stream that was completed."""
        written = self._encoder.close()
        return written if self._array is None else self._elements(written) + encode_array_close()

    def _elements(self, events: bytes) -> bytes:
        """Events as elements of one array. It is not closed after a failure, so that clients see that it broke off."""
        assert self._array is not None
        elements: list[bytes] = []
        for _, data in self._array.feed(events):
            if self._first:
                elements.append(encode_array_open())
            elements.append(encode_array_element(data, first=self._first))
            self._first = False
        return b"".join(elements)

    # ------------------------------------------------------------------------------------------------- a whole

    def write_whole(self, response: Response) -> Encoded:
        """The body of an answer that is not a stream, and its losses."""
        joining = self._joining_for(response.origin) if has_neighbours(response.content) else None
        response = response if joining is None else joining.response(response)
        if self._item_ids:
            content = [self._stamped(index, block) for index, block in enumerate(response.content)]
            response = unchecked_copy(response, content=tuple(content))
        encoded = self._codec.encode_response(self._named(response), self.request)
        return encoded if joining is None else replace(encoded, losses=(*joining.losses, *encoded.losses))

    # ------------------------------------------------------------------------------------------------- ids and time

    def _start(self, event: MessageStart) -> Event:
        named = replace(event, message_id=self._id, model=self.model or event.model)
        return replace(named, extras={**event.extras, **self._extras}) if self._extras else named

    def _open(self, event: BlockStart | ToolUseStart) -> Event:
        if not self._item_ids:
            return event
        return replace(event, block=cast("Any", self._stamped(event.index, event.block)))

    def _close(self, event: BlockComplete | ToolUseEnd) -> Event:
        if not self._item_ids:
            return event
        block = self._stamped(event.index, event.block)
        self._finished.append((event.block, block))
        return replace(event, block=cast("Any", block))

    def _complete(self, event: MessageComplete) -> Event:
        if event.error is not None:
            event = replace(event, error=with_known_words(event.error, self.dialect))
        response = event.response
        if self._item_ids:
            response = unchecked_copy(response, content=tuple(map(self._as_closed, response.content)))
        if not self.usage:
            response = unchecked_copy(response, usage=None)
        return replace(event, response=self._named(response))

    _stamps: ClassVar[Mapping[type[Any], Callable[[Any, Any], Event]]] = {
        MessageStart: _start,
        BlockStart: _open,
        ToolUseStart: _open,
        BlockComplete: _close,
        ToolUseEnd: _close,
        MessageComplete: _complete,
    }

    def _as_closed(self, block: Block) -> Block:
        """A block of the whole answer with the id that its closing event had."""
        same = next((stamped for original, stamped in self._finished if original is block), None)
        return same or next((stamped for original, stamped in self._finished if original == block), block)

    def _stamped(self, index: int, block: Block) -> Block:
        residue = self._item_ids.get(type(block))
        if residue is None:
            return block
        if self.dialect in block.extras or self.dialect in block.forms:
            return block
        return replace(block, extras={**block.extras, self.dialect: residue(f"{self._token}_{index}")})

    def _named(self, response: Response) -> Response:
        extras = response.extras
        if self._extras:
            own: Any = extras.get(self.dialect, {})
            extras = {**extras, self.dialect: {**own, **cast("dict[str, Json]", self._extras[self.dialect])}}
        return unchecked_copy(response, id=self._id, model=self.model or response.model, extras=extras)

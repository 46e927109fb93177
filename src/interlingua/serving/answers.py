"""Answers as a server gives them: with the name that was asked for, ids, a time, and only what was asked for.

A dialect has no clock and no chance, so an answer that came in another dialect has no time and only numbers for ids.
Here both are arguments. They are written as residue of the dialect, which its encoders say like any other.
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
from ..types.base import Json, altered
from ..types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ..types.events import BlockComplete, BlockStart, Event, MessageComplete, MessageStart, ToolUseEnd, ToolUseStart
from ..types.loss import Encoded, Loss
from ..types.messages import Origin
from ..types.request import Request
from ..types.response import Response
from .facts import SERVED
from .refusals import worded

__all__ = ["AnswerWriter", "asks_for_usage"]

ITEM_IDS: dict[str, dict[type[Block], Callable[[str], Json]]] = {
    "openai-responses": {
        TextBlock: lambda id: {"item": {"id": f"msg_{id}"}},
        RefusalBlock: lambda id: {"item": {"id": f"msg_{id}"}},
        ThinkingBlock: lambda id: {"item": {"id": f"rs_{id}"}},
        ToolUseBlock: lambda id: {"id": f"fc_{id}"},
    }
}
"""Protocols whose answers are items with ids, by which clients know them in later turns: the residue that says the id.
"""

USAGE_IF_ASKED = {"openai-chat": ("stream_options", "include_usage")}
"""Where a request asks for the usage of a stream, in protocols that leave it out otherwise."""


def asks_for_usage(body: Json, dialect: str) -> bool:
    """Whether the stream that answers this request says its usage."""
    wanted = body
    for key in USAGE_IF_ASKED.get(dialect, ()):
        wanted = wanted.get(key) if is_dict(wanted) else None
    return wanted is True or dialect not in USAGE_IF_ASKED


class AnswerWriter:
    """One answer of a server. Events in and bytes out for a stream; ``whole`` for an answer at once.

    ``id`` is unique among all answers of the server: the ids of the answer and of its items are made from it.
    ``created`` is the time in seconds, ``model`` the name to answer by. ``usage``: whether a stream says its usage.
    ``array``: whether it is a JSON array, as Gemini writes it to clients that do not ask for events.
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
        time_key = self._served.time_key
        self._extras: dict[str, Json] = {} if time_key is None else {dialect: {time_key: created}}
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
        """What may be sent while there is nothing to say."""
        if self._array is None:
            return self._served.keep_alive
        return b"" if self._first else b"\n"

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the stream could not say so far."""
        joined = self._joining.losses if self._joining is not None else ()
        said = self._encoder.losses if "_encoder" in vars(self) else ()
        return (*joined, *said)

    # ------------------------------------------------------------------------------------------------- a stream

    def feed(self, event: Event) -> bytes:
        """The bytes that say an event; often none."""
        if type(event) is MessageStart:
            self._joining = self._joins(event.origin)
        events = (event,) if self._joining is None else self._joining.events(event)
        said = self._say(events[0]) if len(events) == 1 else b"".join(map(self._say, events))
        return said if self._array is None else self._elements(said)

    def _say(self, event: Event) -> bytes:
        stamp = self._stamps.get(type(event))
        return self._encoder.feed(event if stamp is None else stamp(self, event))

    def _joins(self, origin: Origin | None) -> Joining | None:
        """Texts are joined where readers show only the last one, but not those of the dialect itself."""
        own = origin is not None and origin.dialect == self.dialect
        join = answer_join(self._codec.text_join, self.request)
        return None if own or join == "apart" else Joining(self.dialect, join)

    def fail(self, error: AdapterError) -> bytes:
        """The bytes that end the stream with an error; none if it has ended."""
        said = self._encoder.fail(worded(error, self.dialect))
        return said if self._array is None else self._elements(said)

    def close(self) -> bytes:
        """The bytes still owed at the end of a stream that was completed."""
        said = self._encoder.close()
        return said if self._array is None else self._elements(said) + encode_array_close()

    def _elements(self, said: bytes) -> bytes:
        """Events as elements of one array. One that failed is never closed, so that nobody takes it for complete."""
        assert self._array is not None
        written: list[bytes] = []
        for _, data in self._array.feed(said):
            if self._first:
                written.append(encode_array_open())
            written.append(encode_array_element(data, first=self._first))
            self._first = False
        return b"".join(written)

    # ------------------------------------------------------------------------------------------------- a whole

    def whole(self, response: Response) -> Encoded:
        """The body of an answer that is not a stream, and what it could not say."""
        joining = self._joins(response.origin) if has_neighbours(response.content) else None
        response = response if joining is None else joining.response(response)
        if self._item_ids:
            content = [self._stamped(index, block) for index, block in enumerate(response.content)]
            response = altered(response, content=tuple(content))
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
            event = replace(event, error=worded(event.error, self.dialect))
        response = event.response
        if self._item_ids:
            response = altered(response, content=tuple(map(self._as_closed, response.content)))
        if not self.usage:
            response = altered(response, usage=None)
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
        """A block of the whole, as the event said it that closed it."""
        same = next((said for came, said in self._finished if came is block), None)
        return same or next((said for came, said in self._finished if came == block), block)

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
        return altered(response, id=self._id, model=self.model or response.model, extras=extras)

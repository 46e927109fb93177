"""The whole-path helpers: a few lines each over the dialects. No pair of dialects is known here or anywhere.

What was read in one dialect is stamped with it (``Origin.dialect``), so that the other end knows whose signatures
it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from msgspec.structs import replace

from ..errors import AdapterError, ParseError
from ..types.base import Json
from ..types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ..types.capabilities import Target
from ..types.events import Event, MessageComplete
from ..types.loss import Encoded, Loss
from ..types.messages import Message
from ..types.request import Request
from ..types.response import Response
from ..types.tools import ToolOutput
from ..types.words import Role, StopReason
from .base import Dialect
from .history.joining import Joining, answer_join
from .registry import dialect as find
from .streams.stream import dump
from .tools.arguments import parse_error

__all__ = [
    "StreamTranslation",
    "build_tool_results",
    "decode_stream",
    "parse_tool_calls",
    "repair_tool_results",
    "translate_request",
    "translate_response",
    "translate_stream",
    "validate_request",
    "validate_tool_results",
]


def translate_request(
    body: Json,
    *,
    source: str,
    target: str,
    to: Target | None = None,
    model: str | None = None,
    stream: bool | None = None,
    headers: Mapping[str, str] | None = None,
) -> Encoded:
    """A request body of one dialect in another, with what was lost. ``model``, ``stream``: where the URL has them."""
    request = find(source).decode_request(body, headers, model, stream)
    if to is None and source != target:
        to = Target(model=request.model)  # its rules differ by model
    return find(target).encode_request(request, to)


def validate_request(body: Json, dialect: str) -> None:
    """Raise an ``InvalidRequestError`` for a request body that the dialect's vendor would refuse.

    ``encode_error`` of the same dialect says it as the vendor does: the path of the field and what was expected. What
    passes is not proven right: models and accounts differ, and only the vendor knows them.
    """
    find(dialect).validate_request(body)


def translate_response(
    body: Json,
    *,
    source: str | Dialect,
    target: str | Dialect,
    request: Request | None = None,
    headers: Mapping[str, str] | None = None,
) -> Encoded:
    """An answer of one dialect in another, with what was lost. ``request``: what was asked, which some echo."""
    reader, writer = _speaker(source), _speaker(target)
    response = reader.decode_response(body, headers, request)
    joining = _joining(reader, writer, request)
    encoded = writer.encode_response(joining.response(response), request)
    return replace(encoded, losses=(*joining.losses, *encoded.losses))


def _speaker(named: str | Dialect) -> Dialect:
    """A dialect by its name, or one that knows its provider."""
    return find(named) if isinstance(named, str) else named


def _joining(source: Dialect, target: Dialect, request: Request | None) -> Joining:
    return Joining(target.name, "apart" if source.name == target.name else answer_join(target.text_join, request))


class StreamTranslation:
    """A stream of one dialect in another, for code that waits for bytes in its own way.

    Feed bytes, get bytes, then ``close`` at their end or ``fail`` where the transport broke. ``response`` is the answer
    once its last word has come, with its usage and what had come before a failure; ``error`` is why it failed, and
    ``losses`` what could not be said so far. A stream that breaks off ends in the target's own error and nothing else.
    """

    response: Response | None = None
    error: AdapterError | None = None

    def __init__(self, *, source: str | Dialect, target: str | Dialect, request: Request | None = None) -> None:
        reader, writer = _speaker(source), _speaker(target)
        self._decoder, self._encoder = reader.stream_decoder(request), writer.stream_encoder(request)
        self._joining = _joining(reader, writer, request)
        self._losses: list[Loss] = []
        self._seen = [0, 0]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the target could not say, so far."""
        for which, found in enumerate((self._joining.losses, self._encoder.losses)):
            self._losses += found[self._seen[which] :]
            self._seen[which] = len(found)
        return tuple(self._losses)

    def feed(self, chunk: bytes) -> bytes:
        """What these bytes say in the target's words; often nothing."""
        return self._write(self._decoder.feed(chunk))

    def close(self, clean: bool = False) -> bytes:
        """The end of the bytes. ``clean``: the transport saw the HTTP body's own end."""
        return self._write(self._decoder.close(clean)) + self._encoder.close()

    def fail(self, error: AdapterError) -> bytes:
        """The transport broke: the stream ends in this error, unless its last word had come."""
        return self._write([_failed(event, error) for event in self._decoder.close()]) + self._encoder.close()

    def _write(self, events: list[Event]) -> bytes:
        if events and type(events[-1]) is MessageComplete:
            last = events[-1]
            self.response, self.error = last.response, last.response.error
        return b"".join([self._encoder.feed(said) for event in events for said in self._joining.events(event)])


def _failed(event: Event, error: AdapterError) -> Event:
    """The last event of a stream that broke, with the true reason."""
    if type(event) is not MessageComplete or event.error is None:
        return event
    error.response = replace(event.response, error=error)
    return replace(event, response=error.response, error=error)


def translate_stream(
    chunks: Iterable[bytes],
    *,
    source: str,
    target: str,
    request: Request | None = None,
    on_loss: Callable[[Loss], object] | None = None,
) -> Iterator[bytes]:
    """A stream of one dialect in another, as it comes. ``on_loss`` is called for each loss when it is known."""
    translation, told = StreamTranslation(source=source, target=target, request=request), 0
    for said in _translated(translation, chunks):
        if said:
            yield said
        if on_loss is not None:
            for loss in translation.losses[told:]:
                told += 1
                on_loss(loss)


def _translated(translation: StreamTranslation, chunks: Iterable[bytes]) -> Iterator[bytes]:
    yield from map(translation.feed, chunks)
    yield translation.close()


def _fed(decoder: Any, chunks: Iterable[bytes]) -> Iterator[list[Event]]:
    for chunk in chunks:
        yield decoder.feed(chunk)
    yield decoder.close()


def decode_stream(chunks: Iterable[bytes], *, dialect: str, request: Request | None = None) -> Iterator[Event]:
    """The events of a stream. One that failed raises its error after ``message.complete``; it has the partial."""
    decoder = find(dialect).stream_decoder(request)
    for events in _fed(decoder, chunks):
        yield from events
    if decoder.error is not None:
        raise decoder.error


def parse_tool_calls(body: Json, *, dialect: str, strict: bool = False) -> list[ToolUseBlock]:
    """The calls in an answer; one that was cut off is ``incomplete``.

    ``strict`` refuses those, malformed arguments, and turns that did not end in their calls.
    """
    response = find(dialect).decode_response(body)
    calls = list(response.tool_uses)
    if strict:
        if calls and response.stop_reason is not StopReason.tool_use:
            raise ParseError(f"the answer holds calls but stopped for {response.stop_reason}: they may be cut short")
        for call in calls:
            _refuse_malformed(call)
    return calls


def _refuse_malformed(call: ToolUseBlock) -> None:
    if call.incomplete:
        raise ParseError(f"call {call.id} of {call.name} was cut off before it was finished")
    if call.kind == "json" and call.input_text is not None:
        why = parse_error(call.input_text)
        if why is not None:
            raise ParseError(f"call {call.id} of {call.name} has malformed arguments: {why}")


def build_tool_results(body: Json, outputs: Sequence[ToolOutput], *, dialect: str) -> list[Json]:
    """What to append to the next request after the model's answer ``body``: the answer itself, then the results.

    A call that was cut off takes no result, and is left out of the answer.
    """
    speaker = find(dialect)
    response = speaker.decode_response(body)
    known = {call.id: call.incomplete for call in response.tool_uses}
    for output in outputs:
        if known.get(output.id):
            raise ParseError(f"the call {output.id} was cut off before it was finished: it takes no result")
        if output.id not in known:
            raise ParseError(f"no call of the answer has the id {output.id}; it has {', '.join(known) or 'none'}")
    results = Message(Role.tool, tuple(_result(output) for output in outputs))
    before = (Message(Role.user, (TextBlock("?"),)),)  # whatever was asked: an answer does not come first
    said: list[Json] = speaker.encode_messages((*before, speaker.as_turn(response), results)).body
    return said[len(speaker.encode_messages(before).body) :]


def _result(output: ToolOutput) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=output.id, content=as_blocks(output.content), is_error=output.is_error)


def as_blocks(content: Json) -> tuple[Block, ...]:
    """Text, blocks, or any JSON value as compact text."""
    if isinstance(content, str):
        return (TextBlock(content),)
    if isinstance(content, Block):
        return (content,)
    if isinstance(content, list | tuple):
        items = cast("Sequence[Json]", content)
        if items and all(isinstance(item, Block) for item in items):
            return tuple(items)
    return (TextBlock(dump(content).decode()),)


def validate_tool_results(messages: Sequence[Json] | Sequence[Message], *, dialect: str) -> list[str]:
    """The ids of calls that no result answers, in order. ``messages`` are the dialect's own, or canonical."""
    return list(_unanswered(_read_turns(messages, dialect).messages))


def repair_tool_results(
    messages: Sequence[Json] | Sequence[Message], *, dialect: str, repair: Literal["synthesize"] = "synthesize"
) -> list[Any]:
    """The history with every call answered: one without a result gets an error result that says so, right behind
    its turn.

    Canonical messages give canonical ones, the dialect's own give the dialect's own.
    """
    request = _read_turns(messages, dialect)
    missing = _unanswered(request.messages)
    if not missing:
        return list(messages)
    repaired: list[Message] = []
    owed: list[ToolResultBlock] = []
    for message in request.messages:
        if owed and message.role is not Role.tool and not _has_results(message):
            repaired.append(Message(Role.tool, tuple(owed)))
        elif owed:
            message = replace(message, content=(*message.content, *owed))
        owed = [_unrecorded(b) for b in message.content if isinstance(b, ToolUseBlock) and b.id in missing]
        repaired.append(message)
    if owed:
        repaired.append(Message(Role.tool, tuple(owed)))
    if all(isinstance(message, Message) for message in messages):
        return repaired
    speaker = find(dialect)
    said: list[Any] = speaker.encode_request(replace(request, messages=tuple(repaired))).body[speaker.history_key]
    return said


def _has_results(message: Message) -> bool:
    return any(isinstance(block, ToolResultBlock) for block in message.content)


_NO_RESULT = "No result was recorded for this call."
"""All that is known: whether the call was run, and what it did, is not in the history."""


def _unrecorded(call: ToolUseBlock) -> ToolResultBlock:
    return ToolResultBlock(call.id, _NO_RESULT, call.name, is_error=True)


def _unanswered(messages: Iterable[Message]) -> dict[str, None]:
    missing: dict[str, None] = {}
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock) and not block.incomplete:
                missing[block.id] = None
            elif isinstance(block, ToolResultBlock):
                missing.pop(block.tool_use_id, None)
    return missing


def _read_turns(messages: Sequence[Any], dialect: str) -> Request:
    if all(isinstance(message, Message) for message in messages):
        return Request(messages)
    speaker = find(dialect)
    return speaker.decode_request({speaker.history_key: list(messages)})

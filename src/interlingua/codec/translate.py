"""Translation of whole bodies and streams between dialects, and tool calls and results in a dialect's own JSON.

Each function decodes with one dialect and encodes with another: no code knows a pair of dialects. What a dialect reads
gets its name (``Origin.dialect``), so that the encoder knows whose signatures the history holds.
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
    """A request body of one dialect in another, with the losses. ``model``, ``stream``: those of the URL, if any."""
    request = find(source).decode_request(body, headers, model, stream)
    if to is None and source != target:
        to = Target(model=request.model)  # the rules of a dialect differ by model
    return find(target).encode_request(request, to)


def validate_request(body: Json, dialect: str) -> None:
    """Raise an ``InvalidRequestError`` for a request body that the dialect's vendor would refuse.

    ``encode_error`` of the same dialect writes the error as the vendor does: the path of the field and what was
    expected. The vendor may still refuse a body that passes: models and accounts differ.
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
    """An answer of one dialect in another, with the losses. ``request``: its request, which some dialects echo."""
    reader, writer = _as_dialect(source), _as_dialect(target)
    response = reader.decode_response(body, headers, request)
    joining = _joining(reader, writer, request)
    encoded = writer.encode_response(joining.response(response), request)
    return replace(encoded, losses=(*joining.losses, *encoded.losses))


def _as_dialect(dialect: str | Dialect) -> Dialect:
    """The dialect of this name, or the dialect that was passed, which may know its provider."""
    return find(dialect) if isinstance(dialect, str) else dialect


def _joining(source: Dialect, target: Dialect, request: Request | None) -> Joining:
    return Joining(target.name, "apart" if source.name == target.name else answer_join(target.text_join, request))


class StreamTranslation:
    """A stream of one dialect in another, without I/O.

    Feed bytes and get bytes; then call ``close`` at their end, or ``fail`` if the transport broke. ``response`` is the
    answer once the stream has ended, partial if it failed; ``error`` is why it failed, and ``losses`` what the target
    could not express so far. A stream that breaks off ends in the target's own error and nothing else.
    """

    response: Response | None = None
    error: AdapterError | None = None

    def __init__(self, *, source: str | Dialect, target: str | Dialect, request: Request | None = None) -> None:
        reader, writer = _as_dialect(source), _as_dialect(target)
        self._decoder, self._encoder = reader.stream_decoder(request), writer.stream_encoder(request)
        self._joining = _joining(reader, writer, request)
        self._losses: list[Loss] = []
        self._seen = [0, 0]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the target could not express so far."""
        for which, found in enumerate((self._joining.losses, self._encoder.losses)):
            self._losses += found[self._seen[which] :]
            self._seen[which] = len(found)
        return tuple(self._losses)

    def feed(self, chunk: bytes) -> bytes:
        """These bytes translated to the target's dialect; often empty."""
        return self._write(self._decoder.feed(chunk))

    def close(self, clean: bool = False) -> bytes:
        """The last bytes of the translation. ``clean``: the transport saw the proper end of the HTTP body."""
        return self._write(self._decoder.close(clean)) + self._encoder.close()

    def fail(self, error: AdapterError) -> bytes:
        """The last bytes where the transport broke: they say this error, unless the answer was complete before."""
        return self._write([_failed(event, error) for event in self._decoder.close()]) + self._encoder.close()

    def _write(self, events: list[Event]) -> bytes:
        if events and type(events[-1]) is MessageComplete:
            last = events[-1]
            self.response, self.error = last.response, last.response.error
        return b"".join([self._encoder.feed(joined) for event in events for joined in self._joining.events(event)])


def _failed(event: Event, error: AdapterError) -> Event:
    """The last event of a stream that broke, with the transport's error instead of the decoder's."""
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
    """A stream of one dialect in another, as it arrives. ``on_loss`` is called for each loss when it is known."""
    translation, reported = StreamTranslation(source=source, target=target, request=request), 0
    for written in _translated(translation, chunks):
        if written:
            yield written
        if on_loss is not None:
            for loss in translation.losses[reported:]:
                reported += 1
                on_loss(loss)


def _translated(translation: StreamTranslation, chunks: Iterable[bytes]) -> Iterator[bytes]:
    yield from map(translation.feed, chunks)
    yield translation.close()


def decode_stream(chunks: Iterable[bytes], *, dialect: str, request: Request | None = None) -> Iterator[Event]:
    """The events of a stream. If it failed, its error is raised at the end, with the partial answer (``response``)."""
    decoder = find(dialect).stream_decoder(request)
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.close()
    if decoder.error is not None:
        raise decoder.error


def parse_tool_calls(body: Json, *, dialect: str, strict: bool = False) -> list[ToolUseBlock]:
    """The calls in an answer; one that was cut off is ``incomplete``.

    ``strict`` raises a ``ParseError`` for calls that were cut off, malformed arguments, and answers with calls that
    stopped for another reason.
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
    """The messages to append to the history after the model's answer ``body``: the answer itself, then the results.

    A call that was cut off takes no result, and is left out of the answer.
    """
    codec = find(dialect)
    response = codec.decode_response(body)
    known = {call.id: call.incomplete for call in response.tool_uses}
    for output in outputs:
        if known.get(output.id):
            raise ParseError(f"the call {output.id} was cut off before it was finished: it takes no result")
        if output.id not in known:
            raise ParseError(f"no call of the answer has the id {output.id}; it has {', '.join(known) or 'none'}")
    results = Message(Role.tool, tuple(_result(output) for output in outputs))
    before = (Message(Role.user, (TextBlock("?"),)),)  # some question: a history may not begin with an answer
    written: list[Json] = codec.encode_messages((*before, codec.as_turn(response), results)).body
    return written[len(codec.encode_messages(before).body) :]


def _result(output: ToolOutput) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=output.id, content=as_blocks(output.content), is_error=output.is_error)


def as_blocks(content: Json) -> tuple[Block, ...]:
    """The content as blocks: text becomes one block, blocks stay, any other JSON value becomes compact text."""
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
    """The ids of calls that have no result, in order. ``messages`` are the dialect's own, or canonical."""
    return list(_unanswered(_read_turns(messages, dialect).messages))


def repair_tool_results(
    messages: Sequence[Json] | Sequence[Message], *, dialect: str, repair: Literal["synthesize"] = "synthesize"
) -> list[Any]:
    """The history with a result for every call: a call without one gets an error result, right behind its turn.

    Canonical messages give canonical messages; the dialect's own give the dialect's own.
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
        owed = [_missing_result(b) for b in message.content if isinstance(b, ToolUseBlock) and b.id in missing]
        repaired.append(message)
    if owed:
        repaired.append(Message(Role.tool, tuple(owed)))
    if all(isinstance(message, Message) for message in messages):
        return repaired
    codec = find(dialect)
    written: list[Any] = codec.encode_request(replace(request, messages=tuple(repaired))).body[codec.history_key]
    return written


def _has_results(message: Message) -> bool:
    return any(isinstance(block, ToolResultBlock) for block in message.content)


_NO_RESULT = "No result was recorded for this call."
"""The history does not tell whether the call was run, so the text does not either."""


def _missing_result(call: ToolUseBlock) -> ToolResultBlock:
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
    codec = find(dialect)
    return codec.decode_request({codec.history_key: list(messages)})

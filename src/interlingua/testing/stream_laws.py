"""The laws of streams.

A stream folds to its whole answer, any split of its bytes gives the same events, every loss is declared, and a stream
that was cut never looks finished.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, zip_longest
from typing import Any

from msgspec.structs import replace

from interlingua.codec.streams.fold import fold, unfold
from interlingua.codec.streams.grammar import StreamGrammar
from interlingua.codec.translate import decode_stream
from interlingua.dialects import DIALECTS, Dialect
from interlingua.errors import AdapterError, ServerError
from interlingua.testing.differences import plain, unexplained
from interlingua.testing.round_trips import DialectOrName, as_dialect, as_json, fail
from interlingua.types import (
    Block,
    BlockComplete,
    BlockStart,
    Event,
    Loss,
    MessageComplete,
    Response,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)

__all__ = [
    "check_any_split",
    "check_cut_stream",
    "check_events",
    "check_failing_stream",
    "check_fold",
    "check_stream_is_whole",
    "decode_bytes",
    "encode_events",
]


def encode_events(dialect: DialectOrName, events: Iterable[Event]) -> tuple[bytes, list[Loss]]:
    """The bytes of a stream, and the losses."""
    encoder = as_dialect(dialect).stream_encoder()
    written = b"".join(encoder.feed(event) for event in events) + encoder.close()
    return written, list(encoder.losses)


def decode_bytes(dialect: DialectOrName, chunks: Iterable[bytes]) -> tuple[list[Event], AdapterError | None]:
    """The events of a stream, checked against the grammar, and the error it ended in."""
    decoder, grammar = as_dialect(dialect).stream_decoder(), StreamGrammar()
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()
    for event in events:
        grammar.check(event)
    if not events or not isinstance(events[-1], MessageComplete):
        raise AssertionError(f"a stream ({as_dialect(dialect).name}) did not end in message.complete")
    return events, decoder.error


def check_fold(response: Response) -> None:
    """Law 5: ``fold(unfold(r)) == r``, without a dialect."""
    found = fold(unfold(response))
    if found != response:
        raise AssertionError(
            "law 5: fold(unfold(r)) differs from r\n" + "\n".join(unexplained(plain(response), plain(found)))
        )


def check_events(dialect: DialectOrName, events: Sequence[Event]) -> list[Loss]:
    """Laws 1 and 5: the bytes of any stream of events, decoded again, fold to the same response."""
    codec, law = as_dialect(dialect), "law 5, stream"
    written, losses = encode_events(codec, events)
    found, error = decode_bytes(codec, [written])
    if error is not None:
        fail(law, codec, f"the stream that we wrote ends in {error!r}", ())
    _explain_stream(law, codec, fold(events), fold(found), losses)
    return losses


def _explain_stream(law: str, codec: Dialect, meant: Response, read: Response, losses: Sequence[Loss]) -> None:
    faults = unexplained(plain(meant), plain(read), losses)
    if faults:
        fail(law, codec, "differences that no loss accounts for", [*faults, *(f"({loss})" for loss in losses)])


def check_stream_is_whole(dialect: DialectOrName, response: Response) -> None:
    """Law 3: a stream folds to the same response as the whole answer with the same content."""
    codec = as_dialect(dialect)
    encoded = codec.encode_response(response)
    whole = codec.decode_response(as_json(encoded.body, "law 3", codec))
    written, losses = encode_events(codec, unfold(whole))
    _compare_stream(codec, whole, written, losses)
    written, losses = encode_events(codec, unfold(response))
    if not any(_GONE.fullmatch(loss.path) for loss in (*losses, *encoded.losses)):
        _compare_stream(codec, whole, written, _in_one(losses, encoded.losses))


_GONE = re.compile(r"content/\d+")  # a block was lost or moved, so other blocks have other paths


def _compare_stream(codec: Dialect, whole: Response, written: bytes, losses: Sequence[Loss]) -> None:
    streamed = fold(decode_bytes(codec, [written])[0])
    faults = unexplained(plain(whole), plain(streamed), losses)
    if whole.raw_stop_reason != streamed.raw_stop_reason:
        faults.append(f"the stop words differ: {whole.raw_stop_reason!r}, {streamed.raw_stop_reason!r}")
    if faults:
        fail("law 3", codec, "the stream differs from the whole answer", faults)


def _in_one(some: Sequence[Loss], others: Sequence[Loss]) -> list[Loss]:
    """Losses at paths where only one side has a loss: a side may express less than the other, but nothing else."""
    both = {loss.path for loss in some} & {loss.path for loss in others}
    return [loss for loss in (*some, *others) if loss.path not in both]


def check_any_split(dialect: DialectOrName, data: bytes, cuts: Iterable[int] | None = None) -> None:
    """Law 4: any split of the bytes gives the same events. ``cuts`` are positions; by default each byte is a chunk."""
    whole, _ = decode_bytes(dialect, [data])
    places = sorted({0, len(data), *(range(len(data)) if cuts is None else cuts)})
    chunks = [data[start:end] for start, end in pairwise(places)]
    found, _ = decode_bytes(dialect, chunks)
    if found != whole:
        codec = as_dialect(dialect)
        differ = (f"{one} became {two}" for one, two in zip_longest(whole, found) if one != two)
        fail("law 4", codec, f"the events differ when the bytes are split at {places}", [next(differ)])


def check_cut_stream(dialect: DialectOrName, response: Response, cuts: Iterable[int] | None = None) -> None:
    """Law 7: a stream that was cut never looks finished; it ends in an error, with the partial answer.

    A stream cut after the protocol's terminal event is finished, and must have all of its content. A block that was
    open at the cut is closed as incomplete.
    """
    codec = as_dialect(dialect)
    written, _ = encode_events(codec, unfold(response))
    whole = fold(decode_bytes(codec, [written])[0])
    finished_at = None
    for cut in range(len(written)) if cuts is None else sorted(cuts):
        events, error = decode_bytes(codec, [written[:cut]])
        last = events[-1]
        assert isinstance(last, MessageComplete)
        if error is not None:
            if finished_at is not None:
                fail("law 7", codec, f"finished when cut at {finished_at}, but not at {cut} of {len(written)}", ())
            _check_failure(codec, last, error, whole, written[:cut])
        elif plain(last.response.content) != plain(whole.content) or last.response.stop_reason != whole.stop_reason:
            fail("law 7", codec, f"cut at {cut} of {len(written)} it looks finished", [repr(last.response)])
        else:
            finished_at = finished_at or cut
    encoder, written = codec.stream_encoder(), b""
    for event in unfold(response):
        written += encoder.feed(event)
        _check_open_blocks(codec, written)


def _check_failure(codec: Dialect, last: MessageComplete, error: AdapterError, whole: Response, written: bytes) -> None:
    partial_ = last.response
    faults: list[str] = []
    if partial_.stop_reason is not StopReason.error:
        faults.append(f"its stop reason is {partial_.stop_reason}")
    if last.error is not error or error.response != partial_:
        faults.append("message.complete and the error do not speak of the same partial answer")
    faults += [
        f"block {index} is not the beginning of what was written: {block!r}"
        for index, block in enumerate(partial_.content)
        if not any(_begins(block, other) for other in whole.content)
    ]
    if codec.name in DIALECTS:
        faults += _raised_faults(codec, written, partial_)
    if faults:
        fail("law 7", codec, f"cut at byte {len(written)}", faults)


def _check_open_blocks(codec: Dialect, written: bytes) -> None:
    """Check that open blocks are closed as incomplete where the bytes end after a frame and before the stream's end."""
    decoder = codec.stream_decoder()
    fed, tail = decoder.feed(written), decoder.close()
    if decoder.error is None:
        return
    opened = {event.index for event in fed if isinstance(event, BlockStart | ToolUseStart)}
    faults = [
        f"block {event.index} was open and is closed as finished: {event.block!r}"
        for event in tail
        if isinstance(event, BlockComplete | ToolUseEnd) and event.index in opened and not event.block.incomplete
    ]
    if faults:
        fail("law 7", codec, f"cut at byte {len(written)}", faults)


def check_failing_stream(dialect: DialectOrName, response: Response) -> None:
    """Law 7: wherever a stream fails, the bytes written end in an error, and no open call is written as finished.

    An encoder gets a failure in two ways, by ``fail`` and by the events of a stream that broke off.
    """
    codec, events = as_dialect(dialect), list(unfold(response))
    for end in range(1, len(events)):
        sent, error = events[:end], ServerError("down")
        finished = sum(isinstance(event, ToolUseEnd) and not event.block.incomplete for event in sent)
        for way, tail in (("fail", []), ("events", _broken_off(sent, error))):
            encoder = codec.stream_encoder()
            written = b"".join([encoder.feed(event) for event in (*sent, *tail)])
            written += b"" if tail else encoder.fail(error)
            read, found = decode_bytes(codec, [written + encoder.close()])
            calls = [call for call in fold(read).tool_uses if not call.incomplete]
            if found is None or len(calls) > finished:
                what = f"failed by {way} after {end} events it looks finished"
                fail("law 7, written", codec, what, [repr(events[end - 1]), repr(written[-300:])])


def _broken_off(sent: Sequence[Event], error: AdapterError) -> list[Event]:
    """The events that end a stream which broke off after ``sent``: open blocks are closed as incomplete."""
    opened: dict[int, Block] = {}
    texts: dict[int, str] = {}
    for event in sent:
        match event:
            case BlockStart() | ToolUseStart():
                opened[event.index], texts[event.index] = event.block, ""
            case TextDelta() | ThinkingDelta():
                texts[event.index] += event.text
            case ToolUseInputDelta():
                texts[event.index] += event.partial_json
            case BlockComplete() | ToolUseEnd():
                del opened[event.index]
            case _:
                pass
    ends = [_closer(index, replace(block, incomplete=True), texts[index]) for index, block in opened.items()]
    return [*ends, MessageComplete(Response((), StopReason.error, error=error), error)]


def _closer(index: int, block: Block, text: str) -> Event:
    if isinstance(block, ToolUseBlock):
        return ToolUseEnd(index, {}, replace(block, input_text=text))
    return BlockComplete(index, replace(block, text=text) if hasattr(block, "text") else block)


def _raised_faults(codec: Dialect, written: bytes, partial_: Response) -> list[str]:
    events: list[Event] = []
    try:
        for event in decode_stream([written], dialect=codec.name):
            events.append(event)  # noqa: PERF402 - the events before the error are needed
    except AdapterError as error:
        complete = bool(events) and isinstance(events[-1], MessageComplete)
        return [] if complete and error.response == partial_ else ["decode_stream raises without the partial answer"]
    return ["decode_stream does not raise"]


def _begins(block: Any, other: Any) -> bool:
    if type(block) is not type(other):
        return False
    if isinstance(block, ToolUseBlock):
        return bool(other.name.startswith(block.name))
    text = getattr(block, "text", None)
    return text is None or bool(other.text.startswith(text))

"""The laws of a dialect, as checks that anybody can run on theirs.

Each check takes a dialect (its name, or an instance) and a value, and raises AssertionError with a sentence that says
which law was broken and where. ``run`` takes the built-in samples through all of them:

    from interlingua.testing import conformance

    conformance.run("my-dialect")

Law 2 (recorded traffic) and law 8 (official SDKs) need recordings and judges from outside and are not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NoReturn

import msgspec
from msgspec.structs import replace

from interlingua.dialects import DIALECTS, Dialect, dialect as find
from interlingua.errors import AdapterError
from interlingua.folding import fold, unfold
from interlingua.grammar import StreamGrammar
from interlingua.testing import samples
from interlingua.testing.differences import form_marks, plain, says, unexplained
from interlingua.testing.edits import changed_nodes, edits
from interlingua.testing.samples import Sample
from interlingua.translate import decode_stream
from interlingua.types import (
    Encoded,
    Event,
    Json,
    Loss,
    Message,
    MessageComplete,
    OpaqueBlock,
    Origin,
    RedactedThinkingBlock,
    Request,
    Response,
    Role,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

__all__ = [
    "Word",
    "check_any_split",
    "check_cut_stream",
    "check_edits",
    "check_error",
    "check_events",
    "check_fold",
    "check_home",
    "check_request",
    "check_response",
    "check_row",
    "check_stream_is_whole",
    
    "checks",
    "decode_bytes",
    "encode_events",
    "run",
]

Speaker = str | Dialect
Word = Literal["yes", "almost", "no"]
"""Whether a dialect has a word for a concept: it comes back, it comes back changed, it is dropped."""


def _speaker(dialect: Speaker) -> Dialect:
    return find(dialect) if isinstance(dialect, str) else dialect


def _fail(law: str, speaker: Dialect, what: str, faults: Iterable[str]) -> NoReturn:
    raise AssertionError(f"{law} ({speaker.name}): {what}\n" + "\n".join(f"  {fault}" for fault in faults))


def _reloaded(value: Any) -> Any:
    """A value after saving and loading."""
    return msgspec.json.decode(msgspec.json.encode(value), type=type(value))


def _as_json(body: Json, law: str, speaker: Dialect) -> Json:
    """A body as it arrives: it must have been a JSON value to begin with."""
    arrived = msgspec.json.decode(msgspec.json.encode(body))
    if arrived != body:
        _fail(law, speaker, "the body is not a JSON value", unexplained(body, arrived))
    return arrived


# -------------------------------------------------------------------------------------------------- law 1: round trips


def check_request(dialect: Speaker, request: Request) -> Encoded:
    """Law 1: what a request meant comes back, or a loss says why not; the second trip changes nothing."""
    speaker = _speaker(dialect)
    read_back = partial(_read_request, speaker, model=request.model, stream=request.stream)
    return _round_trip("law 1, request", speaker, request, speaker.encode_request, read_back)


def _read_request(speaker: Dialect, encoded: Encoded, *, model: str | None, stream: bool | None) -> Request:
    body = _as_json(encoded.body, "law 1, request", speaker)
    return speaker.decode_request(body, encoded.headers, model, stream)


def check_response(dialect: Speaker, response: Response) -> Encoded:
    """Law 1: what an answer said comes back, or a loss says why not; the second trip changes nothing."""
    speaker = _speaker(dialect)
    response = replace(response, raw=None)

    def read_back(encoded: Encoded) -> Response:
        return speaker.decode_response(_as_json(encoded.body, "law 1, response", speaker), encoded.headers)

    return _round_trip("law 1, response", speaker, response, speaker.encode_response, read_back)


def _round_trip(
    law: str,
    speaker: Dialect,
    meant: Any,
    encode: Callable[[Any], Encoded],
    read_back: Callable[[Encoded], Any],
) -> Encoded:
    before = msgspec.json.encode(meant)
    encoded = encode(meant)
    if msgspec.json.encode(meant) != before:
        _fail(law, speaker, "encoding changed the value that it was given", ())
    _same_wire(law, speaker, "after saving and loading", encoded, encode(_reloaded(meant)))
    read = read_back(encoded)
    _explain(law, speaker, meant, read, encoded.losses)
    again = encode(read)
    _same_wire(law, speaker, "after a round trip", encoded, again)
    _same_wire(law, speaker, "after a round trip, saving and loading", encoded, encode(_reloaded(read)))
    if again.losses:
        _fail(law, speaker, "what the dialect itself has read is lost", map(str, again.losses))
    if read_back(again) != read:
        _fail(law, speaker, "a second round trip differs", unexplained(plain(read), plain(read_back(again))))
    return encoded


def _same_wire(law: str, speaker: Dialect, when: str, first: Encoded, second: Encoded) -> None:
    one, two = ([encoded.body, encoded.headers, encoded.path] for encoded in (first, second))
    if one != two:
        _fail(law, speaker, f"the wire differs {when}", unexplained(one, two))


def _explain(law: str, speaker: Dialect, meant: Any, read: Any, losses: Sequence[Loss]) -> None:
    faults = unexplained(plain(meant), plain(read), losses)
    if faults:
        _fail(law, speaker, "differences that no loss accounts for", [*faults, *(f"({loss})" for loss in losses)])
    if not losses and not _from_wire(meant) and form_marks(meant) != form_marks(read):
        _fail(law, speaker, "form marks on what is written as we write it", [str(form_marks(read))])


def _from_wire(value: Request | Response) -> bool:
    """Whether a value holds what only a wire can have said, and is said beside it in the wire's own way."""
    turns = [value.content] if isinstance(value, Response) else [message.content for message in value.messages]
    return any(isinstance(block, OpaqueBlock) for content in turns for block in content)


def check_error(dialect: Speaker, error: AdapterError) -> None:
    """Law 1: an error keeps its class, its words and its hints; once read, it is written and read the same for ever."""
    speaker, law = _speaker(dialect), "law 1, error"
    wire = speaker.encode_error(error)
    if not 400 <= wire.status < 600:
        _fail(law, speaker, f"status {wire.status} is no error", ())
    read = speaker.decode_error(wire.status, wire.headers, wire.body)
    faults = [
        f"{name}: {getattr(error, name)!r} became {getattr(read, name)!r}"
        for name in ("error_class", "retryable", "retry_after")
        if getattr(error, name) != getattr(read, name)
    ]
    if error.message not in read.message:  # a protocol whose only word for a class is a phrase may add it
        faults.append(f"message: {error.message!r} became {read.message!r}")
    if faults:
        _fail(law, speaker, f"{error!r} is not what came back", faults)
    again = speaker.encode_error(read)
    if (again.status, again.body) != (wire.status, wire.body):
        _fail(law, speaker, "the wire differs after a round trip", [str(wire), str(again)])
    if speaker.decode_error(again.status, again.headers, again.body) != read:
        _fail(law, speaker, "a second round trip differs", [repr(read)])


# ------------------------------------------------------------------------------------------------------------- streams


def encode_events(dialect: Speaker, events: Iterable[Event]) -> tuple[bytes, list[Loss]]:
    """The bytes of a stream, and what they could not say."""
    encoder = _speaker(dialect).stream_encoder()
    said = b"".join(encoder.feed(event) for event in events) + encoder.close()
    return said, list(encoder.losses)


def decode_bytes(dialect: Speaker, chunks: Iterable[bytes]) -> tuple[list[Event], AdapterError | None]:
    """The events of a stream, checked against the grammar, and the error it ended in."""
    decoder, grammar = _speaker(dialect).stream_decoder(), StreamGrammar()
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()
    for event in events:
        grammar.check(event)
    if not events or not isinstance(events[-1], MessageComplete):
        raise AssertionError(f"a stream ({_speaker(dialect).name}) did not end in message.complete")
    return events, decoder.error


def check_fold(response: Response) -> None:
    """Law 5: ``fold(unfold(r)) == r``. No dialect is asked."""
    found = fold(unfold(response))
    if found != response:
        raise AssertionError("law 5: fold(unfold(r)) differs from r\n" + "\n".join(unexplained(plain(response), plain(found))))


def check_events(dialect: Speaker, events: Sequence[Event]) -> list[Loss]:
    """Laws 1 and 5: the bytes of any stream of events, decoded again, fold to the same response."""
    speaker, law = _speaker(dialect), "law 5, stream"
    said, losses = encode_events(speaker, events)
    found, error = decode_bytes(speaker, [said])
    if error is not None:
        _fail(law, speaker, f"the stream that we wrote ends in {error!r}", ())
    _explain_stream(law, speaker, fold(events), fold(found), losses)
    return losses


def _explain_stream(law: str, speaker: Dialect, meant: Response, read: Response, losses: Sequence[Loss]) -> None:
    faults = unexplained(plain(meant), plain(read), losses)
    if faults:
        _fail(law, speaker, "differences that no loss accounts for", [*faults, *(f"({loss})" for loss in losses)])


def check_stream_is_whole(dialect: Speaker, response: Response) -> None:
    """Law 3: a stream folds to what the whole answer that says the same decodes to."""
    speaker = _speaker(dialect)
    encoded = speaker.encode_response(response)
    whole = speaker.decode_response(_as_json(encoded.body, "law 3", speaker))
    said, losses = encode_events(speaker, unfold(whole))
    _compare_stream(speaker, whole, said, losses)
    said, losses = encode_events(speaker, unfold(response))
    if not any(_GONE.fullmatch(loss.path) for loss in (*losses, *encoded.losses)):
        _compare_stream(speaker, whole, said, _in_one(losses, encoded.losses))


_GONE = re.compile(r"content/\d+")  # a block was lost or moved: the places of the others are no longer the same


def _compare_stream(speaker: Dialect, whole: Response, said: bytes, losses: Sequence[Loss]) -> None:
    streamed = fold(decode_bytes(speaker, [said])[0])
    faults = unexplained(plain(whole), plain(streamed), losses)
    if whole.raw_stop_reason != streamed.raw_stop_reason:
        faults.append(f"the stop words differ: {whole.raw_stop_reason!r}, {streamed.raw_stop_reason!r}")
    if faults:
        _fail("law 3", speaker, "the stream says something else than the whole", faults)


def _in_one(some: Sequence[Loss], others: Sequence[Loss]) -> list[Loss]:
    """Losses at places where the other has none: one may say less than the other, but not something else."""
    both = {loss.path for loss in some} & {loss.path for loss in others}
    return [loss for loss in (*some, *others) if loss.path not in both]


def check_any_split(dialect: Speaker, data: bytes, cuts: Iterable[int] | None = None) -> None:
    """Law 4: any split of the bytes gives the same events. ``cuts`` are places; without them, each byte is a chunk."""
    whole, _ = decode_bytes(dialect, [data])
    places = sorted({0, len(data), *(range(len(data)) if cuts is None else cuts)})
    chunks = [data[start:end] for start, end in zip(places, places[1:], strict=False)]
    found, _ = decode_bytes(dialect, chunks)
    if found != whole:
        where = next((i for i, (a, b) in enumerate(zip(whole, found, strict=False)) if a != b), min(len(whole), len(found)))
        _fail("law 4", _speaker(dialect), f"event {where} differs when split at {places}", [str(whole[where:][:1]), str(found[where:][:1])])


def check_cut_stream(dialect: Speaker, response: Response, cuts: Iterable[int] | None = None) -> None:
    """Law 7: a stream that was cut never looks finished; it ends in an error, with what was said until then.

    A cut behind the protocol's last word leaves a finished stream, which then must have said all of its content.
    """
    speaker = _speaker(dialect)
    said, _ = encode_events(speaker, unfold(response))
    whole = fold(decode_bytes(speaker, [said])[0])
    finished_at = None
    for cut in range(len(said)) if cuts is None else sorted(cuts):
        events, error = decode_bytes(speaker, [said[:cut]])
        last = events[-1]
        assert isinstance(last, MessageComplete)
        if error is not None:
            if finished_at is not None:
                _fail("law 7", speaker, f"finished when cut at {finished_at}, but not at {cut} of {len(said)}", ())
            _check_failure(speaker, last, error, whole, said[:cut])
        elif plain(last.response.content) != plain(whole.content) or last.response.stop_reason != whole.stop_reason:
            _fail("law 7", speaker, f"cut at {cut} of {len(said)} it looks finished", [repr(last.response)])
        else:
            finished_at = finished_at or cut


def _check_failure(speaker: Dialect, last: MessageComplete, error: AdapterError, whole: Response, said: bytes) -> None:
    partial_ = last.response
    faults: list[str] = []
    if partial_.stop_reason is not StopReason.error:
        faults.append(f"its stop reason is {partial_.stop_reason}")
    if last.error is not error or error.response != partial_:
        faults.append("message.complete and the error do not speak of the same partial answer")
    faults += [
        f"block {index} is not the beginning of what was said: {block!r}"
        for index, block in enumerate(partial_.content)
        if not any(_begins(block, other) for other in whole.content)
    ]
    if speaker.name in DIALECTS:
        faults += _raised_faults(speaker, said, partial_)
    if faults:
        _fail("law 7", speaker, f"cut at byte {len(said)}", faults)


def _raised_faults(speaker: Dialect, said: bytes, partial_: Response) -> list[str]:
    events: list[Event] = []
    try:
        for event in decode_stream([said], dialect=speaker.name):
            events.append(event)
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


# --------------------------------------------------------------------------------------------------- law 6: every row


def check_row(dialect: Speaker, sample: Sample) -> Word:
    """Law 6: one concept, used alone, comes back or is a loss at its place. Tells how the dialect says it."""
    speaker = _speaker(dialect)
    is_request = isinstance(sample.value, Request)
    encoded = check_request(speaker, sample.value) if is_request else check_response(speaker, sample.value)
    kinds = {loss.kind for loss in encoded.losses if loss.kind != "added" and says([loss], sample.path)}
    gone = any(loss.kind == "dropped" and sample.path.startswith(loss.path) for loss in encoded.losses)
    return "no" if gone else "almost" if kinds else "yes"


# ------------------------------------------------------------------------------------------- law 9: round trip home


def check_home(dialect: Speaker, other: Speaker) -> None:
    """Law 9: begun on ``dialect``, continued on ``other``, returned: its own blocks go back byte for byte.

    Neither ever sees what the other signed.
    """
    home, away = _speaker(dialect), _speaker(other)
    asked, begun = Message(Role.user, (TextBlock("and now?"),)), _begin(home)
    continued = _reloaded(Request(messages=(*begun, asked, *_begin(away)[1:], asked))).messages
    alone, returned = home.encode_messages(begun), home.encode_messages(continued)
    if returned.body[: len(alone.body)] != alone.body:
        _fail("law 9", home, f"its turns changed while {away.name} spoke", unexplained(alone.body, returned.body[: len(alone.body)]))
    for reader, writer, messages in ((away, home, begun), (away, home, continued), (home, away, continued)):
        secrets = _secrets(writer.name)
        encoded = reader.encode_request(Request(model="m", max_output_tokens=64, messages=messages))
        leaked = [secret for secret in secrets if secret in msgspec.json.encode(encoded.body).decode()]
        if leaked and reader.name != writer.name:
            _fail("law 9", reader, f"it was told what {writer.name} signed", leaked)


def _begin(speaker: Dialect) -> tuple[Message, ...]:
    """A conversation as it was held with a dialect: a signed thought and a signed call came back on its wire."""
    proof, call_proof, redacted = _secrets(speaker.name)
    call = ToolUseBlock(id=f"call_{len(speaker.name)}", name="add", input={"a": 1}, signature=call_proof)
    thought = ThinkingBlock("hm", signature=proof)
    answer = Response(
        id="r", model="m", content=(thought, RedactedThinkingBlock(redacted), call), stop_reason=StopReason.tool_use
    )
    read = speaker.decode_response(speaker.encode_response(answer).body)
    origin = Origin(dialect=speaker.name)
    results = tuple(ToolResultBlock(tool_use_id=call.id, content=(TextBlock("3"),), name=call.name) for call in read.tool_uses)
    return (
        Message(Role.user, (TextBlock("add"),)),
        Message(Role.assistant, read.content, origin=origin),
        Message(Role.tool, results),
        Message(Role.assistant, (TextBlock("it is 3"),), origin=origin),
    )


def _secrets(name: str) -> tuple[str, str, str]:
    """Base64 that nobody else would write: a thought's proof, a call's proof, a redacted thought."""
    import base64

    words = (f"{kind} of {name}" for kind in ("thought", "call", "redacted"))
    one, two, three = (base64.b64encode(word.encode()).decode() for word in words)
    return one, two, three


# ------------------------------------------------------------------------------------------------- law 10: edits show


def check_edits(dialect: Speaker, request: Request) -> None:
    """Law 10: changing one canonical field changes exactly that place on the wire, also on what was read from it."""
    speaker = _speaker(dialect)
    encoded = speaker.encode_request(request)
    read = speaker.decode_request(encoded.body, encoded.headers, request.model, request.stream)
    for value in (request, read):
        before = speaker.encode_request(value)
        for edit in edits(value):
            after = speaker.encode_request(edit.value)
            nodes = changed_nodes([before.body, before.headers, before.path], [after.body, after.headers, after.path])
            stray = [node for node in nodes if not edit.shows_in(node.after)]
            if stray:
                _fail("law 10", speaker, f"an edit of {edit.path} changes something else", map(str, stray))
            if not nodes and not says(after.losses, edit.path):
                _fail("law 10", speaker, f"an edit of {edit.path} does not show and is not lost", ())


# ---------------------------------------------------------------------------------------------------------------- all


def checks(dialect: Speaker) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every check on the built-in samples, with a name for each."""
    speaker = _speaker(dialect)
    asked, answered = samples.requests(speaker.name), samples.answers(speaker.name)
    for sample in asked:
        yield f"law 1 request, law 6: {sample.concept}", partial(check_row, speaker, sample)
        yield f"law 10: {sample.concept}", partial(check_edits, speaker, sample.value)
    for sample in answered:
        response = sample.value
        yield f"law 1 response, law 6: {sample.concept}", partial(check_row, speaker, sample)
        yield f"law 3: {sample.concept}", partial(check_stream_is_whole, speaker, response)
        yield f"law 4: {sample.concept}", partial(_split_sample, speaker, response)
        yield f"law 5: {sample.concept}", partial(check_fold, response)
        yield f"law 5 stream: {sample.concept}", partial(_stream_sample, speaker, response)
        yield f"law 7: {sample.concept}", partial(_cut_sample, speaker, response)
    for error in samples.errors():
        yield f"law 1 error: {error}", partial(check_error, speaker, error)
    for other in DIALECTS:
        yield f"law 9: by way of {other}", partial(check_home, speaker, other)


def _split_sample(speaker: Dialect, response: Response) -> None:
    check_any_split(speaker, encode_events(speaker, unfold(response))[0])


def _stream_sample(speaker: Dialect, response: Response) -> None:
    check_events(speaker, list(unfold(response)))


def _cut_sample(speaker: Dialect, response: Response) -> None:
    length = len(encode_events(speaker, unfold(response))[0])
    check_cut_stream(speaker, response, range(0, length, max(1, length // 60)))


def run(dialect: Speaker) -> None:
    """All checks on the built-in samples. Raises one AssertionError that tells of everything that failed."""
    faults: list[str] = []
    for name, check in checks(dialect):
        try:
            check()
        except Exception as error:  # noqa: BLE001 - whatever a dialect raises is a finding
            told = str(error) if isinstance(error, AssertionError) else f"  it raised {error!r}"
            faults.append(f"{name}\n{told}")
    if faults:
        raise AssertionError(f"{len(faults)} checks failed\n\n" + "\n\n".join(faults))

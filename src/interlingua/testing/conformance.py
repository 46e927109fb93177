"""The laws of a dialect, as checks that you can run on your own dialect.

Each check takes a dialect (its name, or an instance) and a value, and raises AssertionError with a sentence that says
which law was broken and where. ``run`` runs all checks on the built-in samples:

    from interlingua.testing import conformance

    conformance.run("my-dialect")

Law 2 (recorded traffic) and law 8 (official SDKs) need recordings and other libraries, and are not included.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

import msgspec

from interlingua.codec.streams.fold import unfold
from interlingua.dialects import DIALECTS, Dialect
from interlingua.testing import failures, samples
from interlingua.testing.differences import says, unexplained
from interlingua.testing.edits import changed_nodes, edits
from interlingua.testing.round_trips import (
    DialectOrName,
    as_dialect,
    check_error,
    check_request,
    check_response,
    fail,
    reloaded,
)
from interlingua.testing.samples import Sample
from interlingua.testing.stream_laws import (
    check_any_split,
    check_cut_stream,
    check_events,
    check_failing_stream,
    check_fold,
    check_stream_is_whole,
    decode_bytes,
    encode_events,
)
from interlingua.types import (
    Message,
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
    "check_failing_stream",
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

Word = Literal["yes", "almost", "no"]
"""Whether a dialect can express a concept: it comes back, it comes back changed, or it is dropped."""


# --------------------------------------------------------------------------------------------------- law 6: every row


def check_row(dialect: DialectOrName, sample: Sample) -> Word:
    """Law 6: one concept, used alone, comes back or is a loss at its place. Returns how the dialect expresses it."""
    codec = as_dialect(dialect)
    is_request = isinstance(sample.value, Request)
    encoded = check_request(codec, sample.value) if is_request else check_response(codec, sample.value)
    kinds = {loss.kind for loss in encoded.losses if loss.kind != "added" and says([loss], sample.path)}
    gone = any(loss.kind == "dropped" and sample.path.startswith(loss.path) for loss in encoded.losses)
    return "no" if gone else "almost" if kinds else "yes"


# ------------------------------------------------------------------------------------------- law 9: round trip home


def check_home(dialect: DialectOrName, other: DialectOrName) -> None:
    """Law 9: after a conversation continued on ``other``, the blocks of ``dialect`` are written back byte for byte.

    Neither dialect gets what the other signed.
    """
    home, away = as_dialect(dialect), as_dialect(other)
    question, begun = Message(Role.user, (TextBlock("and now?"),)), _begin(home)
    continued = reloaded(Request(messages=(*begun, question, *_begin(away)[1:], question))).messages
    alone, returned = home.encode_messages(begun), home.encode_messages(continued)
    if returned.body[: len(alone.body)] != alone.body:
        fail(
            "law 9",
            home,
            f"its turns changed after turns of {away.name}",
            unexplained(alone.body, returned.body[: len(alone.body)]),
        )
    for reader, writer, messages in ((away, home, begun), (away, home, continued), (home, away, continued)):
        secrets = _secrets(writer.name)
        encoded = reader.encode_request(Request(model="m", max_output_tokens=64, messages=messages))
        leaked = [secret for secret in secrets if secret in msgspec.json.encode(encoded.body).decode()]
        if leaked and reader.name != writer.name:
            fail("law 9", reader, f"it got state that {writer.name} signed", leaked)


def _begin(codec: Dialect) -> tuple[Message, ...]:
    """A conversation in a dialect, whose answer, read from its wire, has a signed thought and a signed call."""
    proof, call_proof, redacted = _secrets(codec.name)
    call = ToolUseBlock(id=f"call_{len(codec.name)}", name="add", input={"a": 1}, signature=call_proof)
    thought = ThinkingBlock("hm", signature=proof)
    answer = Response(
        id="r", model="m", content=(thought, RedactedThinkingBlock(redacted), call), stop_reason=StopReason.tool_use
    )
    read = codec.decode_response(codec.encode_response(answer).body)
    origin = Origin(dialect=codec.name)
    results = tuple(
        ToolResultBlock(tool_use_id=call.id, content=(TextBlock("3"),), name=call.name) for call in read.tool_uses
    )
    return (
        Message(Role.user, (TextBlock("add"),)),
        Message(Role.assistant, read.content, origin=origin),
        Message(Role.tool, results),
        Message(Role.assistant, (TextBlock("it is 3"),), origin=origin),
    )


def _secrets(name: str) -> tuple[str, str, str]:
    """Base64 that no other dialect writes: the signature of a thought, that of a call, a redacted thought."""
    words = (f"{kind} of {name}" for kind in ("thought", "call", "redacted"))
    one, two, three = (base64.b64encode(word.encode()).decode() for word in words)
    return one, two, three


# ------------------------------------------------------------------------------------------------- law 10: edits show


def check_edits(dialect: DialectOrName, request: Request) -> None:
    """Law 10: changing one canonical field changes only its place on the wire, also in a request that was read."""
    codec = as_dialect(dialect)
    encoded = codec.encode_request(request)
    read = codec.decode_request(encoded.body, encoded.headers, request.model, request.stream)
    for value in (request, read):
        before = codec.encode_request(value)
        for edit in edits(value):
            after = codec.encode_request(edit.value)
            nodes = changed_nodes([before.body, before.headers, before.path], [after.body, after.headers, after.path])
            stray = [node for node in nodes if not edit.shows_in(node.after)]
            if stray:
                fail("law 10", codec, f"an edit of {edit.path} changes something else", map(str, stray))
            if not nodes and not says(after.losses, edit.path):
                fail("law 10", codec, f"an edit of {edit.path} does not show and is not lost", ())


# ---------------------------------------------------------------------------------------------------------------- all


def checks(dialect: DialectOrName) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every check on the built-in samples, with a name for each."""
    codec = as_dialect(dialect)
    for sample in samples.requests(codec.name):
        yield f"law 1 request, law 6: {sample.concept}", partial(check_row, codec, sample)
        yield f"law 10: {sample.concept}", partial(check_edits, codec, sample.value)
    for sample in samples.answers(codec.name):
        response = sample.value
        yield f"law 1 response, law 6: {sample.concept}", partial(check_row, codec, sample)
        yield f"law 3: {sample.concept}", partial(check_stream_is_whole, codec, response)
        yield f"law 4: {sample.concept}", partial(_split_sample, codec, response)
        yield f"law 5: {sample.concept}", partial(check_fold, response)
        yield f"law 5 stream: {sample.concept}", partial(_stream_sample, codec, response)
        yield f"law 7: {sample.concept}", partial(_cut_sample, codec, response)
        yield f"law 7 written: {sample.concept}", partial(check_failing_stream, codec, response)
    for error in failures.errors():
        yield f"law 1 error: {error}", partial(check_error, codec, error)
    for other in DIALECTS:
        yield f"law 9: by way of {other}", partial(check_home, codec, other)


def _split_sample(codec: Dialect, response: Response) -> None:
    check_any_split(codec, encode_events(codec, unfold(response))[0])


def _stream_sample(codec: Dialect, response: Response) -> None:
    check_events(codec, list(unfold(response)))


def _cut_sample(codec: Dialect, response: Response) -> None:
    length = len(encode_events(codec, unfold(response))[0])
    check_cut_stream(codec, response, range(0, length, max(1, length // 60)))


def run(dialect: DialectOrName) -> None:
    """Run all checks on the built-in samples. Raises one AssertionError that lists every failure."""
    faults: list[str] = []
    for name, check in checks(dialect):
        try:
            check()
        except Exception as error:  # noqa: BLE001 - whatever a dialect raises is a finding
            what = str(error) if isinstance(error, AssertionError) else f"  it raised {error!r}"
            faults.append(f"{name}\n{what}")
    if faults:
        raise AssertionError(f"{len(faults)} checks failed\n\n" + "\n\n".join(faults))

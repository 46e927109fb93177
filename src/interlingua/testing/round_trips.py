"""Law 1: what was meant comes back, or a loss says why not. For requests, answers and errors.

And the tools of every law: the dialect that is asked, the sentence that is raised, saving and loading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec.structs import replace

from interlingua.dialects import Dialect, dialect as find
from interlingua.errors import AdapterError
from interlingua.testing.differences import form_marks, plain, unexplained
from interlingua.types import Encoded, Json, Loss, OpaqueBlock, Request, Response

__all__ = ["Speaker", "as_json", "check_error", "check_request", "check_response", "fail", "reloaded", "speaker_of"]

S = TypeVar("S", bound=msgspec.Struct)
Speaker = str | Dialect


def speaker_of(dialect: Speaker) -> Dialect:
    return find(dialect) if isinstance(dialect, str) else dialect


def fail(law: str, speaker: Dialect, what: str, faults: Iterable[str]) -> NoReturn:
    raise AssertionError(f"{law} ({speaker.name}): {what}\n" + "\n".join(f"  {fault}" for fault in faults))


def reloaded(value: S) -> S:
    """A value after saving and loading."""
    return msgspec.json.decode(msgspec.json.encode(value), type=type(value))


def as_json(body: Json, law: str, speaker: Dialect) -> Json:
    """A body as it arrives: it must have been a JSON value to begin with."""
    arrived = msgspec.json.decode(msgspec.json.encode(body))
    if arrived != body:
        fail(law, speaker, "the body is not a JSON value", unexplained(body, arrived))
    return arrived


def check_request(dialect: Speaker, request: Request) -> Encoded:
    """Law 1: what a request meant comes back, or a loss says why not; the second trip changes nothing."""
    speaker = speaker_of(dialect)
    read_back = partial(_read_request, speaker, model=request.model, stream=request.stream)
    return _round_trip("law 1, request", speaker, request, speaker.encode_request, read_back)


def _read_request(speaker: Dialect, encoded: Encoded, *, model: str | None, stream: bool | None) -> Request:
    body = as_json(encoded.body, "law 1, request", speaker)
    return speaker.decode_request(body, encoded.headers, model, stream)


def check_response(dialect: Speaker, response: Response) -> Encoded:
    """Law 1: what an answer said comes back, or a loss says why not; the second trip changes nothing."""
    speaker = speaker_of(dialect)
    response = replace(response, raw=None)

    def read_back(encoded: Encoded) -> Response:
        return speaker.decode_response(as_json(encoded.body, "law 1, response", speaker), encoded.headers)

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
        fail(law, speaker, "encoding changed the value that it was given", ())
    _same_wire(law, speaker, "after saving and loading", encoded, encode(reloaded(meant)))
    read = read_back(encoded)
    _explain(law, speaker, meant, read, encoded.losses)
    again = encode(read)
    _same_wire(law, speaker, "after a round trip", encoded, again)
    _same_wire(law, speaker, "after a round trip, saving and loading", encoded, encode(reloaded(read)))
    if again.losses:
        fail(law, speaker, "what the dialect itself has read is lost", map(str, again.losses))
    if read_back(again) != read:
        fail(law, speaker, "a second round trip differs", unexplained(plain(read), plain(read_back(again))))
    return encoded


def _same_wire(law: str, speaker: Dialect, when: str, first: Encoded, second: Encoded) -> None:
    one, two = ([encoded.body, encoded.headers, encoded.path] for encoded in (first, second))
    if one != two:
        fail(law, speaker, f"the wire differs {when}", unexplained(one, two))


def _explain(law: str, speaker: Dialect, meant: Any, read: Any, losses: Sequence[Loss]) -> None:
    faults = unexplained(plain(meant), plain(read), losses)
    if faults:
        fail(law, speaker, "differences that no loss accounts for", [*faults, *(f"({loss})" for loss in losses)])
    if not losses and not _from_wire(meant) and form_marks(meant) != form_marks(read):
        fail(law, speaker, "form marks on what is written as we write it", [str(form_marks(read))])


def _from_wire(value: Request | Response) -> bool:
    """Whether a value holds what only a wire can have said, and is said beside it in the wire's own way."""
    turns = [value.content] if isinstance(value, Response) else [message.content for message in value.messages]
    return any(isinstance(block, OpaqueBlock) for content in turns for block in content)


def check_error(dialect: Speaker, error: AdapterError) -> None:
    """Law 1: an error keeps its class, its words and its hints; once read, it is written and read the same for ever."""
    speaker, law = speaker_of(dialect), "law 1, error"
    wire = speaker.encode_error(error)
    if not 400 <= wire.status < 600:
        fail(law, speaker, f"status {wire.status} is no error", ())
    read = speaker.decode_error(wire.status, wire.headers, wire.body)
    faults = [
        f"{name}: {getattr(error, name)!r} became {getattr(read, name)!r}"
        for name in ("error_class", "retryable", "retry_after")
        if getattr(error, name) != getattr(read, name)
    ]
    if error.message.strip() not in read.message:  # a protocol whose only word for a class is a phrase may add it
        faults.append(f"message: {error.message!r} became {read.message!r}")
    if faults:
        fail(law, speaker, f"{error!r} is not what came back", faults)
    again = speaker.encode_error(read)
    if (again.status, again.body) != (wire.status, wire.body):
        fail(law, speaker, "the wire differs after a round trip", [str(wire), str(again)])
    if speaker.decode_error(again.status, again.headers, again.body) != read:
        fail(law, speaker, "a second round trip differs", [repr(read)])

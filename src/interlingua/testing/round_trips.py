"""Law 1: a value comes back from the wire unchanged, or a loss says why not. For requests, answers and errors.

The module also has the helpers of all laws: finding the dialect, raising the failure, saving and loading.
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

__all__ = [
    "DialectOrName",
    "as_json",
    "check_error",
    "check_request",
    "check_response",
    "fail",
    "reloaded",
    "as_dialect",
]

S = TypeVar("S", bound=msgspec.Struct)
DialectOrName = str | Dialect


def as_dialect(dialect: DialectOrName) -> Dialect:
    return find(dialect) if isinstance(dialect, str) else dialect


def fail(law: str, codec: Dialect, what: str, faults: Iterable[str]) -> NoReturn:
    raise AssertionError(f"{law} ({codec.name}): {what}\n" + "\n".join(f"  {fault}" for fault in faults))


def reloaded(value: S) -> S:
    """A value after saving and loading."""
    return msgspec.json.decode(msgspec.json.encode(value), type=type(value))


def as_json(body: Json, law: str, codec: Dialect) -> Json:
    """The body after a round trip through JSON text, which must not change it."""
    arrived = msgspec.json.decode(msgspec.json.encode(body))
    if arrived != body:
        fail(law, codec, "the body is not a JSON value", unexplained(body, arrived))
    return arrived


def check_request(dialect: DialectOrName, request: Request) -> Encoded:
    """Law 1: a request comes back unchanged, or a loss says why not; a second round trip changes nothing."""
    codec = as_dialect(dialect)
    read_back = partial(_read_request, codec, model=request.model, stream=request.stream)
    return _round_trip("law 1, request", codec, request, codec.encode_request, read_back)


def _read_request(codec: Dialect, encoded: Encoded, *, model: str | None, stream: bool | None) -> Request:
    body = as_json(encoded.body, "law 1, request", codec)
    return codec.decode_request(body, encoded.headers, model, stream)


def check_response(dialect: DialectOrName, response: Response) -> Encoded:
    """Law 1: an answer comes back unchanged, or a loss says why not; a second round trip changes nothing."""
    codec = as_dialect(dialect)
    response = replace(response, raw=None)

    def read_back(encoded: Encoded) -> Response:
        return codec.decode_response(as_json(encoded.body, "law 1, response", codec), encoded.headers)

    return _round_trip("law 1, response", codec, response, codec.encode_response, read_back)


def _round_trip(
    law: str,
    codec: Dialect,
    meant: Any,
    encode: Callable[[Any], Encoded],
    read_back: Callable[[Encoded], Any],
) -> Encoded:
    before = msgspec.json.encode(meant)
    encoded = encode(meant)
    if msgspec.json.encode(meant) != before:
        fail(law, codec, "encoding changed the value that it was given", ())
    _same_wire(law, codec, "after saving and loading", encoded, encode(reloaded(meant)))
    read = read_back(encoded)
    _explain(law, codec, meant, read, encoded.losses)
    again = encode(read)
    _same_wire(law, codec, "after a round trip", encoded, again)
    _same_wire(law, codec, "after a round trip, saving and loading", encoded, encode(reloaded(read)))
    if again.losses:
        fail(law, codec, "what the dialect itself has read is lost", map(str, again.losses))
    if read_back(again) != read:
        fail(law, codec, "a second round trip differs", unexplained(plain(read), plain(read_back(again))))
    return encoded


def _same_wire(law: str, codec: Dialect, when: str, first: Encoded, second: Encoded) -> None:
    one, two = ([encoded.body, encoded.headers, encoded.path] for encoded in (first, second))
    if one != two:
        fail(law, codec, f"the wire differs {when}", unexplained(one, two))


def _explain(law: str, codec: Dialect, meant: Any, read: Any, losses: Sequence[Loss]) -> None:
    faults = unexplained(plain(meant), plain(read), losses)
    if faults:
        fail(law, codec, "differences that no loss accounts for", [*faults, *(f"({loss})" for loss in losses)])
    if not losses and not _from_wire(meant) and form_marks(meant) != form_marks(read):
        fail(law, codec, "form marks on what is written as we write it", [str(form_marks(read))])


def _from_wire(value: Request | Response) -> bool:
    """Whether a value holds a block that can only come from a wire, so that marks beside it are right."""
    turns = [value.content] if isinstance(value, Response) else [message.content for message in value.messages]
    return any(isinstance(block, OpaqueBlock) for content in turns for block in content)


def check_error(dialect: DialectOrName, error: AdapterError) -> None:
    """Law 1: an error keeps its class, message and hints; once read, it is always written and read the same."""
    codec, law = as_dialect(dialect), "law 1, error"
    wire = codec.encode_error(error)
    if not 400 <= wire.status < 600:
        fail(law, codec, f"status {wire.status} is no error", ())
    read = codec.decode_error(wire.status, wire.headers, wire.body)
    faults = [
        f"{name}: {getattr(error, name)!r} became {getattr(read, name)!r}"
        for name in ("error_class", "retryable", "retry_after")
        if getattr(error, name) != getattr(read, name)
    ]
    if error.message.strip() not in read.message:  # a protocol that expresses a class by a phrase may add the phrase
        faults.append(f"message: {error.message!r} became {read.message!r}")
    if faults:
        fail(law, codec, f"{error!r} is not what came back", faults)
    again = codec.encode_error(read)
    if (again.status, again.body) != (wire.status, wire.body):
        fail(law, codec, "the wire differs after a round trip", [str(wire), str(again)])
    if codec.decode_error(again.status, again.headers, again.body) != read:
        fail(law, codec, "a second round trip differs", [repr(read)])

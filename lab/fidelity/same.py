"""One dialect on its own traffic: requests, whole answers and errors, read and written again.

Exact means equal as JSON. A normalisation is applied only where a body is not exact without it, and is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.codec.streams.fold import fold, unfold
from interlingua.dialects import Dialect, dialect
from interlingua.types.base import Json, Value
from interlingua.types.blocks import OpaqueBlock, ServerToolResultBlock
from interlingua.types.loss import Encoded, Loss
from interlingua.types.request import Request
from interlingua.types.response import Response
from interlingua.types.tools import ServerTool
from lab.fidelity.reasons import NORMALISATIONS
from lab.fidelity.records import Record, has_history
from lab.fidelity.shows import edit_faults
from lab.fidelity.tally import Fault, Tally, raised
from lab.fidelity.trees import ABSENT, count_leaves, covers, differences, pattern, plain, same, structs
from lab.fidelity.usages import usage_faults, wire_usage

__all__ = ["codec", "decoded_request", "measure_error", "measure_request", "measure_whole", "unlike", "wire_of"]

BETAS = "anthropic-beta"


@cache
def codec(name: str) -> Dialect:
    """The dialect of that name, bound to no provider: it reads the union of all spellings."""
    return dialect(name)


def decoded_request(record: Record) -> Request:
    """The recorded request as a canonical one."""
    read = codec(record.dialect).decode_request
    return read(record.request, record.request_headers, record.model, record.streamed)


def wire_of(encoded: Encoded) -> Json:
    """Everything that an encoder writes, as one tree."""
    return {"body": encoded.body, "headers": encoded.headers, "path": encoded.path}


# ------------------------------------------------------------------------------------------------------- requests


def measure_request(tally: Tally, record: Record) -> Request | None:
    """Read a recorded request, write it again, edit it."""
    name = record.dialect
    if record.request is None or not (record.generation or has_history(record)):
        return None
    request = tally.attempt(name, "requests decoded", record.id, lambda: decoded_request(record))
    if request is None:
        return None
    say = codec(name).encode_request
    encoded = tally.attempt(name, "requests encoded", record.id, lambda: say(request))
    if encoded is None:
        return request
    faults = [*exactness(tally, name, record.request, encoded.body), *header_faults(record, encoded), *losses(encoded)]
    tally.check(name, "requests exact", record.id, faults)
    measure_residue(tally, name, "requests", record.request, request)
    measure_laws(tally, record, "requests", request, encoded)
    return request


def exactness(tally: Tally, name: str, wire: Json, said: Json) -> list[Fault]:
    """The first difference between two bodies, unless a named normalisation explains it."""
    if same(wire, said):
        return []
    for normalisation in NORMALISATIONS:
        if same(normalisation.apply(name, wire), said):
            tally.count(name, f"normalised {normalisation.name}")
            return []
    first = next(differences(wire, said))
    what = "added" if first.before is ABSENT else "lost" if first.after is ABSENT else "changed"
    return [Fault(f"{what} {pattern(first.path)}", str(first))]


def header_faults(record: Record, encoded: Encoded) -> Iterator[Fault]:
    """Betas travel in a header, and are part of the request."""
    sent, said = lower(record.request_headers).get(BETAS), lower(encoded.headers).get(BETAS)
    if sent and betas(sent) != betas(said or ""):
        yield Fault(f"header {BETAS}", f"{sent} -> {said}")


def lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in headers.items()}


def betas(header: str) -> list[str]:
    return [word.strip() for word in header.split(",") if word.strip()]


def losses(encoded: Encoded) -> list[Fault]:
    """A fault for the first loss: writing a request in its own dialect must lose nothing."""
    return [Fault(f"loss at {pattern(loss.path)}", f"{loss.path}: {loss.reason}") for loss in encoded.losses[:1]]


# -------------------------------------------------------------------------------------------------- whole answers


def measure_whole(tally: Tally, record: Record) -> None:
    """Read a recorded answer, write it again, write it as a stream, edit it."""
    name, wire = record.dialect, record.whole
    if wire is None or not record.generation:
        return
    read, say = codec(name).decode_response, codec(name).encode_response
    response = tally.attempt(name, "responses decoded", record.id, lambda: read(wire, record.response_headers))
    if response is None:
        return
    encoded = tally.attempt(name, "responses encoded", record.id, lambda: say(response))
    if encoded is None:
        return
    tally.check(name, "responses exact", record.id, [*exactness(tally, name, wire, encoded.body), *losses(encoded)])
    measure_residue(tally, name, "responses", wire, response)
    tally.check(name, "usage", record.id, usage_faults(name, response, wire_usage(name, [wire])))
    if response.error is not None:
        tally.count(name, f"error in a 200: {response.error.error_class}")
        return
    measure_laws(tally, record, "responses", response, encoded)
    measure_unfolded(tally, record, response)


def measure_unfolded(tally: Tally, record: Record, response: Response) -> None:
    """Law 5: a whole answer written as a stream and read again is the same answer."""
    name = record.dialect

    def faults() -> list[Fault]:
        found = [] if fold(unfold(response)) == response else [Fault("fold(unfold(r)) is not r", "")]
        encoder, decoder = codec(name).stream_encoder(), codec(name).stream_decoder()
        said = b"".join([*map(encoder.feed, unfold(response)), encoder.close()])
        return found + list(unlike(response, fold(decoder.feed(said) + decoder.close()), encoder.losses))

    tally.check(name, "law 5: whole said as a stream", record.id, caught(faults))


COMPARED = ("content", "stop_reason", "usage", "id", "model")


def unlike(one: Response, other: Response, losses: Iterable[Loss] = ()) -> Iterator[Fault]:
    """A fault for each field in which two answers differ, without marks, the envelope's residue and declared losses."""
    declared = [loss.path for loss in losses]
    for name in COMPARED:
        for found in differences(plain(getattr(one, name)), plain(getattr(other, name)), name):
            if not any(covers(path, found.path) for path in declared):
                yield Fault(pattern(found.path), str(found))
                break


def caught(work: Any) -> list[Fault]:
    """The faults that some work found; an exception is a fault, too."""
    try:
        found: list[Fault] = work()
    except Exception as error:  # noqa: BLE001 - whatever a dialect raises is a finding
        return [raised(error)]
    return found


# --------------------------------------------------------------------------------------------------------- errors


def measure_error(tally: Tally, record: Record) -> None:
    """Read a recorded error and write it again."""
    if record.error is None:
        return
    name, (status, body) = record.dialect, record.error
    read, say = codec(name).decode_error, codec(name).encode_error
    error = tally.attempt(name, "errors decoded", record.id, lambda: read(status, record.response_headers, body))
    if error is None:
        return
    tally.count(name, f"error class {error.error_class}")
    wire = tally.attempt(name, "errors encoded", record.id, lambda: say(error))
    if wire is not None:
        faults = [] if wire.status == status else [Fault("status", f"{status} -> {wire.status}")]
        tally.check(name, "errors exact", record.id, [*faults, *body_faults(tally, name, body, wire.body)])


def body_faults(tally: Tally, name: str, body: bytes, said: bytes) -> list[Fault]:
    try:
        return exactness(tally, name, msgspec.json.decode(body), msgspec.json.decode(said))
    except msgspec.DecodeError:
        return [] if body == said else [Fault("body that is not JSON", f"{body[:80]!r} -> {said[:80]!r}")]


# ------------------------------------------------------------------------------------------------ residue and laws


def measure_residue(tally: Tally, name: str, what: str, wire: Json, value: Value) -> None:
    """Count the leaves of the wire that no canonical field holds."""
    held: dict[str, list[Json]] = {"residue": [], "opaque": []}
    for part in structs(value):
        if isinstance(part, Value) and part.extras:
            held["residue"].append(part.extras)
        if isinstance(part, OpaqueBlock | ServerTool):
            held["opaque"].append(part.raw)
        elif isinstance(part, ServerToolResultBlock):
            held["opaque"].append(part.content)
    for kind, trees in {"all": [wire], **held}.items():
        every, filled = count_leaves(trees)
        tally.count(name, f"leaves of {what}, {kind}", every)
        tally.count(name, f"leaves of {what}, {kind}, not null", filled)


def measure_laws(tally: Tally, record: Record, what: str, value: Request | Response, encoded: Encoded) -> None:
    """Law 10: the encoding shows edits, never reads ``raw``, and survives saving and loading."""
    name = record.dialect
    say: Any = codec(name).encode_request if isinstance(value, Request) else codec(name).encode_response

    def unkept() -> list[Fault]:
        loaded = msgspec.json.decode(msgspec.json.encode(value), type=type(value))
        copies = {"saving and loading": loaded}
        if isinstance(value, Response):
            copies["clearing raw"] = replace(value, raw=None)
        said = wire_of(encoded)
        return [
            Fault(f"{how} changes the encoding", str(next(differences(said, wire_of(say(copy))))))
            for how, copy in copies.items()
            if not same(said, wire_of(say(copy)))
        ]

    tally.check(name, f"{what} saved and loaded", record.id, caught(unkept))
    for path, faults in edit_faults(record.id, value, say, encoded):
        tally.count(name, f"edited {pattern(path)}")
        tally.check(name, f"{what} edited", record.id, faults)

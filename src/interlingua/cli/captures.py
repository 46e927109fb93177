"""Reads the bodies in a recording: HAR of a browser or proxy, our cassettes, VCR's in any language, and JSON lines."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, BinaryIO, NamedTuple

import msgspec
from msgspec import Struct, field

from ..codec.json import is_object
from ..testing.cassettes.recording import File, chunks_of
from ..types.base import Json
from .failures import CommandError, missing_extra
from .reading import Head, parse

__all__ = ["RecordedBody", "recorded_bodies"]


class RecordedBody(NamedTuple):
    """One body of a recording. ``number`` counts exchanges from 1; ``status`` is the status of an answer."""

    number: int
    data: bytes
    status: int | None = None


Exchange = tuple[bytes, bytes, int]
"""A request, its answer, and the status of the answer."""


def recorded_bodies(source: BinaryIO) -> Iterator[RecordedBody]:
    """The bodies of a recording; a file that is no recording is one body itself."""
    try:
        yield from _bodies(Head(source))
    except (binascii.Error, msgspec.ValidationError) as error:
        raise CommandError(f"this recording cannot be read: {error}") from None


def _bodies(head: Head) -> Iterator[RecordedBody]:
    if head.is_stream():
        yield RecordedBody(1, head.everything())
    elif head.first_line() is not None:
        yield from _numbered(_exchange_of_line(line) for line in _lines(head))
    else:
        data = head.everything()
        read = _exchanges_of(data)
        yield from (RecordedBody(1, data),) if read is None else _numbered(read)


def _numbered(exchanges: Iterator[Exchange]) -> Iterator[RecordedBody]:
    for number, (request, answer, status) in enumerate(exchanges, 1):
        if request.strip():
            yield RecordedBody(number, request)
        if answer.strip():
            yield RecordedBody(number, answer, status or None)


def _lines(head: Head) -> Iterator[bytes]:
    """The lines that are not empty, one by one while the input is read."""
    left = b""
    for chunk in head.chunks():
        *whole, left = (left + chunk).split(b"\n")
        yield from filter(bytes.strip, whole)
    if left.strip():
        yield left


def _exchanges_of(data: bytes) -> Iterator[Exchange] | None:
    """The exchanges of a recording that is one document; None if the document is a body."""
    if data.lstrip().startswith(b"{"):
        document = parse(data)
    elif b"interactions:" in data:
        document = _yaml(data)
    else:
        return None
    found = next(((kind, read) for key, (kind, read) in FORMATS.items() if key in document), None)
    return None if found is None else found[1](msgspec.convert(document, found[0]))


# ------------------------------------------------------------------------------------------------------------ formats


class HarText(Struct, frozen=True):
    """A body in a HAR file."""

    text: str | None = None
    encoding: str | None = None


class HarRequest(Struct, frozen=True):
    """A request in a HAR file."""

    post_data: HarText | None = field(default=None, name="postData")


class HarResponse(Struct, frozen=True):
    """An answer in a HAR file."""

    status: int = 0
    content: HarText = HarText()


class HarEntry(Struct, frozen=True):
    """An exchange in a HAR file."""

    request: HarRequest = HarRequest()
    response: HarResponse = HarResponse()


class HarLog(Struct, frozen=True):
    """The exchanges of a HAR file."""

    entries: tuple[HarEntry, ...] = ()


class Har(Struct, frozen=True):
    """A HAR file."""

    log: HarLog


class VcrBody(Struct, frozen=True):
    """A body as VCR writes it."""

    string: Json = None
    base64_string: str | None = None


class VcrStatus(Struct, frozen=True):
    """A status as VCR writes it."""

    code: int = 0


class VcrHalf(Struct, frozen=True):
    """A request or an answer in a VCR cassette. Some recorders keep the parsed JSON; Go's calls the status ``code``."""

    body: Json = None
    parsed_body: Json = None
    status: VcrStatus | int | str = 0
    code: int = 0


class VcrExchange(Struct, frozen=True):
    """An exchange in a VCR cassette."""

    request: VcrHalf = VcrHalf()
    response: VcrHalf = VcrHalf()


class Vcr(Struct, frozen=True):
    """A VCR cassette."""

    interactions: tuple[VcrExchange, ...] = ()


class RubyVcr(Struct, frozen=True):
    """A cassette of Ruby's VCR, whose key differs from that of VCRs in other languages."""

    http_interactions: tuple[VcrExchange, ...] = ()


class Line(Struct, frozen=True):
    """An exchange on one line of a JSON lines file."""

    request: Json = None
    response: Json = None
    response_text: str | None = None
    response_b64: str | None = None
    status: int | None = None


def _har(file: Har) -> Iterator[Exchange]:
    for entry in file.log.entries:
        yield _har_text(entry.request.post_data), _har_text(entry.response.content), entry.response.status


def _har_text(body: HarText | None) -> bytes:
    if body is None or body.text is None:
        return b""
    return b64decode(body.text) if body.encoding == "base64" else body.text.encode()


def _cassette(file: File) -> Iterator[Exchange]:
    for one in file.recordings:
        yield b"".join(chunks_of(one.request)), b"".join(chunks_of(one.response)), one.response.status


def _vcr(file: Vcr) -> Iterator[Exchange]:
    return map(_vcr_exchange, file.interactions)


def _ruby_vcr(file: RubyVcr) -> Iterator[Exchange]:
    return map(_vcr_exchange, file.http_interactions)


def _vcr_exchange(one: VcrExchange) -> Exchange:
    status = one.response.status
    code = status.code if isinstance(status, VcrStatus) else status if isinstance(status, int) else 0
    return _vcr_body(one.request), _vcr_body(one.response), code or one.response.code


def _one_exchange(document: dict[str, Any]) -> Iterator[Exchange]:
    """The exchange of a document that is only one, in the form of VCR or of a line of JSON lines."""
    request = document["request"]
    if is_object(request) and "method" in request:
        return iter([_vcr_exchange(msgspec.convert(document, VcrExchange))])
    return iter([_exchange_of_line(msgspec.json.encode(document))])


def _vcr_body(half: VcrHalf) -> bytes:
    body = half.body
    if is_object(body):
        read = msgspec.convert(body, VcrBody)
        body = b64decode(read.base64_string) if read.base64_string else read.string
    return _as_bytes(half.parsed_body if body is None else body)


def _as_bytes(value: Json) -> bytes:
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else msgspec.json.encode(value)


FORMATS: dict[str, tuple[Any, Callable[[Any], Iterator[Exchange]]]] = {
    # a key that only this format has at its top
    "log": (Har, _har),
    "recordings": (File, _cassette),
    "interactions": (Vcr, _vcr),
    "http_interactions": (RubyVcr, _ruby_vcr),
    "request": (dict[str, Any], _one_exchange),
}


def _exchange_of_line(line: bytes) -> Exchange:
    """The exchange on a line with ``request`` and ``response``; any other line is the body of a request."""
    row = parse(line)
    if not is_object(row) or row.keys().isdisjoint(Line.__struct_fields__[:-1]):
        return line, b"", 0
    try:
        read = msgspec.convert(row, Line)
    except msgspec.ValidationError:
        return line, b"", 0
    answer = _as_bytes(read.response or read.response_text)
    return _as_bytes(read.request), answer or b64decode(read.response_b64 or ""), read.status or 0


def _yaml(data: bytes) -> Json:
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        raise missing_extra("reading a YAML cassette", "config") from None
    try:
        return yaml.load(data, _loader(yaml)) or {}
    except yaml.YAMLError as error:
        raise CommandError(f"this is no YAML: {' '.join(str(error).split())}") from None


def _loader(yaml: Any) -> Any:
    """A safe YAML loader that also reads ``!binary``, Ruby's tag for bytes."""
    loader: Any = type("Loader", (yaml.SafeLoader,), {})
    loader.add_constructor("!binary", yaml.SafeLoader.construct_yaml_binary)
    return loader

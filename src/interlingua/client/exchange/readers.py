"""Readers of one attempt's answer, chosen by its status and content type: bytes in, events out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ...codec.limits import ERROR_TEXT, is_deep, too_deep, too_long
from ...codec.streams.fold import unfold
from ...codec.streams.lenient import strictly
from ...errors import AdapterError, CancelledError, NetworkError, ParseError
from ...types.base import Json
from ...types.events import Event, MessageComplete, MessageStart
from ...types.messages import Origin
from ...types.response import Response

if TYPE_CHECKING:
    from .exchange import Exchange

__all__ = ["AnswerReader", "ErrorReader", "reader_type"]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

NOT_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)
EVENT_TYPES = ("text/event-stream", "application/vnd.amazon.eventstream")
LINE_TYPES = ("application/x-ndjson",)
JSON_TYPES = ("application/json", "")
FOREIGN_TYPES = ("text/html", "text/xml", "application/xml", "image/", "audio/", "video/")


class AnswerReader:
    """Collects the bytes of an answer and decodes them at the end. Then ``response``, and ``error`` if any, are set."""

    response: Response | None = None
    error: AdapterError | None = None
    successor: AnswerReader | None = None
    """The reader that has taken over, after it was seen what the answer is."""

    def __init__(self, exchange: Exchange, status: int, headers: Mapping[str, str]) -> None:
        self.exchange, self.status, self.headers = exchange, status, headers
        self.chunks: list[bytes] = []
        self.size = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""
        self.chunks.append(chunk)
        self.size += len(chunk)
        limit = self.exchange.limits.body
        if limit is not None and self.size > limit:
            self.chunks.clear()
            problem = f"the answer of {self.exchange.provider.name} {too_long('body', limit)}"
            raise ParseError(problem, provider_status=self.status)
        return []

    def end(self, error: AdapterError | None = None) -> list[Event]:
        """The events that are left at the end of the bytes. ``error``: why they ended early (broken or cancelled)."""
        if self.response is not None:
            return []
        if error is not None:
            return self.fail(error)
        chunks = self.chunks
        return self.read_body(chunks[0] if len(chunks) == 1 else b"".join(chunks))

    def read_body(self, body: bytes) -> list[Event]:
        """Decode the whole body."""
        raise NotImplementedError

    def fail_undecodable(self, body: bytes, why: str) -> list[Event]:
        """Fail with a ``ParseError`` that says why the body cannot be decoded."""
        body = self.exchange.scrub(body)
        problem = f"the answer of {self.exchange.provider.name} {why}: {_excerpt(body)}"
        return self.fail(ParseError(problem, provider_status=self.status), _as_json_or_text(body))

    def fail(self, error: AdapterError, raw: Json = None) -> list[Event]:
        """End the answer with an error and without content. Only a cancelled call gets events for it."""
        self.error = error
        self.response = self.exchange.partial(error.response or Response(), error, raw)
        return list(unfold(self.response)) if isinstance(error, CancelledError) else []


class ErrorReader(AnswerReader):
    """Reads an answer whose status is not 2xx. The status is reported even if the body is cut or too long."""

    def feed(self, chunk: bytes) -> list[Event]:
        limit = self.exchange.limits.error
        left = None if limit is None else limit - self.size
        self.chunks.append(chunk[:left])
        self.size += len(chunk)
        return [] if left is None or len(chunk) <= left else self.end()  # the rest is not read

    def end(self, error: AdapterError | None = None) -> list[Event]:
        if self.response is not None:
            return []
        if isinstance(error, CancelledError):
            return self.fail(error)
        body, raw = self._parse(self.exchange.scrub(b"".join(self.chunks)))
        return self.fail(self.exchange.dialect.decode_error(self.status, self.headers, body), raw)

    def _parse(self, body: bytes) -> tuple[bytes, Json]:
        """The body as strict JSON, and its value. What is not JSON, or nested too deeply, is a text."""
        try:
            raw, approximated = parse_json(body)
        except (msgspec.DecodeError, UnicodeError):
            return body, _as_text(body)
        except RecursionError:
            pass
        else:
            body = _encode(raw) if approximated else body
            if not is_deep(body, self.exchange.limits.depth, raw):
                return body, raw
        body = body[: min(ERROR_TEXT, len(body) - 1)]  # cut, so that it is no longer JSON
        return body, _as_text(body)


class ForeignReader(AnswerReader):
    """Reads a 2xx answer that no model API gives, such as HTML: the base URL is wrong, or a proxy answered."""

    def read_body(self, body: bytes) -> list[Event]:
        kind = self.headers.get("content-type", "")
        return self.fail_undecodable(body, f"is {kind} and neither JSON nor events; is the base URL right?")


class JsonReader(AnswerReader):
    """Reads a JSON answer."""

    def read_body(self, body: bytes) -> list[Event]:
        try:
            wire, approximated = parse_json(body)
        except NOT_JSON as error:
            return self.fail_undecodable(body, f"is not JSON ({error})")
        if not isinstance(wire, dict | list):
            return self.fail_undecodable(body, "is not a JSON object")
        return self.decode(body, wire, approximated=approximated)

    def decode(self, body: bytes, wire: Json, *, approximated: bool) -> list[Event]:
        """Decode the value of a JSON body. An error inside a 200 is an error."""
        exchange = self.exchange
        if is_deep(body, exchange.limits.depth, wire):
            return self.fail_undecodable(body, too_deep(exchange.limits.depth))
        try:
            response = exchange.dialect.decode_response(wire, self.headers, exchange.request)
        except AdapterError as error:
            error.provider_status = self.status
            return self.fail(error, wire)
        if isinstance(response.error, AdapterError):
            response.error.response = response
            self.fail(response.error, wire)
        else:
            self.response = exchange.stamp(response, wire, approximated=approximated)
        assert self.response is not None
        return list(unfold(self.response)) if exchange.stream else []


class StreamReader(AnswerReader):
    """Reads a stream as it comes. Origin and losses are written on its first and its last event."""

    def __init__(self, exchange: Exchange, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(exchange, status, headers)
        self.decoder = exchange.dialect.stream_decoder(exchange.request)
        self.decoder.tolerant = True
        self.decoder.accept(exchange.limits)
        self.started = False

    def feed(self, chunk: bytes) -> list[Event]:
        if self.response is not None:
            return []
        events = self.decoder.feed(chunk)
        if events and (not self.started or type(events[-1]) is MessageComplete):
            self._stamp(events, None)
        return events

    def end(self, error: AdapterError | None = None) -> list[Event]:
        if self.response is not None:
            return []
        events = self.decoder.close(clean=error is None and _has_explicit_end(self.headers))
        self._stamp(events, error)
        return events

    def _stamp(self, events: list[Event], error: AdapterError | None) -> None:
        """Write the origin on the first event, and the call's facts and the cause of a cut on the last."""
        first, last = events[0], events[-1]
        if type(first) is MessageStart and not self.started:
            self.started = True
            model = first.model or self.exchange.model
            origin = Origin(self.exchange.provider.name, self.exchange.dialect.name, model)
            events[0] = replace(first, model=model, origin=origin)
        if type(last) is MessageComplete:
            self.error = _cause_of_failure(last.error, error)
            if self.error is None:
                self.response = self.exchange.stamp(last.response, approximated=self.decoder.approximated)
            else:
                self.response = self.exchange.partial(last.response, self.error)
            events[-1] = MessageComplete(self.response, self.error, last.extras)


class StreamOrJsonReader(JsonReader):
    """Reads a stream, or JSON in its place: a whole answer, an error, or a stream written as JSON lines.

    The first byte decides, because content types are often wrong: no event line and no frame begins with a brace. A
    stream is read by its successor.
    """

    def feed(self, chunk: bytes) -> list[Event]:
        if not self.chunks and chunk.lstrip()[:1] not in (b"{", b""):
            self.successor = StreamReader(self.exchange, self.status, self.headers)
            return self.successor.feed(chunk)
        return super().feed(chunk) if self.chunks or chunk.strip() else []  # blank lines may come before either

    def end(self, error: AdapterError | None = None) -> list[Event]:
        if self.response is not None:
            return []
        body = b"".join(self.chunks)
        if error is None and (read := self._read_json(body)) is not None:
            return read
        stream = StreamReader(self.exchange, self.status, self.headers)
        # JSON lines are a stream; anything else is half a JSON value, a cut answer in any framing
        events = stream.feed(body) if b"\n" in body.strip() else []
        events += stream.end(error)
        self.response, self.error = stream.response, stream.error
        return events

    def _read_json(self, body: bytes) -> list[Event] | None:
        """The events of a body that is one JSON value; None if it is not."""
        try:
            wire, approximated = parse_json(body)
        except RecursionError as error:
            return self.fail_undecodable(body, f"is not JSON ({error})")
        except NOT_JSON:
            return None
        return self.decode(body, wire, approximated=approximated)


@lru_cache(maxsize=64)
def reader_type(content_type: str, stream: bool) -> type[AnswerReader]:
    """The reader for a 2xx answer of that type. ``stream``: whether a stream was requested."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith(FOREIGN_TYPES):
        return ForeignReader
    if kind in LINE_TYPES or (stream and kind not in EVENT_TYPES and kind not in JSON_TYPES):
        return StreamReader
    return StreamOrJsonReader if stream or kind in EVENT_TYPES else JsonReader


def parse_json(body: bytes) -> tuple[Json, bool]:
    """The value of a JSON body, and whether it was approximated: NaN, Infinity and lone surrogates are not strict."""
    try:
        return _decode(body), False
    except NOT_JSON:
        strict = strictly(body)
        if strict is None:
            raise
        return _decode(strict), True


def _has_explicit_end(headers: Mapping[str, str]) -> bool:
    """Whether the end of the body is marked, so that a transport raises if it is cut.

    Any other body ends with its connection, and a cut cannot be told from the end.
    """
    return "content-length" in headers or "chunked" in headers.get("transfer-encoding", "").lower()


def _cause_of_failure(decoded: Any, error: AdapterError | None) -> AdapterError | None:
    """Why a stream failed. A cancellation comes first; a broken connection replaces the decoder's own "cut" error."""
    if isinstance(error, CancelledError) or (error is not None and isinstance(decoded, NetworkError)):
        if isinstance(decoded, AdapterError):
            decoded.response = None  # breaks the reference cycle of an error that nobody will see
        return error
    return decoded if isinstance(decoded, AdapterError) else None


def _as_json_or_text(body: bytes) -> Json:
    try:
        return _decode(body)
    except NOT_JSON:
        return _as_text(body)


def _as_text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def _excerpt(body: bytes) -> str:
    text = " ".join(_as_text(body[:400]).split())
    return repr(text[:200]) if text else "nothing"

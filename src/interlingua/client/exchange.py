"""One call without I/O: an HTTP request out; status, headers and bytes in; events, a Response or an error out.

No await, no clock, no chance: the same bytes always give the same answer. Attempts and latency are the client's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import force_setattr, replace

from ..codec.fold import unfold
from ..codec.lenient import NOT_STRICT, strictly
from ..codec.limits import ERROR_TEXT, is_deep, too_deep, too_long
from ..dialects import Dialect
from ..errors import AdapterError, CancelledError, InvalidRequestError, NetworkError, ParseError
from ..models.providers import Provider
from ..types.base import Json
from ..types.capabilities import Target
from ..types.events import Event, MessageComplete, MessageStart
from ..types.loss import Loss
from ..types.messages import Origin
from ..types.request import Request
from ..types.response import Response
from ..types.words import StopReason
from .addressing import HOSTED_DIALECTS, Address, betas_of, hosted_form, lay_over
from .config import AdapterConfig
from .http import HttpRequest, Timeouts
from .secrets import MASK, masked

__all__ = ["Exchange", "Reading"]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

NOT_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)
EVENT_TYPES = ("text/event-stream", "application/vnd.amazon.eventstream")
LINE_TYPES = ("application/x-ndjson",)
WHOLE_TYPES = ("application/json", "")
FOREIGN_TYPES = ("text/html", "text/xml", "application/xml", "image/", "audio/", "video/")


class Exchange:
    """What one model call says. ``losses`` is known before anything is sent; each attempt reads its own answer."""

    def __init__(
        self,
        provider: Provider,
        config: AdapterConfig,
        dialect: Dialect,
        request: Request,
        target: Target | None = None,
        *,
        stream: bool = False,
        address: Address | None = None,
        losses: tuple[Loss, ...] = (),
    ) -> None:
        options, self.limits = config.options, config.limits
        betas = betas_of(request.betas, config) if options else request.betas
        if request.stream is not stream or betas is not request.betas:
            request = replace(request, stream=stream, betas=betas)
        self.request, self.provider, self.dialect, self.stream = request, provider, dialect, stream
        self.model = request.model or (target.model if target else None)
        encoded = dialect.encode_request(request, target)
        self.losses = (*losses, *encoded.losses) if losses else encoded.losses
        path, body = encoded.path, encoded.body
        if provider.name in HOSTED_DIALECTS:
            path, body = hosted_form(provider, self.model, path, body, stream=stream)
        if path is None:
            raise InvalidRequestError("the request names no model", provider=provider.name)
        self.address = address = address or Address(provider, config)
        self.url, self.headers = address.url(path), address.headers(encoded.headers)
        more = options.get("body") if options else None
        self.body = _encode(lay_over(body, more) if more else body)

    @property
    def origin(self) -> Origin:
        """Whose answer it will be, as long as no answer says its model."""
        return Origin(self.provider.name, self.dialect.name, self.model)

    def scrub(self, body: bytes) -> bytes:
        """A body without our keys: some servers quote the key that they refuse."""
        for secret in self.address.secrets:
            body = body.replace(secret.encode(), MASK.encode())
        return body

    def http(self, timeouts: Timeouts) -> HttpRequest:
        """The request of one attempt."""
        return HttpRequest("POST", self.url, self.headers, self.body, timeouts)

    def read(self, status: int, headers: Mapping[str, str]) -> Reading:
        """Begin to read an answer. Header names are lower-case."""
        if not 200 <= status < 300:
            return _Refused(self, status, headers)
        return _reading_of(headers.get("content-type", ""), self.stream)(self, status, headers)

    def partial(self, response: Response, error: AdapterError, raw: Json = None) -> Response:
        """What there is of a failed answer, tied to its error."""
        reason = StopReason.cancelled if isinstance(error, CancelledError) else StopReason.error
        secrets = self.address.secrets
        mask_error(error, secrets)
        response = replace(response, stop_reason=reason, error=error, extras=masked(response.extras, secrets))
        response = self.stamp(response, masked(raw, secrets))
        self.name(error)
        error.response = response
        return response

    def stamp(self, response: Response, raw: Json = None, *, approximated: bool = False) -> Response:
        """What no wire says: whose answer it is, to which request, and what was lost on the way.

        It is written on the response itself, which was just read and which nobody else has seen.
        """
        model = response.model or self.model
        force_setattr(response, "model", model)
        force_setattr(response, "request_id", self.request.request_id)
        force_setattr(response, "origin", Origin(self.provider.name, self.dialect.name, model))
        force_setattr(response, "losses", (*self.losses, NOT_STRICT) if approximated else self.losses)
        force_setattr(response, "raw", raw)
        return response

    def name(self, error: AdapterError) -> None:
        """Say who failed, where, in which call and what may help; the provider's own id of the call is a note."""
        if error.request_id not in (None, self.request.request_id):
            error.add_note(f"{self.provider.name} calls this request {error.request_id}")
        error.provider, error.request_id = self.provider.name, self.request.request_id
        self.address.explain(error, self.url, self.model)


class Reading:
    """The answer of one attempt: bytes in, events out. ``response`` or ``error`` is there when it is ``over``."""

    response: Response | None = None
    error: AdapterError | None = None
    approximated = False

    def __init__(self, exchange: Exchange, status: int, headers: Mapping[str, str]) -> None:
        self.exchange, self.status, self.headers = exchange, status, headers
        self.chunks: list[bytes] = []
        self.size = 0

    @property
    def over(self) -> bool:
        """Whether the last word was read; what follows on the wire means nothing."""
        return self.response is not None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""
        self.keep(chunk)
        return []

    def keep(self, chunk: bytes) -> None:
        """Put bytes by until the whole body is there."""
        self.chunks.append(chunk)
        self.size += len(chunk)
        most = self.exchange.limits.body
        if most is not None and self.size > most:
            self.chunks.clear()
            problem = f"the answer of {self.exchange.provider.name} {too_long('body', most)}"
            raise ParseError(problem, provider_status=self.status)

    def end(self, error: AdapterError | None = None) -> list[Event]:
        """The bytes are over, of themselves or (``error``) because the connection broke or the caller cancelled."""
        if self.response is not None:
            return []
        if error is not None:
            return self.fail(error)
        chunks = self.chunks
        return self.whole(chunks[0] if len(chunks) == 1 else b"".join(chunks))

    def whole(self, body: bytes) -> list[Event]:
        """Read the whole body."""
        raise NotImplementedError

    def garbled(self, body: bytes, why: str) -> list[Event]:
        """The body is in no language that we read."""
        body = self.exchange.scrub(body)
        problem = f"the answer of {self.exchange.provider.name} {why}: {_excerpt(body)}"
        return self.fail(ParseError(problem, provider_status=self.status), _raw(body))

    def fail(self, error: AdapterError, raw: Json = None) -> list[Event]:
        """The answer is a failure with nothing of its own to show; only a cancelled one is said in events."""
        self.error = error
        self.response = self.exchange.partial(error.response or Response(), error, raw)
        return list(unfold(self.response)) if isinstance(error, CancelledError) else []


class _Refused(Reading):
    """An answer that is not 2xx. A connection that breaks within it does not hide the status, nor does its length."""

    def feed(self, chunk: bytes) -> list[Event]:
        most = self.exchange.limits.error
        left = None if most is None else most - self.size
        self.chunks.append(chunk[:left])
        self.size += len(chunk)
        return [] if left is None or len(chunk) <= left else self.end()  # the rest is not read

    def end(self, error: AdapterError | None = None) -> list[Event]:
        if self.response is not None:
            return []
        if isinstance(error, CancelledError):
            return self.fail(error)
        body = _strict(self.exchange.scrub(b"".join(self.chunks)))
        if is_deep(body, self.exchange.limits.depth):
            body = body[: min(ERROR_TEXT, len(body) - 1)]  # no JSON any more, so it is kept as a text
        decoded = self.exchange.dialect.decode_error(self.status, self.headers, body)
        return self.fail(decoded, _raw(body))


class _Foreign(Reading):
    """A 2xx answer in a language that no model speaks: most often a wrong base URL, or a proxy's own page."""

    def whole(self, body: bytes) -> list[Event]:
        kind = self.headers.get("content-type", "")
        return self.garbled(body, f"is {kind} and neither JSON nor events; is the base URL right?")


class _Whole(Reading):
    """A JSON answer."""

    def whole(self, body: bytes) -> list[Event]:
        try:
            wire = _decode(body)
        except NOT_JSON as error:
            strict = strictly(body)
            if strict is None:
                return self.garbled(body, f"is not JSON ({error})")
            wire, self.approximated = _decode(strict), True
        if not isinstance(wire, dict | list):
            return self.garbled(body, "is not a JSON object")
        if is_deep(body, self.exchange.limits.depth, wire):
            return self.garbled(body, too_deep(self.exchange.limits.depth))
        return self.say(wire)

    def say(self, wire: Json) -> list[Event]:
        """The answer in a JSON value; an error inside a 200 is an error."""
        exchange = self.exchange
        try:
            response = exchange.dialect.decode_response(wire, self.headers, exchange.request)
        except AdapterError as error:
            error.provider_status = self.status
            return self.fail(error, wire)
        if isinstance(response.error, AdapterError):
            response.error.response = response
            self.fail(response.error, wire)
        else:
            self.response = exchange.stamp(response, wire, approximated=self.approximated)
        assert self.response is not None
        return list(unfold(self.response)) if exchange.stream else []


class _Streamed(Reading):
    """An answer as it comes. The last event is held to the call's own facts."""

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
            self.mark(events, None)
        return events

    def end(self, error: AdapterError | None = None) -> list[Event]:
        if self.over:
            return []
        events = self.decoder.close(clean=error is None and _says_its_end(self.headers))
        self.mark(events, error)
        return events

    def mark(self, events: list[Event], error: AdapterError | None) -> None:
        """Put the origin on the first event, and the call's facts and the true cause of a cut on the last."""
        first, last = events[0], events[-1]
        if type(first) is MessageStart and not self.started:
            self.started = True
            model = first.model or self.exchange.model
            origin = Origin(self.exchange.provider.name, self.exchange.dialect.name, model)
            events[0] = replace(first, model=model, origin=origin)
        if type(last) is MessageComplete:
            self.error = _cause(last.error, error)
            if self.error is None:
                self.response = self.exchange.stamp(last.response, approximated=self.decoder.approximated)
            else:
                self.response = self.exchange.partial(last.response, self.error)
            events[-1] = MessageComplete(self.response, self.error, last.extras)


class _Mixed(_Whole):
    """A stream, or JSON in its place: a whole answer, an error, or a stream that is spelled as JSON.

    The first byte tells, since labels lie: no line of events and no frame begins with a brace.
    """

    def __init__(self, exchange: Exchange, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(exchange, status, headers)
        self.streamed: _Streamed | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        if self.streamed is None and not self.chunks and chunk.lstrip()[:1] not in (b"{", b""):
            self.streamed = _Streamed(self.exchange, self.status, self.headers)
        if self.streamed is None:
            if self.chunks or chunk.strip():  # blank lines before the first word tell nothing
                self.keep(chunk)
            return []
        events = self.streamed.feed(chunk)
        return events if self.streamed.response is None else self._copy(events)

    def end(self, error: AdapterError | None = None) -> list[Event]:
        if self.over:
            return []
        body = b"".join(self.chunks)
        if self.streamed is None and error is None and _is_json(body):
            return super().end(error)
        stream = self.streamed or _Streamed(self.exchange, self.status, self.headers)
        lines = b"\n" in body.strip()  # else it is half a JSON value: a cut answer in any framing
        events = stream.feed(body) if lines else []
        return self._copy([*events, *stream.end(error)], stream)

    def _copy(self, events: list[Event], stream: _Streamed | None = None) -> list[Event]:
        stream = stream or self.streamed
        assert stream is not None
        self.response, self.error = stream.response, stream.error
        return events


@lru_cache(maxsize=64)
def _reading_of(content_type: str, stream: bool) -> type[Reading]:
    """How a good answer of that type is read; ``stream`` is whether one was asked for."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith(FOREIGN_TYPES):
        return _Foreign
    if kind in LINE_TYPES or (stream and kind not in EVENT_TYPES and kind not in WHOLE_TYPES):
        return _Streamed
    return _Mixed if stream or kind in EVENT_TYPES else _Whole


def mask_error(error: AdapterError, secrets: Sequence[str]) -> None:
    """Take our keys out of what a provider said, wherever it is kept: inside a 200 there is no body to scrub first."""
    if secrets:
        error.args = masked(error.args, secrets)
        for name, value in vars(error).items():
            if name != "response":
                setattr(error, name, masked(value, secrets))


def _says_its_end(headers: Mapping[str, str]) -> bool:
    """Whether a body has an end of its own, so that a transport raises if it is cut.

    The end of any other body is that of its connection, and nobody can tell whether it was cut.
    """
    return "content-length" in headers or "chunked" in headers.get("transfer-encoding", "").lower()


def _cause(told: Any, error: AdapterError | None) -> AdapterError | None:
    """Why a stream failed: a caller who cancels always wins, a broken connection only over our own word for a cut."""
    if isinstance(error, CancelledError) or (error is not None and isinstance(told, NetworkError)):
        if isinstance(told, AdapterError):
            told.response = None  # it refers back to its error, and nobody will see either
        return error
    return told if isinstance(told, AdapterError) else None


def _is_json(body: bytes) -> bool:
    """Whether a body is a JSON object, strict or not, or too deep to be read."""
    try:
        return isinstance(_decode(_strict(body)), dict)
    except RecursionError:
        return True
    except NOT_JSON:
        return False


def _strict(body: bytes) -> bytes:
    """The body in strict JSON, or as it is where it is not JSON at all."""
    try:
        _decode(body)
    except NOT_JSON:
        return strictly(body) or body
    return body


def _raw(body: bytes) -> Json:
    try:
        return _decode(body)
    except NOT_JSON:
        return body.decode("utf-8", "replace")


def _excerpt(body: bytes) -> str:
    text = " ".join(body[:400].decode("utf-8", "replace").split())
    return repr(text[:200]) if text else "nothing"

"""``Exchange``: the request of one call, and the facts that are written on its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import force_setattr, replace

from ...codec.streams.lenient import NOT_STRICT
from ...codec.surrogates import REPLACED, clean
from ...dialects import Dialect
from ...errors import AdapterError, CancelledError, InvalidRequestError
from ...models.providers import Provider
from ...types.base import Json, unchecked_copy
from ...types.capabilities import Target
from ...types.loss import Loss
from ...types.messages import Origin
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from ..addressing import HOSTED_DIALECTS, Address, betas_of, hosted_form, merge_json
from ..config import AdapterConfig
from ..http import HttpRequest, Timeouts
from ..secrets import MASK, masked
from .readers import AnswerReader, ErrorReader, reader_type

__all__ = ["Exchange"]

_encode = msgspec.json.Encoder().encode
SURROGATES_REPLACED = Loss("messages", "approximated", REPLACED)


class Exchange:
    """One model call. ``losses`` is known before anything is sent; each attempt reads its answer with a new reader."""

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
        self.config = config
        options, self.limits = config.options, config.limits
        betas = betas_of(request.betas, config) if options else request.betas
        if request.stream is not stream or betas is not request.betas:
            request = unchecked_copy(request, stream=stream, betas=betas)
        self.request, self.provider, self.dialect, self.stream = request, provider, dialect, stream
        self.target = target
        self.model = request.model or (target.model if target else None)
        encoded = dialect.encode_request(request, target)
        self.losses = (*losses, *encoded.losses) if losses else encoded.losses
        path, wire = encoded.path, encoded.body
        if provider.name in HOSTED_DIALECTS:
            path, wire = hosted_form(provider, self.model, path, wire, stream=stream)
        if path is None:
            raise InvalidRequestError("the request names no model", provider=provider.name)
        self.address = address = address or Address(provider, config)
        self.url, self.headers = address.url(path), address.headers(encoded.headers)
        more = options.get("body") if options else None
        self.wire: Json = merge_json(wire, more) if more else wire
        self._body: bytes | None = None

    def with_request(self, request: Request) -> Exchange:
        """The same call for a request that differs only in where its media are stored, so the losses are the same."""
        made = Exchange(
            self.provider,
            self.config,
            self.dialect,
            request,
            self.target,
            stream=self.stream,
            address=self.address,
        )
        made.losses = self.losses
        return made

    @property
    def origin(self) -> Origin:
        """The origin of the answer, before the answer names its model."""
        return Origin(self.provider.name, self.dialect.name, self.model)

    def body(self) -> bytes:
        """The body, encoded once. Lone surrogates, which UTF-8 cannot encode, are replaced, which is a loss."""
        if self._body is None:
            try:
                self._body = _encode(self.wire)
            except UnicodeEncodeError:
                self.wire = clean(self.wire)
                self.losses = (*self.losses, SURROGATES_REPLACED)
                self._body = self._encode_or_raise()
            except (TypeError, RecursionError):
                self._body = self._encode_or_raise()
        return self._body

    def _encode_or_raise(self) -> bytes:
        try:
            return _encode(self.wire)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidRequestError(f"the request cannot be written as JSON: {error}") from None

    def http(self, timeouts: Timeouts) -> HttpRequest:
        """The HTTP request of one attempt."""
        return HttpRequest("POST", self.url, self.headers, self.body(), timeouts)

    def read(self, status: int, headers: Mapping[str, str]) -> AnswerReader:
        """A reader for the answer of one attempt. Header names are in lower case."""
        if not 200 <= status < 300:
            return ErrorReader(self, status, headers)
        return reader_type(headers.get("content-type", ""), self.stream)(self, status, headers)

    def scrub(self, body: bytes) -> bytes:
        """A body without our keys: some servers quote the key that they refuse."""
        for secret in self.address.secrets:
            body = body.replace(secret.encode(), MASK.encode())
        return body

    def partial(self, response: Response, error: AdapterError, raw: Json = None) -> Response:
        """Complete the response of a failed answer: the part received, and the error. Both refer to each other."""
        reason = StopReason.cancelled if isinstance(error, CancelledError) else StopReason.error
        secrets = self.address.secrets
        mask_error(error, secrets)
        response = replace(response, stop_reason=reason, error=error, extras=masked(response.extras, secrets))
        response = self.stamp(response, masked(raw, secrets))
        self.describe(error)
        error.response = response
        return response

    def stamp(self, response: Response, raw: Json = None, *, approximated: bool = False) -> Response:
        """Write on a response what no wire contains: its origin, the id of the request and the losses.

        The response itself is changed: it was just decoded, and no other code has a reference to it.
        """
        model = response.model or self.model
        force_setattr(response, "model", model)
        force_setattr(response, "request_id", self.request.request_id)
        force_setattr(response, "origin", Origin(self.provider.name, self.dialect.name, model))
        force_setattr(response, "losses", (*self.losses, NOT_STRICT) if approximated else self.losses)
        force_setattr(response, "raw", raw)
        return response

    def describe(self, error: AdapterError) -> None:
        """Write the provider, the request id, the address and advice on an error. The provider's id becomes a note."""
        if error.request_id not in (None, self.request.request_id):
            error.add_note(f"{self.provider.name} calls this request {error.request_id}")
        error.provider, error.request_id = self.provider.name, self.request.request_id
        self.address.explain(error, self.url, self.model)


def mask_error(error: AdapterError, secrets: Sequence[str]) -> None:
    """Mask our keys in all attributes of an error. The body of an error inside a 200 was not scrubbed before."""
    if secrets:
        error.args = masked(error.args, secrets)
        for name, value in vars(error).items():
            if name != "response":
                setattr(error, name, masked(value, secrets))

"""One call of a client: a model is chosen, the body is passed on or translated, and the answer comes back.

Where client and provider speak the same dialect, the client's bytes go out and the provider's come back. Elsewhere the
call goes through the canonical language (``interlingua.relaying``). In both cases the models of the route are tried in
order until an answer has begun to reach the client. An answer that breaks off is never ended as if it were complete.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from contextlib import aclosing

import msgspec

from ..agent.routing import Candidate, Route as Candidates
from ..client.async_client import AsyncClient
from ..client.retry import Budget
from ..client.transport.base import Backlog
from ..dialects import dialect as find
from ..errors import AdapterError, AuthError, InvalidRequestError, LossyTranslation
from ..models.pricing import detailed_usage
from ..relaying import RelayedCall
from ..serving import SERVED
from ..types.events import Event
from ..types.loss import Loss
from ..types.request import Request
from ..types.response import Response
from ..types.words import ErrorClass
from .carry import issuers
from .carrying import KEPT, Carrying
from .choose import find_route, order_models, session_of
from .compacting import Compacting, as_compacted
from .config import Policy, Route
from .direct import Direct
from .forwarding import answer_headers
from .http import stopping
from .keepalive import KeepAlive
from .receipts import Attempt
from .same_dialect import SameDialectCall, has_envelope

__all__ = ["Call"]

log = logging.getLogger("interlingua.gateway")

ANY = Request()
"""Stands for a request that is not decoded: it lets the router choose any model."""
JSON = {"content-type": "application/json"}


class Call(SameDialectCall):
    """A call for generation, from the body of its request to the end of its answer."""

    _relayed: RelayedCall | None = None
    _settled: Response | None = None
    _policy: Policy = "allow"
    _carrier: Carrying
    """Set when the request is decoded."""

    # -------------------------------------------------------------------------------------------------------- the route

    async def run(self) -> None:
        """Read the request and answer it. An error is raised if the answer has not begun, else written into it."""
        limit = self._snapshot.settings.body_limit
        body = self.inbound.small_body(limit)
        self._read(await self.inbound.body(limit) if body is None else body)
        peek, entrance, key = self._peek, self._entrance, self.key
        requested = self.receipt.asked = entrance.model or peek.text("model")
        if key is not None and requested is not None and not key.may_use(requested):
            raise InvalidRequestError(f"the key {key.name} may not use {requested!r}", provider_status=404)
        self._streams = self._wants_stream() if entrance.stream is None else entrance.stream
        self._has_envelope = has_envelope(peek.body)
        direct = self._direct()
        if direct is not None:
            passage = direct.passage
            if await (self._translate_directly(direct) if passage is None else self._pass_directly(direct, passage)):
                return
        route = find_route(requested, self._snapshot, self.state.manager)
        self._policy = route.losses or self._snapshot.settings.losses
        candidates = self.state.router.route(models=self._ordered(route))
        try:
            await self._try_each(candidates)
        finally:
            self._note(candidates)

    def _wants_stream(self) -> bool:
        stream = self._peek.get("stream")
        return self._entrance.door.streams if stream is None else stream is True

    def _ordered(self, route: Route) -> tuple[str, ...]:
        """The models of the route in the order in which they are tried."""
        names = route.names
        if len(names) < 2:
            return names
        return order_models(route, lambda: session_of(self.headers, self._peek), self._issued_by(route))

    def _issued_by(self, route: Route) -> list[str]:
        """The models of the route that issued reasoning in this request, the latest first."""
        if not (self._has_envelope or (self.dialect in KEPT and not self.state.vault.is_empty)):
            return []
        locate = self.state.manager.locate
        places = {locate(name): name for name in route.names}
        found = ((origin.provider or "", origin.model) for origin in issuers(self._decoded().request.messages))
        return [places[place] for place in found if place in places]

    async def _translate_directly(self, direct: Direct) -> bool:
        """Call the only model of a route, which speaks another dialect. Returns True: no other model is tried."""
        candidate, budget = direct.candidate, direct.client.budget()
        budget.routed = True
        self.receipt.served, self._policy = candidate.name, direct.losses or self._snapshot.settings.losses
        attempt = Attempt(candidate.name, "answered")
        try:
            await self._translate(direct.client, candidate.model, budget)
            candidate.breaker.succeeded()
        except AdapterError as error:
            if error.error_class is ErrorClass.cancelled:
                attempt = Attempt(candidate.name, "cancelled")
                candidate.breaker.released()
            else:
                attempt = Attempt(candidate.name, "failed", f"{error.error_class}: {error.message}")
                candidate.breaker.failed(error, self.state.clock())
            self._fail(error)
        except BaseException:  # the client left, which says nothing about the model
            attempt = Attempt(candidate.name, "cancelled")
            candidate.breaker.released()
            raise
        finally:
            if self._relayed is not None:
                self._settle(self._relayed)
            self._note_direct(attempt, budget.attempts)
        return True

    async def _try_each(self, candidates: Candidates) -> None:
        """Call the models of the route in order until one answers."""
        candidates.begin(None if self._first is None else self._first.deadline)
        while True:
            candidate = candidates.next(self._relayed.request if self._relayed is not None else ANY)
            if self._first is None:
                self._refused = None
            try:
                await self._call(candidate, candidates)
            except AdapterError as error:
                if not candidates.failed(error, delivered=self._is_begun):
                    return self._fail(error)
            except BaseException:  # the client left, which says nothing about the model
                candidates.cancelled()
                raise
            else:
                return candidates.answered()

    @property
    def _is_begun(self) -> bool:
        """Whether some of an answer was sent to the client; a keep-alive does not count."""
        return self.receipt.passed if self._relayed is None else self._relayed.begun

    def _call(self, candidate: Candidate, candidates: Candidates) -> Awaitable[None]:
        client = candidate.adapter
        if not isinstance(client, AsyncClient):
            raise InvalidRequestError(f"{candidate.name} is not reached over HTTP")
        self.receipt.served = candidate.name
        passage = self._passage(client, candidate.model)
        if passage is not None:
            return self._pass(client, passage, candidates)
        assert candidates.budget is not None
        return self._translate(client, candidate.model, candidates.budget)

    def _fail(self, error: AdapterError) -> None:
        """Write the error of the last model, or raise it if the answer has not begun. A refusal by a provider of the
        client's dialect is sent as it came."""
        self.receipt.status = str(error.error_class)
        if isinstance(error, AuthError) and error.provider_status is not None:  # a client cannot tell whose key it was
            log.warning("%s: %s refused this gateway's key: %s", self.receipt.id, self.receipt.served, error.message)
        if self.answer.started:
            if self._relayed is not None and (written := self._relayed.fail(error, started=True)):
                self.answer.write(written)
        elif self._refused is not None:
            status, headers, body = self._refused
            self.answer.send(status, answer_headers(headers), body)
        else:
            raise error

    def stop(self) -> None:
        """End the answer with the error that the server stops, if the dialect allows an error at this point."""
        error = stopping()
        self.receipt.status = "shutdown"
        if not self.answer.started:
            raise error
        if self._relayed is not None:
            written = self._relayed.fail(error, started=True)
        else:
            is_between = self._streams and self._alive is not None and self._alive.is_between_events
            written = find(self.dialect).stream_encoder().fail(error) if is_between else b""
        if written:
            self.answer.write(written)

    # ---------------------------------------------------------------------------------------- other dialect: translated

    def _decoded(self) -> RelayedCall:
        """The request in the canonical language, decoded on the first call."""
        if self._relayed is None:
            entrance, owner = self._entrance, None if self.key is None else self.key.name
            self._carrier = Carrying(self.state, self.dialect, owner, has_envelope=self._has_envelope)
            self._relayed = RelayedCall(
                self._peek.body_value(self.state.known_tools),
                self.dialect,
                headers=self.headers,
                model=entrance.model,
                stream=self._streams,
                array=self._wants_array,
                id=self.receipt.id,
                carrier=self._compacting if self._compacts else self._carrier,
            )
        return self._relayed

    @property
    def _compacting(self) -> Compacting:
        return Compacting(self._carrier, self.state.envelopes, self.receipt.id)

    @property
    def _wants_array(self) -> bool:
        """Whether a stream is written as a JSON array, as Gemini does unless ``alt=sse`` is in the query."""
        return self.dialect == "gemini" and "alt=sse" not in self.inbound.query

    def _translate(self, client: AsyncClient, model: str | None, budget: Budget) -> Awaitable[None]:
        relayed = self._decoded()
        request = relayed.request_to(model)
        return (self._translate_stream if self._streams else self._translate_whole)(client, relayed, request, budget)

    async def _translate_stream(
        self, client: AsyncClient, relayed: RelayedCall, request: Request, budget: Budget
    ) -> None:
        stream = client.stream(request, budget=budget)
        self._apply_policy(stream.losses)
        writer = relayed.writer
        head = {"content-type": writer.content_type, "cache-control": "no-cache"}
        settings = self._snapshot.settings
        with KeepAlive(self.answer, settings.keep_alive_seconds, writer.keep_alive, head) as alive:

            def write(events: Sequence[Event]) -> Backlog:
                if written := relayed.feed_all(events):
                    alive.write(written)
                return self.answer.drained

            async with aclosing(stream):
                while events := await stream.next_events(write):
                    written = relayed.feed_all(events)
                    if relayed.response is not None:
                        await self._carrier.keep_and_wait(relayed.response)
                    if written:
                        alive.write(written)
                        if (drained := self.answer.drained) is not None:
                            await drained
            if written := relayed.close():
                alive.write(written)
        self.answer.end()
        self._settle(relayed)

    async def _translate_whole(
        self, client: AsyncClient, relayed: RelayedCall, request: Request, budget: Budget
    ) -> None:
        if self._policy != "allow":
            self._apply_policy(client.exchange(request, stream=False).losses)
        response = await client.complete(request, budget=budget)
        whole = relayed.write_whole(response)
        self.receipt.losses = whole.losses
        self._set_headers(response.losses)
        self._settle(relayed)
        await self._carrier.keep_and_wait(response)
        body = whole.body
        if self._entrance.door.kind == "compact":
            body = as_compacted(self._peek.body_value(self.state.known_tools), body)
        self.answer.send(200, {**JSON, **whole.headers}, msgspec.json.encode(body))

    def _apply_policy(self, losses: tuple[Loss, ...]) -> None:
        """Set the headers of the receipt; refuse or log the losses of the request, as the route's policy says."""
        self._set_headers(losses)
        lost = [loss for loss in losses if loss.weight != "form" and loss.kind != "added"]
        if lost and self._policy == "strict":
            reasons = "; ".join(f"{loss.path}: {loss.reason}" for loss in lost[:10])
            error = LossyTranslation(f"the route is strict, and {self.receipt.served} would not get all: {reasons}")
            error.losses = tuple(lost)
            raise error
        if lost and self._policy == "warn":
            log.warning("%s: %d losses to %s", self.receipt.id, len(lost), self.receipt.served)

    def _set_headers(self, losses: tuple[Loss, ...]) -> None:
        headers = self.answer.headers
        headers["x-interlingua-model"] = self.receipt.served or ""
        headers["x-interlingua-receipt"] = f"{self.receipt.id}; losses={len(losses)}"
        headers[SERVED[self.dialect].request_id_header] = self.receipt.id

    def _settle(self, relayed: RelayedCall) -> None:
        """Take losses, usage and attempts of the response into the receipt, once, and keep its state."""
        response = relayed.response
        if response is None or response is self._settled:
            return
        self._settled = response
        self._carrier.keep(response)
        self.receipt.losses = self.receipt.losses or relayed.losses
        self.receipt.usage = None if response.usage is None else detailed_usage(response)
        self.receipt.attempts = response.attempts
        provider, _, model = (self.receipt.served or "").partition(":")
        self.receipt.billed = provider, response.model or model

    # ------------------------------------------------------------------------------------------------------ the receipt

    def _note(self, candidates: Candidates) -> None:
        """Complete the receipt with the route, and record it."""
        receipt = self.receipt
        receipt.route = tuple([Attempt(choice.model, choice.outcome, choice.reason) for choice in candidates.record])
        if candidates.budget is not None:
            receipt.attempts = candidates.budget.attempts
        if self._relayed is not None:
            self._settle(self._relayed)
        self.state.note(receipt, self.key)

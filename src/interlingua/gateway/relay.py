"""One call of a client: a model is chosen, the body is passed on or translated, and the answer comes back.

Where client and provider speak the same dialect, the client's bytes go out and the provider's come back. Elsewhere the
call goes through the canonical language (``interlingua.relaying``). Both ways try the models of the route in order, as
long as nothing of an answer has reached the client. An answer that breaks off is never ended as if it were complete.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ..agent.routing import Candidate, Route as Candidates
from ..client.adapter import Passage, new_ulid
from ..client.async_client import AsyncClient
from ..client.http import HttpRequest, Timeouts
from ..client.transport.base import AsyncReply, pour
from ..dialects import dialect as find
from ..errors import AdapterError, AuthError, InvalidRequestError, LossyTranslation
from ..models.pricing import detailed_usage
from ..relaying import RelayedCall
from ..serving import SERVED, Entrance
from ..types.loss import Loss
from ..types.request import Request
from ..types.response import Response
from .admission import Key
from .carry import ENVELOPE, issuers
from .carrying import KEPT, Carrying
from .choose import find_route, in_order, session_of
from .compacting import Compacting, as_compacted, is_triggered
from .config import Policy, Route
from .forwarding import HOMES, answer_headers, forwarded_headers, forwarded_url, has_plain_tools
from .http import Answer, Inbound, stopping
from .keepalive import KeepAlive
from .peek import Peek
from .receipts import Attempt, Receipt
from .state import State
from .usage import UsageReader

__all__ = ["Call"]

log = logging.getLogger("interlingua.gateway")

ANY = Request()
"""Stands for a request that is not decoded: every model may take it."""
JSON = {"content-type": "application/json"}
RESPONSES = "openai-responses"
CARRIED = ENVELOPE.encode()
"""What a body has that no provider may see."""


class Raw(NamedTuple):
    """A provider's refusal, as it came."""

    status: int
    headers: dict[str, str]
    body: bytes


class Call:
    """From the body of a request to the end of its answer."""

    _relayed: RelayedCall | None = None
    _refused: Raw | None = None
    _settled: Response | None = None
    _policy: Policy = "allow"
    _alive: KeepAlive | None = None
    _carrier: Carrying
    """Set when the request is decoded."""

    def __init__(self, state: State, inbound: Inbound, answer: Answer, entrance: Entrance, key: Key | None) -> None:
        self.state, self.inbound, self.answer, self.key = state, inbound, answer, key
        self.dialect = entrance.door.dialect
        self._entrance, self._snapshot = entrance, state.snapshot
        self.receipt = Receipt(new_ulid(), self.dialect)

    # -------------------------------------------------------------------------------------------------------- the route

    async def receive(self) -> None:
        """Read the body."""
        self._peek = Peek(await self.inbound.body(self._snapshot.settings.body_limit))

    async def run(self) -> None:
        """Answer the request. Errors are raised while they can still be told by a status."""
        peek, entrance, key = self._peek, self._entrance, self.key
        asked = self.receipt.asked = entrance.model or peek.text("model")
        if key is not None and asked is not None and not key.may_use(asked):
            raise InvalidRequestError(f"the key {key.name} may not use {asked!r}", provider_status=404)
        self._streams = self._wants_stream() if entrance.stream is None else entrance.stream
        self._carries = CARRIED in peek.body
        route = find_route(asked, self._snapshot, self.state.manager)
        self._policy = route.losses or self._snapshot.settings.losses
        candidates = self.state.router.route(models=self._ordered(route))
        try:
            await self._try_each(candidates)
        finally:
            self._note(candidates)

    def _wants_stream(self) -> bool:
        asked = self._peek.get("stream")
        return self._entrance.door.streams if asked is None else asked is True

    def _ordered(self, route: Route) -> tuple[str, ...]:
        """The models of the route in the order in which they are asked."""
        names = route.names
        if len(names) < 2:
            return names
        return in_order(route, lambda: session_of(self.inbound.headers, self._peek), self._issued_by(route))

    def _issued_by(self, route: Route) -> list[str]:
        """The models of the route that issued the reasoning in this request, the latest first."""
        if not (self._carries or (self.dialect in KEPT and not self.state.vault.is_empty)):
            return []
        locate = self.state.manager.locate
        places = {locate(name): name for name in route.names}
        found = ((origin.provider or "", origin.model) for origin in issuers(self._decoded().request.messages))
        return [places[place] for place in found if place in places]

    async def _try_each(self, candidates: Candidates) -> None:
        """Call the models of the route in order until one answers."""
        candidates.begin()
        while True:
            candidate = candidates.next(self._relayed.request if self._relayed is not None else ANY)
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
        """Whether the client has seen some of an answer; a keep-alive is none."""
        return self.receipt.passed if self._relayed is None else self._relayed.begun

    def _call(self, candidate: Candidate, candidates: Candidates) -> Awaitable[None]:
        client = candidate.adapter
        if not isinstance(client, AsyncClient):
            raise InvalidRequestError(f"{candidate.name} is not reached over HTTP")
        self.receipt.served = candidate.name
        passage = self._passage(client, candidate.model)
        if passage is not None:
            return self._pass(client, passage, candidates)
        relayed = self._decoded()
        request = replace(relayed.request, model=candidate.model)
        if self._streams:
            return self._translate_stream(client, relayed, request, candidates)
        return self._translate_whole(client, relayed, request, candidates)

    def _fail(self, error: AdapterError) -> None:
        """No model answered. The provider's own refusal goes back as it came, where the client speaks its dialect."""
        self.receipt.status = str(error.error_class)
        if isinstance(error, AuthError) and error.provider_status is not None:  # a client cannot tell whose key it was
            log.warning("%s: %s refused this gateway's key: %s", self.receipt.id, self.receipt.served, error.message)
        if self.answer.started:
            if self._relayed is not None and (said := self._relayed.fail(error, started=True)):
                self.answer.write(said)
        elif self._refused is not None:
            status, headers, body = self._refused
            self.answer.whole(status, answer_headers(headers), body)
        else:
            raise error

    def stop(self) -> None:
        """The server ends before the answer does: say so, as far as the dialect has a word for it."""
        error = stopping()
        self.receipt.status = "shutdown"
        if not self.answer.started:
            raise error
        if self._relayed is not None:
            said = self._relayed.fail(error, started=True)
        else:
            is_between = self._streams and self._alive is not None and self._alive.is_between
            said = find(self.dialect).stream_encoder().fail(error) if is_between else b""
        if said:
            self.answer.write(said)

    # ---------------------------------------------------------------------------------- same dialect: bytes as they are

    def _passage(self, client: AsyncClient, model: str | None) -> Passage | None:
        """Where the client's own bytes can go, if they can."""
        if client.dialect.name != self.dialect or self._carries:
            return None
        homes = HOMES.get(self.dialect)
        if homes is not None and client.name not in homes and (self._compacts or not has_plain_tools(self._peek)):
            return None
        passage = client.passage(model, stream=self._streams)
        if passage is None or self._entrance.door.kind != "compact":
            return passage
        return replace(passage, url=f"{passage.url}/compact")

    @property
    def _compacts(self) -> bool:
        """Whether the conversation is to be replaced by a ``compaction`` item."""
        return self._entrance.door.kind == "compact" or (self.dialect == RESPONSES and is_triggered(self._peek))

    async def _pass(self, client: AsyncClient, passage: Passage, candidates: Candidates) -> None:
        """Pass the body on, and the answer back."""
        body = self._outgoing(passage)
        url = forwarded_url(passage.url, self.inbound.query, self.dialect)
        headers = forwarded_headers(self.inbound.headers, passage.headers, self.dialect)
        seconds = client.config.timeout_seconds
        http = HttpRequest("POST", url, headers, body, Timeouts(read=seconds, total=None if self._streams else seconds))
        budget = candidates.budget
        assert budget is not None
        while True:
            budget.attempts += 1
            try:
                return await self._pass_once(client, http)
            except AdapterError as error:
                delay = budget.delay(error, delivered=self.receipt.passed)
                if delay is None:
                    raise
            await asyncio.sleep(delay)

    def _outgoing(self, passage: Passage) -> bytes:
        return self._peek.body if self._entrance.model is not None else self._named(passage)

    def _named(self, passage: Passage) -> bytes:
        """The body with the provider's name of the model."""
        if self.receipt.asked == passage.model:
            return self._peek.body
        named = self._peek.with_value("model", passage.model)
        if named is None:
            raise InvalidRequestError("`model` must stand once at the top of the body")
        return named

    async def _pass_once(self, client: AsyncClient, http: HttpRequest) -> None:
        reply = await client.send(http)
        try:
            if not 200 <= reply.status < 300:
                raise await self._refusal(client, reply)
            self.answer.headers["x-interlingua-model"] = self.receipt.served or ""
            usage = UsageReader(self.dialect, stream=self._streams)
            self.answer.start(reply.status, answer_headers(reply.headers))
            self.receipt.passed = True
            if self._streams:
                await self._pass_stream(reply, usage)
            else:
                await pour(reply, partial(_hand_on, usage, self.answer, self.answer))
            self.answer.end()
        finally:
            reply.close()
        self._use(usage)

    async def _pass_stream(self, reply: AsyncReply, usage: UsageReader) -> None:
        answer, seconds = self.answer, self._snapshot.settings.keep_alive_seconds
        with KeepAlive(answer, seconds, SERVED[self.dialect].keep_alive) as alive:
            self._alive = alive
            await pour(reply, partial(_hand_on, usage, alive, answer))

    async def _refusal(self, client: AsyncClient, reply: AsyncReply) -> AdapterError:
        """The error of an answer that is none; its bytes are kept for the client."""
        limit, chunks, size = client.config.limits.error or 2**20, list[bytes](), 0
        async for chunk in reply.chunks():
            chunks.append(chunk[: limit - size])
            size += len(chunk)
            if size >= limit:
                break
        body = b"".join(chunks)
        self._refused = Raw(reply.status, dict(reply.headers), body)
        return client.dialect.decode_error(reply.status, reply.headers, body)

    def _use(self, usage: UsageReader) -> None:
        found, named = usage.read()
        if found is not None:
            self.receipt.usage = found
            provider, _, model = (self.receipt.served or "").partition(":")
            self.receipt.billed = provider, named or model

    # ---------------------------------------------------------------------------------------- other dialect: translated

    def _decoded(self) -> RelayedCall:
        """The request in the canonical language; decoded once for all models of the route."""
        if self._relayed is None:
            entrance, owner = self._entrance, None if self.key is None else self.key.name
            self._carrier = Carrying(self.state, self.dialect, owner, has_envelope=self._carries)
            self._relayed = RelayedCall(
                self._peek.body_value(),
                self.dialect,
                headers=self.inbound.headers,
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
        """Gemini streams a JSON array to those who do not ask for events."""
        return self.dialect == "gemini" and "alt=sse" not in self.inbound.query

    async def _translate_stream(
        self, client: AsyncClient, relayed: RelayedCall, request: Request, candidates: Candidates
    ) -> None:
        stream = client.stream(request, budget=candidates.budget)
        self._judge(stream.losses)
        writer = relayed.writer
        head = {"content-type": writer.content_type, "cache-control": "no-cache"}
        settings = self._snapshot.settings
        with KeepAlive(self.answer, settings.keep_alive_seconds, writer.keep_alive, head) as alive:
            async with aclosing(stream) as events:
                async for event in events:
                    if said := relayed.feed(event):
                        if relayed.response is not None:
                            await self._carrier.kept(relayed.response)
                        alive.write(said)
                        if (drained := self.answer.drained) is not None:
                            await drained
            if said := relayed.close():
                alive.write(said)
        self.answer.end()
        self._settle(relayed)

    async def _translate_whole(
        self, client: AsyncClient, relayed: RelayedCall, request: Request, candidates: Candidates
    ) -> None:
        if self._policy != "allow":
            self._judge(client.exchange(request, stream=False).losses)
        response = await client.complete(request, budget=candidates.budget)
        whole = relayed.whole(response)
        self.receipt.losses = whole.losses
        self._declare(response.losses)
        self._settle(relayed)
        await self._carrier.kept(response)
        body = whole.body
        if self._entrance.door.kind == "compact":
            body = as_compacted(self._peek.body_value(), body)
        self.answer.whole(200, {**JSON, **whole.headers}, msgspec.json.encode(body))

    def _judge(self, losses: tuple[Loss, ...]) -> None:
        """Refuse, log or note what the provider will not be told."""
        self._declare(losses)
        lost = [loss for loss in losses if loss.weight != "form" and loss.kind != "added"]
        if lost and self._policy == "strict":
            told = "; ".join(f"{loss.path}: {loss.reason}" for loss in lost[:10])
            error = LossyTranslation(f"the route is strict, and {self.receipt.served} would not get all: {told}")
            error.losses = tuple(lost)
            raise error
        if lost and self._policy == "warn":
            log.warning("%s: %d losses to %s", self.receipt.id, len(lost), self.receipt.served)

    def _declare(self, losses: tuple[Loss, ...]) -> None:
        headers = self.answer.headers
        headers["x-interlingua-model"] = self.receipt.served or ""
        headers["x-interlingua-receipt"] = f"{self.receipt.id}; losses={len(losses)}"
        headers[SERVED[self.dialect].request_id_header] = self.receipt.id

    def _settle(self, relayed: RelayedCall) -> None:
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
        """Write down what became of the call."""
        receipt = self.receipt
        receipt.route = tuple([Attempt(choice.model, choice.outcome, choice.reason) for choice in candidates.record])
        if candidates.budget is not None:
            receipt.attempts = candidates.budget.attempts
        if self._relayed is not None:
            self._settle(self._relayed)
        self.state.note(receipt, self.key)


def _hand_on(usage: UsageReader, to: Answer | KeepAlive, answer: Answer, chunk: bytes) -> asyncio.Future[None] | None:
    """Some of a provider's answer, for the client. Gives what to wait for while the client is slower."""
    usage.feed(chunk)
    to.write(chunk)
    return answer.drained

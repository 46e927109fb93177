"""Calls that need no translation: the client's bytes go to the provider, and the provider's bytes come back.

If the route has one model, its target is already known (``direct.py``), and the first attempt skips the router. Only
if that attempt fails, the call goes on with the router like any other.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from ..agent.routing import Route as Candidates
from ..client.adapter import Passage, new_ulid
from ..client.async_client import AsyncClient
from ..client.deadline import Deadline
from ..client.http import HttpRequest, Timeouts
from ..client.transport.base import AsyncReply, body_with_head, pour
from ..errors import AdapterError, InvalidRequestError
from ..serving import SERVED, Entrance
from ..types.usage import TokenUsage
from .admission import Key
from .carry import ENVELOPE
from .compacting import is_triggered
from .direct import Direct, timeouts_of
from .forwarding import ALL_TOOLS, answer_headers, forwarded_headers, forwarded_url, has_plain_tools
from .http import Answer, Inbound
from .keepalive import KeepAlive
from .peek import Peek
from .receipts import Attempt, Receipt
from .state import State
from .usage import UsageReader, usage_of

__all__ = ["SameDialectCall", "has_envelope"]

RESPONSES = "openai-responses"
MOST_CACHED = 64
_envelope = re.compile(ENVELOPE.encode()).search


def has_envelope(body: bytes) -> bool:
    """Whether a body contains an envelope, which no provider may get."""
    return _envelope(body) is not None


class RawRefusal(NamedTuple):
    """A provider's refusal, byte for byte."""

    status: int
    headers: dict[str, str]
    body: bytes


class FailedAttempt(NamedTuple):
    """The error of the direct attempt, before the router was used, and the deadline of the whole call."""

    error: AdapterError
    deadline: Deadline


class SameDialectCall:
    """The part of a call that passes bytes on."""

    _refused: RawRefusal | None = None
    _first: FailedAttempt | None = None
    _alive: KeepAlive | None = None
    _peek: Peek
    _streams: bool
    _has_envelope: bool
    """Whether the body contains an envelope."""

    def __init__(self, state: State, inbound: Inbound, answer: Answer, entrance: Entrance, key: Key | None) -> None:
        self.state, self.inbound, self.answer, self.key = state, inbound, answer, key
        self.headers: Mapping[str, str] = inbound.headers
        self.dialect = entrance.door.dialect
        self._entrance, self._snapshot = entrance, state.snapshot
        self.receipt = Receipt(new_ulid(), self.dialect)

    def _read(self, body: bytes) -> None:
        """Take the complete body."""
        self._peek = Peek(body)

    # ------------------------------------------------------------------------------------------------------- one model

    def _direct(self) -> Direct | None:
        """The target of the call, if its route has one model and nothing forbids the direct way."""
        if self._has_envelope or self._entrance.door.kind != "generate":
            return None
        found = self.state.directs.find(self._snapshot, self.dialect, self.receipt.asked, streams=self._streams)
        if found is not None and found.functions_only and (self._compacts or not has_plain_tools(self._peek)):
            return None
        return found

    async def _pass_directly(self, direct: Direct, passage: Passage) -> bool:
        """Make the first attempt. Returns whether it succeeded; if not, ``_first`` holds its error."""
        candidate = direct.candidate
        self.receipt.served = candidate.name
        began = self.state.clock()
        try:
            http = self._http(passage, self._provider_headers(direct, passage), direct.timeouts)
            await self._pass_once(direct.client, http)
        except AdapterError as error:
            deadline = direct.client.budget().deadline
            deadline.at -= self.state.clock() - began
            self._first = FailedAttempt(error, deadline)
            return False
        except BaseException:  # the client left, which says nothing about the model
            candidate.breaker.released()
            self._note_direct(Attempt(candidate.name, "cancelled"))
            raise
        candidate.breaker.succeeded()
        self._note_direct(Attempt(candidate.name, "answered"))
        return True

    def _note_direct(self, attempt: Attempt, attempts: int = 1) -> None:
        """Complete the receipt with the only attempt, and record it."""
        self.receipt.route, self.receipt.attempts = (attempt,), attempts
        self.state.note(self.receipt, self.key)

    def _provider_headers(self, direct: Direct, passage: Passage) -> dict[str, str]:
        """The provider's headers, made once for consecutive requests with equal headers."""
        cache = self.inbound.headers.cache
        found: dict[str, str] | None = cache.get(direct)
        if found is None:
            if len(cache) >= MOST_CACHED:
                cache.clear()
            found = cache[direct] = forwarded_headers(self.headers, passage.headers, self.dialect)
        return found

    # ------------------------------------------------------------------------------------------------------- any model

    def _passage(self, client: AsyncClient, model: str | None) -> Passage | None:
        """Where the client's own bytes can be sent; None if they must be translated."""
        if client.dialect.name != self.dialect or self._has_envelope:
            return None
        full = ALL_TOOLS.get(self.dialect)
        if full is not None and client.name not in full and (self._compacts or not has_plain_tools(self._peek)):
            return None
        passage = client.passage(model, stream=self._streams)
        if passage is None or self._entrance.door.kind != "compact":
            return passage
        return replace(passage, url=f"{passage.url}/compact")

    @property
    def _compacts(self) -> bool:
        """Whether the client asks to replace the conversation by a ``compaction`` item."""
        return self._entrance.door.kind == "compact" or (self.dialect == RESPONSES and is_triggered(self._peek))

    async def _pass(self, client: AsyncClient, passage: Passage, candidates: Candidates) -> None:
        """Pass the body on and the answer back, with the client's retries."""
        headers = forwarded_headers(self.headers, passage.headers, self.dialect)
        http = self._http(passage, headers, timeouts_of(client, streams=self._streams))
        budget = candidates.budget
        assert budget is not None
        while True:
            budget.attempts += 1
            first, self._first = self._first, None
            try:
                if first is not None:
                    raise first.error
                return await self._pass_once(client, http)
            except AdapterError as error:
                delay = budget.delay(error, delivered=self.receipt.passed)
                if delay is None:
                    raise
            await asyncio.sleep(delay)

    def _http(self, passage: Passage, headers: dict[str, str], timeouts: Timeouts) -> HttpRequest:
        """The request to the provider."""
        url = forwarded_url(passage.url, self.inbound.query, self.dialect)
        return HttpRequest("POST", url, headers, self._outgoing(passage), timeouts)

    def _outgoing(self, passage: Passage) -> bytes:
        return self._peek.body if self._entrance.model is not None else self._body_with_model(passage)

    def _body_with_model(self, passage: Passage) -> bytes:
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
            headers, self.receipt.passed = answer_headers(reply.headers), True
            whole = None if self._streams else body_with_head(reply)
            if whole is None:
                usage = UsageReader(self.dialect, stream=self._streams)
                await self._pass_pieces(reply, headers, usage)
                self._note_usage(*usage.read())
            else:
                self.answer.send(reply.status, headers, whole)
                self._note_usage(*usage_of(self.dialect, whole))
        finally:
            reply.close()

    async def _pass_pieces(self, reply: AsyncReply, headers: dict[str, str], usage: UsageReader) -> None:
        """Pass on an answer piece by piece."""
        self.answer.start(reply.status, headers)
        if self._streams:
            await self._pass_stream(reply, usage)
        else:
            await pour(reply, partial(_forward, usage, self.answer, self.answer))
        self.answer.end()

    async def _pass_stream(self, reply: AsyncReply, usage: UsageReader) -> None:
        answer, seconds = self.answer, self._snapshot.settings.keep_alive_seconds
        with KeepAlive(answer, seconds, SERVED[self.dialect].keep_alive) as alive:
            self._alive = alive
            await pour(reply, partial(_forward, usage, alive, answer))

    async def _refusal(self, client: AsyncClient, reply: AsyncReply) -> AdapterError:
        """The error for an answer with an error status, whose bytes are kept for the client in ``_refused``."""
        limit, chunks, size = client.config.limits.error or 2**20, list[bytes](), 0
        async for chunk in reply.chunks():
            chunks.append(chunk[: limit - size])
            size += len(chunk)
            if size >= limit:
                break
        body = b"".join(chunks)
        self._refused = RawRefusal(reply.status, dict(reply.headers), body)
        return client.dialect.decode_error(reply.status, reply.headers, body)

    def _note_usage(self, usage: TokenUsage | None, model: str | None) -> None:
        if usage is not None:
            self.receipt.usage = usage
            provider, _, served = (self.receipt.served or "").partition(":")
            self.receipt.billed = provider, model or served


def _forward(usage: UsageReader, to: Answer | KeepAlive, answer: Answer, chunk: bytes) -> asyncio.Future[None] | None:
    """Send a piece of a provider's answer to the client. Returns the future to await if the client reads too slowly."""
    usage.feed(chunk)
    to.write(chunk)
    return answer.drained

"""Answers how many input tokens a request has: counted by the provider if it offers that, else our estimate."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ..client.async_client import AsyncClient
from ..client.http import HttpRequest, Timeouts
from ..errors import AdapterError, InvalidRequestError
from ..relaying import RelayedCall
from ..serving import COUNTERS, counted_request, write_count
from ..types.base import Json
from ..types.request import Request
from .carrying import Carrying
from .choose import find_route
from .doors import LocalCall
from .peek import Peek

__all__ = ["count"]

TIMEOUTS = Timeouts(connect=5.0, read=10.0, total=10.0)
LARGEST = 64 * 1024


async def count(call: LocalCall) -> None:
    """Answer with the number of input tokens. If the provider does not count, or fails, the answer is our estimate."""
    entrance, state, key = call.entrance, call.state, call.key
    body = await call.inbound.body(state.snapshot.settings.body_limit)
    wire, dialect = counted_request(Peek(body).body_value(state.known_tools), entrance.door.dialect)
    carrier = Carrying(state, dialect, None if key is None else key.name)
    relayed = RelayedCall(
        wire, dialect, headers=call.inbound.headers, model=entrance.model, checked=False, carrier=carrier
    )
    if key is not None and relayed.requested_model is not None and not key.may_use(relayed.requested_model):
        raise InvalidRequestError(f"the key {key.name} may not use {relayed.requested_model!r}", provider_status=404)
    route = find_route(relayed.requested_model, state.snapshot, state.manager)
    candidate = state.router.route(models=route.names[:1]).candidates[0]
    client = candidate.adapter
    if not isinstance(client, AsyncClient):
        raise InvalidRequestError(f"{candidate.name} cannot count tokens")
    request = replace(relayed.request, model=candidate.model)
    answer = await _count_at_provider(client, request)
    if answer is None:
        answer = write_count(client.estimate(request), entrance.door.dialect)
    elif client.dialect.name != entrance.door.dialect:
        answer = write_count(COUNTERS[client.name].read(answer) or 0, entrance.door.dialect)
    await call.json(answer)


async def _count_at_provider(client: AsyncClient, request: Request) -> Json:
    """The provider's answer to its counting endpoint; None if it has none, or the call failed."""
    counter = COUNTERS.get(client.name)
    if counter is None:
        return None
    try:
        exchange = client.exchange(request, stream=False)
        url, body = counter.question(exchange.url, exchange.wire, exchange.model or "")
        http = HttpRequest("POST", url, exchange.headers, msgspec.json.encode(body), TIMEOUTS)
        reply = await client.send_signed(http)
        try:
            received = b""
            async for chunk in reply.chunks():
                received += chunk
                if reply.status != 200 or len(received) > LARGEST:
                    return None
        finally:
            reply.close()
        answer: Json = msgspec.json.decode(received)
    except (AdapterError, ValueError):
        return None
    return None if counter.read(answer) is None else answer

"""The application: find the endpoint, check the key, answer. Every error is written in the caller's dialect."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from ..client.adapter import new_ulid
from ..dialects import dialect as find
from ..errors import AdapterError, InvalidRequestError, ServerError
from ..serving import PREFIXES, SERVED, Entrance, find_entrance, with_known_words
from ..types.base import Json
from .admission import Key
from .cors import cors_headers, is_preflight, preflight_headers
from .counting import count
from .doors import ANSWERS, LocalCall
from .http import Answer, Inbound, stopping
from .invoking import InvokeCall
from .passing import PassCall
from .relay import Call
from .state import State

__all__ = ["Gateway"]

log = logging.getLogger("interlingua.gateway")

KEYLESS = frozenset({"probe", "version"})
"""Kinds of endpoints that need no key, since they reveal nothing."""
CALLS: dict[str, type[Call | PassCall]] = {"generate": Call, "compact": Call, "invoke": InvokeCall, "pass": PassCall}
"""The call for each kind of endpoint that a provider answers."""
JSON, TEXT = {"content-type": "application/json"}, {"content-type": "text/plain; version=0.0.4"}
RECEIPTS = "/receipts/"
NOT_FOUND, NOT_IMPLEMENTED = 404, 501
NOT_RELAYED = re.compile(
    r"(/openai)?(/v1)?/realtime\b.*|(/genai|/gemini)?/upload/.*|(/openai)?/deployments/.*"
    r"|(/ollama)?/api/(pull|push|create|copy|delete|blobs)\b.*"
)
"""Endpoints of the vendors that the gateway can neither translate nor pass on."""
CLOSING_SECONDS = 2.0
"""When the server stops, clients have this long to read the error that ends their answer."""


class Gateway:
    """Answers requests. It knows nothing of connections; ``state`` is shared by all calls."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def close(self) -> None:
        """Wait until the calls that were cancelled have written their error, then close the state."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                while self.state.open:  # noqa: ASYNC110  # an event would cost time in every call
                    await asyncio.sleep(0.01)
        await self.state.close()

    # ------------------------------------------------------------------------------------------------------ one request

    def __call__(self, inbound: Inbound, answer: Answer) -> Awaitable[None]:
        """Answer a request. It is cancelled as soon as its client disconnects, even before the headers are sent."""
        operate = OPERATION.get(inbound.path)
        if operate is not None:
            return operate(self.state, answer)
        if "origin" in inbound.headers:
            answer.headers |= cors_headers(inbound.headers, self.state.snapshot.settings.origins)
            if is_preflight(inbound.method, inbound.headers) and "access-control-allow-origin" in answer.headers:
                return answer_preflight(inbound, answer)
        method = "GET" if answer.is_head else inbound.method
        entrance = find_entrance(inbound.method, inbound.path, inbound.headers) or find_entrance(
            method, inbound.path, inbound.headers
        )
        return self._answer(inbound, answer, entrance)

    async def _answer(self, inbound: Inbound, answer: Answer, entrance: Entrance | None) -> None:
        """Check the key, then answer. Errors are written in the caller's dialect."""
        state = self.state
        try:
            if entrance is not None and entrance.door.kind in KEYLESS:
                return await ANSWERS[entrance.door.kind](LocalCall(state, inbound, answer, entrance, None))
            key = state.admission.find_once(inbound.headers, inbound.headers.cache)
            if inbound.path.startswith(RECEIPTS):
                return self._receipt(inbound.path.removeprefix(RECEIPTS), key, answer)
            if entrance is None:
                raise no_endpoint(inbound)
            kind = CALLS.get(entrance.door.kind)
            call = None if kind is None else kind(state, inbound, answer, entrance, key)
            used = state.admission.enter(key)
            state.open += 1
            try:
                await (answer_locally(LocalCall(state, inbound, answer, entrance, key)) if call is None else call.run())
            except asyncio.CancelledError:
                if call is not None and not inbound.is_gone:  # the server stops while the client still waits
                    call.stop()
                raise
            finally:
                state.open -= 1
                state.admission.leave(used)
        except AdapterError as error:
            self._refuse(answer, error, refusal_dialect(inbound, entrance))
        except asyncio.CancelledError:
            if inbound.is_gone:
                state.metrics.add("interlingua_left_total")
            elif state.draining:
                self._refuse(answer, stopping(), refusal_dialect(inbound, entrance))
        except Exception:
            id = new_ulid()
            log.exception("%s: an error of the gateway", id)
            self._refuse(
                answer,
                ServerError(f"the gateway failed; its log says why under {id}"),
                refusal_dialect(inbound, entrance),
            )

    def _receipt(self, id: str, key: Key | None, answer: Answer) -> None:
        found = self.state.receipts.find(id, None if key is None else key.name)
        if found is None:
            raise InvalidRequestError("there is no such receipt; they are kept for an hour", provider_status=NOT_FOUND)
        answer.send(200, JSON, msgspec.json.encode(found.as_json()))

    def _refuse(self, answer: Answer, error: AdapterError, dialect: str) -> None:
        """Answer with an error in the caller's dialect. Once an answer has begun there is no status left to send."""
        if answer.started:
            return
        error = with_known_words(error, dialect)
        wire = find(dialect).encode_error(error)
        status = error.provider_status if error.provider_status in FIXED else wire.status
        answer.headers.setdefault(SERVED[dialect].request_id_header, error.request_id or new_ulid())
        answer.send(status, wire.headers, wire.body)


FIXED = frozenset({404, 413, 415, 426, 501})
"""Statuses that are sent in every dialect: they are the gateway's own, or mean the same everywhere."""


def no_endpoint(inbound: Inbound) -> AdapterError:
    """The error for a path that the gateway does not serve."""
    if NOT_RELAYED.fullmatch(inbound.path):
        return InvalidRequestError(f"{inbound.path} is not relayed by this gateway", provider_status=NOT_IMPLEMENTED)
    return InvalidRequestError(f"this gateway has no {inbound.method} {inbound.path}"[:300], provider_status=NOT_FOUND)


def refusal_dialect(inbound: Inbound, entrance: Entrance | None) -> str:
    """The dialect in which to refuse a request: the endpoint's, else what the path or the headers suggest."""
    if entrance is not None:
        return entrance.door.dialect
    family = PREFIXES.get(inbound.path[1:].partition("/")[0])
    if family:
        return family[0]
    typical = {"anthropic-version": "anthropic-messages", "x-goog-api-key": "gemini"}
    return next((dialect for name, dialect in typical.items() if name in inbound.headers), "openai-chat")


# ---------------------------------------------------------------------------------------------------- our own endpoints


async def _send_json(answer: Answer, status: int, body: Json) -> None:
    answer.send(status, JSON, msgspec.json.encode(body))


def answer_locally(call: LocalCall) -> Awaitable[None]:
    """Answer at an endpoint that needs a key, but no generation by a provider."""
    kind = call.entrance.door.kind
    return count(call) if kind == "count" else ANSWERS[kind](call)


async def answer_preflight(inbound: Inbound, answer: Answer) -> None:
    """Tell a browser which methods and headers it may send."""
    answer.send(204, preflight_headers(inbound.headers), b"")


async def health(state: State, answer: Answer) -> None:
    """Answer that the process runs. No provider or store is asked."""
    await _send_json(answer, 200, {"status": "ok"})


async def ready(state: State, answer: Answer) -> None:
    """Answer whether a load balancer should send new requests to this process."""
    await _send_json(answer, 503 if state.draining else 200, {"status": "draining" if state.draining else "ready"})


async def metrics(state: State, answer: Answer) -> None:
    """Answer with the counters of all processes, for Prometheus."""
    answer.send(200, TEXT, state.metrics_text().encode())


OPERATION: dict[str, Callable[[State, Answer], Awaitable[None]]] = {
    "/healthz": health,
    "/readyz": ready,
    "/metrics": metrics,
}

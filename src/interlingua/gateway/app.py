"""The application: find the endpoint, let the caller in, answer; every error in the caller's own dialect."""

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
from ..serving import PREFIXES, SERVED, Entrance, find_entrance, worded
from ..types.base import Json
from .admission import Key
from .cors import allowed, is_preflight, preflight
from .counting import count
from .doors import ANSWERS, Asked
from .http import Answer, Inbound, stopping
from .invoking import InvokeCall
from .passing import PassCall
from .relay import Call
from .state import State

__all__ = ["Gateway"]

log = logging.getLogger("interlingua.gateway")

OPEN = frozenset({"probe", "version"})
"""Kinds of endpoints that need no key, since they say nothing."""
CALLS: dict[str, type[Call | PassCall]] = {"generate": Call, "compact": Call, "invoke": InvokeCall, "pass": PassCall}
"""By the kind of the endpoint, where a provider answers."""
JSON, TEXT = {"content-type": "application/json"}, {"content-type": "text/plain; version=0.0.4"}
RECEIPTS = "/receipts/"
NOT_FOUND, NOT_IMPLEMENTED = 404, 501
NOT_RELAYED = re.compile(
    r"(/openai)?(/v1)?/realtime\b.*|(/genai|/gemini)?/upload/.*|(/openai)?/deployments/.*"
    r"|(/ollama)?/api/(pull|push|create|copy|delete|blobs)\b.*"
)
"""Endpoints that a dialect has, with neither a translation nor a way to pass them on."""
LAST_WORDS = 2.0
"""How long a client may take, when the server stops, to read the error that ends its answer."""


class Gateway:
    """Answers requests, whoever reads them; ``state`` is all that calls share."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def close(self) -> None:
        """Let calls that were ended say so, then close what they used."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                while self.state.open:  # noqa: ASYNC110  # to set an event would cost every call
                    await asyncio.sleep(0.01)
        await self.state.close()

    # ------------------------------------------------------------------------------------------------------ one request

    def __call__(self, inbound: Inbound, answer: Answer) -> Awaitable[None]:
        """Answer a request. A client that leaves ends it at once, also before the headers."""
        own = OWN.get(inbound.path)
        if own is not None:
            return own(self.state, answer)
        if "origin" in inbound.headers:
            answer.headers |= allowed(inbound.headers, self.state.snapshot.settings.origins)
            if is_preflight(inbound.method, inbound.headers) and "access-control-allow-origin" in answer.headers:
                return say_preflight(inbound, answer)
        method = "GET" if answer.is_head else inbound.method
        entrance = find_entrance(inbound.method, inbound.path, inbound.headers) or find_entrance(
            method, inbound.path, inbound.headers
        )
        return self._answer(inbound, answer, entrance)

    async def _answer(self, inbound: Inbound, answer: Answer, entrance: Entrance | None) -> None:
        """Check the key, then answer. What goes wrong is told in the caller's dialect."""
        state = self.state
        try:
            if entrance is not None and entrance.door.kind in OPEN:
                return await ANSWERS[entrance.door.kind](Asked(state, inbound, answer, entrance, None))
            key = state.admission.find_once(inbound.headers, inbound.headers.made)
            if inbound.path.startswith(RECEIPTS):
                return self._receipt(inbound.path.removeprefix(RECEIPTS), key, answer)
            if entrance is None:
                raise missing(inbound)
            kind = CALLS.get(entrance.door.kind)
            call = None if kind is None else kind(state, inbound, answer, entrance, key)
            used = state.admission.enter(key)
            state.open += 1
            try:
                await (other(Asked(state, inbound, answer, entrance, key)) if call is None else call.run())
            except asyncio.CancelledError:
                if call is not None and not inbound.is_gone:  # the server stops, and the client is still there
                    call.stop()
                raise
            finally:
                state.open -= 1
                state.admission.leave(used)
        except AdapterError as error:
            self._refuse(answer, error, spoken(inbound, entrance))
        except asyncio.CancelledError:
            if inbound.is_gone:
                state.metrics.add("interlingua_left_total")
            elif state.draining:
                self._refuse(answer, stopping(), spoken(inbound, entrance))
        except Exception:
            id = new_ulid()
            log.exception("%s: an error of the gateway", id)
            self._refuse(
                answer,
                ServerError(f"the gateway failed; its log says why under {id}"),
                spoken(inbound, entrance),
            )

    def _receipt(self, id: str, key: Key | None, answer: Answer) -> None:
        found = self.state.receipts.find(id, None if key is None else key.name)
        if found is None:
            raise InvalidRequestError("there is no such receipt; they are kept for an hour", provider_status=NOT_FOUND)
        self.state.price(found, is_own=found in self.state.receipts)
        answer.whole(200, JSON, msgspec.json.encode(found.shown()))

    def _refuse(self, answer: Answer, error: AdapterError, dialect: str) -> None:
        """Tell an error in the caller's dialect, while there is a status to tell it with."""
        if answer.started:
            return
        error = worded(error, dialect)
        wire = find(dialect).encode_error(error)
        status = error.provider_status if error.provider_status in TOLD else wire.status
        answer.headers.setdefault(SERVED[dialect].request_id_header, error.request_id or new_ulid())
        answer.whole(status, wire.headers, wire.body)


TOLD = frozenset({404, 413, 415, 426, 501})
"""Statuses that are the gateway's own, or mean the same everywhere."""


def missing(inbound: Inbound) -> AdapterError:
    """The error for a path that is no endpoint."""
    if NOT_RELAYED.fullmatch(inbound.path):
        return InvalidRequestError(f"{inbound.path} is not relayed by this gateway", provider_status=NOT_IMPLEMENTED)
    return InvalidRequestError(f"this gateway has no {inbound.method} {inbound.path}"[:300], provider_status=NOT_FOUND)


def spoken(inbound: Inbound, entrance: Entrance | None) -> str:
    """The dialect in which to refuse a request: that of the endpoint, else what the request looks like."""
    if entrance is not None:
        return entrance.door.dialect
    family = PREFIXES.get(inbound.path[1:].partition("/")[0])
    if family:
        return family[0]
    told = {"anthropic-version": "anthropic-messages", "x-goog-api-key": "gemini"}
    return next((dialect for name, dialect in told.items() if name in inbound.headers), "openai-chat")


# ---------------------------------------------------------------------------------------------------- our own endpoints


async def _say(answer: Answer, status: int, body: Json) -> None:
    answer.whole(status, JSON, msgspec.json.encode(body))


def other(asked: Asked) -> Awaitable[None]:
    """What answers at an endpoint that needs a key, and no provider."""
    kind = asked.entrance.door.kind
    return count(asked) if kind == "count" else ANSWERS[kind](asked)


async def say_preflight(inbound: Inbound, answer: Answer) -> None:
    """A browser asks what it may send."""
    answer.whole(204, preflight(inbound.headers), b"")


async def health(state: State, answer: Answer) -> None:
    """The process runs. Nobody else is asked."""
    await _say(answer, 200, {"status": "ok"})


async def ready(state: State, answer: Answer) -> None:
    """Whether new requests should be sent here."""
    await _say(answer, 503 if state.draining else 200, {"status": "draining" if state.draining else "ready"})


async def metrics(state: State, answer: Answer) -> None:
    """Counters of all processes, for Prometheus."""
    answer.whole(200, TEXT, state.metrics_text().encode())


OWN: dict[str, Callable[[State, Answer], Awaitable[None]]] = {
    "/healthz": health,
    "/readyz": ready,
    "/metrics": metrics,
}

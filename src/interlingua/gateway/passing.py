"""Endpoints beside conversations (files, batches, images, audio, embeddings), which are passed on, never translated.

A request goes to the provider of the model that it names, else to the first provider of the routes that speaks its
protocol. Only the model's name and the credentials are changed. If no provider speaks the protocol, it is refused
with 501.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..client.adapter import new_ulid
from ..client.async_client import AsyncClient
from ..client.http import HttpRequest, Timeouts
from ..codec.json import is_dict
from ..errors import AdapterError, InvalidRequestError
from ..serving import Entrance
from ..types.usage import TokenUsage
from .admission import Key
from .choose import find_route
from .forwarding import answer_headers, forwarded_headers, with_query
from .http import Answer, Inbound
from .peek import Peek
from .receipts import Receipt
from .state import State

__all__ = ["PassCall"]

FAMILIES = {"openai-chat": ("openai-chat", "openai-responses")}
"""Dialects that share these endpoints."""
JSON = "application/json"
MOST = 4 * 1024 * 1024
NOT_FOUND, NOT_IMPLEMENTED = 404, 501
EVERYTHING = "*"
"""A request that names no model needs a key that may use all models."""


class PassCall:
    """One request that is passed on, until the end of its answer."""

    def __init__(self, state: State, inbound: Inbound, answer: Answer, entrance: Entrance, key: Key | None) -> None:
        self._state, self._inbound, self._answer, self._key = state, inbound, answer, key
        self._entrance, self._dialect = entrance, entrance.door.dialect
        self._receipt = Receipt(new_ulid(), self._dialect, passed=True)

    async def _receive(self) -> None:
        self._body = await self._inbound.body(self._state.snapshot.settings.body_limit)
        is_json = self._inbound.headers.get("content-type", "").startswith(JSON)
        self._peek = Peek(self._body) if self._body and is_json else None

    async def run(self) -> None:
        """Read the request and answer it. An error is raised if the answer has not begun, else only recorded."""
        await self._receive()
        requested = self._entrance.model or (None if self._peek is None else self._peek.text("model"))
        self._receipt.asked = requested
        if self._key is not None and not self._key.may_use(requested or EVERYTHING):
            raise InvalidRequestError(f"the key {self._key.name} may not do this", provider_status=NOT_FOUND)
        client, model = self._find(requested)
        self._receipt.served = f"{client.name}:{model}" if requested else client.name
        try:
            await self._pass(client, model)
        except AdapterError as error:
            self._receipt.status = str(error.error_class)
            if not self._answer.started:
                raise
        finally:
            self._state.note(self._receipt, self._key)

    def stop(self) -> None:
        """Record that the server stopped before the answer was complete."""
        self._receipt.status = "shutdown"

    def _find(self, requested: str | None) -> tuple[AsyncClient, str]:
        """The client of the provider that answers, and the provider's name of the model."""
        dialects = FAMILIES.get(self._dialect, (self._dialect,))
        for name in self._names(requested):
            try:
                id, model = self._state.manager.locate(name)
                client = self._state.manager.get_adapter(id)
            except (AdapterError, ValueError):
                continue
            if isinstance(client, AsyncClient) and client.dialect.name in dialects:
                return client, model or ""
        raise InvalidRequestError(
            f"{self._inbound.path} is passed on to providers of its own protocol only, and none is configured",
            provider_status=NOT_IMPLEMENTED,
        )

    def _names(self, requested: str | None) -> Iterator[str]:
        """The models whose providers are tried, in order."""
        snapshot = self._state.snapshot
        if requested is not None:
            yield from find_route(requested, snapshot, self._state.manager).names
        else:
            for route in snapshot.routes.values():
                yield from route.names
            if not snapshot.routes:
                yield from (model.name for model in self._state.list_models(self._key))

    async def _pass(self, client: AsyncClient, model: str) -> None:
        path = self._entrance.rest.format(model=model)
        passage = client.passage_to(path)
        if passage is None:
            raise InvalidRequestError(f"{client.name} has no {path}", provider_status=NOT_IMPLEMENTED)
        url = with_query(passage.url, self._inbound.query)
        headers = forwarded_headers(self._inbound.headers, passage.headers, self._dialect)
        seconds = client.config.timeout_seconds
        http = HttpRequest(self._inbound.method, url, headers, self._outgoing(model), Timeouts(read=seconds))
        reply = await client.send_signed(http)
        try:
            self._receipt.status = reply.status
            self._answer.headers["x-interlingua-receipt"] = f"{self._receipt.id}; losses=0"
            self._answer.start(reply.status, answer_headers(reply.headers))
            received: list[bytes] = []
            size = 0
            async for chunk in reply.chunks():
                size += len(chunk)
                if size <= MOST:
                    received.append(chunk)
                self._answer.write(chunk)
                if (drained := self._answer.drained) is not None:
                    await drained
            self._answer.end()
        finally:
            reply.close()
        if size <= MOST and reply.headers.get("content-type", "").startswith(JSON):
            self._receipt.usage = _usage(b"".join(received))
            self._receipt.billed = client.name, model

    def _outgoing(self, model: str) -> bytes:
        peek = self._peek
        if peek is None or (named := peek.text("model")) is None or named == model:
            return self._body
        body = peek.with_value("model", model)
        if body is None:
            raise InvalidRequestError("`model` must stand once at the top of the body")
        return body


def _usage(body: bytes) -> TokenUsage | None:
    """The tokens that an answer's ``usage`` states; None if it has none."""
    try:
        answer = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    usage = answer.get("usage") if is_dict(answer) else None
    if not is_dict(usage):
        return None

    def number(*keys: str) -> int:
        return next((usage[key] for key in keys if type(usage.get(key)) is int and usage[key] >= 0), 0)

    return TokenUsage(
        input_tokens=number("input_tokens", "prompt_tokens"), output_tokens=number("output_tokens", "completion_tokens")
    )

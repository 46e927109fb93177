"""The answers that need no provider: lists of models, the version, and what clients only probe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from .. import __version__
from ..errors import InvalidRequestError
from ..serving import Entrance, Listed, write_model, write_models
from ..types.base import Json
from .admission import CLAUDE_NAMES, Key
from .choose import find_route, no_model
from .http import Answer, Inbound
from .peek import Peek
from .state import State

__all__ = ["ANSWERS"]

JSON = {"content-type": "application/json"}
UPGRADE, NOT_IMPLEMENTED = 426, 501


class LocalCall(msgspec.Struct, frozen=True):
    """A request at an endpoint that the gateway answers itself."""

    state: State
    inbound: Inbound
    answer: Answer
    entrance: Entrance
    key: Key | None

    async def json(self, body: Json, status: int = 200) -> None:
        """Answer with a JSON body."""
        self.answer.send(status, JSON, msgspec.json.encode(body))


async def list_models(call: LocalCall) -> None:
    """Answer with the models that the key may use."""
    models, dialect = call.state.list_models(call.key), call.entrance.door.dialect
    if dialect == "anthropic-messages":
        models = [named for model in models for named in _also_as_claude(model)]
    await call.json(write_models(models, dialect, call.inbound.query))


def _also_as_claude(model: Listed) -> list[Listed]:
    """A model, and the same under a name with ``claude``, since some clients hide other names."""
    if "claude" in model.name.lower():
        return [model]
    return [model, msgspec.structs.replace(model, name=f"{CLAUDE_NAMES}{model.name}")]


async def show_model(call: LocalCall) -> None:
    """Answer with one model, by any name that a request could use."""
    state, name = call.state, call.entrance.model
    if name is None:  # Ollama names it in the body
        peek = Peek(await call.inbound.body(state.snapshot.settings.body_limit))
        name = peek.text("model") or peek.text("name") or ""
    if not name or (call.key is not None and not call.key.may_use(name)):
        raise no_model(name)
    find_route(name, state.snapshot, state.manager)
    model = state.describe_model(name.removeprefix(CLAUDE_NAMES))
    await call.json(write_model(model, call.entrance.door.dialect))


async def version(call: LocalCall) -> None:
    """Answer with the version of the gateway."""
    await call.json({"version": __version__})


async def probe(call: LocalCall) -> None:
    """Answer that the gateway runs."""
    call.answer.send(200, {"content-type": "text/plain"}, b"Interlingua is running")


async def accept(call: LocalCall) -> None:
    """Accept a client's telemetry and drop it."""
    await call.inbound.body(call.state.snapshot.settings.body_limit)
    await call.json({})


async def upgrade(call: LocalCall) -> None:
    """Refuse a WebSocket with status 426, after which clients use HTTP without delay."""
    error = InvalidRequestError("this gateway has no WebSocket; use POST", provider_status=UPGRADE)
    call.answer.headers["upgrade"] = "HTTP/1.1"
    await call.json({"error": {"message": error.message, "type": "invalid_request_error"}}, UPGRADE)


ANSWERS: dict[str, Callable[[LocalCall], Awaitable[None]]] = {
    "list": list_models,
    "show": show_model,
    "version": version,
    "probe": probe,
    "accept": accept,
    "upgrade": upgrade,
}
"""The function that answers, by the kind of the endpoint."""

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


class Asked(msgspec.Struct, frozen=True):
    """A request at an endpoint that the gateway answers itself."""

    state: State
    inbound: Inbound
    answer: Answer
    entrance: Entrance
    key: Key | None

    async def json(self, body: Json, status: int = 200) -> None:
        """Answer with a JSON body."""
        self.answer.send(status, JSON, msgspec.json.encode(body))


async def list_models(asked: Asked) -> None:
    """Answer with the models that the key may use."""
    models, dialect = asked.state.list_models(asked.key), asked.entrance.door.dialect
    if dialect == "anthropic-messages":
        models = [named for model in models for named in _also_as_claude(model)]
    await asked.json(write_models(models, dialect, asked.inbound.query))


def _also_as_claude(model: Listed) -> list[Listed]:
    """A model, and the same under a name with ``claude``, since some clients hide other names."""
    if "claude" in model.name.lower():
        return [model]
    return [model, msgspec.structs.replace(model, name=f"{CLAUDE_NAMES}{model.name}")]


async def show_model(asked: Asked) -> None:
    """Answer with one model, by any name that a request could use."""
    state, name = asked.state, asked.entrance.model
    if name is None:  # Ollama names it in the body
        peek = Peek(await asked.inbound.body(state.snapshot.settings.body_limit))
        name = peek.text("model") or peek.text("name") or ""
    if not name or (asked.key is not None and not asked.key.may_use(name)):
        raise no_model(name)
    find_route(name, state.snapshot, state.manager)
    model = state.describe_model(name.removeprefix(CLAUDE_NAMES))
    await asked.json(write_model(model, asked.entrance.door.dialect))


async def version(asked: Asked) -> None:
    """Answer with the version of the gateway."""
    await asked.json({"version": __version__})


async def probe(asked: Asked) -> None:
    """Answer that the gateway runs."""
    asked.answer.send(200, {"content-type": "text/plain"}, b"Interlingua is running")


async def accept(asked: Asked) -> None:
    """Accept a client's telemetry and drop it."""
    await asked.inbound.body(asked.state.snapshot.settings.body_limit)
    await asked.json({})


async def upgrade(asked: Asked) -> None:
    """Refuse a WebSocket with status 426, after which clients use HTTP without delay."""
    error = InvalidRequestError("this gateway has no WebSocket; use POST", provider_status=UPGRADE)
    asked.answer.headers["upgrade"] = "HTTP/1.1"
    await asked.json({"error": {"message": error.message, "type": "invalid_request_error"}}, UPGRADE)


ANSWERS: dict[str, Callable[[Asked], Awaitable[None]]] = {
    "list": list_models,
    "show": show_model,
    "version": version,
    "probe": probe,
    "accept": accept,
    "upgrade": upgrade,
}
"""The function that answers, by the kind of the endpoint."""

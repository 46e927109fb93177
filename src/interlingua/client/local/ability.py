"""What a model in this process can do, as llama.cpp says when it has loaded the model."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import msgspec
from msgspec import Struct

from ...errors import InvalidRequestError
from ..http import HttpRequest, Timeouts
from ..transport.base import Abort, Transport
from .finding import find_model
from .servers import release, url_of

__all__ = ["Ability", "loaded"]

SECONDS = 30.0


class Ability(Struct, frozen=True):
    """The size of a model's context in tokens, and whether its template can describe tools to it."""

    context: int
    tools: bool


class _Settings(Struct, frozen=True):
    n_ctx: int


class _Template(Struct, frozen=True):
    supports_tools: bool = False


class _Props(Struct, frozen=True):
    default_generation_settings: _Settings
    chat_template_caps: _Template = _Template()


@contextmanager
def loaded(model: str | None, options: Mapping[str, Any], environ: Mapping[str, str]) -> Generator[Ability]:
    """Load a model, and keep it as long as the block runs."""
    user = object()
    url = url_of(find_model(model, environ), user, options)
    try:
        yield _ability_at(url)
    finally:
        release(user)


def _ability_at(url: str) -> Ability:
    transport: Transport = import_module("..transport.blocking", __package__).BlockingTransport()
    try:
        reply = transport.send(HttpRequest("GET", f"{url}/props", timeouts=Timeouts(total=SECONDS)), Abort())
        props = msgspec.json.decode(b"".join(reply.chunks()), type=_Props)
    except msgspec.DecodeError as error:
        raise InvalidRequestError(f"llama.cpp does not say what the model can do: {error}") from error
    finally:
        transport.close()
    return Ability(props.default_generation_settings.n_ctx, props.chat_template_caps.supports_tools)

"""The work of ``interlingua translate``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ..codec.json import is_object
from ..codec.registry import DIALECTS, dialect as find
from ..codec.translate import StreamTranslation, translate_response
from ..errors import ParseError
from ..models.providers import PROVIDERS
from ..types.base import Json
from ..types.capabilities import Target
from ..types.loss import Encoded, Loss
from .failures import FAILED, LOST, CommandError
from .parsing import suggest
from .reading import Wire, open_input, read_wire

__all__ = ["NamedDialect", "find_dialect", "translate"]


FOR_CALLS = "check the base URL and the dialect of the provider"
"""Advice of an error for calls of a provider, which does not fit a file."""


class NamedDialect(NamedTuple):
    """A dialect, and the provider whose quirks apply; None if it was named as a dialect."""

    dialect: str
    provider: str | None = None


def find_dialect(name: str) -> NamedDialect:
    """The dialect of that name, or of the provider of that name."""
    if name in DIALECTS:
        return NamedDialect(name)
    if name in PROVIDERS:
        return NamedDialect(PROVIDERS[name].dialect, name)
    raise CommandError(f"{name!r} is no dialect; {suggest(name, [*DIALECTS, *PROVIDERS])}")


def translate(arguments: argparse.Namespace) -> int:
    """Translate the input to stdout. Returns the exit code."""
    arguments.to = find_dialect(arguments.to)
    arguments.source = given = find_dialect(arguments.source) if arguments.source else None
    with open_input(arguments.file) as source:
        wire = read_wire(source, given.dialect if given else None, arguments.kind)
        if wire.kind == "stream":
            return _translate_stream(wire, arguments)
        try:
            written = _translate_body(wire, arguments)
        except ParseError as error:
            raise ParseError(error.message.replace(FOR_CALLS, "--from and --kind say what it is")) from None
        if arguments.strict and _is_lossy(written.losses):
            _write_losses(written.losses, arguments)
            raise CommandError("nothing was written, because something would be lost", LOST)
        _write_body(wire, written, arguments)
        return 0


def _write_body(wire: Wire, written: Encoded, arguments: argparse.Namespace) -> None:
    if arguments.json:
        result = {"kind": wire.kind, "from": wire.dialect, "to": arguments.to.dialect}
        result |= msgspec.to_builtins(written) | {"losses": msgspec.to_builtins(written.losses)}
        data = msgspec.json.encode(result)
    else:
        data = written.body if isinstance(written.body, bytes) else msgspec.json.encode(written.body)
        _write_losses(written.losses, arguments)
    if sys.stdout.isatty():
        data = msgspec.json.format(data)
    sys.stdout.buffer.write(data + b"\n")


def _translate_body(wire: Wire, arguments: argparse.Namespace) -> Encoded:
    """A request, an answer or an error in the other dialect."""
    source = find(wire.dialect, arguments.source.provider if arguments.source else None)
    target = find(arguments.to.dialect, arguments.to.provider)
    if wire.kind == "request":
        request = source.decode_request(wire.body, model=arguments.model, stream=arguments.stream or None)
        if arguments.model is not None:
            request = replace(request, model=arguments.model)
        to = Target(arguments.to.provider, request.model) if arguments.to.provider else None
        return target.encode_request(request, to)
    if wire.kind == "response":
        return translate_response(wire.body, source=source, target=target)
    error = source.decode_error(arguments.status or _status(wire.body), {}, msgspec.json.encode(wire.body))
    written = target.encode_error(error)
    body = msgspec.json.decode(written.body) if arguments.json else written.body
    return Encoded(body, headers={**written.headers, "status": str(written.status)})


def _status(body: Json) -> int:
    """The status that an error body names, else 400."""
    inner: Json = body.get("error") if is_object(body) else None
    code: Json = inner.get("code") if is_object(inner) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 400


# ----------------------------------------------------------------------------------------------------------- a stream


def _translate_stream(wire: Wire, arguments: argparse.Namespace) -> int:
    """Translate a stream event by event. Only what the other dialect needs later is kept in memory."""
    if arguments.strict:
        raise CommandError("--strict is for what is written at once; a stream's losses are known when it is over")
    translation = StreamTranslation(
        source=find(wire.dialect, arguments.source.provider if arguments.source else None),
        target=find(arguments.to.dialect, arguments.to.provider),
    )
    out, reported = sys.stdout.buffer, 0
    for chunk in wire.chunks:
        out.write(translation.feed(chunk))
        out.flush()
        losses = translation.losses
        _write_losses(losses[reported:], arguments)
        reported = len(losses)
    out.write(translation.close())
    out.flush()
    _write_losses(translation.losses[reported:], arguments)
    if translation.error is not None:
        raise CommandError(f"the stream ended in an error: {translation.error.message}", FAILED)
    return 0


# ------------------------------------------------------------------------------------------------------------- losses


def _is_lossy(losses: Iterable[Loss]) -> bool:
    return any(loss.weight != "form" for loss in losses)


def _write_losses(losses: Iterable[Loss], arguments: argparse.Namespace) -> None:
    for loss in losses if not arguments.quiet else ():
        if arguments.json:
            sys.stderr.write(msgspec.json.encode(loss).decode() + "\n")
        else:
            sys.stderr.write(f"{loss.kind} ({loss.weight}) {loss.path}: {loss.reason}\n")

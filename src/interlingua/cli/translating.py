"""The work of ``interlingua translate``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..codec.registry import DIALECTS, dialect as find
from ..codec.translate import StreamTranslation, translate_response
from ..models.providers import PROVIDERS
from ..types.capabilities import Target
from ..types.loss import Encoded, Loss
from .failures import FAILED, LOST, CommandError
from .parsing import near
from .reading import Wire, opened, read_wire

__all__ = ["Speaker", "speaker", "translate"]


class Speaker(NamedTuple):
    """A dialect, and the provider whose quirks it has."""

    dialect: str
    provider: str | None = None


def speaker(name: str) -> Speaker:
    """The dialect or provider of that name."""
    if name in DIALECTS:
        return Speaker(name)
    if name in PROVIDERS:
        return Speaker(PROVIDERS[name].dialect, name)
    raise CommandError(f"{name!r} is no dialect; {near(name, [*DIALECTS, *PROVIDERS])}")


def translate(arguments: argparse.Namespace) -> int:
    """Do it. Returns the exit code."""
    arguments.to = speaker(arguments.to)
    arguments.source = given = speaker(arguments.source) if arguments.source else None
    with opened(arguments.file) as source:
        wire = read_wire(source, given.dialect if given else None, arguments.kind)
        if wire.kind == "stream":
            return _stream(wire, arguments)
        written = _written(wire, arguments)
        if arguments.strict and _matter(written.losses):
            _tell(written.losses, arguments)
            raise CommandError("nothing was written, because something would be lost", LOST)
        _write_body(wire, written, arguments)
        return 0


def _write_body(wire: Wire, written: Encoded, arguments: argparse.Namespace) -> None:
    if arguments.json:
        said = {"kind": wire.kind, "from": wire.dialect, "to": arguments.to.dialect}
        said |= msgspec.to_builtins(written) | {"losses": msgspec.to_builtins(written.losses)}
        data = msgspec.json.encode(said)
    else:
        data = written.body if isinstance(written.body, bytes) else msgspec.json.encode(written.body)
        _tell(written.losses, arguments)
    if sys.stdout.isatty():
        data = msgspec.json.format(data)
    sys.stdout.buffer.write(data + b"\n")


def _written(wire: Wire, arguments: argparse.Namespace) -> Encoded:
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
    said = target.encode_error(error)
    body = msgspec.json.decode(said.body) if arguments.json else said.body
    return Encoded(body, headers={**said.headers, "status": str(said.status)})


def _status(body: dict[str, Any]) -> int:
    """The status that an error body names itself; 400, where it names none."""
    inner = body.get("error")
    code = inner.get("code") if isinstance(inner, dict) else None  # pyright: ignore
    return code if isinstance(code, int) and 400 <= code < 600 else 400


# ----------------------------------------------------------------------------------------------------------- a stream


def _stream(wire: Wire, arguments: argparse.Namespace) -> int:
    """A stream, event by event: nothing is kept of it that the other dialect need not say later."""
    if arguments.strict:
        raise CommandError("--strict is for what is written at once; a stream's losses are known when it is over")
    translation = StreamTranslation(
        source=find(wire.dialect, arguments.source.provider if arguments.source else None),
        target=find(arguments.to.dialect, arguments.to.provider),
    )
    out, told = sys.stdout.buffer, 0
    for chunk in wire.chunks:
        out.write(translation.feed(chunk))
        out.flush()
        losses = translation.losses
        _tell(losses[told:], arguments)
        told = len(losses)
    out.write(translation.close())
    out.flush()
    _tell(translation.losses[told:], arguments)
    if translation.error is not None:
        raise CommandError(f"the stream ended in an error: {translation.error.message}", FAILED)
    return 0


# ------------------------------------------------------------------------------------------------------------- losses


def _matter(losses: Iterable[Loss]) -> bool:
    return any(loss.weight != "form" for loss in losses)


def _tell(losses: Iterable[Loss], arguments: argparse.Namespace) -> None:
    for loss in losses if not arguments.quiet else ():
        if arguments.json:
            sys.stderr.write(msgspec.json.encode(loss).decode() + "\n")
        else:
            sys.stderr.write(f"{loss.kind} ({loss.weight}) {loss.path}: {loss.reason}\n")

"""What can be said of one body: what it is, what is in it, and what each other dialect would lose of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from io import BytesIO

from msgspec import Struct

from ..codec.json import is_object
from ..codec.registry import dialect as find
from ..errors import AdapterError
from ..models.estimate import estimate_request
from ..types.events import MessageComplete
from ..types.loss import Encoded, Loss
from ..types.request import Request
from ..types.response import Response
from ..types.tools import Tool, ToolDefinition
from ..types.words import StopReason
from .captures import Piece
from .failures import CommandError
from .reading import Kind, Wire, read_wire

__all__ = ["Finding", "examine_all"]


class Finding(Struct, omit_defaults=True, kw_only=True):
    """One body. ``losses`` are those of each dialect that it was written in."""

    number: int
    kind: str
    dialect: str
    model: str | None = None
    messages: dict[str, int] = {}
    blocks: dict[str, int] = {}
    tools: tuple[str, ...] = ()
    tokens: int | None = None
    """Of a request an estimate, of an answer what the provider counted."""
    stop: str | None = None
    problem: str | None = None
    """What the error says; or why the body cannot be read."""
    losses: dict[str, tuple[Loss, ...]] = {}
    refused: dict[str, str] = {}
    """The dialects that cannot say it at all, and why."""


def examine_all(found: Iterable[Piece], dialect: str | None, targets: Sequence[str]) -> tuple[list[Finding], int]:
    """What is in each body, and how many bodies nobody could tell.

    Of an exchange, the request tells the dialect of the answer or the other way round, where one of them cannot.
    """
    findings: list[Finding] = []
    untold: list[Piece] = []
    told: dict[int, str] = {}
    problem: CommandError | None = None
    for piece in found:
        try:
            finding = _examine(piece, dialect or told.get(piece.number), targets)
        except CommandError as error:
            problem = error
            untold.append(piece)
            continue
        told[piece.number] = finding.dialect
        findings.append(finding)
    for piece in list(untold):
        if piece.number in told and piece.status is None:
            findings.append(_examine(piece, told[piece.number], targets))
            untold.remove(piece)
    if not findings and problem is not None:
        raise problem
    return sorted(findings, key=lambda one: (one.number, one.kind != "request")), len(untold)


def _examine(piece: Piece, dialect: str | None, targets: Iterable[str]) -> Finding:
    """Read a body and write it in each of the dialects ``targets``. Raises ``CommandError`` if nobody can tell it."""
    kind: Kind | None = "error" if piece.status is not None and piece.status >= 400 else None
    wire = read_wire(BytesIO(piece.data), dialect, kind)
    others = [name for name in targets if name != wire.dialect]
    try:
        if wire.kind == "request":
            return _request(piece, wire, others)
        if wire.kind == "error":
            error = find(wire.dialect).decode_error(piece.status or 400, {}, piece.data)
            found = f"{error.error_class}: {' '.join(error.message.split())[:200]}"
            return Finding(number=piece.number, kind="error", dialect=wire.dialect, problem=found)
        return _response(piece, wire, others)
    except AdapterError as error:
        return Finding(number=piece.number, kind=wire.kind, dialect=wire.dialect, problem=error.message)


def _request(piece: Piece, wire: Wire, others: list[str]) -> Finding:
    request = find(wire.dialect).decode_request(wire.body)
    found = Finding(
        number=piece.number,
        kind="request",
        dialect=wire.dialect,
        model=request.model,
        messages=Counter(str(message.role) for message in request.messages),
        blocks=_kinds(block for message in request.messages for block in message.content),
        tools=tuple(map(_name, request.tools)),
        tokens=estimate_request(request, "", request.model),
    )
    _write(found, request, others)
    return found


def _response(piece: Piece, wire: Wire, others: list[str]) -> Finding:
    response = _folded(wire) if wire.kind == "stream" else find(wire.dialect).decode_response(wire.body)
    found = Finding(
        number=piece.number,
        kind=wire.kind,
        dialect=wire.dialect,
        model=response.model,
        blocks=_kinds(response.content),
        tools=tuple(call.name for call in response.tool_uses),
        tokens=response.usage.total_tokens if response.usage is not None else None,
        stop=str(response.stop_reason),
    )
    if response.stop_reason is StopReason.error and response.error is not None:
        found.problem = str(response.error.message)
    _write(found, response, others)
    return found


def _folded(wire: Wire) -> Response:
    """The answer that a stream adds up to; of one that broke off, what had come."""
    decoder = find(wire.dialect).stream_decoder()
    for chunk in wire.chunks:
        for event in decoder.feed(chunk):
            if isinstance(event, MessageComplete):
                return event.response
    (*_, last) = decoder.close()
    assert isinstance(last, MessageComplete)
    return last.response


def _write(found: Finding, value: Request | Response, others: list[str]) -> None:
    for name in others:
        speaker = find(name)
        try:
            written: Encoded = (
                speaker.encode_request(value) if isinstance(value, Request) else speaker.encode_response(value)
            )
            found.losses[name] = written.losses
        except AdapterError as error:
            found.refused[name] = error.message


def _name(tool: Tool) -> str:
    """Of a provider's own tool, what the provider calls it."""
    if isinstance(tool, ToolDefinition):
        return tool.name
    raw = tool.raw if is_object(tool.raw) else {}
    return str(raw.get("name") or raw.get("type") or next(iter(raw), tool.dialect))


def _kinds(blocks: Iterable[object]) -> dict[str, int]:
    return dict(Counter(str(getattr(block, "type", type(block).__name__)) for block in blocks))

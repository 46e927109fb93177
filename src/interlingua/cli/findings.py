"""Examines bodies: what each is, what it contains, and what each other dialect would lose of it."""

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
from .captures import RecordedBody
from .failures import CommandError
from .reading import Kind, Wire, read_wire

__all__ = ["Finding", "examine_all"]


class Finding(Struct, omit_defaults=True, kw_only=True):
    """What was found out about one body. ``losses`` has those of each dialect in which it was written."""

    number: int
    kind: str
    dialect: str
    model: str | None = None
    messages: dict[str, int] = {}
    blocks: dict[str, int] = {}
    tools: tuple[str, ...] = ()
    tokens: int | None = None
    """An estimate for a request; the provider's count for an answer."""
    stop: str | None = None
    problem: str | None = None
    """The message of an error, or why the body cannot be read."""
    losses: dict[str, tuple[Loss, ...]] = {}
    refused: dict[str, str] = {}
    """The dialects in which it cannot be written at all, and why."""


def examine_all(
    found: Iterable[RecordedBody], dialect: str | None, targets: Sequence[str]
) -> tuple[list[Finding], int]:
    """A finding for each body, and how many bodies were not recognised.

    If the dialect of a request or its answer cannot be told from the body, that of the other one is taken.
    """
    findings: list[Finding] = []
    unknown: list[RecordedBody] = []
    dialects: dict[int, str] = {}
    problem: CommandError | None = None
    for recorded in found:
        try:
            finding = _examine(recorded, dialect or dialects.get(recorded.number), targets)
        except CommandError as error:
            problem = error
            unknown.append(recorded)
            continue
        dialects[recorded.number] = finding.dialect
        findings.append(finding)
    for recorded in list(unknown):
        if recorded.number in dialects and recorded.status is None:
            findings.append(_examine(recorded, dialects[recorded.number], targets))
            unknown.remove(recorded)
    if not findings and problem is not None:
        raise problem
    return sorted(findings, key=lambda one: (one.number, one.kind != "request")), len(unknown)


def _examine(recorded: RecordedBody, dialect: str | None, targets: Iterable[str]) -> Finding:
    """Read a body and write it in each dialect of ``targets``. Raises ``CommandError`` if it is not recognised."""
    kind: Kind | None = "error" if recorded.status is not None and recorded.status >= 400 else None
    wire = read_wire(BytesIO(recorded.data), dialect, kind)
    others = [name for name in targets if name != wire.dialect]
    try:
        if wire.kind == "request":
            return _request(recorded, wire, others)
        if wire.kind == "error":
            error = find(wire.dialect).decode_error(recorded.status or 400, {}, recorded.data)
            found = f"{error.error_class}: {' '.join(error.message.split())[:200]}"
            return Finding(number=recorded.number, kind="error", dialect=wire.dialect, problem=found)
        return _response(recorded, wire, others)
    except AdapterError as error:
        return Finding(number=recorded.number, kind=wire.kind, dialect=wire.dialect, problem=error.message)


def _request(recorded: RecordedBody, wire: Wire, others: list[str]) -> Finding:
    request = find(wire.dialect).decode_request(wire.body)
    found = Finding(
        number=recorded.number,
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


def _response(recorded: RecordedBody, wire: Wire, others: list[str]) -> Finding:
    response = _fold(wire) if wire.kind == "stream" else find(wire.dialect).decode_response(wire.body)
    found = Finding(
        number=recorded.number,
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


def _fold(wire: Wire) -> Response:
    """The answer that a stream adds up to; if it broke off, what had come of it."""
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
        target = find(name)
        try:
            written: Encoded = (
                target.encode_request(value) if isinstance(value, Request) else target.encode_response(value)
            )
            found.losses[name] = written.losses
        except AdapterError as error:
            found.refused[name] = error.message


def _name(tool: Tool) -> str:
    """The name of a tool; for a provider's built-in tool, the provider's name for it."""
    if isinstance(tool, ToolDefinition):
        return tool.name
    raw = tool.raw if is_object(tool.raw) else {}
    return str(raw.get("name") or raw.get("type") or next(iter(raw), tool.dialect))


def _kinds(blocks: Iterable[object]) -> dict[str, int]:
    return dict(Counter(str(getattr(block, "type", type(block).__name__)) for block in blocks))

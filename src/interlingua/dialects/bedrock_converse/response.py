"""The answer of Bedrock Converse. The stream reads and writes its envelope with the same rows.

Marks: ``metrics`` (there were none), and those of ``codec.endings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...codec.bodies.answers import answer_of
from ...codec.history.incomplete import LIMITS, declare_last_call, mark_cut_call
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.marks import kept, marks
from ...codec.paths import merge
from ...codec.tools.offered_tools import calls_as_declared
from ...types.base import Json
from ...types.blocks import ToolUseBlock
from ...types.loss import Encoded
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from .errors import ERRORS
from .facts import NAME
from .rows import ANSWER, ANSWER_BLOCKS, ENDING

NO_METRICS: Wire = {"latencyMs": 0}
"""Written where there are none: the service always sends them."""


def read_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and "output" not in body and ("message" in body or "__type" in body):
        return Response(stop_reason=StopReason.error, error=ERRORS.decode(None, headers, body, provider))
    fields, rest, mark = ANSWER.take(answer_of(body, NAME, "output", "stopReason"))
    calls = ToolUseBlock in map(type, fields["content"])
    if calls and request is not None:
        fields["content"] = calls_as_declared(fields["content"], request, texts=False, names_of=NAME)
    read_end(fields, rest, mark, calls=calls)
    return mark_cut_call(Response(**fields, **kept(NAME, rest, mark)))


def read_end(fields: dict[str, Any], rest: Wire, mark: Wire, *, calls: bool) -> None:
    """Everything behind the message."""
    ENDING.read(fields, rest, mark, calls=calls)
    if "metrics" not in rest:
        mark["metrics"] = []
    elif rest["metrics"] == NO_METRICS:
        del rest["metrics"]


def write_response(response: Response) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, response)
    wire = ANSWER.put(response, ledger)
    if response.stop_reason in LIMITS:
        declare_last_call(response, last_written(response), ledger)
    wire |= ENDING.write_stop(response, mark, ledger)
    wire |= ENDING.write_usage(response, mark, ledger)
    if response.extras:
        merge(wire, response.extras.get(NAME, {}))
        ledger.foreign(response, NAME)
    ANSWER.row.put_constants(wire, mark)
    add_metrics(wire, mark)
    return Encoded(wire, None, {}, tuple(ledger.losses))


def last_written(response: Response) -> int | None:
    """The place of the last block that can be written."""
    places = [at for at, block in enumerate(response.content) if ANSWER_BLOCKS.write(block, Ledger()) is not None]
    return places[-1] if places else None


def add_metrics(wire: Wire, mark: Mapping[str, Json]) -> None:
    if "metrics" not in wire and "metrics" not in mark:
        wire["metrics"] = dict(NO_METRICS)

"""The answer of Anthropic Messages. The stream reads and writes its envelope with the same functions.

Marks: ``content`` (there was none, or no list), and those of ``codec.endings``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...codec.bodies.answers import answer_of
from ...codec.history.incomplete import declare_last_call, mark_cut_call
from ...codec.json import is_array, is_object
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

# ------------------------------------------------------------------------------------------------------------- reading


def read_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and (body.get("type") == "error" or "error" in body):
        return Response(stop_reason=StopReason.error, error=ERRORS.decode(None, headers, body, provider))
    fields, rest, marks = ANSWER.take(answer_of(body, NAME, "content", "stop_reason"))
    blocks: Sequence[Any] = ()
    if is_array(content := rest.get("content")):
        del rest["content"]
        blocks = [ANSWER_BLOCKS.read(wire) for wire in content]
    else:
        marks["content"] = [rest.pop("content")] if "content" in rest else []
    calls = ToolUseBlock in map(type, blocks)
    if calls and request is not None:
        blocks = calls_as_declared(blocks, request, texts=False)
    ENDING.read(fields, rest, marks, calls=calls)
    return mark_cut_call(Response(tuple(blocks), **fields, **kept(NAME, rest, marks)))


# ------------------------------------------------------------------------------------------------------------- writing


def write_response(response: Response, request: Request | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, response)
    wire = ANSWER.put(response, ledger)
    content = write_blocks(response, ledger)
    if content or "content" not in mark:
        wire["content"] = content
    elif mark["content"]:
        wire["content"] = mark["content"][0]
    wire |= ENDING.write_stop(response, mark, ledger)
    wire |= ENDING.write_usage(response, mark, ledger)
    if response.extras:
        merge(wire, response.extras.get(NAME, {}))
        ledger.foreign(response, NAME)
    ANSWER.put_constants(wire, mark)
    return Encoded(wire, None, {}, tuple(ledger.losses))


def write_blocks(response: Response, ledger: Ledger) -> list[Json]:
    written: list[Json] = []
    last: int | None = None
    for index, block in enumerate(response.content):
        wire = ANSWER_BLOCKS.write_usual(block)
        if wire is None:
            ledger.where = ("content", index)
            wire = ANSWER_BLOCKS.interpret_write(block, ledger)
        if wire is not None or ANSWER_BLOCKS.is_null(block):
            written.append(wire)
            last = index
    ledger.where = ()
    declare_last_call(response, last, ledger)
    return written

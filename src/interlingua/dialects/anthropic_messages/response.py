"""The answer of Anthropic Messages. The stream reads and writes its envelope with the same functions.

Marks: ``content`` (there was none, or no list), ``stop_reason`` (a word that is not ours for it), ``usage`` (numbers
that are not what we would write; see ``codec.usage``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...codec.answers import answer_of, reads_answers
from ...codec.incomplete import declare_last_call, mark_cut_call
from ...codec.json import is_array, is_object
from ...codec.ledger import Ledger
from ...codec.offered_tools import is_plainly_offered
from ...codec.schemas import restorer
from ...codec.tables import marks, merge
from ...types.base import Json
from ...types.blocks import ToolUseBlock
from ...types.loss import Encoded
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from .errors import decode_error, encode_error_body
from .facts import NAME, Wire
from .rows import ANSWER, ANSWER_BLOCKS, STOP, USAGE

END, CALLED = StopReason.end_turn, StopReason.tool_use  # attribute access on an Enum costs 40 ns


# ------------------------------------------------------------------------------------------------------------- reading


@reads_answers(NAME)
def read_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and (body.get("type") == "error" or "error" in body):
        return Response(stop_reason=StopReason.error, error=decode_error(None, headers, body, provider))
    fields, rest, marks = ANSWER.take(answer_of(body, NAME, "content", "stop_reason"))
    blocks: list[Any] = []
    if is_array(content := rest.get("content")):
        del rest["content"]
        blocks = [ANSWER_BLOCKS.read(wire) for wire in content]
    else:
        marks["content"] = [rest.pop("content")] if "content" in rest else []
    calls = ToolUseBlock in map(type, blocks)
    if calls and request is not None:
        blocks = restored(blocks, request)
    read_end(fields, rest, marks, calls=calls)
    return mark_cut_call(Response(tuple(blocks), **fields, **ANSWER.kept(rest, marks)))


def restored(blocks: list[Any], request: Request) -> list[Any]:
    """The blocks, calls as the tools of the request were declared."""
    if all(is_plainly_offered(block.name, request) for block in blocks if type(block) is ToolUseBlock):
        return blocks
    restore = restorer(request, texts=False)
    if restore is None:
        return blocks
    return [restore(block) if type(block) is ToolUseBlock else block for block in blocks]


def read_end(fields: dict[str, Any], rest: Wire, marks: Wire, *, calls: bool) -> None:
    """Why the answer ended, and its usage."""
    word = rest.get("stop_reason")
    known = STOP.reads.get(word) if type(word) is str else None
    fields["stop_reason"] = known or (CALLED if calls else END)
    if type(word) is str:
        fields["raw_stop_reason"] = word
    if known is None or STOP.writes[known] != word:
        marks["stop_reason"] = [word] if "stop_reason" in rest else []
    rest.pop("stop_reason", None)
    if is_object(usage := rest.get("usage")):
        fields["usage"], left, kept = USAGE.read(usage)
        if kept is not None:
            marks["usage"] = kept
        rest["usage"] = left
        if not left:
            del rest["usage"]
    else:
        marks["no usage"] = [rest.pop("usage")] if "usage" in rest else []


# ------------------------------------------------------------------------------------------------------------- writing


def write_response(response: Response, request: Request | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, response)
    if response.error is not None:
        if response.content:
            ledger.lose("dropped", f"an error in {NAME} has no content", "content")
        return Encoded(encode_error_body(response.error), None, {}, tuple(ledger.losses))
    wire = ANSWER.put(response, ledger)
    content = write_blocks(response, ledger)
    if content or "content" not in mark:
        wire["content"] = content
    elif mark["content"]:
        wire["content"] = mark["content"][0]
    wire |= write_stop(response, mark, ledger)
    if response.usage is not None or "no usage" not in mark:
        wire["usage"] = write_usage(response, mark, ledger)
    elif mark["no usage"]:
        wire["usage"] = mark["no usage"][0]
    if response.extras:
        merge(wire, response.extras.get(NAME, {}))
        ledger.foreign(response, NAME)
    ANSWER.row.put_constants(wire, mark)
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


def write_stop(response: Response, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
    """The provider's own word while it still stands for the stop reason, else ours for it."""
    if "stop_reason" in mark:
        spelled: list[Json] = mark["stop_reason"]
        known = STOP.reads.get(spelled[0]) if spelled and type(spelled[0]) is str else None
        if (known or (CALLED if response.tool_uses else END)) is response.stop_reason:
            return {"stop_reason": spelled[0]} if spelled else {}
    word = STOP.writes.get(StopReason(response.stop_reason))
    if word is None:
        ledger.lose("approximated", f"{NAME} has no stop reason {response.stop_reason}", "stop_reason")
    return {"stop_reason": word or "end_turn"}


def write_usage(response: Response, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
    if response.usage is None:
        ledger.lose_form("added", f"{NAME} requires usage; zeros were added", "usage")
    return USAGE.write(response.usage or TokenUsage(), mark.get("usage"))

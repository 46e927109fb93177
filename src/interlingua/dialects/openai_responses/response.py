"""The answer of OpenAI Responses. The stream's last word is one, and is read with the same words.

There is no stop reason on the wire: it is told by ``status``, ``incomplete_details`` and what the answer holds. Marks:
``status`` (a word that is not what we would write), ``output`` and ``usage`` (absent or null), ``blank``, ``absent``,
``error`` (``bare``: the body was an error and nothing else), and those of ``echo.py`` and ``usage.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from msgspec.structs import replace

from ...codec.answers import answer_of, reads_answers
from ...codec.incomplete import declare_last_call, mark_cut_call
from ...codec.schemas import Restore, restorer
from ...codec.tables import Ledger, kept, marks, merge, own, read_constants, say_constants
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, ServerToolResultBlock, ToolUseBlock
from ...types.loss import Encoded
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from .answers import read_answer
from .echo import read_echo, say_echo
from .errors import decode_error, encode_error_body, say_failure
from .hosted import waits_for_caller
from .item_fields import CUT, is_cut
from .items import grouped, read_item, say_group, spelled_out
from .names import Scribe, namespaces, originals
from .usage import read_usage, say_usage
from .wire import NAME, Wire, is_array, is_object

CONSTANTS: Wire = {"object": "response", "created_at": 0, "service_tier": "default"}
INCOMPLETE = {
    "max_output_tokens": StopReason.max_tokens,
    "content_filter": StopReason.refusal,
    "max_messages": StopReason.pause_turn,
    "steered": StopReason.pause_turn,
}
ENDING = ("status", "incomplete_details", "error")
STATUS = {
    "cancelled": StopReason.cancelled,
    "failed": StopReason.error,
    "queued": StopReason.pause_turn,
    "in_progress": StopReason.pause_turn,
}


@reads_answers(NAME)
def decode_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and body.get("error") and "output" not in body and "status" not in body:
        error = decode_error(None, headers, body, provider)
        return Response(stop_reason=StopReason.error, error=error, forms={NAME: {"error": "bare"}})
    usual = read_answer(body, request, finisher) if is_object(body) else None
    if usual is not None:
        return usual
    rest = dict(answer_of(body, NAME, "output", "status"))
    forms: Wire = {}
    blocks = read_output(rest, forms)
    restore = finisher(request)
    if restore is not None:
        blocks = [restore(block) if type(block) is ToolUseBlock else block for block in blocks]
    return mark_cut_call(Response(content=tuple(blocks), **read_envelope(rest, forms, blocks, provider)))


def finisher(request: Request | None) -> Restore | None:
    """What gives a call its optionals and the tool's own name back."""
    restore, names = restorer(request, texts=True), originals(request)
    if not names:
        return restore

    def finish(block: ToolUseBlock) -> ToolUseBlock:
        block = replace(block, name=names.get(block.name, block.name))
        return restore(block) if restore is not None else block

    return finish


def read_output(rest: Wire, forms: Wire) -> list[Block]:
    output = rest.get("output")
    if not is_array(output):
        if "output" not in rest:
            forms["output"] = "absent"
        elif output is None:
            forms["output"] = rest.pop("output")
        return []
    del rest["output"]
    blocks: list[Block] = []
    status = rest.get("status")
    last = len(output) - 1 if status == CUT else -1
    for place, item in enumerate(output):
        read = read_item(item, place, len(blocks), cut=place == last)
        blocks += [replace(block, incomplete=True) for block in read] if is_cut(item, status) else read
    return blocks


def read_envelope(
    rest: Wire, forms: Wire, blocks: list[Block], provider: str | None, *, ended: bool = True
) -> dict[str, Any]:
    """Everything but the content. ``rest`` is a private copy. Without an end, what it says of one is not read."""
    blanks: Wire = {}
    read_constants(rest, forms, CONSTANTS)
    fields: dict[str, Any] = {}
    for key in ("id", "model"):
        value = rest.pop(key, "absent") if key in rest else "absent"
        if isinstance(value, str) and value not in ("", "absent"):
            fields[key] = value
        elif value != "":
            forms[key] = value
    if ended:
        read_stop(rest, fields, forms, blocks, provider)
    else:
        rest = {key: value for key, value in rest.items() if key not in ENDING}
    usage = rest.get("usage", "absent")
    if is_object(usage):
        counts: Wire = {}
        fields["usage"], left = read_usage(usage, counts)
        del rest["usage"]
        if left:
            rest["usage"] = left
        if counts:
            forms["counts"] = counts
    elif usage is None:
        del rest["usage"]
    else:
        forms["usage"] = "absent"
    read_echo(rest, forms)
    return {**fields, **kept(NAME, rest, forms, blanks)}


def read_stop(rest: Wire, fields: dict[str, Any], forms: Wire, blocks: list[Block], provider: str | None) -> None:
    status, details, failure = (rest.pop(key, "absent") for key in ENDING)
    reason = details.get("reason") if is_object(details) else None
    natural = _natural(blocks)
    stop = STATUS.get(status, natural) if isinstance(status, str) else natural
    if status == "incomplete":
        stop = INCOMPLETE.get(reason, natural) if isinstance(reason, str) else natural
    fields["stop_reason"] = stop
    if isinstance(status, str) and status != "absent":
        fields["raw_stop_reason"] = reason if isinstance(reason, str) else status
    if is_object(failure):
        fields["error"] = decode_error(None, None, {"error": failure}, provider)
        fields["stop_reason"] = StopReason.error
    read = {"status": status, "incomplete_details": details, "error": failure}
    said = say_stop(StopReason(fields["stop_reason"]), blocks, fields.get("error"), Ledger())
    if odd := {key: value for key, value in read.items() if value != said[key]}:
        forms["stop"] = odd


def _natural(blocks: list[Block]) -> StopReason:
    """What an answer that came to its end ended in."""
    answered = {block.tool_use_id for block in blocks if type(block) is ServerToolResultBlock}
    if any(type(block) is ToolUseBlock or waits_for_caller(block, answered) for block in blocks):
        return StopReason.tool_use
    return StopReason.refusal if any(type(block) is RefusalBlock for block in blocks) else StopReason.end_turn


# ---------------------------------------------------------------------------------------------------------- writing


def encode_response(response: Response, request: Request | None) -> Encoded:
    if response.error is not None and marks(NAME, response).get("error") == "bare":
        return Encoded(encode_error_body(response.error))
    scribe = answering(request)
    wire = say_envelope(response, request, scribe)
    output = say_items(response, scribe, cut=wire.get("status") == CUT)
    if output or "output" not in marks(NAME, response):
        wire["output"] = output
    elif (form := marks(NAME, response)["output"]) != "absent":
        wire["output"] = form
    return Encoded(wire, None, {}, tuple(scribe.losses))


def answering(request: Request | None) -> Scribe:
    scribe = Scribe(answer=True)
    scribe.namespaces = namespaces(request)
    return scribe


def say_items(response: Response, scribe: Scribe, *, cut: bool) -> list[Wire]:
    said: list[Wire] = []
    groups, last = grouped(enumerate(response.content)), None
    for group in groups:
        scribe.where = ("content", group[0][0])
        item = say_group(group, len(said), scribe, cut=cut and group is groups[-1])
        if item is not None:
            said.append(item)
            last = group[-1][0]
    scribe.where = ()
    declare_last_call(response, last, scribe)
    return said


def as_turn(response: Response, message: Message) -> Message:
    """The turn of an answer that was read here. What it left unsaid is not usual in a history: ids, and a cut."""
    cut = say_status(response, marks(NAME, response), Ledger()).get("status") == CUT
    groups = grouped(enumerate(response.content))
    content = [block for _, block in chain.from_iterable(groups)]
    for place, group in enumerate(groups):
        content[group[0][0]] = spelled_out(group[0][1], place, cut=cut and group is groups[-1])
    return replace(message, content=tuple(content))


def say_envelope(response: Response, request: Request | None, scribe: Scribe) -> Wire:
    """Everything but ``output``."""
    mark = marks(NAME, response)
    wire: Wire = {}
    for key in ("id", "model"):
        value = getattr(response, key)
        if value is not None or key not in mark:
            wire[key] = value or ""
        elif mark[key] != "absent":
            wire[key] = mark[key]
    wire |= say_status(response, mark, scribe)
    if response.usage is not None:
        wire["usage"] = say_usage(response.usage, mark.get("counts", {}))
    elif "usage" not in mark:
        wire["usage"] = None
    say_echo(wire, mark, request)
    own(NAME, wire, response)
    say_constants(wire, mark, CONSTANTS)
    scribe.foreign(response, NAME)
    return wire


def say_status(response: Response, mark: Wire, ledger: Ledger) -> Wire:
    """The words that were read while they still stand for the stop reason, else ours for it."""
    blocks, error = list(response.content), response.error
    stop = StopReason(response.stop_reason)
    if "stop" in mark:
        quiet = Ledger()
        wire = {**say_stop(stop, blocks, error, quiet), **mark["stop"]}
        read: dict[str, Any] = {}
        wire = {key: value for key, value in wire.items() if value != "absent"}
        read_stop(dict(wire), read, {}, blocks, None)
        if read["stop_reason"] is stop and ("error" in read) is (error is not None):
            if error is not None:
                wire["error"] = say_failure(error)
            return wire
    wire = say_stop(stop, blocks, error, ledger)
    return merge({}, wire)


def say_stop(stop: StopReason, blocks: list[Block], error: AdapterError | None, ledger: Ledger) -> Wire:
    wire: Wire = {"status": "completed", "incomplete_details": None, "error": None}
    natural = _natural(blocks)
    if stop is StopReason.cancelled:
        wire["status"] = "cancelled"
    elif error is not None or stop is StopReason.error:
        wire["status"] = "failed"
        wire["error"] = say_failure(error if isinstance(error, AdapterError) else AdapterError("the answer failed"))
    elif stop is StopReason.max_tokens:
        wire |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    elif stop is StopReason.refusal and natural is not StopReason.refusal:
        wire |= {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    elif stop is StopReason.context_overflow:
        wire |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        ledger.lose("approximated", f"{NAME} has no stop reason {stop}", "stop_reason")
    elif stop is not natural:
        ledger.lose("approximated", f"{NAME} has no stop reason {stop} here; it reads as {natural}", "stop_reason")
    return wire

"""The answer of OpenAI Responses. The last event of a stream holds one, and is read with the same functions.

There is no stop reason on the wire: it follows from ``status``, ``incomplete_details`` and the items. Marks: ``stop``
(by key, for what we would write otherwise: a list of what stood there, if anything), ``output`` (a list of what stood
there instead of items, if anything), ``usage`` (numbers that we would write otherwise; see ``codec.rows.usage``),
``no usage`` (there was no such key), ``error`` (``bare``: the body was an error and nothing else).

Most keys of an answer repeat its request, and the protocol requires most of these. They are not residue, because they
say nothing about the answer: what differs from the defaults is the mark ``echo``, what is missing the mark
``unechoed``. An answer that was read here repeats the same; any other repeats its request if known, or the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.bodies.answers import checked_answer
from ...codec.history.incomplete import declare_last_call, mark_cut_call
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks
from ...codec.paths import ABSENT, copied, merge
from ...codec.tools.offered_tools import calls_as_declared
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, RefusalBlock, ServerToolResultBlock, ServerToolUseBlock, ToolUseBlock
from ...types.loss import Encoded
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from .errors import ERRORS, write_failure
from .facts import CUT, DONE, FAILED, NAME, is_cut
from .hosted import groups_of, read_item, waits_for_caller, with_id_and_status, write_item
from .request import namespaces, write_request
from .rows import ANSWER, USAGE
from .rules import Scribe

END, CALLED, REFUSED = StopReason.end_turn, StopReason.tool_use, StopReason.refusal  # an Enum costs 40 ns to reach
INCOMPLETE = {
    "max_output_tokens": StopReason.max_tokens,
    "content_filter": StopReason.refusal,
    "max_messages": StopReason.pause_turn,
    "steered": StopReason.pause_turn,
}
STATUS = {
    "cancelled": StopReason.cancelled,
    "failed": StopReason.error,
    "queued": StopReason.pause_turn,
    "in_progress": StopReason.pause_turn,
}
ENDED: Wire = {"status": DONE, "incomplete_details": None, "error": None}
ENDING = (*ENDED,)

# ------------------------------------------------------------------------------------------------------------- reading


def read_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and body.get("error") and "output" not in body and "status" not in body:
        error = ERRORS.decode(None, headers, body, provider)
        return Response(stop_reason=StopReason.error, error=error, forms={NAME: {"error": "bare"}})
    mark: Wire = {}
    fields, rest, spelled = ANSWER.take(read_echo(checked_answer(body, NAME, "output", "status"), mark))
    mark |= spelled
    blocks: Sequence[Block] = read_output(rest, mark)
    if request is not None and ToolUseBlock in map(type, blocks):
        blocks = calls_as_declared(blocks, request, texts=True)
    read_ending(fields, rest, mark, blocks, provider)
    return mark_cut_call(Response(tuple(blocks), **fields, **extras_and_forms(NAME, rest, mark)))


def read_output(rest: Wire, mark: Wire) -> list[Block]:
    """The blocks of all items."""
    output = rest.get("output")
    if not is_array(output):
        if output is None:
            mark["output"] = [rest.pop("output")] if "output" in rest else []
        return []
    del rest["output"]
    blocks: list[Block] = []
    status = rest.get("status")
    last = len(output) - 1 if status == CUT else -1
    for place, item in enumerate(output):
        if not is_object(item):
            blocks.append(OpaqueBlock(NAME, item))
            continue
        read = read_item(item, place, len(blocks), cut=place == last)
        if item.get("status") != DONE and is_cut(item, status):
            read = [replace(block, incomplete=True) for block in read]
        blocks += read
    return blocks


def read_ending(
    fields: dict[str, Any],
    rest: Wire,
    mark: Wire,
    blocks: Sequence[Block],
    provider: str | None,
    *,
    ended: bool = True,
) -> None:
    """Read how the answer ended, and its usage. If it has not ``ended``, the keys about its end are ignored."""
    if ended:
        read_stop(rest, fields, mark, blocks, provider)
    else:
        for key in ENDING:
            rest.pop(key, None)
    usage = rest.pop("usage", rest)
    if usage is rest:
        mark["no usage"] = True
    elif is_object(usage):
        fields["usage"], left, numbers = USAGE.read(usage)
        if numbers is not None:
            mark["usage"] = numbers
        if left:
            rest["usage"] = left
    elif usage is not None:
        rest["usage"], mark["no usage"] = usage, True


def read_stop(rest: Wire, fields: dict[str, Any], mark: Wire, blocks: Sequence[Block], provider: str | None) -> None:
    status, details, failure = [rest.pop(key, ABSENT) for key in ENDING]
    if status == DONE and details is None and failure is None:
        fields["stop_reason"] = natural_stop(blocks)
        fields["raw_stop_reason"] = DONE
        return
    found = {key: value for key, value in zip(ENDING, (status, details, failure), strict=True) if value is not ABSENT}
    reason = details.get("reason") if is_object(details) else None
    stop = natural = natural_stop(blocks)
    if status != DONE and type(status) is str:
        stop = STATUS.get(status, natural)
        if status == CUT:
            stop = INCOMPLETE.get(reason, natural) if type(reason) is str else natural
    if type(status) is str:
        fields["raw_stop_reason"] = reason if type(reason) is str else status
    if is_object(failure):
        fields["error"] = ERRORS.decode(None, None, {"error": failure}, provider)
        stop = StopReason.error
    fields["stop_reason"] = stop
    usual = write_stop(stop, natural, fields.get("error"), Ledger())
    if found != usual:
        differ = [key for key in ENDING if found.get(key, mark) != usual[key]]
        mark["stop"] = {key: [found[key]] if key in found else [] for key in differ}


def natural_stop(blocks: Sequence[Block]) -> StopReason:
    """The stop reason of an answer that is complete, by the types of its blocks."""
    kinds = set(map(type, blocks))
    if ToolUseBlock in kinds:
        return CALLED
    if ServerToolUseBlock in kinds:
        answered = {block.tool_use_id for block in blocks if type(block) is ServerToolResultBlock}
        if any(waits_for_caller(block, answered) for block in blocks):
            return CALLED
    return REFUSED if RefusalBlock in kinds else END


# ------------------------------------------------------------------------------------------------------------- writing


def write_response(response: Response, request: Request | None) -> Encoded:
    mark = marks(NAME, response)
    if response.error is not None and mark.get("error") == "bare":
        return Encoded(ERRORS.body(response.error))
    scribe = scribe_for(request)
    wire = write_envelope(response, request, scribe)
    output = write_items(response, scribe, cut=wire.get("status") == CUT)
    if output or "output" not in mark:
        wire["output"] = output
    elif mark["output"]:
        wire["output"] = mark["output"][0]
    return Encoded(wire, None, {}, tuple(scribe.losses))


def scribe_for(request: Request | None) -> Scribe:
    scribe = Scribe()
    scribe.namespaces = namespaces(request)
    return scribe


def write_items(response: Response, scribe: Scribe, *, cut: bool) -> list[Wire]:
    written: list[Wire] = []
    groups, last = groups_of(enumerate(response.content)), None
    for group in groups:
        scribe.where = ("content", group[0][0])
        item = write_item(group, len(written), scribe, cut=cut and group is groups[-1])
        if item is not None:
            written.append(item)
            last = group[-1][0]
    scribe.where = ()
    declare_last_call(response, last, scribe)
    return written


def as_turn(response: Response, message: Message) -> Message:
    """The message of an answer for a history, where items need the ids and statuses that the answer let us derive."""
    cut = write_status(response, marks(NAME, response), Ledger()).get("status") == CUT
    groups = groups_of(enumerate(response.content))
    content = [block for group in groups for _, block in group]
    for place, group in enumerate(groups):
        content[group[0][0]] = with_id_and_status(group[0][1], place, cut=cut and group is groups[-1])
    return replace(message, content=tuple(content))


def write_envelope(response: Response, request: Request | None, scribe: Ledger) -> Wire:
    """The answer without ``output``."""
    mark = marks(NAME, response)
    wire = ANSWER.put(response, scribe)
    wire |= write_status(response, mark, scribe)
    if response.usage is not None:
        wire["usage"] = USAGE.write(response.usage, mark.get("usage"))
    elif "no usage" not in mark:
        wire["usage"] = None
    write_echo(wire, mark, request)
    if response.extras:
        merge(wire, response.extras.get(NAME, {}))
        scribe.lose_foreign_extras(response, NAME)
    ANSWER.put_constants(wire, mark)
    return wire


def write_status(response: Response, mark: Wire, ledger: Ledger) -> Wire:
    """The keys about the end: as they were read while they still mean the same stop reason, else as we write them."""
    blocks, error, stop = response.content, response.error, StopReason(response.stop_reason)
    natural = natural_stop(blocks)
    if "stop" in mark:
        wire = write_stop(stop, natural, error, Ledger())
        for key, value in mark["stop"].items():
            if value:
                wire[key] = value[0]
            else:
                del wire[key]
        read: dict[str, Any] = {}
        read_stop(dict(wire), read, {}, blocks, None)
        if read["stop_reason"] is stop and ("error" in read) is (error is not None):
            return wire if error is None else {**wire, "error": write_failure(error)}
    return write_stop(stop, natural, error, ledger)


def write_stop(stop: StopReason, natural: StopReason, error: AdapterError | None, ledger: Ledger) -> Wire:
    wire = ENDED.copy()
    if stop is natural and error is None:
        return wire
    if stop is StopReason.cancelled:
        wire["status"] = "cancelled"
    elif error is not None or stop is StopReason.error:
        wire["status"] = FAILED
        wire["error"] = write_failure(error if isinstance(error, AdapterError) else AdapterError("the answer failed"))
    elif stop is StopReason.max_tokens:
        wire |= {"status": CUT, "incomplete_details": {"reason": "max_output_tokens"}}
    elif stop is REFUSED:
        wire |= {"status": CUT, "incomplete_details": {"reason": "content_filter"}}
    elif stop is StopReason.context_overflow:
        wire |= {"status": CUT, "incomplete_details": {"reason": "max_output_tokens"}}
        ledger.lose("approximated", f"{NAME} has no stop reason {stop}", "stop_reason")
    else:
        ledger.lose("approximated", f"{NAME} has no stop reason {stop} here; it reads as {natural}", "stop_reason")
    return wire


# ---------------------------------------------------------------------------------------------- the repeated request

DEFAULTS: Wire = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
PLAIN = frozenset(key for key, default in DEFAULTS.items() if not isinstance(default, dict | list))
OTHERS = frozenset(
    "access_programs frequency_penalty image presence_penalty prompt prompt_cache_options"
    " prompt_cache_retention".split()
)
"""Keys of a request that some servers repeat. We write them only if they were read."""


def read_echo(body: Wire, mark: Wire) -> Wire:
    """The answer without the keys that repeat its request, which are marked if they are not the defaults."""
    echo: Wire = {}
    rest: Wire = {}
    others = 0
    for key, value in body.items():
        if key in DEFAULTS:
            default = DEFAULTS[key]
            if value is not default and (value != default or type(value) is not type(default)):
                echo[key] = value
        elif key in OTHERS:
            echo[key] = value
            others += 1
        else:
            rest[key] = value
    if echo:
        mark["echo"] = echo
    if len(body) - len(rest) - others < len(DEFAULTS):
        mark["unechoed"] = [key for key in DEFAULTS if key not in body]
    return rest


def write_echo(wire: Wire, mark: Wire, request: Request | None) -> None:
    echo: Wire = mark.get("echo", {})
    missing = mark.get("unechoed", ())
    sent: Wire = write_request(request, None).body if request is not None and not echo and not missing else {}
    for key, default in DEFAULTS.items():
        if key not in echo and key not in missing:
            wire[key] = default if key in PLAIN else copied(default)
    for key in DEFAULTS.keys() & sent.keys():
        is_filled = is_object(sent[key]) and is_object(wire[key])
        wire[key] = {**wire[key], **sent[key]} if is_filled else sent[key]
    wire |= echo

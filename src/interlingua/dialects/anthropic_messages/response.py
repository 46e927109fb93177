"""The answer of Anthropic Messages. The stream decoder reads its envelope with the same words.

Marks of usage: ``no_usage`` (counts that were missing, or are none: below 0 or of another type, then residue),
``thinking`` (more of it than the output that it is part of: clamped).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...codec.answers import answer_of, reads_answers
from ...codec.incomplete import declare_last_call, mark_cut_call
from ...codec.json import is_array, is_dict, is_object
from ...codec.schemas import restorer
from ...codec.tables import Ledger, Words, kept, marks, own, read_constants, say_constants
from ...types.base import Json
from ...types.blocks import ToolUseBlock
from ...types.loss import Encoded
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from .answers import read_answer
from .blocks import BLOCKS, NAME, Wire
from .errors import decode_error, encode_error_body

CONSTANTS: Wire = {"type": "message", "role": "assistant", "stop_sequence": None}
STOP: Words[StopReason] = Words(
    [
        ("end_turn", StopReason.end_turn),
        ("max_tokens", StopReason.max_tokens),
        ("stop_sequence", StopReason.stop_sequence),
        ("tool_use", StopReason.tool_use),
        ("pause_turn", StopReason.pause_turn),
        ("refusal", StopReason.refusal),
        ("model_context_window_exceeded", StopReason.context_overflow),
        ("compaction", StopReason.pause_turn),
    ]
)
USAGE = (
    # canonical                       wire
    ("input_tokens", "input_tokens"),
    ("cache_creation_input_tokens", "cache_creation_input_tokens"),
    ("cached_input_tokens", "cache_read_input_tokens"),
    ("output_tokens", "output_tokens"),
)

COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
END, CALLED = StopReason.end_turn, StopReason.tool_use  # an enum's members are slow to reach


@reads_answers(NAME)
def decode_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    usual = read_answer(body, request) if is_object(body) else None
    if usual is not None:
        return mark_cut_call(usual)
    if is_object(body) and (body.get("type") == "error" or "error" in body):
        error = decode_error(None, headers, body, provider)
        return Response(stop_reason=StopReason.error, error=error)
    rest = dict(answer_of(body, NAME, "content", "stop_reason"))
    content = rest.pop("content", None)
    blocks = tuple(map(BLOCKS.decode, content)) if is_array(content) else ()
    restore = restorer(request, texts=False)
    if restore is not None:
        blocks = tuple(restore(block) if type(block) is ToolUseBlock else block for block in blocks)
    forms: Wire = {} if is_array(content) else {"content": content if "content" in body else "absent"}
    calls = any(type(block) is ToolUseBlock for block in blocks)
    return mark_cut_call(Response(content=blocks, **read_envelope(rest, forms, calls=calls)))


def read_envelope(rest: Wire, forms: Wire, *, calls: bool) -> dict[str, Any]:
    """Everything but the content. ``rest`` is a private copy."""
    blanks: Wire = {}
    read_constants(rest, forms, CONSTANTS)
    fields: dict[str, Any] = {}
    for key in ("id", "model"):
        value = rest.pop(key, "absent")
        if isinstance(value, str) and value and value != "absent":
            fields[key] = value
        elif value != "":
            forms[key] = value
    read_stop(rest, fields, forms, calls=calls)
    if isinstance(rest.get("usage"), dict):
        fields["usage"] = read_usage(rest, forms, blanks)
    else:
        forms["usage"] = rest.pop("usage", "absent")
    return {**fields, **kept(NAME, rest, forms, blanks)}


def read_stop(rest: Wire, fields: dict[str, Any], forms: Wire, *, calls: bool) -> None:
    word = rest.pop("stop_reason", "absent")
    known = STOP.read.get(word) if isinstance(word, str) else None
    fields["stop_reason"] = known or (CALLED if calls else END)
    if isinstance(word, str) and word != "absent":
        fields["raw_stop_reason"] = word
    if known is None or STOP.write[known] != word:
        forms["stop_reason"] = word


def read_usage(rest: Wire, forms: Wire, blanks: Wire) -> TokenUsage:
    usage = dict(rest.pop("usage"))
    empty: Wire = {}
    counts: dict[str, Any] = {}
    for ours, theirs in USAGE:
        value = usage.get(theirs, "absent")
        if type(value) is int and value >= 0:
            counts[ours] = usage.pop(theirs)
        elif value is None:
            empty[theirs] = usage.pop(theirs)
        else:  # absent, or no count: residue says it
            forms.setdefault("no_usage", []).append(theirs)
    counts["reasoning_tokens"] = _read_reasoning(usage, empty)
    if counts["reasoning_tokens"] > counts.get("output_tokens", 0):
        forms["thinking"] = counts["reasoning_tokens"]
        counts["reasoning_tokens"] = counts.get("output_tokens", 0)
    if empty:
        blanks["usage"] = empty
    if usage:
        rest["usage"] = usage
    return TokenUsage(**counts)


def count(usage: Wire) -> TokenUsage:
    """The counts alone."""
    fresh, read, written, said = [_count(usage, key) for key in COUNTS]
    details = usage.get("output_tokens_details")
    thoughts = _count(details, "thinking_tokens") if is_dict(details) else 0
    return TokenUsage(fresh, read, written, said, min(thoughts, said))


def _count(wire: Wire, key: str) -> int:
    value = wire.get(key)
    return value if type(value) is int and value >= 0 else 0


def _read_reasoning(usage: Wire, empty: Wire) -> int:
    details = usage.get("output_tokens_details")
    if not is_dict(details) or type(value := details.get("thinking_tokens")) is not int or value < 0:
        return 0
    inner = dict(usage.pop("output_tokens_details"))
    tokens: int = inner.pop("thinking_tokens")
    if inner:
        usage["output_tokens_details"] = inner
    if tokens == 0:
        empty["output_tokens_details"] = {"thinking_tokens": 0}
    return tokens


def encode_response(response: Response, request: Request | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, response)
    if response.error is not None:
        if response.content:
            ledger.lose("dropped", f"an error in {NAME} has no content", "content")
        return Encoded(encode_error_body(response.error), None, {}, tuple(ledger.losses))
    wire: Wire = {"id": response.id or "", "model": response.model or ""}
    for key in ("id", "model"):
        if key in mark and getattr(response, key) is None:
            wire[key] = mark[key]
            if mark[key] == "absent":
                del wire[key]
    wire["content"] = encode_blocks(response, ledger)
    if not wire["content"] and "content" in mark:
        wire["content"] = mark["content"]
        if mark["content"] == "absent":
            del wire["content"]
    wire |= say_stop(response, mark, ledger)
    usage = say_usage(response, mark, ledger)
    if usage != "absent":
        wire["usage"] = usage
    own(NAME, wire, response)
    say_constants(wire, mark, CONSTANTS)
    ledger.where = ()
    ledger.foreign(response, NAME)
    return Encoded(wire, None, {}, tuple(ledger.losses))


def encode_blocks(response: Response, ledger: Ledger) -> list[Wire]:
    said: list[Wire] = []
    last: int | None = None
    for index, block in enumerate(response.content):
        ledger.where = ("content", index)
        wire = BLOCKS.encode(block, ledger)
        if wire is not None:
            said.append(wire)
            last = index
    ledger.where = ()
    declare_last_call(response, last, ledger)
    return said


def say_stop(response: Response, mark: Wire, ledger: Ledger) -> Wire:
    """The provider's own word while it still stands for the stop reason, else ours for it."""
    if "stop_reason" in mark:
        word = mark["stop_reason"]
        calls = bool(response.tool_uses)
        known = STOP.read.get(word) if isinstance(word, str) else None
        stands_for = known or (StopReason.tool_use if calls else StopReason.end_turn)
        if stands_for is response.stop_reason:
            return {} if word == "absent" else {"stop_reason": word}
    word = STOP.write.get(StopReason(response.stop_reason))
    if word is None:
        ledger.lose("approximated", f"{NAME} has no stop reason {response.stop_reason}", "stop_reason")
        word = "end_turn"
    return {"stop_reason": word}


def say_usage(response: Response, mark: Wire, ledger: Ledger) -> Json:
    if response.usage is None and "usage" in mark:
        return mark["usage"]
    usage = response.usage or TokenUsage()
    if response.usage is None:
        ledger.lose_form("added", f"{NAME} requires usage; zeros were added", "usage")
    missing = mark.get("no_usage", ())
    wire: Wire = {}
    empty = mark.get("blank", {}).get("usage", {})
    for ours, theirs in USAGE:
        value = getattr(usage, ours)
        if value or (theirs not in missing and theirs not in empty):
            wire[theirs] = value
    thoughts = usage.reasoning_tokens
    if thoughts == usage.output_tokens:
        thoughts = mark.get("thinking", thoughts)
    if thoughts:
        wire["output_tokens_details"] = {"thinking_tokens": thoughts}
    return wire

"""The answer of Bedrock Converse. The stream decoder reads its envelope with the same words.

Marks: ``counts`` (usage keys that were there although they say zero, or say another key's number again), ``total`` (how
far the total is off the sum), ``no_usage`` (counts that were missing, or are none: below 0 or of another type, then
residue), and what was absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...codec.answers import answer_of, reads_answers
from ...codec.incomplete import declare_last_call, mark_cut_call
from ...codec.schemas import restorer
from ...codec.tables import Ledger, Words, kept, marks, own, read_constants, say_constants
from ...types.base import Json
from ...types.blocks import Block, ToolUseBlock
from ...types.loss import Encoded
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from .blocks import BLOCKS, read_content, scatter
from .errors import decode_error, encode_error_body
from .names import NAME, originals
from .wire import Wire, is_array, is_object, leave, opened

CONSTANTS: Wire = {"metrics": {"latencyMs": 0}}
MESSAGE_CONSTANTS: Wire = {"role": "assistant"}
STOP = Words[StopReason](
    [
        ("end_turn", StopReason.end_turn),
        ("max_tokens", StopReason.max_tokens),
        ("stop_sequence", StopReason.stop_sequence),
        ("tool_use", StopReason.tool_use),
        ("content_filtered", StopReason.refusal),
        ("guardrail_intervened", StopReason.refusal),
        ("model_context_window_exceeded", StopReason.context_overflow),
        ("malformed_model_output", StopReason.error),
        ("malformed_tool_use", StopReason.error),
    ]
)
USAGE = (
    # canonical                     wire                     an older name of the same number
    ("input_tokens",                "inputTokens",           None),
    ("output_tokens",               "outputTokens",          None),
    ("cached_input_tokens",         "cacheReadInputTokens",  "cacheReadInputTokenCount"),
    ("cache_creation_input_tokens", "cacheWriteInputTokens", "cacheWriteInputTokenCount"),
)  # fmt: skip
DEMANDED = ("inputTokens", "outputTokens")
COUNTS = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "outputTokens")
END, CALLED = StopReason.end_turn, StopReason.tool_use  # an enum's members are slow to reach


@reads_answers(NAME)
def decode_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and "output" not in body and ("message" in body or "__type" in body):
        return Response(stop_reason=StopReason.error, error=decode_error(None, headers, body, provider))
    rest = dict(answer_of(body, NAME, "output", "stopReason"))
    forms: Wire = {}
    blocks = restored(read_message(rest, forms), request)
    calls = any(type(block) is ToolUseBlock for block in blocks)
    return mark_cut_call(Response(content=blocks, **read_envelope(rest, forms, calls=calls)))


def read_message(rest: Wire, forms: Wire) -> list[Block]:
    """Pop ``output.message``; what is left of it stays in its place."""
    try:
        output = opened(dict(rest), "output")
        message = opened(output, "message")
    except (KeyError, TypeError):
        forms["output"] = rest.pop("output", "absent")
        return []
    content = message.pop("content", "absent")
    if not is_array(content):
        forms["content"] = content
    inner: Wire = {}
    read_constants(message, inner, MESSAGE_CONSTANTS)
    if inner:
        forms["message"] = inner
    leave(output, "message", message)
    del rest["output"]
    leave(rest, "output", output)
    return read_content(content) if is_array(content) else []


def restored(blocks: list[Block], request: Request | None) -> tuple[Block, ...]:
    """Calls under the caller's own tool names, without the nulls that a strict schema forced on the model."""
    restore, names = restorer(request, texts=False), originals(request)
    if restore is None:
        return tuple(blocks)
    for place, block in enumerate(blocks):
        if type(block) is ToolUseBlock:
            if block.name in names:
                block = replace(block, name=names[block.name])
            blocks[place] = restore(block)
    return tuple(blocks)


def read_envelope(rest: Wire, forms: Wire, *, calls: bool) -> dict[str, Any]:
    """Everything but the message. ``rest`` is a private copy."""
    fields: dict[str, Any] = {}
    read_constants(rest, forms, CONSTANTS)
    read_stop(rest, fields, forms, calls=calls)
    if is_object(rest.get("usage")):
        fields["usage"] = read_usage(rest, forms)
    else:
        forms["usage"] = rest.pop("usage", "absent")
    return {**fields, **kept(NAME, rest, forms, {})}


def read_stop(rest: Wire, fields: dict[str, Any], forms: Wire, *, calls: bool) -> None:
    word = rest.pop("stopReason", "absent")
    known = STOP.read.get(word) if isinstance(word, str) else None
    fields["stop_reason"] = known or (CALLED if calls else END)
    if isinstance(word, str) and word != "absent":
        fields["raw_stop_reason"] = word
    if known is None or STOP.write[known] != word:
        forms["stop_reason"] = word


def read_usage(rest: Wire, forms: Wire) -> TokenUsage:
    """The input count excludes what was read from and written to the cache: the buckets are disjoint as they are."""
    usage = opened(rest, "usage")
    if len(usage) == 3 and (plain := _plain(usage)) is not None:
        return plain
    counts: dict[str, Any] = {}
    present: list[str] = []
    for ours, theirs, twin in USAGE:
        if type(value := usage.get(theirs)) is int and value >= 0:
            counts[ours] = usage.pop(theirs)
            if counts[ours] == 0 and theirs not in DEMANDED:
                present.append(theirs)
            if twin is not None and type(usage.get(twin)) is int and usage[twin] == counts[ours]:
                del usage[twin]
                present.append(twin)
        elif theirs in DEMANDED:
            forms.setdefault("no_usage", []).append(theirs)
    found = TokenUsage(**counts)
    if type(usage.get("totalTokens")) is int:
        off = usage.pop("totalTokens") - found.total_tokens
        if off:
            forms["total"] = off
    else:
        forms.setdefault("no_usage", []).append("totalTokens")
    if present:
        forms["counts"] = present
    leave(rest, "usage", usage)
    return found


def _plain(usage: Wire) -> TokenUsage | None:
    """Two counts and their sum."""
    fresh, said, total = usage.get("inputTokens"), usage.get("outputTokens"), usage.get("totalTokens")
    if type(fresh) is not int or type(said) is not int or type(total) is not int or fresh + said != total:
        return None
    return TokenUsage(fresh, 0, 0, said) if fresh >= 0 <= said else None


def count(usage: Wire) -> TokenUsage:
    """The counts alone."""
    fresh, read, written, said = [value if type(value) is int and value >= 0 else 0 for value in map(usage.get, COUNTS)]
    return TokenUsage(fresh, read, written, said)


def encode_response(response: Response) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, response)
    if response.error is not None:
        if response.content:
            ledger.lose("dropped", f"an error in {NAME} has no content", "content")
        return Encoded(encode_error_body(response.error), None, {}, tuple(ledger.losses))
    wire: Wire = {}
    say_message(response, wire, mark, ledger)
    wire |= say_stop(response, mark, ledger)
    usage = say_usage(response, mark, ledger)
    if usage != "absent":
        wire["usage"] = usage
    own(NAME, wire, response)
    say_constants(wire, mark, CONSTANTS)
    lose_names(response.id, response.model, ledger)
    ledger.foreign(response, NAME)
    return Encoded(wire, None, {}, tuple(ledger.losses))


def say_message(response: Response, wire: Wire, mark: Wire, ledger: Ledger) -> None:
    content = encode_blocks(response, ledger)
    if not response.content and "output" in mark:
        if mark["output"] != "absent":
            wire["output"] = mark["output"]
        return
    message: Wire = {"content": content}
    if not response.content and "content" in mark:
        message["content"] = mark["content"]
        if mark["content"] == "absent":
            del message["content"]
    residue = response.extras.get(NAME, {}).get("output", {}).get("message", {})
    say_constants(message, mark.get("message", {}), {k: v for k, v in MESSAGE_CONSTANTS.items() if k not in residue})
    wire["output"] = {"message": message}


def encode_blocks(response: Response, ledger: Ledger) -> list[Wire]:
    said: list[Wire] = []
    last: int | None = None
    for index, block in enumerate(response.content):
        ledger.where = ("content", index)
        wire = BLOCKS.encode(block, ledger)
        if wire is not None:
            said.extend(scatter(wire))
            last = index
    ledger.where = ()
    declare_last_call(response, last, ledger)
    return said


def lose_names(id: str | None, model: str | None, ledger: Ledger) -> None:
    if id is not None:
        ledger.lose_form("dropped", f"an answer of {NAME} has no id", "id")
    if model is not None:
        ledger.lose_form("dropped", f"an answer of {NAME} does not name its model", "model")


def say_stop(response: Response, mark: Wire, ledger: Ledger) -> Wire:
    """The provider's own word while it still stands for the stop reason, else ours for it."""
    if "stop_reason" in mark:
        word = mark["stop_reason"]
        known = STOP.read.get(word) if isinstance(word, str) else None
        stands_for = known or (StopReason.tool_use if response.tool_uses else StopReason.end_turn)
        if stands_for is response.stop_reason:
            return {} if word == "absent" else {"stopReason": word}
    word = STOP.write.get(StopReason(response.stop_reason))
    if word is None:
        ledger.lose("approximated", f"{NAME} has no stop reason {response.stop_reason}", "stop_reason")
        word = "end_turn"
    return {"stopReason": word}


def say_usage(response: Response, mark: Wire, ledger: Ledger) -> Json:
    if response.usage is None and "usage" in mark:
        return mark["usage"]
    usage = response.usage or TokenUsage()
    if response.usage is None:
        ledger.lose_form("added", f"{NAME} requires usage; zeros were added", "usage")
    wire: Wire = {}
    present, missing = mark.get("counts", ()), mark.get("no_usage", ())
    for ours, theirs, twin in USAGE:
        value = getattr(usage, ours)
        if value or theirs in present or (theirs in DEMANDED and theirs not in missing):
            wire[theirs] = value
        if twin is not None and twin in present:
            wire[twin] = value
    if "totalTokens" not in missing:
        wire["totalTokens"] = usage.total_tokens + mark.get("total", 0)
    if usage.reasoning_tokens:
        ledger.lose("dropped", f"{NAME} does not count reasoning tokens apart", "usage", "reasoning_tokens")
    return wire

"""The answer of Ollama. The stream decoder reads its last line with the same words.

Marks: ``absent`` (keys that we would write; a count that is none, below 0 or of another type, is one, and residue),
``done_reason`` (a word that we would not write), ``endpoint``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...codec.answers import answer_of, reads_answers
from ...codec.incomplete import has_whole_calls
from ...codec.json import is_object
from ...codec.schemas import restorer
from ...codec.tables import Ledger, Words, kept, marks, own, read_constants, say_constants, take
from ...types.base import Json
from ...types.blocks import Block, ToolUseBlock
from ...types.loss import Encoded
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from . import generate
from .blocks import NAME, Wire, read_blocks, say_blocks
from .errors import decode_error, encode_error_body

EPOCH = "1970-01-01T00:00:00Z"
"""When an answer was made, where nobody knows."""
CONSTANTS: Wire = {"created_at": EPOCH, "done": True}
STOP: Words[StopReason] = Words(
    [
        ("stop", StopReason.end_turn),  # of a turn with calls too: there it is tool_use
        ("length", StopReason.max_tokens),
        ("load", StopReason.end_turn),
        ("unload", StopReason.end_turn),
    ]
)
NEAREST = {StopReason.context_overflow: "length"}
USAGE = (
    # canonical       wire
    ("input_tokens", "prompt_eval_count"),
    ("output_tokens", "eval_count"),
)


def mint(place: int) -> str:
    """The id of a call that came without one."""
    return f"call_{place}"


MARKS = (
    "message",
    "response",
    "done",
    "choices",
)  # the last is its other protocol's, and is carried: recordings have it


@reads_answers(NAME)
def decode_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and body.get("error"):
        return Response(stop_reason=StopReason.error, error=decode_error(None, headers, body, provider))
    body = answer_of(body, NAME, *MARKS)
    forms = Wire()
    if generate.is_answer(body):
        forms["endpoint"] = generate.ENDPOINT
        body = generate.as_chat(body)
    rest, blanks = dict(body), Wire()
    blocks = [*read_message(rest, forms, blanks), *generate.read_context(rest)]
    restore = restorer(request, texts=False)
    if restore is not None:
        blocks = [restore(block) if type(block) is ToolUseBlock else block for block in blocks]
    calls = any(type(block) is ToolUseBlock for block in blocks)
    return Response(content=tuple(blocks), **read_envelope(rest, forms, blanks, calls=calls))


def read_message(rest: Wire, forms: Wire, blanks: Wire) -> list[Block]:
    """Pop the message; what it says beyond its blocks is residue in its own nesting."""
    if type(rest.get("message")) is not dict:
        forms.setdefault("absent", []).append("message")
        return []
    message, empty = dict(rest.pop("message")), Wire()
    read_constants(message, forms, {"role": "assistant"})
    blocks = read_blocks(message, forms, empty, mint, answer=True)
    if message:
        rest["message"] = message
    if empty:
        blanks["message"] = empty
    return blocks


def read_envelope(rest: Wire, forms: Wire, blanks: Wire, *, calls: bool) -> dict[str, Any]:
    """Everything but the message. ``rest`` is a private copy."""
    read_constants(rest, forms, CONSTANTS)
    fields: dict[str, Any] = {}
    if type(rest.get("model")) is str:
        fields["model"] = rest.pop("model") or None
    else:
        forms.setdefault("absent", []).append("model")
    read_stop(rest, fields, forms, blanks, calls=calls)
    read_usage(rest, fields, forms)
    return {**fields, **kept(NAME, rest, forms, blanks)}


def stands_for(word: Json, *, calls: bool) -> StopReason:
    found = STOP.read.get(word, StopReason.end_turn) if isinstance(word, str) else StopReason.end_turn
    return StopReason.tool_use if calls and found is StopReason.end_turn else found


def read_stop(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire, *, calls: bool) -> None:
    if "done_reason" not in rest:
        forms.setdefault("absent", []).append("done_reason")
    word = take(rest, "done_reason", blanks)
    fields["stop_reason"] = stands_for(word, calls=calls)
    if isinstance(word, str):
        fields["raw_stop_reason"] = word
    if word is not None and word not in STOP.write.values():
        forms["done_reason"] = word


def read_usage(rest: Wire, fields: dict[str, Any], forms: Wire) -> None:
    """Counts of zero are left out by the server; where both are, nothing is known."""
    counts = {ours: rest.pop(theirs) for ours, theirs in USAGE if type(n := rest.get(theirs)) is int and n >= 0}
    if counts:
        fields["usage"] = TokenUsage(**counts)
        missing = [theirs for ours, theirs in USAGE if ours not in counts]
        if missing:
            forms.setdefault("absent", []).extend(missing)


def encode_response(response: Response, request: Request | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, response)
    if response.error is not None:
        if response.content:
            ledger.lose("dropped", f"an error in {NAME} has no content", "content")
        return Encoded(encode_error_body(response.error), None, {}, tuple(ledger.losses))
    prompt = generate.is_wanted(response, request)
    placed = [(("content", index), block) for index, block in enumerate(response.content)]
    message = say_blocks(placed, ledger, answer=True, context=True)
    wire: Wire = {"context": message.pop("context")} if "context" in message else {}
    absent, blank = mark.get("absent", ()), mark.get("blank", {}).get("message", ())
    if not message["content"] and ("content" in absent or "content" in blank):
        del message["content"]
    if response.content or "message" not in absent:
        wire["message"] = message
    wire |= say_envelope(response, ledger)
    own(NAME, wire, response)
    say_constants(wire, mark, CONSTANTS)
    if "message" in wire and "message" not in absent:
        say_constants(wire["message"], mark, {"role": "assistant"})
    return Encoded(generate.as_generate(wire) if prompt else wire, None, {}, tuple(ledger.losses))


def say_envelope(response: Response, ledger: Ledger) -> Wire:
    """Everything but the message and what always says the same."""
    mark = marks(NAME, response)
    wire: Wire = {}
    if response.model is not None or "model" not in mark.get("absent", ()):
        wire["model"] = response.model or ""
    wire |= say_stop(response, mark, ledger)
    wire |= say_usage(response, mark, ledger)
    if response.id is not None:
        ledger.lose_form("dropped", f"an answer of {NAME} has no id", "id")
    ledger.foreign(response, NAME)
    return wire


def say_stop(response: Response, mark: Wire, ledger: Ledger) -> Wire:
    """The server's own word while it still stands for the stop reason, else ours for it."""
    calls, reason = has_whole_calls(response, NAME), StopReason(response.stop_reason)
    if "done_reason" in mark and stands_for(mark["done_reason"], calls=calls) is reason:
        return {"done_reason": mark["done_reason"]}
    unsaid = "done_reason" in mark.get("absent", ()) or "done_reason" in mark.get("blank", ())
    if unsaid and stands_for(None, calls=calls) is reason:
        return {}
    word = STOP.write.get(reason) or NEAREST.get(reason, "stop")
    if stands_for(word, calls=calls) is not reason:
        ledger.lose("approximated", f"{NAME} has no stop reason {reason}", "stop_reason")
    return {"done_reason": word}


def say_usage(response: Response, mark: Wire, ledger: Ledger) -> Wire:
    usage = response.usage
    if usage is None:
        return {}
    if usage.total_input_tokens != usage.input_tokens:
        for bucket in ("input_tokens", "cached_input_tokens", "cache_creation_input_tokens"):
            ledger.lose("approximated", f"{NAME} has one count for the whole prompt", "usage", bucket)
    for word in ("reasoning_tokens", "estimated"):
        if getattr(usage, word):
            ledger.lose("dropped", f"usage of {NAME} has no {word}", "usage", word)
    counts = {"prompt_eval_count": usage.total_input_tokens, "eval_count": usage.output_tokens}
    absent = mark.get("absent", ())
    return {key: count for key, count in counts.items() if count or key not in absent}

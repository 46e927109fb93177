"""The answer of Gemini: its first candidate, its usage, and what stands around them.

A stream is put together as a whole answer and read here, too. Marks: ``snake`` (key_case.py), ``candidates``,
``content``, ``parts`` and ``finishReason`` (absent, or another word), ``blocked`` (the prompt was refused), ``usage``
(how the counts were written), ``absent`` (of the constants).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...codec.answers import answer_of, reads_answers
from ...codec.incomplete import has_whole_calls, is_left_out
from ...codec.schemas import Restore, restorer
from ...codec.stream import dump
from ...codec.tables import Ledger, Words, kept, marks, own, read_constants, say_constants, take
from ...types.base import Json
from ...types.blocks import Block, JsonBlock, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.loss import Encoded
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from .answers import read_usual
from .citations import KEYS as CITING, read_citations, say_citations
from .errors import decode_error, encode_error_body, is_error
from .key_case import Wire, camel, is_array, is_object, respell
from .media import NAME
from .parts import BLOCKS, Calls, read_part, spelled, without_odd_signature
from .usage import read_usage, say_usage

CONSTANTS: Wire = {"index": 0}
MARKS = ("candidates", "promptFeedback", "usageMetadata")
Worded = TextBlock | ThinkingBlock | RefusalBlock
STOP: Words[StopReason] = Words(
    [
        ("STOP", StopReason.end_turn),
        ("MAX_TOKENS", StopReason.max_tokens),
        ("CONTINUATION", StopReason.pause_turn),
        ("SAFETY", StopReason.refusal),
        ("RECITATION", StopReason.refusal),
        ("LANGUAGE", StopReason.refusal),
        ("BLOCKLIST", StopReason.refusal),
        ("PROHIBITED_CONTENT", StopReason.refusal),
        ("SPII", StopReason.refusal),
        ("MODEL_ARMOR", StopReason.refusal),
        ("JAILBREAK", StopReason.refusal),
        ("IMAGE_SAFETY", StopReason.refusal),
        ("IMAGE_PROHIBITED_CONTENT", StopReason.refusal),
        ("IMAGE_RECITATION", StopReason.refusal),
        ("IMAGE_OTHER", StopReason.refusal),
        ("MALFORMED_RESPONSE", StopReason.error),
        ("MALFORMED_FUNCTION_CALL", StopReason.error),
        ("UNEXPECTED_TOOL_CALL", StopReason.error),
        ("TOO_MANY_TOOL_CALLS", StopReason.error),
    ]
)
# What we write for a reason without a word of its own; the first is no loss, since calls tell it.
MALFORMED = "MALFORMED_FUNCTION_CALL"
NEAREST = {
    StopReason.tool_use: "STOP",
    StopReason.stop_sequence: "STOP",
    StopReason.context_overflow: "MAX_TOKENS",
    StopReason.cancelled: "OTHER",
}
# By number, as servers write enumerations when asked to.
NUMBERS = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
           "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL",
           "TOO_MANY_TOOL_CALLS")  # fmt: skip


def stop_reason(word: Json, *, calls: bool) -> StopReason:
    """What a finish reason stands for: a turn that calls ends in STOP as any other."""
    if type(word) is int and 0 <= word < len(NUMBERS):
        word = NUMBERS[word]
    known = STOP.read.get(word) if type(word) is str else None
    return (StopReason.tool_use if calls else StopReason.end_turn) if known in (None, StopReason.end_turn) else known


# ------------------------------------------------------------------------------------------------------------ reading


@reads_answers(NAME)
def decode_response(body: Json, request: Request | None, provider: str | None) -> Response:
    usual = read_usual(body, request) if is_object(body) else None
    if usual is not None:
        return usual
    if is_error(body):
        return Response(stop_reason=StopReason.error, error=decode_error(None, None, body, provider))
    found: list[str] = []
    wire = answer_of(camel(body, found) if is_object(body) else body, NAME, *MARKS)
    return Response(**read_answer(wire, {"snake": found} if found else {}, restorer(request, texts=False)))


def read_answer(
    rest: Wire, forms: Wire, restore: Restore | None = None, blocks: Sequence[Block] | None = None
) -> dict[str, Any]:
    """The fields of a response. ``rest`` is a private copy, in camelCase. ``blocks``: its parts, if read already."""
    blanks: Wire = {}
    fields: dict[str, Any] = {"id": _word(rest, "responseId", blanks), "model": _word(rest, "modelVersion", blanks)}
    candidates = rest.get("candidates")
    if is_array(candidates) and candidates and is_object(candidates[0]):
        empty: Wire = {}
        first: Wire = candidates[0]
        if blocks is None:
            blocks = read_blocks(first, forms, restore)
        fields["content"] = read_content(first, forms, empty, blocks)
        calls = any(type(block) is ToolUseBlock for block in fields["content"])
        read_stop(first, fields, forms, empty, calls=calls)
        read_constants(first, forms, CONSTANTS)
        if empty:
            blanks["candidates"] = [empty]
        if len(candidates) == 1 and not first:
            del rest["candidates"]
    else:
        read_blocked(rest, fields, forms)
    if is_object(rest.get("usageMetadata")):
        fields["usage"] = read_usage(rest, forms, blanks)
    return {**fields, **kept(NAME, rest, forms, blanks)}


def _word(rest: Wire, key: str, blanks: Wire) -> str | None:
    return take(rest, key, blanks) if type(rest.get(key)) in (str, type(None)) else None


def read_blocks(candidate: Wire, forms: Wire, restore: Restore | None) -> list[Block]:
    """Pops the parts of a candidate."""
    content, calls = candidate.get("content"), Calls()
    parts = content.get("parts") if is_object(content) else None
    if is_object(parts) and parts:
        forms["parts"], parts = "object", [parts]
    if not is_object(content) or not is_array(parts) or not parts:
        return []
    del content["parts"]
    blocks = [read_part(part, "call_", index, calls) for index, part in enumerate(parts)]
    return blocks if restore is None else [restore(b) if type(b) is ToolUseBlock else b for b in blocks]


def read_content(candidate: Wire, forms: Wire, blanks: Wire, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Pops what is left of a candidate's content, and what its texts cite."""
    content = candidate.get("content")
    if is_object(content) and (content or blocks):
        if content.get("role") == "model":
            del content["role"]
        elif "role" not in content:
            forms["role"] = "absent"
        if "parts" in content and not content["parts"]:
            blanks["content"] = {"parts": content.pop("parts")}
        if not content:
            del candidate["content"]
    elif "content" not in candidate:
        forms["content"] = "absent"
    elif not content:
        blanks["content"] = candidate.pop("content")
    if candidate.keys().isdisjoint(CITING):
        return tuple(blocks)
    return tuple(read_citations(candidate, blocks, blanks))


def read_stop(candidate: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire, *, calls: bool) -> None:
    word = take(candidate, "finishReason", blanks)
    reason = stop_reason(word, calls=calls)
    fields["stop_reason"] = reason
    if type(word) in (str, int):
        fields["raw_stop_reason"] = word
    if word is None or word != STOP.write.get(reason, NEAREST.get(reason)):
        forms["finishReason"] = "absent" if word is None else word


def read_blocked(rest: Wire, fields: dict[str, Any], forms: Wire) -> None:
    """An answer without candidates: the prompt was refused, or there is nothing to say."""
    forms["candidates"] = "absent" if "candidates" not in rest else rest.pop("candidates")
    feedback = rest.get("promptFeedback")
    word = feedback.get("blockReason") if is_object(feedback) else None
    if is_object(feedback) and type(word) in (str, int):
        forms["blocked"] = feedback.pop("blockReason")
        fields |= {"stop_reason": StopReason.refusal, "raw_stop_reason": word}
        if not feedback:
            del rest["promptFeedback"]


# ------------------------------------------------------------------------------------------------------------ writing


def encode_response(response: Response) -> Encoded:
    ledger = Ledger()
    if response.error is not None:
        if response.content:
            ledger.lose("dropped", f"an error in {NAME} has no content", "content")
        return Encoded(encode_error_body(response.error), None, {}, tuple(ledger.losses))
    said = [say_block(block, index, ledger) for index, block in enumerate(response.content)]
    parts = [part for part in said if part is not None]
    return Encoded(say_answer(response, parts, ledger), None, {}, tuple(ledger.losses))


Told = list[tuple[int, Block]]
"""The blocks of an answer in the order of its parts, each with its place among the canonical ones."""


def say_answer(response: Response, parts: list[Wire], ledger: Ledger, *, told: Told | None = None) -> Wire:
    """A whole answer, or the last chunk of a stream: its parts were told before, and it must say that it ends."""
    mark, wire, streamed = marks(NAME, response), Wire(), told is not None
    if not response.content and stands_blocked(response, mark) and not (streamed and "blocked" not in mark):
        wire |= say_blocked(mark)
    else:
        end = say_end(response, list(enumerate(response.content)) if told is None else told, ledger)
        if streamed and end.get("finishReason", 0) == 0:
            end["finishReason"] = "STOP"
        wire["candidates"] = [{**say_content(response, parts), **end}]
    wire |= say_envelope(response, ledger)
    own(NAME, wire, response)
    first = wire["candidates"][0] if is_array(wire.get("candidates")) and wire["candidates"] else None
    if is_object(first):
        say_constants(first, mark, CONSTANTS)
    ledger.foreign(response, NAME)
    return respell(wire, mark["snake"]) if "snake" in mark else wire


def stands_blocked(response: Response, mark: Wire) -> bool:
    reason = StopReason.refusal if "blocked" in mark else StopReason.end_turn
    return "candidates" in mark and response.stop_reason == reason


def say_blocked(mark: Wire) -> Wire:
    wire: Wire = {} if mark["candidates"] == "absent" else {"candidates": mark["candidates"]}
    return {**wire, "promptFeedback": {"blockReason": mark["blocked"]}} if "blocked" in mark else wire


def say_content(response: Response, parts: list[Wire]) -> Wire:
    mark = marks(NAME, response)
    blanks: list[Wire] = mark.get("blank", {}).get("candidates") or [{}]
    blank = blanks[0]
    if not response.content and (mark.get("content") == "absent" or ("content" in blank and not blank["content"])):
        return {}
    left = residue_of(response).get("content", {})
    if not is_object(left):
        return {}
    content: Wire = {} if mark.get("role") == "absent" or "role" in left else {"role": "model"}
    if parts:
        content["parts"] = parts[0] if len(parts) == 1 and mark.get("parts") == "object" else parts
    return {"content": content}


def residue_of(response: Response) -> Wire:
    """What is left of the first candidate."""
    left = response.extras.get(NAME, {}).get("candidates")
    return left[0] if is_array(left) and left and is_object(left[0]) else {}


def say_block(block: Block, index: int, ledger: Ledger) -> Wire | None:
    """The part of a block; None and a loss where there is none."""
    ledger.where = ("content", index)
    left_out = is_left_out(block, NAME, ledger)
    wire = None if left_out else BLOCKS.encode(without_odd_signature(block, ledger), ledger)
    ledger.where = ()
    return spelled(block, wire) if wire is not None and block.forms else wire


def say_end(response: Response, told: Told, ledger: Ledger) -> Wire:
    """What comes with the last part: why the answer ended, and what it cites."""
    wire: Wire = {}
    word = say_stop(response, ledger)
    if word != "absent":
        wire["finishReason"] = word
    if any(isinstance(block, TextBlock) and block.citations for block in response.content):
        spoken = [(place, as_read(block)) for place, block in told if say_block(block, place, Ledger()) is not None]
        blocks, places = [block for _, block in spoken], [place for place, _ in spoken]
        wire |= say_citations(blocks, residue_of(response), ledger, places)
    return wire


def as_read(block: Block) -> Block:
    """What is said as a text is one to the reader, who tells texts apart by what they say."""
    if isinstance(block, RefusalBlock | JsonBlock):
        return TextBlock(block.text if isinstance(block, RefusalBlock) else dump(block.value).decode())
    return block


def say_stop(response: Response, ledger: Ledger) -> Json:
    """The provider's own word while it still stands for the stop reason, else ours for it."""
    mark, calls, reason = marks(NAME, response), has_whole_calls(response, NAME), StopReason(response.stop_reason)
    word = mark.get("finishReason")
    if word is not None and stop_reason(word, calls=calls) is reason:
        return word
    word = STOP.write.get(reason) or NEAREST[reason]
    if reason is StopReason.tool_use and response.tool_uses and not calls:
        word = MALFORMED
    if stop_reason(word, calls=calls) is not reason:
        ledger.lose("approximated", f"{NAME} has no stop reason {reason} for this content", "stop_reason")
    return word


def say_envelope(response: Response, ledger: Ledger) -> Wire:
    wire: Wire = {}
    if response.usage is not None:
        wire["usageMetadata"] = say_usage(response.usage, marks(NAME, response).get("usage", {}), ledger)
    if response.model is not None:
        wire["modelVersion"] = response.model
    if response.id is not None:
        wire["responseId"] = response.id
    return wire

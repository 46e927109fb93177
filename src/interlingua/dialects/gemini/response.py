"""The answer of Gemini: its first candidate, its usage, and the keys around them.

A stream is put together as a whole answer and read here, too. Marks, for what is not as we would write it:
``candidates``, ``content``, ``role``, ``parts``, ``index`` and ``finishReason`` (what was there instead: ``[]`` for
nothing, else ``[value]``), ``blocked`` (why the prompt was refused), ``usage`` (see ``codec.rows.usage``),
``tool_tokens`` (input tokens that hosted tools added), ``citations`` (see ``citations``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.bodies.answers import checked_answer
from ...codec.history.incomplete import has_whole_calls, is_left_out
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.paths import merge
from ...codec.streams.stream import dump
from ...codec.tools.offered_tools import calls_as_declared
from ...types.base import Json
from ...types.blocks import Block, JsonBlock, RefusalBlock, TextBlock, ToolUseBlock
from ...types.loss import Encoded
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from .calls import Calls
from .citations import KEYS as CITING, read_citations, write_citations
from .errors import ERRORS, is_error
from .facts import KEYS, NAME, original_value
from .rows import ANSWER, ANSWER_PARTS, STOP, USAGE
from .turns import read_parts, take_parts, with_parts

END, CALLED, REFUSAL = StopReason.end_turn, StopReason.tool_use, StopReason.refusal  # access on an Enum costs 40 ns
OBJECTS = ("content", *CITING)
ENVELOPE = ("candidates", "promptFeedback", "usageMetadata")
TOOL_TOKENS, TOTAL = "toolUsePromptTokenCount", "totalTokenCount"
MALFORMED = "MALFORMED_FUNCTION_CALL"
# What we write for a reason without a word of its own. The first is no loss: readers see the calls.
NEAREST = {
    StopReason.tool_use: "STOP",
    StopReason.stop_sequence: "STOP",
    StopReason.context_overflow: "MAX_TOKENS",
    StopReason.cancelled: "OTHER",
}
WORDS = {**NEAREST, **STOP.writes}
# The words by number: servers write enumerations as numbers if a parameter asks for it.
NUMBERS = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
           "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL",
           "TOO_MANY_TOOL_CALLS")  # fmt: skip
Placed = list[tuple[int, Block]]
"""The blocks of an answer in the order of its parts, each with its index in ``Response.content``."""


def stop_reason(word: Json, *, calls: bool) -> StopReason:
    """What a finish reason means. STOP also ends an answer that calls tools."""
    if type(word) is int and 0 <= word < len(NUMBERS):
        word = NUMBERS[word]
    known: StopReason | None = STOP.reads.get(word) if type(word) is str else None
    return (CALLED if calls else END) if known is None or known is END else known


# ------------------------------------------------------------------------------------------------------------- reading


def read_response(body: Json, request: Request | None, provider: str | None) -> Response:
    if not is_object(body) or "error" in body:
        if is_error(body):
            return Response(stop_reason=StopReason.error, error=ERRORS.decode(None, None, body, provider))
        checked_answer(body, NAME, *ENVELOPE)
    fields, rest, mark = ANSWER.take(body)
    fields = read_answer(fields, rest, mark, request)
    if rest and may_be_respelled(rest):
        body, places = KEYS.usual(body)
        if places:
            fields, rest, mark = ANSWER.take(body)
            fields = read_answer(fields, rest, {"keys": places, **mark}, request)
    if "candidates" in mark:
        checked_answer(body, NAME, *ENVELOPE)
    return Response(**fields)


def may_be_respelled(rest: Wire) -> bool:
    """Whether something that was not read may be a known key in snake_case."""
    usage = rest.get("usageMetadata")
    if KEYS.is_suspect(rest) or (is_object(usage) and KEYS.is_suspect(usage)):
        return True
    left: Json = rest["candidates"][0] if "candidates" in rest else None
    if not is_object(left) or not left:
        return False
    return KEYS.is_suspect(left) or bool(not left.keys().isdisjoint(OBJECTS) and KEYS.usual(left)[1])


def read_answer(
    fields: dict[str, Any],
    rest: Wire,
    mark: Wire,
    request: Request | None = None,
    blocks: Sequence[Block] | None = None,
) -> dict[str, Any]:
    """The fields of a response. ``rest`` and ``mark`` are modified. ``blocks``: its parts, if they were read before."""
    candidates = rest.get("candidates")
    if is_array(candidates) and candidates and is_object(candidates[0]):
        left = candidates[0].copy()
        content = read_content(left, mark, request, blocks)
        calls = ToolUseBlock in map(type, content)
        read_end(left, fields, mark, calls=calls)
        if left and not left.keys().isdisjoint(CITING):
            content = read_citations(left, content, mark)
        fields["content"] = tuple(content)
        rest["candidates"] = [left, *candidates[1:]]
        if not left and len(candidates) == 1:
            del rest["candidates"]
    else:
        read_blocked(rest, fields, mark)
    if is_object(usage := rest.get("usageMetadata")):
        fields["usage"], rest["usageMetadata"] = read_usage(usage, mark)
        if not rest["usageMetadata"]:
            del rest["usageMetadata"]
    if rest:
        fields["extras"] = {NAME: rest}
    if mark:
        fields["forms"] = {NAME: mark}
    return fields


def read_content(left: Wire, mark: Wire, request: Request | None, blocks: Sequence[Block] | None) -> Sequence[Block]:
    """Take the content out of a candidate, and return its blocks."""
    content = left.get("content")
    if not is_object(content) or not (content or blocks):
        if not content:
            mark["content"] = [left.pop("content")] if "content" in left else []
        return blocks or ()
    inner = content.copy()
    if inner.get("role") == "model":
        del inner["role"]
    elif "role" not in inner:
        mark["role"] = []
    if blocks is None:
        blocks = read_parts(take_parts(inner, mark), Calls(), ANSWER_PARTS)
        if mark and mark.get("parts") == []:  # we write none either
            del mark["parts"]
        if request is not None:
            blocks = calls_as_declared(blocks, request, texts=False)
    if inner:
        left["content"] = inner
    else:
        del left["content"]
    return blocks


def read_end(left: Wire, fields: dict[str, Any], mark: Wire, *, calls: bool) -> None:
    """Take the finish reason and the index out of a candidate."""
    spelled = [left.pop("finishReason")] if "finishReason" in left else []
    word: Json = spelled[0] if spelled else None
    reason = fields["stop_reason"] = stop_reason(word, calls=calls)
    if (type(word) is str and word) or type(word) is int:
        fields["raw_stop_reason"] = word
    if word != WORDS.get(reason):
        mark["finishReason"] = spelled
    if "index" not in left:
        mark["index"] = []
    elif left["index"] == 0 and type(left["index"]) is int:
        del left["index"]


def read_blocked(rest: Wire, fields: dict[str, Any], mark: Wire) -> None:
    """Read an answer without candidates: the prompt was refused, or there was nothing to answer."""
    mark["candidates"] = [rest.pop("candidates")] if "candidates" in rest else []
    feedback = rest.get("promptFeedback")
    word = feedback.get("blockReason") if is_object(feedback) else None
    if is_object(feedback) and (type(word) is str or type(word) is int):
        mark["blocked"] = word
        fields |= {"stop_reason": REFUSAL, "raw_stop_reason": word}
        left = {key: value for key, value in feedback.items() if key != "blockReason"}
        rest["promptFeedback"] = left
        if not left:
            del rest["promptFeedback"]


def read_usage(wire: Wire, mark: Wire) -> tuple[TokenUsage, Wire]:
    """The counts, and the rest of the object. Tokens that hosted tools added count as input, too."""
    usage, left, odd = USAGE.read(wire)
    if odd is not None:
        mark["usage"] = odd
    tools = left.get(TOOL_TOKENS)
    if type(tools) is int and tools >= 0:
        left = {key: value for key, value in left.items() if key != TOOL_TOKENS}
        mark["tool_tokens"] = tools
        usage = replace(usage, input_tokens=usage.input_tokens + tools)
    return usage, left


# ------------------------------------------------------------------------------------------------------------- writing


def write_response(response: Response) -> Encoded:
    ledger = Ledger()
    parts: list[Json] = []
    for place, block in enumerate(response.content):
        part = write_block(block, place, ledger)
        if part is not None or ANSWER_PARTS.is_null(block):
            parts.append(part)
    return Encoded(write_answer(response, parts, ledger), None, {}, tuple(ledger.losses))


def write_block(block: Block, place: int, ledger: Ledger) -> Wire | None:
    """The part of a block; None and a loss if the protocol has none for it."""
    whole = not block.incomplete and not (type(block) is ToolUseBlock and block.input_text)
    wire: Wire | None = ANSWER_PARTS.write_usual(block) if whole else None
    if wire is None:
        ledger.where = ("content", place)
        if not is_left_out(block, NAME, ledger):
            wire = ANSWER_PARTS.interpret_write(block, ledger)
        ledger.where = ()
    return wire


def write_answer(response: Response, parts: list[Wire], ledger: Ledger, *, written: Placed | None = None) -> Wire:
    """A whole answer, or the last chunk of a stream, which must have a finish reason.

    ``written``: the blocks of a stream, whose parts were sent in earlier chunks.
    """
    mark, streamed = marks(NAME, response), written is not None
    wire = ANSWER.put(response, ledger)
    if not response.content and is_blocked(response, mark) and not (streamed and "blocked" not in mark):
        wire |= write_blocked(mark)
    else:
        end = write_end(response, list(enumerate(response.content)) if written is None else written, mark, ledger)
        if streamed and end.get("finishReason", 0) == 0:
            end["finishReason"] = "STOP"
        wire["candidates"] = [{**write_content(response, parts, mark), **end}]
    if response.usage is not None:
        wire["usageMetadata"] = write_usage(response.usage, mark, ledger)
    if response.extras:
        merge(wire, response.extras.get(NAME, {}))
        ledger.lose_foreign_extras(response, NAME)
    candidates: Json = wire.get("candidates")
    if is_array(candidates) and candidates and is_object(candidates[0]) and "index" not in mark:
        candidates[0].setdefault("index", 0)
    return KEYS.restore(wire, mark["keys"]) if "keys" in mark else wire


def is_blocked(response: Response, mark: Mapping[str, Json]) -> bool:
    """Whether an answer was read without candidates, and its stop reason was not changed since."""
    return "candidates" in mark and response.stop_reason == (REFUSAL if "blocked" in mark else END)


def write_blocked(mark: Mapping[str, Json]) -> Wire:
    came = original_value(mark, "candidates")
    wire: Wire = {"candidates": came[0]} if came else {}
    return {**wire, "promptFeedback": {"blockReason": mark["blocked"]}} if "blocked" in mark else wire


def write_content(response: Response, parts: list[Wire], mark: Mapping[str, Json]) -> Wire:
    left: Json = candidate_residue(response).get("content", {})
    if not is_object(left):
        return {}
    if not response.content and "content" in mark:
        came = original_value(mark, "content")
        return {"content": came[0]} if came else {}
    content: Wire = {} if "role" in mark or "role" in left else {"role": "model"}
    return {"content": {**content, **with_parts(parts, mark.get("parts"))}}


def candidate_residue(response: Response) -> Wire:
    """The residue of the first candidate."""
    if not response.extras:
        return {}
    left = response.extras.get(NAME, {}).get("candidates")
    return left[0] if is_array(left) and left and is_object(left[0]) else {}


def write_end(response: Response, written: Placed, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
    """The keys that come with the last part: the finish reason and the citations."""
    word = write_stop(response, mark, ledger)
    wire: Wire = {"finishReason": word[0]} if word else {}
    if any(type(block) is TextBlock and block.citations for block in response.content):
        sent = [(place, as_read(block)) for place, block in written if write_block(block, place, Ledger()) is not None]
        blocks, places = [block for _, block in sent], [place for place, _ in sent]
        wire |= write_citations(blocks, candidate_residue(response), mark.get("citations"), ledger, places)
    return wire


def as_read(block: Block) -> Block:
    """The block as its reader has it: refusals and JSON are sent as texts, in which citations count, too."""
    if isinstance(block, RefusalBlock | JsonBlock):
        return TextBlock(block.text if isinstance(block, RefusalBlock) else dump(block.value).decode())
    return block


def write_stop(response: Response, mark: Mapping[str, Json], ledger: Ledger) -> list[Json]:
    """The finish reason in a list: the one that was read while it still means the stop reason, else ours.

    The list is empty if the answer was read without a finish reason.
    """
    reason = StopReason(response.stop_reason)
    calls = ToolUseBlock in map(type, response.content) and has_whole_calls(response, NAME)
    spelled = original_value(mark, "finishReason")
    if spelled is not None and stop_reason(spelled[0] if spelled else None, calls=calls) is reason:
        return spelled
    word = WORDS[reason]
    if reason is CALLED and response.tool_uses and not calls:
        word = MALFORMED
    if stop_reason(word, calls=calls) is not reason:
        ledger.lose("approximated", f"{NAME} has no stop reason {reason} for this content", "stop_reason")
    return [word]


def write_usage(usage: TokenUsage, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
    if usage.cache_creation_input_tokens:
        ledger.lose("approximated", f"{NAME} counts what was written to the cache as input", "usage")
        fresh = usage.input_tokens + usage.cache_creation_input_tokens
        usage = replace(usage, input_tokens=fresh, cache_creation_input_tokens=0)
    if usage.reasoning_tokens > usage.output_tokens:
        ledger.lose("approximated", f"{NAME} counts reasoning as part of the output", "usage", "reasoning_tokens")
    tools = mark.get("tool_tokens")
    if tools is None:
        return USAGE.write(usage, mark.get("usage"))
    tools = min(tools, usage.input_tokens)
    wire = USAGE.write(replace(usage, input_tokens=usage.input_tokens - tools), mark.get("usage"))
    return {**wire, TOOL_TOKENS: tools}

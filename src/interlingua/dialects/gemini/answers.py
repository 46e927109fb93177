"""Answers as nearly all are, read in one go: one candidate of texts, thoughts and calls, and usage.

Each function does exactly what ``response.py`` would do with such a value, or gives None, and then that speaks: nothing
here has an opinion of its own. A test holds both ways against each other over all recordings, and over near misses.
"""

from __future__ import annotations

from ...codec.offered_tools import is_plainly_offered
from ...codec.schemas import restorer
from ...codec.tables import keep
from ...types.base import Json
from ...types.blocks import Block, ToolUseBlock
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from .citations import KEYS as CITING
from .key_case import Wire, is_array, is_object
from .media import NAME
from .usage import ANSWER, CACHED, PROMPT, THOUGHTS, TOOLS, TOTAL
from .usual import read_block

END, CALLED = StopReason.end_turn, StopReason.tool_use  # an enum's members are slow to reach
ENDS = {"STOP": END, "MAX_TOKENS": StopReason.max_tokens}
DETAIL = {"modality", "tokenCount"}


def read_usual(wire: Wire, request: Request | None) -> Response | None:
    """An answer that came to its end, or was cut at its limit."""
    id, model, candidates = wire.get("responseId"), wire.get("modelVersion"), wire.get("candidates")
    if type(id) is not str or type(model) is not str or not id or not model:
        return None
    first: Json = candidates[0] if is_array(candidates) and len(candidates) == 1 else None
    word: Json = first.get("finishReason") if is_object(first) else None
    reason = ENDS.get(word) if type(word) is str else None
    blocks = read_parts(first.get("content")) if reason is not None else None
    counted = read_usage(wire.get("usageMetadata")) if blocks is not None else None
    if reason is None or blocks is None or counted is None:
        return None
    usage, uncounted = counted
    forms: Wire = {}
    rest = read_rest(wire, first, uncounted, forms)
    if rest is None:
        return None
    if ToolUseBlock in map(type, blocks):
        reason = CALLED if reason is END else reason
        blocks = restored(blocks, request) if request is not None else blocks
    extras, marks = keep(NAME, rest, forms, {})
    return Response(tuple(blocks), reason, word, id, model, usage, extras=extras, forms=marks)


def read_rest(wire: Wire, first: Wire, uncounted: Wire, forms: Wire) -> Wire | None:
    """The residue of the answer, of its candidate and of its usage; None where they may have more to say."""
    rest, left = wire.copy(), first.copy()
    del rest["responseId"], rest["modelVersion"], rest["candidates"], rest["usageMetadata"]
    del left["content"], left["finishReason"]
    if left.get("index") == 0:
        del left["index"]
    elif "index" not in left:
        forms["absent"] = ["index"]
    if not is_camel(rest) or not is_camel(left) or not is_camel(uncounted) or not left.keys().isdisjoint(CITING):
        return None
    if left:
        rest["candidates"] = [left]
    if uncounted:
        rest["usageMetadata"] = uncounted
    return rest


def read_parts(content: Json) -> list[Block] | None:
    """The parts of a turn of the model's."""
    if not is_object(content) or len(content) != 2 or content.get("role") != "model":
        return None
    parts = content.get("parts")
    if not is_array(parts) or not parts:
        return None
    blocks: list[Block] = []
    for place, part in enumerate(parts):
        block = read_block(part, "call_", place) if is_object(part) else None
        if block is None:
            return None
        blocks.append(block)
    return blocks


def restored(blocks: list[Block], request: Request) -> list[Block]:
    for block in blocks:
        if type(block) is ToolUseBlock and not is_plainly_offered(block.name, request):
            restore = restorer(request, texts=False)
            return [restore(b) if restore is not None and type(b) is ToolUseBlock else b for b in blocks]
    return blocks


def read_usage(wire: Json) -> tuple[TokenUsage, Wire] | None:
    """Counts that add up, and what is left of the object."""
    if not is_object(wire) or TOOLS in wire:
        return None
    prompt, answer, total = wire.get(PROMPT), wire.get(ANSWER), wire.get(TOTAL)
    cached, thoughts = wire.get(CACHED, 0), wire.get(THOUGHTS, 0)
    if type(prompt) is not int or type(answer) is not int or type(cached) is not int or type(thoughts) is not int:
        return None
    if type(total) is not int or total != prompt + answer + thoughts:
        return None
    if answer < 0 or thoughts < 0 or not 0 <= cached <= prompt:
        return None
    rest = wire.copy()
    del rest[PROMPT], rest[ANSWER], rest[TOTAL]
    if cached:
        del rest[CACHED]
    if thoughts:
        del rest[THOUGHTS]
    if CACHED in rest or THOUGHTS in rest:
        return None
    return TokenUsage(prompt - cached, cached, 0, answer + thoughts, thoughts), rest


def is_camel(rest: Wire) -> bool:
    """Whether no key may be spelled otherwise elsewhere, as far as one can tell at a glance."""
    for key, value in rest.items():
        if "_" in key or type(value) is dict:
            return False
        for entry in value if is_array(value) else ():
            if not is_object(entry) or entry.keys() != DETAIL or dict in map(type, entry.values()):
                return False
    return True

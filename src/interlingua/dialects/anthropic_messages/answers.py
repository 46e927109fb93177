"""Answers as nearly all are, read in one go: texts, thoughts and calls, and usage.

Each function does exactly what ``response.py`` would do with such a value, or gives None, and then that speaks: nothing
here has an opinion of its own. A test holds both ways against each other over all recordings, and over near misses.
"""

from __future__ import annotations

from ...codec.json import is_array, is_object
from ...codec.offered_tools import is_plainly_offered
from ...codec.schemas import restorer
from ...codec.tables import keep
from ...types.base import Json
from ...types.blocks import Block, ToolUseBlock
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from .blocks import BLOCKS, NAME, Wire
from .usual import read_block

ENDS = {
    "end_turn": StopReason.end_turn,
    "tool_use": StopReason.tool_use,
    "max_tokens": StopReason.max_tokens,
}
ABSENT = ("", "absent")
DETAILS, THOUGHTS = "output_tokens_details", "thinking_tokens"
THOUGHTLESS: Wire = {THOUGHTS: 0}


def read_answer(wire: Wire, request: Request | None) -> Response | None:
    """An answer that has all that the protocol demands."""
    id, model, content, word = wire.get("id"), wire.get("model"), wire.get("content"), wire.get("stop_reason")
    if type(id) is not str or type(model) is not str or id in ABSENT or model in ABSENT:
        return None
    if wire.get("type") != "message" or wire.get("role") != "assistant" or wire.get("stop_sequence", "") is not None:
        return None
    reason = ENDS.get(word) if type(word) is str else None
    if reason is None or not is_array(content) or "error" in wire:
        return None
    rest = wire.copy()
    del rest["id"], rest["type"], rest["role"], rest["model"], rest["content"]
    del rest["stop_reason"], rest["stop_sequence"]
    blanks: Wire = {}
    usage = _read_usage(rest, blanks)
    if usage is None:
        return None
    blocks = _read_blocks(content, request)
    extras, marks = keep(NAME, rest, {}, blanks)
    return Response(tuple(blocks), reason, word, id, model, usage, extras=extras, forms=marks)


def _read_blocks(content: list[Json], request: Request | None) -> list[Block]:
    blocks: list[Block] = []
    for wire in content:
        block = read_block(wire) or BLOCKS.decode(wire)
        if type(block) is ToolUseBlock and request is not None and not is_plainly_offered(block.name, request):
            restore = restorer(request, texts=False)
            block = block if restore is None else restore(block)
        blocks.append(block)
    return blocks


def _read_usage(rest: Wire, blanks: Wire) -> TokenUsage | None:
    """Four counts, and thoughts that are part of the output; pops them."""
    wire = rest.get("usage")
    if not is_object(wire):
        return None
    fresh, said = wire.get("input_tokens"), wire.get("output_tokens")
    read, written = wire.get("cache_read_input_tokens"), wire.get("cache_creation_input_tokens")
    if type(fresh) is not int or type(read) is not int or type(written) is not int or type(said) is not int:
        return None
    details = wire.get(DETAILS, THOUGHTLESS)
    thoughts = details.get(THOUGHTS) if is_object(details) and len(details) == 1 else None
    if type(thoughts) is not int or not 0 <= thoughts <= said or fresh < 0 or read < 0 or written < 0:
        return None
    left = wire.copy()
    del left["input_tokens"], left["output_tokens"]
    del left["cache_read_input_tokens"], left["cache_creation_input_tokens"]
    if DETAILS in left:
        del left[DETAILS]
        if not thoughts:
            blanks["usage"] = {DETAILS: {THOUGHTS: 0}}
    rest["usage"] = left
    if not left:
        del rest["usage"]
    return TokenUsage(fresh, read, written, said, thoughts)

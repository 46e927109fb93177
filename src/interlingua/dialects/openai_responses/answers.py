"""Answers as nearly all are, read in one go: complete, of messages, reasoning and calls, with usage.

Each function does exactly what ``response.py`` would do with such a value, or gives None, and then that speaks: nothing
here has an opinion of its own. A test holds both ways against each other over all recordings, and over near misses.

Most of an answer repeats its request. Which keys it has, a server says the same way again and again: what the keys
alone tell is remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ...codec.offered_tools import is_plainly_offered
from ...codec.schemas import Restore
from ...codec.tables import keep
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from .answered import ABSENT, ITEMS
from .echo import DEFAULTS, OTHERS
from .item_fields import DONE, is_cut
from .items import read_item
from .usage import read_usage
from .wire import NAME, Wire, is_array, is_object

END, CALLED = StopReason.end_turn, StopReason.tool_use  # an enum's members are slow to reach
TIER = "service_tier"
READ = ("id", "object", "created_at", "model", "status", "incomplete_details", "error", "output", "usage")
SPOKEN = frozenset((TextBlock, ThinkingBlock, ToolUseBlock))
Finisher = Callable[[Request], Restore | None]


class Shape(NamedTuple):
    """What the keys of an answer tell."""

    echoed: list[tuple[str, Json]]
    """What is repeated of the request, and its defaults."""
    others: list[str]
    unechoed: list[str]
    left: list[str]
    """Keys that nobody reads."""


@lru_cache(maxsize=128)
def shape_of(keys: tuple[str, ...]) -> Shape | None:
    """None where a key is missing that the protocol demands."""
    if not set(keys).issuperset(READ):
        return None
    known = {*READ, *DEFAULTS, *OTHERS, TIER}
    return Shape(
        [(key, default) for key, default in DEFAULTS.items() if key in keys],
        [key for key in OTHERS if key in keys],
        [key for key in DEFAULTS if key not in keys],
        [key for key in keys if key not in known],
    )


def read_answer(wire: Wire, request: Request | None, finisher: Finisher) -> Response | None:
    """A complete answer. ``finisher`` is asked only where a call may need it."""
    shape = shape_of(tuple(wire))
    if shape is None or wire["object"] != "response" or wire["status"] != DONE:
        return None
    id, model, usage, output = wire["id"], wire["model"], wire["usage"], wire["output"]
    if wire["incomplete_details"] is not None or wire["error"] is not None or not is_object(usage):
        return None
    if type(id) is not str or type(model) is not str or id in ABSENT or model in ABSENT or not is_array(output):
        return None
    blocks = _read_output(output)
    if blocks is None:
        return None
    kinds = set(map(type, blocks))
    if not kinds <= SPOKEN:
        return None
    if ToolUseBlock in kinds and request is not None:
        blocks = _finished(blocks, request, finisher)
    forms: Wire = {}
    counts: Wire = {}
    rest = _read_rest(wire, shape, forms)
    tokens, left = read_usage(usage, counts)
    if left:
        rest["usage"] = left
    if counts:
        forms["counts"] = counts
    extras, marks = keep(NAME, rest, forms, {})
    reason = CALLED if ToolUseBlock in kinds else END
    return Response(tuple(blocks), reason, DONE, id, model, tokens, extras=extras, forms=marks)


def _read_rest(wire: Wire, shape: Shape, forms: Wire) -> Wire:
    """The residue; what is repeated of the request goes to the marks."""
    rest = {key: wire[key] for key in shape.left}
    if wire["created_at"] != 0:
        rest["created_at"] = wire["created_at"]
    if TIER not in wire:
        forms["absent"] = [TIER]
    elif wire[TIER] != "default":
        rest[TIER] = wire[TIER]
    echo: Wire = {}
    for key, default in shape.echoed:
        value = wire[key]
        if value is not default and (value != default or type(value) is not type(default)):
            echo[key] = value
    for key in shape.others:
        echo[key] = wire[key]
    if echo:
        forms["echo"] = echo
    if shape.unechoed:
        forms["unechoed"] = shape.unechoed.copy()
    return rest


def _read_output(output: list[Json]) -> list[Block] | None:
    """Messages, thoughts and calls: of the usual kind, or by the tables."""
    blocks: list[Block] = []
    for place, item in enumerate(output):
        kind: Json = item.get("type") if is_object(item) else None
        read = ITEMS.get(kind) if type(kind) is str else None
        if read is None:
            return None
        block = read(item, place)
        if block is not None:
            blocks.append(block)
        elif is_cut(item, DONE):
            return None
        else:
            blocks += read_item(item, place, len(blocks))
    return blocks


def _finished(blocks: list[Block], request: Request, finisher: Finisher) -> list[Block]:
    for block in blocks:
        if type(block) is ToolUseBlock and not is_plainly_offered(block.name, request):
            finish = finisher(request)
            return [finish(b) if finish is not None and type(b) is ToolUseBlock else b for b in blocks]
    return blocks

"""Answers as nearly all servers write them, read in one go: one choice of text and calls, and usage.

Each function does exactly what ``response.py`` would do with such a value, or gives None, and then that speaks: nothing
here has an opinion of its own. A test holds both ways against each other over all recordings, and over near misses.
"""

from __future__ import annotations

from ...codec.json import is_array, is_object
from ...codec.tables import keep, sift
from ...types.base import Json
from ...types.blocks import Block
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from .answered import read_message
from .parts import NAME, Wire
from .usage import read_usage

END, CALLED = StopReason.end_turn, StopReason.tool_use  # an enum's members are slow to reach
ENDS = {
    "stop": END,
    "length": StopReason.max_tokens,
    "tool_calls": CALLED,
    "content_filter": StopReason.refusal,
}
UNTOLD: Wire = {"logprobs": None}
HOLLOW = frozenset((dict, type(None)))
ABSENT = ("", "absent")


def read_answer(wire: Wire, request: Request | None) -> Response | None:
    """An answer that has all that the protocol demands."""
    id, model, usage, choices = wire.get("id"), wire.get("model"), wire.get("usage"), wire.get("choices")
    if type(id) is not str or type(model) is not str or id in ABSENT or model in ABSENT or not is_object(usage):
        return None
    choice: Json = choices[0] if is_array(choices) and len(choices) == 1 else None
    if not is_object(choice) or wire.get("object") != "chat.completion" or "created" not in wire:
        return None
    rest, forms, blanks = _read_rest(wire)
    content = _read_choice(choice, request, rest, forms, blanks)
    if content is None:
        return None
    word: str = choice["finish_reason"]
    reason = ENDS[word]
    if reason is END and choice["message"].get("tool_calls"):
        reason, forms["finish_reason"] = CALLED, word
    counts = _read_usage(usage, rest, forms, blanks)
    extras, marks = keep(NAME, rest, forms, blanks)
    return Response(content, reason, word, id, model, counts, extras=extras, forms=marks)


def _read_rest(wire: Wire) -> tuple[Wire, Wire, Wire]:
    """What stands around the answer: residue, marks and blanks."""
    rest = wire.copy()
    del rest["id"], rest["object"], rest["model"], rest["choices"], rest["usage"]
    if rest["created"] == 0:
        del rest["created"]
    blanks: Wire = {}
    if not HOLLOW.isdisjoint(map(type, rest.values())):
        sift(rest, blanks)
    return rest, {}, blanks


def _read_choice(
    wire: Wire, request: Request | None, rest: Wire, forms: Wire, blanks: Wire
) -> tuple[Block, ...] | None:
    """What was said; what is left of the choice is put in its own place."""
    message, word = wire.get("message"), wire.get("finish_reason")
    if type(word) is not str or word not in ENDS or wire.get("index") != 0 or not is_object(message):
        return None
    hollow: Wire = {}
    if len(wire) != 3:
        left = wire.copy()
        del left["message"], left["finish_reason"], left["index"]
        if left == UNTOLD:
            hollow = left
        else:
            sift(left, hollow)
            if left:
                rest["choices"] = [left]
    blocks = read_message(message, request, forms, hollow)
    if hollow:
        blanks["choices"] = [hollow]
    return blocks


def _read_usage(wire: Wire, rest: Wire, forms: Wire, blanks: Wire) -> TokenUsage:
    marked: Wire = {}
    empty: Wire = {}
    counts, left = read_usage(wire, marked, empty)
    if left:
        rest["usage"] = left
    if marked:
        forms["usage"] = marked
    if empty:
        blanks["usage"] = empty
    return counts

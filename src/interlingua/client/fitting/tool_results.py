"""Tool calls and their results must match, because providers refuse a request in which they do not.

A call without a result is refused with ``ToolStateError``: only the caller knows its result. A result without a call is
left out, and of two results of one call only the later is sent; each is a Loss. An incomplete call needs no result.
Calls that the server stores (``previous_response_id``) are not checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...errors import ToolStateError
from ...types.blocks import ToolResultBlock, ToolUseBlock
from ...types.loss import Loss
from ...types.messages import Message
from ...types.request import Request

__all__ = ["match_results", "results_match", "unanswered_calls"]

Place = tuple[int, int]
"""A message, and a block in it."""

STORED_BY_SERVER = ("previous_response_id", "conversation")
ORPHAN = "no call in the conversation has the id {!r} of this result"
TWICE = "the call {!r} has two results: this later one is sent in the place of the earlier one"


def match_results(request: Request) -> tuple[Request, tuple[Loss, ...]]:
    """The request with results that fit their calls, and what was changed. Raises for a call without a result."""
    calls, odd = _unmatched(request.messages)
    if any(calls.values()):
        missing = ", ".join(f"{places[0].name} ({id})" for id, places in calls.items() if places)
        raise ToolStateError(
            f"these tool calls have no result: {missing}. Append the results, or mark them as not recorded with"
            " repair_tool_results(messages, dialect=…).",
            retryable=False,
        )
    if not odd or _has_calls_on_server(request):
        return request, ()
    return _without_odd_results(request, odd)


def results_match(messages: Sequence[Message]) -> bool:
    """Whether every call has one result, and every result a call: a fast check, made before every model call."""
    waiting: set[str] = set()
    for message in messages:
        for block in message.content:
            if type(block) is ToolUseBlock:
                if block.id in waiting:
                    return False
                waiting.add(block.id)
            elif type(block) is ToolResultBlock:
                if block.tool_use_id not in waiting:
                    return False
                waiting.remove(block.tool_use_id)
    return not waiting


def unanswered_calls(messages: Sequence[Message]) -> list[str]:
    """The calls without a result, each as a sentence with its place in the messages."""
    calls, _ = _unmatched(messages)
    waiting = {id(call) for places in calls.values() for call in places}
    return [
        f"messages/{index}: call {block.id} of {block.name} was never answered"
        for index, message in enumerate(messages)
        for block in message.content
        if type(block) is ToolUseBlock and id(block) in waiting
    ]


def _unmatched(messages: Sequence[Message]) -> tuple[dict[str, list[ToolUseBlock]], dict[Place, Place | None]]:
    """The calls without a result, by id; and the results without a call, each with the place of an earlier result.

    An id may be used again after its result: some decoders count the calls of each answer from 0.
    """
    calls: dict[str, list[ToolUseBlock]] = {}
    answered: dict[str, Place] = {}
    odd: dict[Place, Place | None] = {}
    for index, message in enumerate(messages):
        for place, block in enumerate(message.content):
            if type(block) is ToolUseBlock:
                waiting = calls.setdefault(block.id, [])
                answered.pop(block.id, None)
                if not block.incomplete:
                    waiting.append(block)
            elif type(block) is ToolResultBlock:
                waiting = calls.get(block.tool_use_id, [])
                if waiting:
                    waiting.pop()
                elif block.tool_use_id not in calls or block.tool_use_id in answered:
                    odd[index, place] = answered.get(block.tool_use_id)
                    continue
                answered[block.tool_use_id] = index, place
    return calls, odd


def _has_calls_on_server(request: Request) -> bool:
    """Whether the server may know calls that are not in the request."""
    if any(key in extra for extra in request.extras.values() if isinstance(extra, dict) for key in STORED_BY_SERVER):
        return True
    return any("orphans" in mark for m in request.messages for mark in m.forms.values() if isinstance(mark, dict))


def _without_odd_results(request: Request, odd: dict[Place, Place | None]) -> tuple[Request, tuple[Loss, ...]]:
    losses: list[Loss] = []
    content = [list(message.content) for message in request.messages]
    for (index, place), earlier in odd.items():
        path, result = f"messages/{index}/content/{place}", content[index][place]
        assert isinstance(result, ToolResultBlock)
        if earlier is None:
            losses.append(Loss(path, "dropped", ORPHAN.format(result.tool_use_id)))
        else:
            content[earlier[0]][earlier[1]] = result
            losses.append(Loss(path, "moved", TWICE.format(result.tool_use_id)))
    for index, place in reversed(odd):
        del content[index][place]
    emptied = {index for index, _ in odd if not content[index]}
    pairs = zip(request.messages, map(tuple, content), strict=True)
    messages = [
        message if message.content == blocks else replace(message, content=blocks)
        for index, (message, blocks) in enumerate(pairs)
        if index not in emptied
    ]
    return replace(request, messages=tuple(messages)), tuple(losses)

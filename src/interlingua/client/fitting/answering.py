"""Calls and their results, held against each other before a byte is sent: providers refuse what does not match.

A call without a result is refused with ``ToolStateError``: only the caller knows what became of it. A result without a
call is left out, and of two results of one call only the later is sent; each is a Loss. An incomplete call needs no
result, and what a server holds itself (``previous_response_id``) is not looked for here.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...errors import ToolStateError
from ...types.blocks import ToolResultBlock, ToolUseBlock
from ...types.loss import Loss
from ...types.messages import Message
from ...types.request import Request

__all__ = ["match_results", "results_match", "unanswered"]

Place = tuple[int, int]
"""A message, and a block in it."""

HELD = ("previous_response_id", "conversation")
ORPHAN = "no call in the conversation has the id {!r} of this result"
TWICE = "the call {!r} was answered twice: this later result is sent, in the place of the earlier"


def match_results(request: Request) -> tuple[Request, tuple[Loss, ...]]:
    """The request with results that fit their calls, and what was changed. Raises for a call without a result."""
    calls, odd = _read(request.messages)
    if any(calls.values()):
        missing = ", ".join(f"{places[0].name} ({id})" for id, places in calls.items() if places)
        raise ToolStateError(
            f"these tool calls have no result: {missing}. Append the results, or say that none was recorded with"
            " repair_tool_results(messages, dialect=…).",
            retryable=False,
        )
    if not odd or _held_elsewhere(request):
        return request, ()
    return _mended(request, odd)


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


def unanswered(messages: Sequence[Message]) -> list[str]:
    """The calls without a result, each as a sentence that says where."""
    calls, _ = _read(messages)
    waiting = {id(call) for places in calls.values() for call in places}
    return [
        f"messages/{index}: call {block.id} of {block.name} was never answered"
        for index, message in enumerate(messages)
        for block in message.content
        if type(block) is ToolUseBlock and id(block) in waiting
    ]


def _read(messages: Sequence[Message]) -> tuple[dict[str, list[ToolUseBlock]], dict[Place, Place | None]]:
    """The calls that wait, by id, and the results that none waits for: an earlier result's place, or None.

    An id may be used again after it was answered: some decoders count the calls of each answer from nought.
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


def _held_elsewhere(request: Request) -> bool:
    """Whether a server knows calls that are not in the request."""
    if any(key in told for told in request.extras.values() if isinstance(told, dict) for key in HELD):
        return True
    return any("orphans" in mark for m in request.messages for mark in m.forms.values() if isinstance(mark, dict))


def _mended(request: Request, odd: dict[Place, Place | None]) -> tuple[Request, tuple[Loss, ...]]:
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
    told = zip(request.messages, map(tuple, content), strict=True)
    messages = [
        message if message.content == blocks else replace(message, content=blocks)
        for index, (message, blocks) in enumerate(told)
        if index not in emptied
    ]
    return replace(request, messages=tuple(messages)), tuple(losses)

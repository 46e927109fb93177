"""Shortening a conversation that has grown too long: the oldest turns are left out first, calls with their results.

The user's last turn stays. If that turn alone is too long (the long loop of an agent), its oldest rounds of calls are
left out, but never its question or its latest round. The history keeps what is left out; it is only no longer sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ...types.messages import Message
from ...types.words import Role

__all__ = ["Shortened", "shorten"]

MAX_FILL = 0.5
"""The share of the context window that may be filled afterwards. The rest is for the next turns."""

USER, TOOL, SYSTEM = Role.user, Role.tool, Role.system


class Shortened(Struct, frozen=True):
    """The messages that are still sent, and those that are left out."""

    messages: tuple[Message, ...]
    left_out: tuple[Message, ...]


def shorten(
    messages: Sequence[Message], count: Callable[[Sequence[Message]], int], window: int | None = None
) -> Shortened:
    """The newest turns that fill at most half of the window; if it is not known, half of their size now."""
    sizes = {id(message): count((message,)) for message in messages}
    total = sum(sizes.values())
    limit = int(MAX_FILL * min(total, window or total))
    left_out: set[int] = set()
    for piece in _removable_pieces(messages):
        if total <= limit:
            break
        left_out.update(map(id, piece))
        total -= sum(sizes[id(message)] for message in piece)
    return Shortened(
        tuple(message for message in messages if id(message) not in left_out),
        tuple(message for message in messages if id(message) in left_out),
    )


def _removable_pieces(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The pieces that may be left out, in this order: whole turns, then the rounds of the last turn but its latest."""
    turns = list(_turns(messages))
    yield from ([message for message in turn if message.role is not SYSTEM] for turn in turns[:-1])
    rounds = list(_rounds(turns[-1][1:])) if turns else []
    yield from rounds[:-1]


def _turns(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The turns, each from a user's message to the end of its answer. Messages before the first one are a turn too."""
    turn: list[Message] = []
    for message in messages:
        if message.role is USER and any(known.role is not USER for known in turn):
            yield turn
            turn = []
        turn.append(message)
    if turn:
        yield turn


def _rounds(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The rounds of a turn, each an assistant's message with the tool results that follow it."""
    found: list[Message] = []
    for message in messages:
        if found and message.role is not TOOL:
            yield found
            found = []
        found.append(message)
    if found:
        yield found

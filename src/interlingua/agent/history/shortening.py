"""A conversation that has grown too long, shortened: the oldest turns first, and no call without its results.

The last turn of the user stays. If that turn alone is too long (an agent's long loop), its oldest rounds of calls go,
but never the question nor the latest round. What is left out stays in the history; it is only not sent any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ...types.messages import Message
from ...types.words import Role

__all__ = ["Adapted", "shorten"]

ROOM = 0.5
"""How full the window may be afterwards: half is left to the turns to come."""

USER, TOOL, SYSTEM = Role.user, Role.tool, Role.system


class Adapted(Struct, frozen=True):
    """What is left, and the messages that are left out."""

    messages: tuple[Message, ...]
    left_out: tuple[Message, ...]


def shorten(
    messages: Sequence[Message], count: Callable[[Sequence[Message]], int], window: int | None = None
) -> Adapted:
    """The newest turns that fill at most half of the window; without a known window, half of what there was."""
    sizes = {id(message): count((message,)) for message in messages}
    whole = sum(sizes.values())
    limit = int(ROOM * min(whole, window or whole))
    gone: set[int] = set()
    for piece in _pieces(messages):
        if whole <= limit:
            break
        gone.update(map(id, piece))
        whole -= sum(sizes[id(message)] for message in piece)
    return Adapted(
        tuple(message for message in messages if id(message) not in gone),
        tuple(message for message in messages if id(message) in gone),
    )


def _pieces(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """What may go, in the order in which it goes: whole turns, then rounds of the last turn but its latest."""
    turns = list(_turns(messages))
    yield from ([message for message in turn if message.role is not SYSTEM] for turn in turns[:-1])
    rounds = list(_rounds(turns[-1][1:])) if turns else []
    yield from rounds[:-1]


def _turns(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Each from the user's words to the last word of the answer; what stands before the first is a turn too."""
    turn: list[Message] = []
    for message in messages:
        if message.role is USER and any(known.role is not USER for known in turn):
            yield turn
            turn = []
        turn.append(message)
    if turn:
        yield turn


def _rounds(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Each an assistant's message with the results that answer it."""
    found: list[Message] = []
    for message in messages:
        if found and message.role is not TOOL:
            yield found
            found = []
        found.append(message)
    if found:
        yield found

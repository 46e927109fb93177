"""Estimates that learn from what a provider reports.

No count of a prompt can tell what a server adds to it unseen, and some add a prompt of their own that they change at
will; nor which model a deployment's name stands for. The next answer tells both. So a client remembers what the last
answers of each model reported beside what was estimated, and the one nearest in size corrects the next estimate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from ...types.blocks import AudioBlock, Block, DocumentBlock, OpaqueBlock, ServerToolUseBlock, VideoBlock
from ...types.request import Request
from ...types.tools import ToolDefinition
from .estimating import estimate_request

__all__ = ["Learner", "Told", "corrected"]

LAST = 4
"""So many answers of a kind are remembered: servers change what they add."""
CLOSE = 0.05
"""Of the count: an estimate that was no further off is right, and what it missed is that prompt's own."""
MOST_KINDS = 128
HELD = frozenset({"previous_response_id", "conversation", "prompt", "mcp_servers", "cachedContent", "container"})
"""Names, in any protocol, of what a server holds of a prompt: then its count is of more than was sent."""
UNCOUNTED = (DocumentBlock, AudioBlock, VideoBlock, ServerToolUseBlock, OpaqueBlock)
"""What is hardly more than guessed: how far that was off tells nothing of other prompts."""


class Told(NamedTuple):
    """A prompt that was counted: by us, and by the provider."""

    estimated: int
    reported: int


def corrected(estimate: int, seen: Iterable[Told]) -> int:
    """By the prompt nearest in size. What it had more, the server adds to all alike; less is fewer tokens a word."""
    near = min(seen, key=lambda told: abs(told.estimated - estimate))
    more = near.reported - near.estimated
    if abs(more) <= CLOSE * near.reported:
        return estimate
    return estimate + more if more > 0 else max(1, round(estimate * near.reported / near.estimated))


class _Kind:
    """The prompts of one model, with tools or without: a server may add much to tools."""

    __slots__ = ("last", "seen")

    def __init__(self) -> None:
        self.seen: deque[Told] = deque(maxlen=LAST)
        self.last: tuple[Request, int] | None = None


class Learner:
    """What one provider reported.

    Before the first question nothing is kept, and nothing is counted before the next: then only the last prompt of
    each kind, so that calls stay cheap.
    """

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self._kinds: dict[tuple[str | None, bool], _Kind] | None = None

    def observe(self, request: Request, reported: int) -> None:
        """The provider says so many tokens of a prompt."""
        kinds = self._kinds
        if kinds is None or reported <= 0:
            return
        key = request.model, bool(request.tools)
        if key in kinds or len(kinds) < MOST_KINDS:
            kinds.setdefault(key, _Kind()).last = request, reported

    def estimate(self, request: Request) -> int:
        """As ``estimate_request``, and as the provider has counted lately."""
        if self._kinds is None:
            self._kinds = {}
        guess = estimate_request(request, self.provider)
        has_tools = bool(request.tools)
        seen = self._seen(request.model, has_tools) or self._seen(request.model, not has_tools)
        return corrected(guess, seen) if seen else guess

    def _seen(self, model: str | None, has_tools: bool) -> deque[Told]:
        kind = (self._kinds or {}).get((model, has_tools)) or _Kind()
        last, kind.last = kind.last, None
        if last is not None and _is_whole(last[0]):
            kind.seen.append(Told(estimate_request(last[0], self.provider), last[1]))
        return kind.seen


def _is_whole(request: Request) -> bool:
    """Whether all of the prompt was sent, and can be counted."""
    if any(type(tool) is not ToolDefinition for tool in request.tools):
        return False
    if any(not HELD.isdisjoint(residue) for residue in request.extras.values()):
        return False
    blocks: Iterable[Block] = (block for message in request.messages for block in message.content)
    return not any(isinstance(block, UNCOUNTED) for block in blocks)

"""Estimates that learn from the counts that a provider reports.

Some servers add a hidden prompt that they may change at any time, and the name of a deployment does not show its model.
The next answer's usage shows the effect of both. So a client remembers the reported and the estimated tokens of each
model's last prompts, and the one nearest in size corrects the next estimate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from ...types.blocks import AudioBlock, Block, DocumentBlock, OpaqueBlock, ServerToolUseBlock, VideoBlock
from ...types.request import Request
from ...types.tools import ToolDefinition
from .estimating import estimate_request

__all__ = ["Count", "Learner", "corrected"]

LAST = 4
"""How many counts of a kind are remembered; few, because servers change what they add."""
CLOSE = 0.05
"""An error below this share of the reported count is due to that prompt alone, and corrects nothing."""
MOST_KINDS = 128
HELD = frozenset({"previous_response_id", "conversation", "prompt", "mcp_servers", "cachedContent", "container"})
"""Fields, in any protocol, that refer to a part of the prompt on the server, so that it counts more than was sent."""
UNCOUNTED = (DocumentBlock, AudioBlock, VideoBlock, ServerToolUseBlock, OpaqueBlock)
"""Blocks whose tokens are only guessed, so that the error of such a prompt is no guide for other prompts."""


class Count(NamedTuple):
    """The tokens of a prompt, as we estimated and as the provider reported them."""

    estimated: int
    reported: int


def corrected(estimate: int, counts: Iterable[Count]) -> int:
    """The estimate, corrected by the count nearest in size.

    A surplus is added, because servers add the same to every prompt; a deficit scales it: fewer tokens per word.
    """
    near = min(counts, key=lambda count: abs(count.estimated - estimate))
    more = near.reported - near.estimated
    if abs(more) <= CLOSE * near.reported:
        return estimate
    return estimate + more if more > 0 else max(1, round(estimate * near.reported / near.estimated))


class _Kind:
    """The counts of one model, with tools or without: a server may add much to tools."""

    __slots__ = ("counts", "last")

    def __init__(self) -> None:
        self.counts: deque[Count] = deque(maxlen=LAST)
        self.last: tuple[Request, int] | None = None


class Learner:
    """Corrects the estimates for one provider by the tokens that it reported.

    To keep calls cheap, nothing is remembered before the first estimate. Later a call only remembers the last prompt of
    its kind, which the next estimate counts.
    """

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self._kinds: dict[tuple[str | None, bool], _Kind] | None = None

    def observe(self, request: Request, reported: int) -> None:
        """Remember how many tokens the provider reported for a prompt."""
        kinds = self._kinds
        if kinds is None or reported <= 0:
            return
        key = request.model, bool(request.tools)
        if key in kinds or len(kinds) < MOST_KINDS:
            kinds.setdefault(key, _Kind()).last = request, reported

    def estimate(self, request: Request) -> int:
        """``estimate_request``, corrected by the provider's last counts."""
        if self._kinds is None:
            self._kinds = {}
        guess = estimate_request(request, self.provider)
        has_tools = bool(request.tools)
        counts = self._counts(request.model, has_tools) or self._counts(request.model, not has_tools)
        return corrected(guess, counts) if counts else guess

    def _counts(self, model: str | None, has_tools: bool) -> deque[Count]:
        kind = (self._kinds or {}).get((model, has_tools)) or _Kind()
        last, kind.last = kind.last, None
        if last is not None and _is_whole(last[0]):
            kind.counts.append(Count(estimate_request(last[0], self.provider), last[1]))
        return kind.counts


def _is_whole(request: Request) -> bool:
    """Whether the request held the whole prompt, and all of it can be counted."""
    if any(type(tool) is not ToolDefinition for tool in request.tools):
        return False
    if any(not HELD.isdisjoint(residue) for residue in request.extras.values()):
        return False
    blocks: Iterable[Block] = (block for message in request.messages for block in message.content)
    return not any(isinstance(block, UNCOUNTED) for block in blocks)

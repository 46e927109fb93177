"""Opaque state in one call: restored from the client's request, sealed or kept for the client's next request."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..types.blocks import Block
from ..types.events import Event
from ..types.loss import Loss
from ..types.messages import Message
from ..types.request import Request
from ..types.response import Response
from .carry import has_state, restore
from .compacting import open_summaries
from .state import State
from .wrapping import Wrapping

__all__ = ["KEPT", "Carrying"]

KEPT = frozenset({"openai-chat", "ollama"})
"""Dialects whose clients cannot carry state: the vault keeps it."""


class Carrying:
    """The ``Carrier`` of a ``RelayedCall``. ``owner`` is the name of the client's key; ``has_envelope`` says whether
    the request may contain an envelope."""

    def __init__(self, state: State, dialect: str, owner: str | None, *, has_envelope: bool = True) -> None:
        self._state, self._dialect, self._owner, self._has_envelope = state, dialect, owner, has_envelope
        self._wrapping = Wrapping(dialect, state.envelopes)
        self.events: Callable[[Event], Sequence[Event]] = self._wrapping.events
        """Return what the client gets for an event, with its state in envelopes."""
        self._has_kept = False

    def restore(self, request: Request) -> tuple[Request, tuple[Loss, ...]]:
        """The request with its state, from envelopes or the vault, and what could not be restored."""
        if not self._has_envelope and (self._dialect not in KEPT or self._state.vault.is_empty):
            return request, ()
        request, unread = open_summaries(request, self._state.envelopes)
        request, losses = restore(request, self._state.envelopes, self._find if self._dialect in KEPT else None)
        return request, (*unread, *losses)

    def _find(self, content: Sequence[Block]) -> Message | None:
        return self._state.vault.find(self._owner, content)

    def response(self, response: Response) -> Response:
        """A whole answer with its state in envelopes."""
        return self._wrapping.response(response)

    def keep(self, response: Response) -> None:
        """Keep the state of an answer, once, where its client cannot carry it."""
        if self._has_kept or self._dialect not in KEPT or not self._wrapping.blocks:
            return
        if any(map(has_state, response.content)):
            self._has_kept = True
            self._state.vault.put(self._owner, self._wrapping.state, response.content)

    async def keep_and_wait(self, response: Response) -> None:
        """Keep the state, and wait until every process can find it: the client's next request may go to any."""
        self.keep(response)
        if self._has_kept:
            await self._state.vault.wait_until_shared()

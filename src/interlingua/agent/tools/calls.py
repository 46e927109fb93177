"""The life of a call: how far it came, and what the model is told of it. Everything that decides this is in this file.

Read ``MOVES`` aloud: from a state, a call can move to those beside it. ``state`` says how far a call came:

- ``offered``: the model made the call; ``asked``: approval was asked for; ``approved``: it was given. In these states
  the handler was never called, also where the call has an error result already.
- ``started``: the handler was called. Where a program ended in this state, nobody knows what the handler did.
- ``finished``: it returned a result; ``failed``: it raised, or returned an error.
- ``interrupted``: nobody waited for its end. Nobody knows what it did.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any, Literal

from ...errors import ToolStateError
from ...types.blocks import ToolResultBlock, ToolUseBlock
from ...types.session_events import SessionEvent
from .results import failure, failure_of, result_of

__all__ = ["MOVES", "RUNNING", "CallRun", "State", "unanswered"]

State = Literal["offered", "asked", "approved", "started", "finished", "failed", "interrupted"]

MOVES: dict[State, tuple[State, ...]] = {
    "offered": ("asked", "started"),
    "asked": ("approved",),
    "approved": ("started",),
    "started": ("finished", "failed", "interrupted"),
    "finished": (),
    "failed": (),
    "interrupted": (),
}


class CallRun:
    """One call that is run: its state, and its result as soon as there is one."""

    __slots__ = ("call", "delegated", "is_told", "on_give_up", "outcome", "result", "state", "tell")

    def __init__(self, call: ToolUseBlock, state: State = "offered") -> None:
        self.call = call
        self.state: State = state
        self.result: ToolResultBlock | None = None
        self.outcome: tuple[Any, BaseException | None] | None = None
        """What a handler in a thread returned or raised; set by that thread."""
        self.is_told = False
        """Whether an event told its end."""
        self.tell: Callable[[SessionEvent], object] | None = None
        """Tells an event of the tool itself to whoever watches; from any thread."""
        self.delegated: Any = None
        """What a session that runs as this tool came to."""
        self.on_give_up: Callable[[], object] | None = None
        """Called when nobody waits for the call any more."""

    def move(self, state: State) -> None:
        """Come to another state; a move that is not in the table raises."""
        if state not in MOVES[self.state]:
            raise ToolStateError(f"the call {self.call.id} of {self.call.name} cannot be {state} after {self.state}")
        self.state = state

    def answer(self, result: ToolResultBlock) -> ToolResultBlock:
        """Keep the result. For a call that was started, it also says how it ended."""
        if self.state == "started":
            self.move("failed" if result.is_error else "finished")
        self.result = result
        return result

    def give_up(self, cause: str) -> ToolResultBlock:
        """The result of a call that nobody waits for any more: what is known of it, and why."""
        if self.result is None and self.state == "started" and (result := self._late()) is not None:
            return self.answer(result)
        if self.result is None:
            self.result = failure(self.call, unanswered(self.state, cause))
            if self.state == "started":
                self.move("interrupted")
                if self.on_give_up is not None:
                    self.on_give_up()
        return self.result

    def _late(self) -> ToolResultBlock | None:
        """What a thread has told already, though nobody has read it yet."""
        if self.outcome is None:
            return None
        value, error = self.outcome
        if error is not None:
            return failure_of(self.call, error) if isinstance(error, Exception) else None
        return None if isawaitable(value) else result_of(self.call, value)


RUNNING: ContextVar[CallRun | None] = ContextVar("running", default=None)
"""The call that this code runs in."""


def unanswered(state: State | None, cause: str) -> str:
    """What the model is told of a call without a result."""
    if state == "started":
        return f"The call was started; its outcome is unknown: {cause}."
    return f"Not run: {cause}."

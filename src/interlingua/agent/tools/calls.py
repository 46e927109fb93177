"""The states of a tool call, and the text for the model about a call without a result. All decisions on them are here.

``MOVES`` lists, for each state, the states that can follow it:

- ``offered``: the model made the call; ``asked``: approval was asked for; ``approved``: it was given. In these states
  the handler was never called, even if the call has an error result already.
- ``started``: the handler was called. If the program ended in this state, it is unknown what the handler did.
- ``finished``: the handler returned a result; ``failed``: it raised an exception, or returned an error.
- ``interrupted``: the call was given up before the handler ended. It is unknown what the handler did.
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

    __slots__ = ("call", "delegated", "emit", "is_reported", "on_give_up", "outcome", "result", "state")

    def __init__(self, call: ToolUseBlock, state: State = "offered") -> None:
        self.call = call
        self.state: State = state
        self.result: ToolResultBlock | None = None
        self.outcome: tuple[Any, BaseException | None] | None = None
        """What a handler in a thread returned or raised; set by that thread."""
        self.is_reported = False
        """Whether an event has reported the end of the call."""
        self.emit: Callable[[SessionEvent], object] | None = None
        """Passes an event of the tool itself to the reader of the stream; from any thread. None if nobody reads."""
        self.delegated: Any = None
        """If the tool is a session: the usage, cost and ending of its run."""
        self.on_give_up: Callable[[], object] | None = None
        """Called when the call is given up while its handler still runs."""

    def move(self, state: State) -> None:
        """Change the state. Raises if ``MOVES`` does not allow it."""
        if state not in MOVES[self.state]:
            raise ToolStateError(f"the call {self.call.id} of {self.call.name} cannot be {state} after {self.state}")
        self.state = state

    def answer(self, result: ToolResultBlock) -> ToolResultBlock:
        """Keep the result. If the call was started, its state becomes ``finished`` or ``failed``."""
        if self.state == "started":
            self.move("failed" if result.is_error else "finished")
        self.result = result
        return result

    def give_up(self, cause: str) -> ToolResultBlock:
        """Stop waiting for the call, and return its result. Without one, it is an error that says what is known."""
        if self.result is None and self.state == "started" and (result := self._unread_result()) is not None:
            return self.answer(result)
        if self.result is None:
            self.result = failure(self.call, unanswered(self.state, cause))
            if self.state == "started":
                self.move("interrupted")
                if self.on_give_up is not None:
                    self.on_give_up()
        return self.result

    def _unread_result(self) -> ToolResultBlock | None:
        """The result of a handler that has ended in its thread, but whose outcome was not read yet."""
        if self.outcome is None:
            return None
        value, error = self.outcome
        if error is not None:
            return failure_of(self.call, error) if isinstance(error, Exception) else None
        return None if isawaitable(value) else result_of(self.call, value)


RUNNING: ContextVar[CallRun | None] = ContextVar("running", default=None)
"""The call whose handler the current code belongs to."""


def unanswered(state: State | None, cause: str) -> str:
    """The text for the model about a call without a result."""
    if state == "started":
        return f"The call was started; its outcome is unknown: {cause}."
    return f"Not run: {cause}."

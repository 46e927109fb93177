"""The states of a tool call, and the result of a call that did not finish. All state changes are in this file.

``MOVES`` lists for each state the states that may follow:

- ``offered``: the model made the call; ``asked``: approval was requested; ``approved``: it was given. In these states
  the handler was not called, even if the call already has an error result.
- ``started``: the handler was called. If the program ended in this state, it is not known what the handler did.
- ``finished``: it returned a result; ``failed``: it raised, or returned an error.
- ``interrupted``: its end was not waited for. It is not known what it did.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import Any, Literal

from ...errors import ToolStateError
from ...types.blocks import ToolResultBlock, ToolUseBlock
from .results import failure, failure_of, result_of

__all__ = ["MOVES", "CallRun", "State", "unanswered"]

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
    """One call that is run: its state, and its result once there is one."""

    __slots__ = ("call", "outcome", "result", "state")

    def __init__(self, call: ToolUseBlock, state: State = "offered") -> None:
        self.call = call
        self.state: State = state
        self.result: ToolResultBlock | None = None
        self.outcome: tuple[Any, BaseException | None] | None = None
        """What a handler in a thread returned or raised; set by that thread."""

    def move(self, state: State) -> None:
        """Change the state. Raises if ``MOVES`` does not allow it."""
        if state not in MOVES[self.state]:
            raise ToolStateError(f"the call {self.call.id} of {self.call.name} cannot be {state} after {self.state}")
        self.state = state

    def answer(self, result: ToolResultBlock) -> ToolResultBlock:
        """Set the result. A call that was started is ``finished`` or ``failed`` then."""
        if self.state == "started":
            self.move("failed" if result.is_error else "finished")
        self.result = result
        return result

    def give_up(self, cause: str) -> ToolResultBlock:
        """End a call that is not waited for any more. Its result says what is known of it, and why it was ended."""
        if self.result is None and self.state == "started" and (result := self._late()) is not None:
            return self.answer(result)
        if self.result is None:
            self.result = failure(self.call, unanswered(self.state, cause))
            if self.state == "started":
                self.move("interrupted")
        return self.result

    def _late(self) -> ToolResultBlock | None:
        """The result of a handler that has ended in its thread meanwhile."""
        if self.outcome is None:
            return None
        value, error = self.outcome
        if error is not None:
            return failure_of(self.call, error) if isinstance(error, Exception) else None
        return None if isawaitable(value) else result_of(self.call, value)


def unanswered(state: State | None, cause: str) -> str:
    """The text of the result of a call that has none."""
    if state == "started":
        return f"The call was started; its outcome is unknown: {cause}."
    return f"Not run: {cause}."

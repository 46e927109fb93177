"""The stream of a turn: the part of both sessions' streams that does not wait."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from ...codec.typed import Output, PartialOutput
from ...types.output import T
from ...types.response import Response
from ...types.session_events import SessionEvent
from ..routing.steps import Steps

__all__ = ["E", "TurnStream"]

E = TypeVar("E", bound=SessionEvent)


class TurnStream(Generic[E, T]):
    """``events`` is the generator that performs the turn. After its end, ``response`` is the last answer."""

    def __init__(self, events: Any, steps: Steps[Response], output: Output[T] | None = None) -> None:
        self._events, self._steps = events, steps
        self._partial = None if output is None else PartialOutput(output)

    @property
    def response(self) -> Response[T] | None:
        """The last answer, once the turn is over."""
        return self._steps.result

    @property
    def partial_output(self) -> Any:
        """What has arrived of a typed answer; the same as ``AsyncStream.partial_output``."""
        return None if self._partial is None else self._partial.value

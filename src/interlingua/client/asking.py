"""Typed answers, without I/O: add the schema, read the answer, and ask again with the reason if it does not fit.

Clients, routers and sessions share it; they differ in how they call the model and in where the history is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, cast

from msgspec.structs import force_setattr, replace

from ..codec.typed import Output, PartialOutput, output_of
from ..errors import InvalidRequestError, OutputError
from ..types.blocks import TextBlock
from ..types.events import Event, MessageComplete
from ..types.messages import Message
from ..types.output import OutputType, T
from ..types.request import Request
from ..types.response import Response
from ..types.usage import TokenUsage
from ..types.words import Role, StopReason

__all__ = [
    "RETRIES",
    "Asking",
    "TypedEvents",
    "with_output_schema",
    "can_ask_again",
    "read_answer",
    "correction_message",
]

RETRIES = 2
"""How many times a model is asked again if its answer does not fit the type."""
TRY_AGAIN = "Answer again, with JSON that fits and nothing else."
MAX_QUOTED = 200
"""How many characters of a wrong answer an error quotes."""

# fmt: off
NO_ANSWER = {
    # the stop reason        why asking again would not help
    StopReason.max_tokens:       "the answer was cut off: raise max_output_tokens",
    StopReason.refusal:          "the model refused to answer",
    StopReason.context_overflow: "the conversation is too long for the model",
}
UNDECIDED = (StopReason.pause_turn, StopReason.cancelled, StopReason.error)
"""Stop reasons after which there is no final answer to read."""
# fmt: on


class Asking(Generic[T]):
    """A call with ``output=``: send ``request`` and pass the answer to ``settle``, until that returns a response."""

    def __init__(self, request: Request, output: OutputType[T], retries: int = RETRIES) -> None:
        self._output: Output[T] = output_of(output)
        self.request = with_output_schema(request, self._output)
        self._retries_left = retries
        self._usage: TokenUsage | None = None
        self._attempts = 0

    def settle(self, response: Response, as_turn: Callable[[Response], Message]) -> Response[T] | None:
        """The answer with its ``output`` and the usage of all answers so far; None if the model must be asked again.

        Raises ``OutputError`` if asking again would not help.
        """
        if response.usage is not None:
            self._usage = response.usage if self._usage is None else self._usage + response.usage
        self._attempts += response.attempts
        if self._usage is not response.usage:
            response = replace(response, usage=self._usage, attempts=self._attempts)
        try:
            return read_answer(response, self._output)
        except OutputError as error:
            if not self._retries_left or not can_ask_again(error):
                raise
            self._retries_left -= 1
            wrong_answer = (as_turn(response),) if response.content else ()
            self.request = replace(
                self.request, messages=(*self.request.messages, *wrong_answer, correction_message(error))
            )
        return None


class TypedEvents(Generic[T]):
    """Reads the events of a typed stream: the value so far, and the whole value on the final response."""

    def __init__(self, output: OutputType[T]) -> None:
        self.output: Output[T] = output_of(output)
        self.error: OutputError | None = None
        self._partial = PartialOutput(self.output)

    @property
    def partial(self) -> Any:
        return self._partial.value

    def see(self, event: Event) -> None:
        """Read the next event. The final response gets its ``output`` here, before the caller sees it."""
        self._partial.see(event)
        if type(event) is MessageComplete and event.error is None:
            try:
                typed = read_answer(event.response, self.output)
                force_setattr(event.response, "output", typed.output)
            except OutputError as error:
                self.error = error


def with_output_schema(request: Request, output: Output[Any]) -> Request:
    """The request with the schema of a typed answer."""
    if request.output_schema is not None:
        raise InvalidRequestError("the request has an output_schema already: give either that or output=")
    return replace(request, output_schema=output.schema)


def read_answer(response: Response, output: Output[T]) -> Response[T]:
    """The response with its ``output``; unchanged if it is no final answer. Raises ``OutputError`` for a misfit."""
    if response.stop_reason in UNDECIDED or response.tool_uses:
        return response
    if response.stop_reason in NO_ANSWER:
        raise _failure(response, NO_ANSWER[response.stop_reason])
    texts = [block.text for block in response.content if type(block) is TextBlock]
    why = ""
    for text in ("".join(texts), *texts[-1:]):  # some models write text before the answer
        try:
            return cast("Response[T]", replace(response, output=output.read(text)))
        except ValueError as error:
            why = str(error)
    raise _failure(response, why)


def can_ask_again(error: OutputError) -> bool:
    """Whether the model may answer better if it is asked again."""
    return error.response is not None and error.response.stop_reason not in NO_ANSWER


def correction_message(error: OutputError) -> Message:
    """The message that asks the model to correct an answer that does not fit."""
    return Message(Role.user, f"This answer does not fit what was asked for:\n{error.reason}\n{TRY_AGAIN}")


def _failure(response: Response, why: str) -> OutputError:
    provider = response.origin.provider if response.origin else None
    begin = f"the answer is not of the type that was asked for: {why.removeprefix('- ')}"
    quoted = f"\nThe answer begins {response.text[:MAX_QUOTED]!r}" if response.text else ""
    error = OutputError(
        begin + quoted,
        provider=provider,
        request_id=response.request_id,
        attempts=response.attempts,
        response=response,
    )
    error.reason = why
    return error

"""The history of a session: messages with ids, the open tool calls, and the messages that are not sent any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from ...errors import ToolStateError
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message
from ...types.words import Role
from ..history import new_message_id
from ..tools.batch import Batch
from ..tools.call_run import State
from .call_states import entry_of, why_unanswered, with_states

__all__ = ["History", "Repair"]

Repair = Literal["synthesize", "refuse"]

USER, ASSISTANT, TOOL = Role.user, Role.assistant, Role.tool


class History:
    """Always valid: every tool call has a result before the next message."""

    def __init__(self, messages: Iterable[Message] = (), omitted: Iterable[str] = (), repair: Repair = "synthesize"):
        self.repair: Repair = repair
        self.messages: list[Message] = []
        self.omitted = set(omitted)
        self.saved = 0
        """How many messages are stored already."""
        self._open: dict[str, ToolUseBlock] = {}
        for message in messages:
            self.add(message)

    def add(self, message: Message) -> Message:
        """Append a message. Open calls that it does not answer are answered first, or it is refused (``repair``).

        A user message may contain results too; then missing results are put before them.
        """
        if message.role is not TOOL and self._open:
            answered = {block.tool_use_id for block in message.content if type(block) is ToolResultBlock}
            if message.role is not USER or answered.isdisjoint(self._open):
                self.settle()
            elif missing := [id for id in self._open if id not in answered]:
                self._refuse(missing)
                message = replace(message, content=(*self._error_results(missing), *message.content))
        if message.id is None:
            message = replace(message, id=new_message_id())
        self.messages.append(message)
        for block in message.content:
            if type(block) is ToolUseBlock and not block.incomplete:
                self._open[block.id] = block
            elif type(block) is ToolResultBlock:
                self._open.pop(block.tool_use_id, None)
        return message

    @property
    def open_calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls without a result."""
        return tuple(self._open.values())

    def settle(self) -> None:
        """Answer every open call with what is known of it. Raises if ``repair`` is ``"refuse"``."""
        if self._open:
            self._refuse(self._open)
            self.answer([])

    def _refuse(self, ids: Iterable[str]) -> None:
        if self.repair == "refuse":
            raise ToolStateError(f"these tool calls have no result: {', '.join(ids)}; answer them first")

    def _error_results(self, ids: Iterable[str], cause: str | None = None) -> tuple[ToolResultBlock, ...]:
        return tuple(error_result(id, why_unanswered(self.entry(id), cause)) for id in ids)

    def entry(self, id: str) -> dict[str, Json]:
        """The entry of an open call in the metadata of its message (``call_states.py``)."""
        place = self._last_answer()
        return {} if place is None else entry_of(self.messages[place], id)

    def _last_answer(self) -> int | None:
        """The index of the last answer. All open calls are in it."""
        places = range(len(self.messages) - 1, -1, -1)
        return next((place for place in places if self.messages[place].role is ASSISTANT), None)

    def mark(self, states: Mapping[str, State]) -> None:
        """Write the states of calls into the last answer."""
        place = self._last_answer()
        if place is not None:
            self.messages[place] = with_states(self.messages[place], states)
            self.saved = min(self.saved, place)

    def conclude(self, batch: Batch, cause: str) -> None:
        """Write the results and the states of a batch. A call without a result gets one that says what is known."""
        results = batch.give_up(cause)
        self.mark({run.call.id: run.state for run in batch.runs})
        if given := [result for result in results if result.tool_use_id in self._open]:
            self.answer(given)

    def answer(self, results: Iterable[ToolResultBlock], cause: str | None = None) -> Message:
        """Append the results of the open calls, in order. A call without a result gets one that says what is known."""
        given = {result.tool_use_id: result for result in results}
        unknown = [id for id in given if id not in self._open]
        if unknown:
            waiting = ", ".join(self._open) or "none"
            raise ToolStateError(f"no open call has the id {', '.join(unknown)}; open: {waiting}")
        known = {result.tool_use_id: result for result in self._error_results(self._open.keys() - given.keys(), cause)}
        return self.add(Message(TOOL, tuple((given | known)[id] for id in self._open)))

    def add_partial(self, message: Message, cause: str | None = None) -> Message | None:
        """Append a cut answer and answer its calls. Returns None if nothing of it can be kept.

        Thinking without a signature is dropped: its provider would refuse it.
        """
        content = list(message.content)
        while content and _is_nothing(content[-1]):
            content.pop()
        if not content:
            return None
        added = self.add(replace(message, content=tuple(content)))
        if self._open:
            self.answer([], cause)
        return added

    def state(self) -> tuple[list[Message], dict[str, ToolUseBlock], set[str]]:
        """A copy for ``restore``."""
        return self.messages.copy(), self._open.copy(), self.omitted.copy()

    def restore(self, state: tuple[list[Message], dict[str, ToolUseBlock], set[str]]) -> None:
        """Undo every change since ``state`` was taken."""
        self.messages, self._open, self.omitted = state
        self.saved = min(self.saved, len(self.messages))

    def omit(self, messages: Iterable[Message]) -> None:
        """Do not send these messages any more. They stay in the history."""
        self.omitted.update(message.id for message in messages if message.id is not None)

    def to_send(self) -> tuple[Message, ...]:
        """The messages that are sent."""
        if not self.omitted:
            return tuple(self.messages)
        return tuple(message for message in self.messages if message.id not in self.omitted)

    def rearrange(self, shown: Sequence[Message]) -> int:
        """Send only ``shown`` from now on. New messages among them (a summary) are inserted at their place.

        Returns how many messages are not sent any more.
        """
        known, sent = {message.id for message in self.messages}, {message.id for message in shown}
        before = len(self.omitted)
        self.omit(message for message in self.messages if message.id not in sent)
        gone = len(self.omitted) - before
        inserted: dict[str | None, list[Message]] = {}  # new messages, by the id of the known message before them
        last: str | None = None
        for message in shown:
            if message.id in known and message.id is not None:
                last = message.id
            else:
                inserted.setdefault(last, []).append(replace(message, id=new_message_id()))
        if inserted:
            self._insert(inserted)
        return gone

    def _insert(self, inserted: dict[str | None, list[Message]]) -> None:
        places = [place for place, message in enumerate(self.messages) if message.id in inserted]
        first = 0 if None in inserted else places[0] + 1
        written = list(inserted.get(None, ()))
        for message in self.messages:
            written += [message, *inserted.get(message.id, ())]
        self.messages, self.saved = written, min(self.saved, first)


def error_result(id: str, why: str) -> ToolResultBlock:
    """An error result."""
    return ToolResultBlock(id, (TextBlock(why),), is_error=True)


def _is_nothing(block: Block) -> bool:
    if type(block) is ThinkingBlock:
        return block.signature is None
    return type(block) is TextBlock and not block.text

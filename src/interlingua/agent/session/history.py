"""The history of a session: messages with ids, the calls without a result, and the messages that are no longer sent.

``messages`` is a log: messages that were taken back stay in it, with their ids in ``undone``. The others are ``live``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ...errors import ToolStateError
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message
from ...types.words import Role
from ..history import new_message_id
from ..tools.calls import State
from ..tools.running import Batch
from .call_states import entry_of, why_unanswered, with_states

__all__ = ["History", "HistoryState", "Repair"]

Repair = Literal["synthesize", "refuse"]

USER, ASSISTANT, TOOL = Role.user, Role.assistant, Role.tool


class HistoryState(NamedTuple):
    """What ``History.restore`` needs to go back to an earlier moment."""

    messages: list[Message]
    open: dict[str, ToolUseBlock]
    omitted: set[str]
    undone: set[str]


class History:
    """Keeps the messages in a legal order: every call has a result before another message follows."""

    def __init__(
        self,
        messages: Iterable[Message] = (),
        omitted: Iterable[str] = (),
        repair: Repair = "synthesize",
        undone: Iterable[str] = (),
    ) -> None:
        self.repair: Repair = repair
        self.messages: list[Message] = []
        self.omitted, self.undone = set(omitted), set(undone)
        self.saved = 0
        """How many messages are stored already."""
        self._ids = set[str]()
        self.open: dict[str, ToolUseBlock] = {}
        """The calls without a result, by id."""
        for message in messages:
            if message.id in self.undone and message.id not in self._ids:
                self._ids.add(message.id)
                self.messages.append(message)
            else:
                self.add(message)

    def add(self, message: Message) -> Message:
        """Append a message. Open calls that it does not answer get a result first; with ``repair="refuse"`` it raises.

        A user's message may hold results too; then the missing results are put in front of them.
        """
        if message.role is not TOOL and self.open:
            answered = {block.tool_use_id for block in message.content if type(block) is ToolResultBlock}
            if message.role is not USER or answered.isdisjoint(self.open):
                self.settle()
            elif missing := [id for id in self.open if id not in answered]:
                self._check_repair(missing)
                message = replace(message, content=(*self._missing_results(missing), *message.content))
        id = message.id
        if id is None or id in self._ids:
            id = new_message_id()
            message = replace(message, id=id)
        self._ids.add(id)
        self.messages.append(message)
        self._note_calls(message)
        return message

    def _note_calls(self, message: Message) -> None:
        for block in message.content:
            if type(block) is ToolUseBlock and not block.incomplete:
                self.open[block.id] = block
            elif type(block) is ToolResultBlock:
                self.open.pop(block.tool_use_id, None)

    @property
    def live(self) -> Sequence[Message]:
        """The messages that were not taken back."""
        if not self.undone:
            return self.messages
        return [message for message in self.messages if message.id not in self.undone]

    @property
    def open_calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls without a result, in order."""
        return tuple(self.open.values())

    def settle(self) -> None:
        """Answer every open call with an error result that says what is known; with ``repair="refuse"``, raise."""
        if self.open:
            self._check_repair(self.open)
            self.answer([])

    def _check_repair(self, ids: Iterable[str]) -> None:
        if self.repair == "refuse":
            raise ToolStateError(f"these calls were never answered: {', '.join(ids)}; answer them first")

    def _missing_results(self, ids: Iterable[str], cause: str | None = None) -> tuple[ToolResultBlock, ...]:
        return tuple(error_result(id, why_unanswered(self.entry(id), cause)) for id in ids)

    def entry(self, id: str) -> dict[str, Json]:
        """The state of an open call, as it is noted in the answer that made the call (``call_states.py``)."""
        place = self._last_answer()
        return {} if place is None else entry_of(self.messages[place], id)

    def _last_answer(self) -> int | None:
        """The index of the last live answer. All open calls are calls of this answer."""
        for place in range(len(self.messages) - 1, -1, -1):
            message = self.messages[place]
            if message.role is ASSISTANT and message.id not in self.undone:
                return place
        return None

    def note_states(self, states: Mapping[str, State]) -> None:
        """Note in the last answer how far its calls came."""
        place = self._last_answer()
        if place is not None:
            self.messages[place] = with_states(self.messages[place], states)
            self.saved = min(self.saved, place)

    def conclude(self, batch: Batch, cause: str) -> None:
        """Add the results of a batch. Calls without one are answered with what is known of them and the cause."""
        results = batch.give_up(cause)
        self.note_states({run.call.id: run.state for run in batch.runs})
        done = [msgspec.to_builtins(run.delegated) for run in batch.runs if run.delegated is not None]
        if given := [result for result in results if result.tool_use_id in self.open]:
            self.answer(given, metadata={"delegated": done} if done else None)

    def answer(
        self,
        results: Iterable[ToolResultBlock],
        cause: str | None = None,
        metadata: dict[str, Json] | None = None,
    ) -> Message:
        """Append the results of the open calls, in the order of the calls. Missing ones become error results that say
        what is known of the call."""
        given = {result.tool_use_id: result for result in results}
        unknown = [id for id in given if id not in self.open]
        if unknown:
            waiting = ", ".join(self.open) or "none"
            raise ToolStateError(f"no call with the id {', '.join(unknown)} waits for an answer; open: {waiting}")
        missing = {
            result.tool_use_id: result for result in self._missing_results(self.open.keys() - given.keys(), cause)
        }
        return self.add(Message(TOOL, tuple((given | missing)[id] for id in self.open), metadata=metadata or {}))

    def add_partial(self, message: Message, cause: str | None = None) -> Message | None:
        """Append what has arrived of an answer that was cut short, and answer its calls; None if it is nothing usable.

        An unfinished thinking block is dropped: its issuer would refuse it without its signature.
        """
        content = list(message.content)
        while content and _is_useless_at_end(content[-1]):
            content.pop()
        if not content:
            return None
        added = self.add(replace(message, content=tuple(content)))
        if self.open:
            self.answer([], cause)
        return added

    def take_back(self, count: int) -> tuple[Message, ...]:
        """Take back all live messages but the first ``count``. Calls whose results were taken back are open again."""
        live = self.live
        kept, removed = live[:count], tuple(live[count:])
        self.undone.update(message.id for message in removed if message.id is not None)
        if kept and kept[-1].id in self.omitted:
            self.omitted.difference_update(message.id for message in kept if message.id is not None)
        self.open = {}
        for message in kept:
            self._note_calls(message)
        return removed

    def state(self) -> HistoryState:
        """What ``restore`` needs to undo all later changes."""
        return HistoryState(self.messages.copy(), self.open.copy(), self.omitted.copy(), self.undone.copy())

    def restore(self, state: HistoryState) -> None:
        """Undo every change since ``state`` was taken."""
        self.messages, self.open, self.omitted, self.undone = state
        self._ids = {message.id for message in self.messages if message.id is not None}
        self.saved = min(self.saved, len(self.messages))

    def omit(self, messages: Iterable[Message]) -> None:
        """Stop sending these messages. They stay in the history."""
        self.omitted.update(message.id for message in messages if message.id is not None)

    def to_send(self) -> tuple[Message, ...]:
        """The messages that a request contains."""
        if not self.omitted and not self.undone:
            return tuple(self.messages)
        return tuple(message for message in self.live if message.id not in self.omitted)

    def send_only(self, shown: Sequence[Message]) -> int:
        """Send only ``shown`` from now on. New messages among them, such as a summary, are inserted where they stand.

        Returns how many messages are no longer sent.
        """
        live = self.live
        known, kept = {message.id for message in live}, {message.id for message in shown}
        before = len(self.omitted)
        self.omit(message for message in live if message.id not in kept)
        newly_omitted = len(self.omitted) - before
        behind: dict[str | None, list[Message]] = {}  # new messages, by the id of the known message before them
        last: str | None = None
        for message in shown:
            if message.id in known and message.id is not None:
                last = message.id
            else:
                made = new_message_id()
                self._ids.add(made)
                behind.setdefault(last, []).append(replace(message, id=made))
        if behind:
            self._insert(behind)
        return newly_omitted

    def _insert(self, behind: dict[str | None, list[Message]]) -> None:
        places = [place for place, message in enumerate(self.messages) if message.id in behind]
        first = 0 if None in behind else places[0] + 1
        written = list(behind.get(None, ()))
        for message in self.messages:
            written += [message, *behind.get(message.id, ())]
        self.messages, self.saved = written, min(self.saved, first)


def error_result(id: str, why: str) -> ToolResultBlock:
    """The result of a call that has no result of its own."""
    return ToolResultBlock(id, (TextBlock(why),), is_error=True)


def _is_useless_at_end(block: Block) -> bool:
    if type(block) is ThinkingBlock:
        return block.signature is None
    return type(block) is TextBlock and not block.text

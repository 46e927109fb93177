"""``rewind``, ``pop``, ``edit`` and ``retry`` of both sessions. Messages that are taken back are kept, but not sent.

Taking back undoes nothing that a tool did, and makes no tool run twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InvalidRequestError
from ...types.blocks import ToolResultBlock
from ...types.messages import Message
from ...types.words import Role
from .conversation import Conversation
from .options import Content
from .turns import Turn

__all__ = ["UndoableConversation"]


class UndoableConversation(Conversation):
    """A conversation whose last messages can be taken back."""

    @property
    def undone(self) -> tuple[Message, ...]:
        """The messages that were taken back. They are stored with the session, and their cost counts."""
        return tuple(message for message in self.history.messages if message.id in self.history.undone)

    def rewind(self, to: Message | str | None) -> tuple[Message, ...]:
        """Take back all messages after ``to``, which is a message or its id. None takes back all messages.

        The results of the tools that an answer called stay with that answer. Returns what was taken back. An async
        session stores the change with its next turn, or when it is closed; this holds for ``pop`` and ``edit`` too.
        """
        live = self.history.live
        end = 0 if to is None else self._place_of(to) + 1
        while 0 < end < len(live) and live[end].role is Role.tool:
            end += 1
        return self._take_back_after(end)

    def pop(self) -> tuple[Message, ...]:
        """Take back the last question and all messages after it. Returns what was taken back."""
        return self._take_back_after(self._last_question())

    def edit(self, message: Message | str, *content: Content) -> Message:
        """Replace a user's message, or an answer, and take back all messages after it. Returns the new message.

        ``run()`` or ``send()`` without content goes on from there.
        """
        place = self._place_of(message)
        role = self.history.live[place].role
        if role is Role.tool:
            raise InvalidRequestError("results of tools cannot be edited: they say what happened")
        new = self._user_message(content) or Message(role)
        self._take_back_after(place, persist=False)
        edited = self.history.add(Message(role, new.content, metadata=new.metadata))
        self._persist_change()
        return edited

    def begin_retry(self, options: Mapping[str, Any], **output: Any) -> Turn:
        """Begin a turn that asks the last question again, even if it was taken back because its turn failed."""
        self.check_idle()
        loop = self._turn is None or self._turn.loop
        if self.failed_question is not None:
            return self.begin((self.failed_question,), options, loop=loop, **output)
        before = self.remember_state()
        try:
            self.history.take_back(self._last_question() + 1)
            turn = self.begin((), options, loop=loop, **output)
        except BaseException:
            self.restore_state(before)
            raise
        turn.before = before
        return turn

    def _take_back_after(self, count: int, *, persist: bool = True) -> tuple[Message, ...]:
        self.check_idle()
        self.remember_state()
        removed = self.history.take_back(count)
        if persist:
            self._persist_change()
        return removed

    def _place_of(self, wanted: object) -> int:
        if not isinstance(wanted, str | Message):
            raise TypeError(
                f"a message of the conversation or its id was expected, not {type(wanted).__name__} ({wanted!r})"
            )
        id = wanted if isinstance(wanted, str) else wanted.id
        for place, message in enumerate(self.history.live):
            if id is not None and message.id == id:
                return place
        raise InvalidRequestError(f"the conversation has no message {id!r}; session.messages are those that it has")

    def _last_question(self) -> int:
        live = self.history.live
        for place in range(len(live) - 1, -1, -1):
            if live[place].role is Role.user and not all(type(b) is ToolResultBlock for b in live[place].content):
                return place
        raise InvalidRequestError("the conversation has no question that could be taken back or asked again")

"""``rewind``, ``pop``, ``edit`` and ``retry`` of both sessions: what is taken back is not sent any more, but is kept.

Nothing that a tool did is undone by it, and no tool runs twice for it.
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
    """A conversation of which the end can be taken back."""

    @property
    def undone(self) -> tuple[Message, ...]:
        """The messages that were taken back. They are stored with the session, and their cost counts."""
        return tuple(message for message in self.history.messages if message.id in self.history.undone)

    def rewind(self, to: Message | str | None) -> tuple[Message, ...]:
        """Take back all that follows a message, or the message with this id; None: everything.

        The results of tools that an answer called stay with that answer. Returns what was taken back. An async session
        stores the change with its next turn, or when it is closed; so it is with ``pop`` and ``edit``.
        """
        live = self.history.live
        end = 0 if to is None else self._place_of(to) + 1
        while 0 < end < len(live) and live[end].role is Role.tool:
            end += 1
        return self._take_back_after(end)

    def pop(self) -> tuple[Message, ...]:
        """Take back the last question and all that follows it. Returns what was taken back."""
        return self._take_back_after(self._last_question())

    def edit(self, message: Message | str, *content: Content) -> Message:
        """Replace a message of the user, or an answer, and take back all that follows it. Returns the new message.

        ``run()`` or ``send()`` without content goes on from there.
        """
        place = self._place_of(message)
        role = self.history.live[place].role
        if role is Role.tool:
            raise InvalidRequestError("results of tools cannot be edited: they say what happened")
        said = self._said(content) or Message(role)
        self._take_back_after(place, persist=False)
        edited = self.history.add(Message(role, said.content, metadata=said.metadata))
        self._persist_change()
        return edited

    def begin_retry(self, options: Mapping[str, Any], **output: Any) -> Turn:
        """A turn that asks the last question once more; one that failed without an answer, if there is one."""
        self.check_idle()
        loop = self._turn is None or self._turn.loop
        if self.failed_question is not None:
            return self.begin((self.failed_question,), options, loop=loop, **output)
        before = self.state_before()
        try:
            self.history.take_back(self._last_question() + 1)
            turn = self.begin((), options, loop=loop, **output)
        except BaseException:
            self.take_back(before)
            raise
        turn.before = before
        return turn

    def _take_back_after(self, count: int, *, persist: bool = True) -> tuple[Message, ...]:
        self.check_idle()
        self.state_before()
        gone = self.history.take_back(count)
        if persist:
            self._persist_change()
        return gone

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

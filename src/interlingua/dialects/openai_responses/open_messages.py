"""Messages while they are read: which is open, and which calls there were."""

from __future__ import annotations

from typing import Any

from ...types.blocks import Block
from ...types.messages import Message, Origin
from ...types.words import Role
from .wire import NAME

ASSISTANT = Role.assistant  # an enum's members are slow to reach
NOTHING: dict[str, Any] = {}


class Draft:
    """A message while it is read."""

    __slots__ = ("blocks", "fields", "message_last", "role", "silent")

    def __init__(self, role: Role) -> None:
        self.role = role
        self.blocks: list[Block] = []
        self.fields = NOTHING  # extras and forms
        self.silent = False  # holds nothing that anybody says
        self.message_last = False


class Drafts:
    """The messages so far."""

    def __init__(self, provider: str | None) -> None:
        self.origin = Origin(provider, NAME)
        self.drafts: list[Draft] = []
        self.calls: dict[str, str] = {}  # their kinds by id
        self.thought = False  # there was reasoning

    def add(self, role: Role) -> Draft:
        draft = Draft(role)
        self.drafts.append(draft)
        return draft

    def behind(self, role: Role) -> Draft:
        """The message to go on with: the last if it is of this role, or one that nobody has said anything in yet."""
        drafts = self.drafts
        if drafts:
            last = drafts[-1]
            if last.role is role:
                last.silent = False
                return last
            if last.silent:
                last.role, last.silent = role, False
                return last
        return self.add(role)

    def finished(self) -> tuple[Message, ...]:
        found: list[Message] = []
        origin = self.origin
        for draft in self.drafts:
            role, fields = draft.role, draft.fields
            by = origin if role is ASSISTANT else None
            if fields:
                found.append(Message(role, tuple(draft.blocks), origin=by, **fields))
            else:
                found.append(Message(role, tuple(draft.blocks), None, by))
        return tuple(found)

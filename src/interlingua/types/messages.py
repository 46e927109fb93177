"""Messages and who wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import force_setattr

from .base import Json, Value
from .blocks import BLOCK_TYPES, TEXTS, Block, TextBlock
from .checking import check, check_content
from .words import Role

if TYPE_CHECKING:
    from .words import RoleWord

__all__ = ["Message", "Origin"]


class Origin(Struct, frozen=True, omit_defaults=True):
    """The issuer of a message: no other one understands its signatures and ids."""

    provider: str | None = None
    dialect: str | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        if not TEXTS.issuperset(map(type, (self.provider, self.dialect, self.model))):
            check(self)


ORIGINS = frozenset({Origin, type(None)})


class Message(Value, frozen=True):
    """One turn, or a part of one. A plain string as content becomes one text block.

    Tool results live in messages of role ``tool``; one such message answers one assistant turn.
    Equality does not compare ``origin``, which tells who wrote the message.
    """

    role: Role
    content: tuple[Block, ...] = ()
    id: str | None = None
    origin: Origin | None = None
    metadata: dict[str, Json] = {}

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(
            self,
            role: RoleWord,
            content: str | Block | Iterable[str | Block] = (),
            id: str | None = None,
            origin: Origin | None = None,
            metadata: dict[str, Json] = ...,
            *,
            extras: dict[str, Json] = ...,
            forms: dict[str, Json] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.role) is not Role:
            force_setattr(self, "role", Role(self.role))
        if type(self.content) is not tuple:
            check_content(self, "content", self.content, TextBlock)
        for block in self.content:
            if type(block) not in BLOCK_TYPES:
                check(self)
        if type(self.metadata) is not dict or type(self.id) not in TEXTS or type(self.origin) not in ORIGINS:
            check(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Message:
            return NotImplemented
        return (
            self.role == other.role
            and self.content == other.content
            and self.id == other.id
            and self.metadata == other.metadata
            and self.extras == other.extras
            and self.forms == other.forms
        )

    __hash__ = None  # type: ignore[assignment]  # holds dicts, like every value here

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.content if type(block) is TextBlock)

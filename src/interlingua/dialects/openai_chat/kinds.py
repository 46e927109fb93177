"""Kinds of fields that only OpenAI Chat has (``codec.kinds`` says what a kind is)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...codec.history.rules import PLACEHOLDER
from ...codec.ledger import Ledger
from ...codec.rows.kinds import OMIT, Each, Texts
from ...codec.rows.table import Table
from ...types.base import Json
from ...types.blocks import TextBlock
from . import rules

if TYPE_CHECKING:
    from ...codec.rows.source import Source

__all__ = ["MessageContent", "MixedContent", "ResultContent"]


class MessageContent(Texts):
    """The content of a message that is not the assistant's. It may not be empty."""

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        written = super().write(value, ledger, marks)
        if written is OMIT:
            ledger.lose("added", rules.EMPTY)
            return PLACEHOLDER
        return written


class MixedContent(Texts):
    """The content of an assistant's message or of a tool's. Whether it had anything but texts is remembered."""

    def list_mark(self, values: Sequence[Any]) -> str | None:
        return super().list_mark(values) if {TextBlock}.issuperset(map(type, values)) else "parts"


class ResultContent(MixedContent):
    """The content of a tool's message: text, unless it had other parts when it was read."""

    def __init__(self, parts: Table, texts: Table) -> None:
        super().__init__(parts, "string")
        self.texts = Texts(texts, "string")

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        if marks.get(self.mark) == "parts":
            return Each(self.table).write(value, ledger, marks)
        written = self.texts.write(value, ledger, marks)
        texts = [block.text for block in value if type(block) is TextBlock and block.text]
        is_one = len(texts) == 1 and written == [{"type": "text", "text": texts[0]}]
        return texts[0] if is_one and self.mark not in marks else "" if written is OMIT else written

    def emit_write(self, source: Source, var: str) -> None:
        self.texts.emit_write(source, var)

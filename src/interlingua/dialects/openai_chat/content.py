"""The content of a message that is not the assistant's: a string, or a list of parts."""

from __future__ import annotations

from ...codec.json import is_array
from ...codec.tables import Ledger, take
from ...types.blocks import Block, TextBlock
from .assistant import writes_string
from .parts import NAME, Wire, read_part, say_part
from .quirks import Quirks


def read_content(rest: Wire, forms: Wire, blanks: Wire) -> tuple[Block, ...]:
    """String or parts. One plain text is a string unless it is marked ``list``."""
    if "content" not in rest:
        forms["content"] = "absent"
        return ()
    content = take(rest, "content", blanks)
    if type(content) is str:
        return (TextBlock(content),)
    if is_array(content):
        parts = list(map(read_part, content))
        if writes_string(parts):
            forms["content"] = "list"
        return tuple(parts)
    if content is not None:
        rest["content"] = content
    return ()


def say_content(
    blocks: list[tuple[int, Block]], where: tuple[str | int, ...], forms: Wire, quirks: Quirks, ledger: Ledger
) -> Wire:
    """The content of a message that is not the assistant's; nothing where nothing is left to say."""
    inner = [block for _, block in blocks]
    if forms.get("content") != "list" and writes_string(inner):
        return {"content": inner[0].text}  # type: ignore[union-attr]
    said: list[Wire] = []
    before = ledger.where
    for index, block in blocks:
        ledger.where = (*where, index)
        if isinstance(block, TextBlock) and block.citations:
            ledger.lose("dropped", f"{NAME} takes no citations in a request", "citations")
        wire = say_part(block, quirks, ledger)
        if wire is not None:
            said.append(wire)
    ledger.where = before
    return {"content": said} if said else {}

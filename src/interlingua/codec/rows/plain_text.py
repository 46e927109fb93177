"""Text blocks that have nothing but their text: protocols write many of them as a bare string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from ...types.blocks import TextBlock

if TYPE_CHECKING:
    from .source import Source

__all__ = ["is_one_text", "is_plain_text", "plain_condition"]


def plain_condition(name: str, block: str, source: Source) -> str:
    """The source of ``is_plain_text(block)``, which also assigns the block to ``name``."""
    beside = " or ".join([f"{name}.{field}" for field in ("citations", "cache", "signature", "extras", "forms")])
    return f"type({name} := {block}) is {source.bind(TextBlock)} and not ({beside})"


def is_one_text(values: Sequence[Any]) -> bool:
    """Whether the values are one text block that is not empty and has nothing else."""
    return len(values) == 1 and is_plain_text(values[0]) and bool(values[0].text)


def is_plain_text(block: object) -> TypeGuard[TextBlock]:
    """Whether a block is a text block that has nothing but its text."""
    return type(block) is TextBlock and not (
        block.citations or block.cache or block.signature or block.extras or block.forms
    )

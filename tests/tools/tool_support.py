"""What several tests of tools need."""

from __future__ import annotations

from typing import Any

from interlingua import TextBlock, ToolResultBlock
from interlingua.agent.tools import Ready


def said(result: Ready | ToolResultBlock) -> str:
    """The text of a result that is one text."""
    assert isinstance(result, ToolResultBlock), result
    (block,) = result.content
    assert isinstance(block, TextBlock), block
    return block.text


def refused(result: Any) -> str:
    """The words of an error result."""
    assert result.is_error is True
    return said(result)


GIVEN_UP = "The call was started; its outcome is unknown: `{}` did not answer within {} seconds and was given up."

"""``ToolContext``: what a tool can know about the call that runs it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

__all__ = ["ToolContext"]


class ToolContext(Struct, frozen=True):
    """The value of a parameter that is annotated with it. The model does not see that parameter."""

    call_id: str
    tool_name: str
    metadata: dict[str, Any] = {}
    """From the session, or from the caller of ``Toolbox.run``."""

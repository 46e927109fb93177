"""``ToolContext``: tells a tool which call it runs for."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

__all__ = ["ToolContext"]


class ToolContext(Struct, frozen=True):
    """Passed to a parameter that is annotated with ``ToolContext``. The model does not see that parameter."""

    call_id: str
    tool_name: str
    metadata: dict[str, Any] = {}
    """Data for the tools from the session, or from the caller of ``Toolbox.run``."""

"""What a tool may know of the call that runs it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

__all__ = ["ToolContext"]


class ToolContext(Struct, frozen=True):
    """Given to a parameter that is annotated with it; the model never sees that parameter."""

    call_id: str
    tool_name: str
    metadata: dict[str, Any] = {}
    """What the session (or the caller of ``Toolbox.run``) wants its tools to know."""

"""What the tools of a request tell of a call that answers it, where they tell nothing: nearly always."""

from __future__ import annotations

from ..types.request import Request
from ..types.tools import ToolDefinition

__all__ = ["is_plainly_offered"]


def is_plainly_offered(name: str, request: Request) -> bool:
    """Whether a call of this name comes back as it is: such a tool was offered, neither strict nor for free text."""
    found = False
    for tool in request.tools:
        if type(tool) is ToolDefinition and tool.name == name:
            if tool.strict or tool.kind != "json":
                return False
            found = True
    return found

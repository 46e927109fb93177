"""The tools that a request offers: fewer where a protocol cannot express its choice; and the answer's calls to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from ...types.blocks import Block, ToolUseBlock
from ...types.request import Request
from ...types.tools import ServerTool, ToolDefinition
from ..history.incomplete import Adapted
from ..ledger import Ledger
from ..schema.plans import restorer

__all__ = ["calls_as_declared", "keep_allowed_tools"]


def calls_as_declared(blocks: Sequence[Block], request: Request, *, texts: bool) -> tuple[Block, ...]:
    """The blocks of an answer, with optional arguments of calls as the tools of the request declare them.

    ``texts``: as for ``restorer``.
    """
    calls = [block for block in blocks if type(block) is ToolUseBlock]
    plain = all(_is_plainly_offered(call.name, request) for call in calls)
    restore = None if plain else restorer(request, texts=texts)
    if restore is None:
        return tuple(blocks)
    return tuple([restore(block) if type(block) is ToolUseBlock else block for block in blocks])


def _is_plainly_offered(name: str, request: Request) -> bool:
    """Whether a call of this name comes back as it is: such a tool was offered, neither strict nor for free text."""
    found = False
    for tool in request.tools:
        if type(tool) is ToolDefinition and tool.name == name:
            if tool.strict or tool.kind != "json":
                return False
            found = True
    return found


def keep_allowed_tools(request: Request, protocol: str, unsupported: Collection[str]) -> Adapted[Request] | None:
    """The request with only those tools that its choice allows; None if no tool must be left out, which is usual.

    ``unsupported``: which choices the protocol does not have, of ``none``, ``specific`` and ``allowed``.
    """
    choice = request.tool_choice
    if choice is None:
        return None
    mode = choice.mode if choice.mode in ("none", "specific") else "allowed" if choice.allowed else None
    if mode not in unsupported:
        return None
    ledger = Ledger()
    left = [i for i, tool in enumerate(request.tools) if _is_kept(tool, request)]
    for index in sorted(set(range(len(request.tools))) - set(left)):
        ledger.lose_form("dropped", f"{protocol} has no tool choice {mode}; the tool was not sent", "tools", index)
    fewer = replace(request, tools=tuple(request.tools[i] for i in left))
    if mode == "none":
        ledger.lose_form("approximated", f"{protocol} has no tool choice none; no tools were sent", "tool_choice")
        fewer = replace(fewer, tool_choice=None)
    elif not ledger.losses:
        return None
    return Adapted(fewer, {f"tools/{at}": f"tools/{index}" for at, index in enumerate(left)}, ledger.losses)


def _is_kept(tool: ToolDefinition | ServerTool, request: Request) -> bool:
    """Whether the choice allows a tool. A provider's own tool is in no list of names: only ``none`` leaves it out."""
    choice = request.tool_choice
    assert choice is not None
    return choice.allows(tool.name) if isinstance(tool, ToolDefinition) else choice.mode != "none"

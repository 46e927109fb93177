"""A request without cache marks, for a model that takes none."""

from __future__ import annotations

from msgspec.structs import replace

from ...types.blocks import Block, ToolResultBlock
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import ServerTool, Tool, ToolDefinition
from .target_model import TargetModel

__all__ = ["drop_cache_marks"]


def drop_cache_marks(request: Request, model: TargetModel) -> Request:
    """The request without cache marks, unless the model takes them."""
    if model.able.prompt_caching or not _is_marked(request):
        return request
    return replace(
        request,
        tools=tuple(_tool(tool, f"tools/{index}", model) for index, tool in enumerate(request.tools)),
        system=_blocks(request.system, "system", model),
        messages=tuple(_message(turn, f"messages/{index}", model) for index, turn in enumerate(request.messages)),
    )


def _is_marked(request: Request) -> bool:
    """A fast check: nearly no request is marked."""
    for message in request.messages:
        if _any(message.content):
            return True
    for tool in request.tools:
        if type(tool) is ToolDefinition and tool.cache is not None:
            return True
    return _any(request.system)


def _any(blocks: tuple[Block, ...]) -> bool:
    for block in blocks:  # noqa: SIM110 - a generator for each message would be slower
        if block.cache is not None or (type(block) is ToolResultBlock and _any(block.content)):
            return True
    return False


def _message(message: Message, path: str, model: TargetModel) -> Message:
    return replace(message, content=_blocks(message.content, f"{path}/content", model))


def _blocks(blocks: tuple[Block, ...], path: str, model: TargetModel) -> tuple[Block, ...]:
    return tuple(_block(block, f"{path}/{index}", model) for index, block in enumerate(blocks))


def _block(block: Block, path: str, model: TargetModel) -> Block:
    if block.cache is not None:
        _lose(path, model)
        block = replace(block, cache=None)
    if type(block) is ToolResultBlock:
        return replace(block, content=_blocks(block.content, f"{path}/content", model))
    return block


def _tool(tool: Tool, path: str, model: TargetModel) -> Tool:
    if isinstance(tool, ServerTool) or tool.cache is None:
        return tool
    _lose(path, model)
    return replace(tool, cache=None)


def _lose(path: str, model: TargetModel) -> None:
    model.lose(f"{path}/cache", "dropped", "takes no cache marks")

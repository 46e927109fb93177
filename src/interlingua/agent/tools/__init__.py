"""Tools: typed functions, definitions with a handler, or those of an MCP server; and a ``Toolbox`` that runs calls.

- ``tool`` makes a tool of a function: schema from annotations and docstring;
- ``Toolbox`` offers tools to a model (``definitions``) and answers its calls (``prepare``, ``run``, ``run_sync``);
- ``ToolContext`` is what a tool can know about the call that runs it;
- ``McpTools`` are the tools of an MCP server (extra ``mcp``).
"""

from .batch import Approve, OnResult
from .bound_tool import BoundTool, bind, tool
from .context import ToolContext
from .mcp import McpTools
from .ready_calls import Ready
from .toolbox import Toolbox, Toolset, ToolSource

__all__ = [
    "Approve",
    "BoundTool",
    "McpTools",
    "OnResult",
    "Ready",
    "ToolContext",
    "ToolSource",
    "Toolbox",
    "Toolset",
    "bind",
    "tool",
]

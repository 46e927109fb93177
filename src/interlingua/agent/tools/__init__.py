"""Tools: typed functions, definitions with a handler, or those of an MCP server, and a box that runs their calls.

- ``tool`` makes a tool of a function; its schema comes from annotations and docstring;
- ``Toolbox`` offers tools to a model (``definitions``) and answers its calls (``prepare``, ``run``, ``run_sync``);
- ``ToolContext`` tells a tool which call it runs for;
- ``McpTools`` are the tools of an MCP server (extra ``mcp``).
"""

from .binding import BoundTool, bind, tool
from .context import ToolContext
from .mcp import McpTools
from .reading import Ready
from .running import Approve, OnResult
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

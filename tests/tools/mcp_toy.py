"""A small MCP server, written with the official package: the other end for the tests of ``McpTools``.

Run as a program it speaks over stdio.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import Field

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

server = MCPServer("toy")
stopped: list[str] = []


@dataclass
class Point:
    x: int
    y: int


@server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False))
def add(a: int, b: Annotated[int, Field(description="The other one.")] = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool(structured_output=False)
def shout(text: str) -> str:
    """Says it louder."""
    return text.upper()


@server.tool()
def mirror(point: Point) -> Point:
    return Point(point.y, point.x)


@server.tool()
def fails() -> str:
    raise ToolError("the toy is broken")


@server.tool(annotations=ToolAnnotations(title="Wipe"))
def wipe() -> str:
    """Deletes everything."""
    return "wiped"


@server.tool(annotations=ToolAnnotations(destructive_hint=False))
def note(text: str) -> str:
    return f"noted {text}"


@server.tool(name="odd.name", structured_output=False)
def odd() -> str:
    return "odd"


@server.tool(structured_output=False)
def secret() -> str:
    return os.environ.get("TOY_SECRET", "none")


@server.tool(structured_output=False)
def folder() -> str:
    return str(Path.cwd())


@server.tool()
def several() -> list[str]:
    return ["a", "b"]


@server.tool()
def die() -> str:
    os._exit(3)


@server.tool(structured_output=False)
async def slow(seconds: float) -> str:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        stopped.append("slow")
        raise
    return "late"


@server.tool()
def gallery() -> CallToolResult:
    """One of each kind of content."""
    return CallToolResult(
        content=[
            TextContent(text="look"),
            ImageContent(data=DOT, mime_type="image/png"),
            AudioContent(data="UklGRg==", mime_type="audio/wav"),
            EmbeddedResource(resource=TextResourceContents(uri="file:///a/notes.md", text="# Notes")),
            EmbeddedResource(
                resource=BlobResourceContents(uri="file:///a/plan.pdf", blob="JVBERi0=", mime_type="application/pdf")
            ),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///a/dot.png", blob=DOT, mime_type="image/png")),
            ResourceLink(uri="https://example.org/more", name="more"),
        ]
    )


@server.tool()
def only_structured() -> CallToolResult:
    return CallToolResult(content=[], structured_content={"n": None, "x": [1]})


@server.tool()
def both_differ() -> CallToolResult:
    return CallToolResult(content=[TextContent(text="in words")], structured_content={"x": 1})


if __name__ == "__main__":
    server.run()

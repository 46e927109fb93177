"""The tools that recorded agents offer. They are read from the recordings, and not kept in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua import Request, ToolDefinition, dialect
from shared_data import CLIENTS

# The recordings cut long descriptions and say so at the end; the tool's author did not write that.
CUT = re.compile(r"…\[\d+ more chars\]$")

PATHS = (
    # how the path ends      dialect
    ("/chat/completions", "openai-chat"),
    ("/responses", "openai-responses"),
    ("/messages", "anthropic-messages"),
    ("enerateContent", "gemini"),
)


def recorded_requests() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(client, dialect, body) of every recorded call of a model."""
    for path in sorted(CLIENTS.glob("*/*.json")):
        record = msgspec.json.decode(path.read_bytes())
        spoken = next((name for end, name in PATHS if record["path"].split("?")[0].endswith(end)), None)
        if spoken is not None and isinstance(record["body"], dict):
            yield path.parent.name, spoken, record["body"]


@cache
def recorded_tools() -> dict[tuple[str, str], ToolDefinition]:
    """By client and name; the first recording of each."""
    found: dict[tuple[str, str], ToolDefinition] = {}
    for client, spoken, body in recorded_requests():
        request: Request = dialect(spoken).decode_request(body)
        for tool in request.tools:
            if isinstance(tool, ToolDefinition):
                whole = replace(tool, description=CUT.sub("", tool.description or ""))
                found.setdefault((client, tool.name), whole)
    return found

"""Facts of Ollama that are no phrases: its name, paths, and what its server accepts and writes."""

from __future__ import annotations

from ...codec.schema.subsets import SHAPE, Subset

NAME = "ollama"
Place = tuple[str | int, ...]
PATH = "/api/chat"
PROMPT_PATH = "/api/generate"
"""The older endpoint of the same server: one prompt instead of a history, one flat answer."""
PROMPT_KEYS = ("prompt", "suffix", "system", "template", "raw", "context", "images")
"""What only a request to ``PROMPT_PATH`` has."""
EPOCH = "1970-01-01T00:00:00Z"
"""When an answer was made, where nobody knows."""
LEVELS = ("low", "medium", "high", "max")
NEAREST_LEVEL = {"minimal": "low", "xhigh": "max"}
PLACES = ("thinking", "content", "images", "tool_calls", "context")
"""The keys of a message that hold blocks, in the order in which blocks are read. ``context`` stands beside it."""
JOINT = "\n\n"
"""Between texts that were blocks. The server's own templates join turns so. What an assistant says is one text in
pieces: nothing comes between them."""
ERROR_PREFIX = "Error: "
# The first characters of a picture in base64: the wire does not say what it is.
PICTURES = (
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("Qk", "image/bmp"),
    ("SUkqA", "image/tiff"),
    ("TU0AK", "image/tiff"),
)
UNKNOWN_PICTURE = "application/octet-stream"


def media_type(data: str) -> str:
    """What a picture is, by its first characters."""
    return next((kind for start, kind in PICTURES if data.startswith(start)), UNKNOWN_PICTURE)


# ToolProperty and ToolFunctionParameters in https://github.com/ollama/ollama/blob/main/api/types.go: a typed parser,
# which drops all else.
SUBSET = Subset(keywords=SHAPE - {"title"}, described_root=False)

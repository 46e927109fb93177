"""Facts of Ollama that no row states: its name, paths, and what its server accepts and writes."""

from __future__ import annotations

from ...codec.schema.subsets import SHAPE, Subset

NAME = "ollama"
Place = tuple[str | int, ...]
PATH = "/api/chat"
PROMPT_PATH = "/api/generate"
"""The older endpoint of the same server: one prompt instead of a history, one flat answer."""
PROMPT_KEYS = ("prompt", "suffix", "system", "template", "raw", "context", "images")
"""The keys that only a request to ``PROMPT_PATH`` has."""
EPOCH = "1970-01-01T00:00:00Z"
"""The time of an answer whose time is not known."""
LEVELS = ("low", "medium", "high", "max")
NEAREST_LEVEL = {"minimal": "low", "xhigh": "max"}
PLACES = ("thinking", "content", "images", "tool_calls", "context")
"""The keys of a message that hold blocks, in the order in which blocks are read. ``context`` stands beside it."""
JOINT = "\n\n"
"""Joins texts that were separate blocks, as the server's templates join turns. The texts of an assistant's message are
pieces of one text and are joined by nothing."""
ERROR_PREFIX = "Error: "
# The first characters of an image in base64. They tell its type, because the wire has no field for it.
IMAGE_STARTS = (
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("Qk", "image/bmp"),
    ("SUkqA", "image/tiff"),
    ("TU0AK", "image/tiff"),
)
UNKNOWN_TYPE = "application/octet-stream"


def media_type(data: str) -> str:
    """The media type of an image, by its first characters."""
    return next((kind for start, kind in IMAGE_STARTS if data.startswith(start)), UNKNOWN_TYPE)


# ToolProperty and ToolFunctionParameters in https://github.com/ollama/ollama/blob/main/api/types.go: a typed parser,
# which drops all other keywords.
SUBSET = Subset(keywords=SHAPE - {"title"}, described_root=False)

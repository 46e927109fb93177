"""Rough tokens of documents, sound and video: their pages or seconds, read from the bytes, times a rate per model."""

from __future__ import annotations

import re
from binascii import a2b_base64
from struct import unpack_from

__all__ = ["media_tokens"]

PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
MP3_BYTES_PER_SECOND = 16_000
VIDEO_BYTES_PER_SECOND = 250_000
USUAL_PAGES, USUAL_SECONDS = 3, 10

RATES = tuple(
    (re.compile(pattern), rates)
    for pattern, rates in (
        # tokens of a page, of a second of sound, of a second of video
        (r"claude", (1_600, 0, 0)),
        (r"gemini-([3-9]|flash|pro)", (560, 32, 70)),
        (r"gemini", (258, 32, 263)),
        (r"gpt-4o|gpt-4[.]1|o[1-4]", (200, 10, 0)),
        (r"gpt", (700, 10, 0)),
        (r"nova", (2_600, 0, 290)),
    )
)
OTHERWISE = (800, 25, 260)


def media_tokens(kind: str, data: str | None, model: str) -> int:
    """The tokens of a document, sound or video (``kind`` is the block's tag); of a usual length if there is no data."""
    page, sound, video = next((rates for pattern, rates in RATES if pattern.search(model)), OTHERWISE)
    if kind == "document":
        return page * (USUAL_PAGES if data is None else _pages(_bytes(data)))
    rate = sound if kind == "audio" else video
    return round(rate * (USUAL_SECONDS if data is None else _seconds(kind, _bytes(data))))


def _bytes(data: str) -> bytes:
    try:
        return a2b_base64(data)
    except ValueError:
        return b""


def _pages(data: bytes) -> int:
    """The pages of a PDF; at least one, because newer files may compress the marks of pages."""
    return max(1, len(PAGE.findall(data)))


def _seconds(kind: str, data: bytes) -> float:
    if data.startswith(b"RIFF") and len(data) > 32:
        rate: int = unpack_from("<I", data, 28)[0]
        return len(data) / rate if rate else 0
    at = data.find(b"mvhd")
    if at >= 0 and len(data) >= at + 24:
        scale, length = unpack_from(">II", data, at + 16)
        return length / scale if scale else 0
    return len(data) / (MP3_BYTES_PER_SECOND if kind == "audio" else VIDEO_BYTES_PER_SECOND)

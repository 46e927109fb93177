"""The size of a picture, from its first bytes."""

from __future__ import annotations

from binascii import a2b_base64
from struct import calcsize, unpack_from

__all__ = ["picture_size"]

USUAL_SIZE = (1024, 1024)
JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def picture_size(data: str) -> tuple[int, int]:
    """Width and height of a base64 picture, read from its first bytes; a usual size where they do not tell."""
    try:
        head = a2b_base64(data[: 65_536 * 4 // 3])
    except ValueError:
        return USUAL_SIZE
    for magic, at, code in SIZES:
        if head.startswith(magic) and len(head) >= at + calcsize(code):
            width, height = unpack_from(code, head, at)
            return (width & 0x3FFF, height & 0x3FFF) if code == "<HH" else (width, height)
    return (_jpeg_size(head) if head.startswith(b"\xff\xd8") else None) or USUAL_SIZE


SIZES = (
    # the first bytes, where the size stands, how
    (b"\x89PNG", 16, ">II"),
    (b"GIF8", 6, "<HH"),
    (b"RIFF", 26, "<HH"),  # WebP, the usual lossy kind
)


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(head) and head[at] == 0xFF:
        if head[at + 1] in JPEG_FRAMES:
            height, width = unpack_from(">HH", head, at + 5)
            return width, height
        at += 2 + int.from_bytes(head[at + 2 : at + 4])
    return None

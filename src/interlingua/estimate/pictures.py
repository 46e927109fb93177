"""Pictures: their size, from the first bytes, and their tokens, by the rules that providers publish."""

from __future__ import annotations

import re
from binascii import a2b_base64
from struct import calcsize, unpack_from
from typing import NamedTuple

__all__ = ["picture_size", "picture_tokens"]

USUAL_SIZE = (1024, 1024)
HEAD = 87_380
"""Characters, four for three bytes: the frame of a JPEG stands behind its colour profile and thumbnail."""
JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def picture_size(data: str) -> tuple[int, int]:
    """Width and height of a base64 picture, read from its first bytes; a usual size where they do not tell."""
    try:
        head = a2b_base64(data[:HEAD])
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


class Rule(NamedTuple):
    """Tokens of a picture: once, per square of 512 (once it fits into 2048 and 768), per square of 32, per pixel."""

    once: float = 0
    tile: float = 0
    patch: float = 0
    pixel: float = 0


RULES = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"claude", Rule(pixel=1 / 750)),
        (r"gpt-4o-mini", Rule(once=2833, tile=5667)),
        (r"gpt.*nano", Rule(patch=2.46)),
        (r"gpt.*mini|o4-mini", Rule(patch=1.65)),
        (r"gpt-[5-9]", Rule(once=70, tile=140)),
        (r"^(openai/)?o\d", Rule(once=75, tile=150)),
        (r"gemini-(2|1|pro)", Rule(once=258)),
        (r"gemini", Rule(once=1090)),
        (r"grok", Rule(tile=256)),
        (r"llama", Rule(patch=2.3)),
        (r"mistral|pixtral|ministral|qwen|nova|gemma", Rule(patch=1)),
    )
)
OTHERWISE = Rule(once=85, tile=170)


def picture_tokens(width: int, height: int, model: str, *, low: bool = False) -> int:
    """The tokens of one picture. ``low``: the caller asked the model to look only roughly."""
    rule = next((rule for pattern, rule in RULES if pattern.search(model)), OTHERWISE)
    if low and rule.once:
        return round(rule.once)
    small = min(1.0, 2048 / max(width, height), 768 / min(width, height))
    tiles = -(-round(width * small) // 512) * -(-round(height * small) // 512)
    patches = min(1536, -(-width // 32) * -(-height // 32))
    edge = min(1.0, 1568 / max(width, height))
    pixels = min(width * height * edge * edge, 1568 * 750)
    return round(rule.once + rule.tile * tiles + rule.patch * patches + rule.pixel * pixels)

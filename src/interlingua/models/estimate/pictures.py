"""The size of images, read from their first bytes, and their tokens by the rules that providers publish."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable
from struct import calcsize, unpack_from

from .families import LONGEST_NAME

__all__ = ["USUAL_SIZE", "known_picture_size", "picture_size", "picture_tokens"]

USUAL_SIZE = (1024, 1024)
HEAD = 87_380
"""How many base64 characters are read: the size of a JPEG is behind its colour profile and thumbnail."""
JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def picture_size(data: str) -> tuple[int, int]:
    """The width and height of a base64 image, read from its first bytes; a usual size if they do not show it."""
    return known_picture_size(data) or USUAL_SIZE


def known_picture_size(data: str) -> tuple[int, int] | None:
    """The width and height of a base64 image, read from its first bytes; None if they do not show it."""
    try:
        head = a2b_base64(data[:HEAD])
    except ValueError:
        return None
    for magic, at, code in SIZES:
        if head.startswith(magic) and len(head) >= at + calcsize(code):
            width, height = unpack_from(code, head, at)
            return (width & 0x3FFF, height & 0x3FFF) if code == "<HH" else (width, height)
    return _jpeg_size(head) if head.startswith(b"\xff\xd8") else None


SIZES = (
    # first bytes, position of the size, its format
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


Rule = Callable[[int, int, bool], float]
"""The tokens of an image from its width, its height, and whether low detail was requested."""


def _flat(tokens: float) -> Rule:
    return lambda width, height, low: tokens


def _pixels(each: float, edge: int = 1568, most: int = 1568) -> Rule:
    """One token for ``each`` pixels, after the longer edge is scaled down to ``edge``."""

    def tokens(width: int, height: int, low: bool) -> float:
        fit = min(1.0, edge / max(width, height))
        return min(most, width * height * fit * fit / each)

    return tokens


def _patches(each: float, side: int = 32, most: int = 1536) -> Rule:
    return lambda width, height, low: each * min(most, -(-width // side) * -(-height // side))


def _tiles(once: float, each: float) -> Rule:
    """``each`` tokens per square of 512, after the image is scaled to fit 2048 and its shorter edge to 768."""

    def tokens(width: int, height: int, low: bool) -> float:
        if low:
            return once
        fit = min(1.0, 2048 / max(width, height), 768 / min(width, height))
        return once + each * -(-round(width * fit) // 512) * -(-round(height * fit) // 512)

    return tokens


def _crops(each: float) -> Rule:
    """``each`` tokens for the whole image, and per square of two thirds of the shorter edge, unless it is small."""

    def tokens(width: int, height: int, low: bool) -> float:
        if max(width, height) <= 384:
            return each
        side = max(256, min(768, int(min(width, height) / 1.5)))
        return each * (1 + -(-width // side) * -(-height // side))

    return tokens


# From the providers' pages on vision, or, if they have no rule, fitted on the recordings.
RULES = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"claude", _pixels(750)),
        (r"gpt-4o-mini", _tiles(2833, 5667)),
        (r"gpt-4[.]1-nano", _patches(2.46)),
        (r"gpt-4[.]1-mini", _patches(1.62)),
        (r"o4-mini", _patches(1.72)),
        (r"gpt.*nano", _patches(1.5)),
        (r"gpt.*mini|gpt-5[.][4-9]|gpt-[6-9]", _patches(1.2, most=2500)),
        (r"gpt-5", _tiles(70, 140)),
        (r"^(openai/)?o\d", _tiles(75, 150)),
        (r"gemini-2[.]0", _crops(258)),
        (r"gemini-[12]", _flat(258)),
        (r"gemini", _flat(1090)),
        (r"grok", _tiles(0, 256)),
        (r"llama", _patches(144, side=336, most=16)),
        (r"pixtral", _patches(1, side=16, most=4096)),
        (r"nova", _pixels(850)),
        (r"mistral|ministral|magistral|qwen|gemma|glm", _patches(1, side=28, most=4096)),
    )
)
OTHERWISE = _tiles(85, 170)


def picture_tokens(width: int, height: int, model: str, *, low: bool = False) -> int:
    """The tokens of one image. ``low``: low detail was requested."""
    rule = next((rule for pattern, rule in RULES if pattern.search(model[:LONGEST_NAME])), OTHERWISE)
    return round(rule(max(1, width), max(1, height), low))

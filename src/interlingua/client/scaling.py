"""Pictures scaled down, for ``image(…, longest=1568)``. Needs Pillow (extra ``images``), so it is imported on use."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO

from PIL import Image, ImageOps

__all__ = ["scaled_down"]

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}
DAMAGED = (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError, struct.error, zlib.error)
"""What Pillow raises at the bytes of a damaged picture."""
BLENDABLE = {"1": "L", "P": "RGB"}
"""Modes without colours between two others, and the modes to convert them to, so that pixels can be blended."""
QUALITY = 90
"""The quality of a JPEG or WebP that is written anew; Pillow's default of 75 blurs small print."""


def scaled_down(data: bytes, media_type: str, longest: int, shown: str) -> bytes:
    """The picture with at most ``longest`` pixels a side, in its own format; its own bytes if it is small enough."""
    kind = FORMATS.get(media_type)
    if kind is None:
        raise ValueError(f"{shown} is {media_type}, and longest= is for PNG, JPEG, GIF and WebP")
    with _reading(shown, media_type):
        picture: Image.Image = Image.open(BytesIO(data), formats=(kind,))
        animated = kind != "JPEG" and getattr(picture, "is_animated", False)  # the second image of a JPEG is a preview
    if (most := Image.MAX_IMAGE_PIXELS) is not None and picture.width * picture.height > most:
        raise ValueError(_too_large(shown))
    if max(picture.size) <= longest:
        return data
    if animated:
        raise ValueError(f"{shown} is animated, and longest= is for pictures that stand still")
    with _reading(shown, media_type):
        picture.draft(None, (2 * longest, 2 * longest))  # a JPEG can be decoded at a fraction of its size
        picture.load()
    picture = _reduced(picture, longest)
    written = BytesIO()
    picture.save(written, kind, quality=QUALITY, icc_profile=picture.info.get("icc_profile", b""))
    return written.getvalue()


def _reduced(picture: Image.Image, longest: int) -> Image.Image:
    if (
        picture.has_transparency_data and picture.mode != "I;16"
    ):  # I;16 would lose its bright values; its transparent colour is kept
        picture = picture.convert("RGBA")
    elif picture.mode in BLENDABLE:
        picture = picture.convert(BLENDABLE[picture.mode])
    picture.thumbnail((longest, longest), Image.Resampling.LANCZOS, reducing_gap=None)
    return ImageOps.exif_transpose(picture)


@contextmanager
def _reading(shown: str, media_type: str) -> Generator[None, None, None]:
    try:
        yield
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ValueError(_too_large(shown)) from error
    except DAMAGED as error:
        raise ValueError(f"{shown} is damaged: it cannot be read as {media_type}") from error


def _too_large(shown: str) -> str:
    most = f"{Image.MAX_IMAGE_PIXELS:,} pixels (PIL.Image.MAX_IMAGE_PIXELS)"
    return f"{shown} has more than {most}, and unpacking it might fill the memory"

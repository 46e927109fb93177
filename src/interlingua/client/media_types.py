"""Media types: by the first bytes, by the ending of a name, and which of them can be sent as which block."""

from __future__ import annotations

from ..types.blocks import AudioBlock, DocumentBlock, ImageBlock, VideoBlock

__all__ = ["ACCEPTED", "MAGIC_TYPES", "media_type_of", "type_by_name"]

ACCEPTED: dict[type, tuple[str, ...]] = {
    # The types (or their beginnings) that may be sent as this kind. Not SVG: it can contain scripts.
    ImageBlock: ("image/png", "image/jpeg", "image/gif", "image/webp", "image/heic", "image/heif", "image/avif"),
    DocumentBlock: (
        *("application/pdf", "text/", "application/json", "application/rtf", "application/msword"),
        *("application/vnd.openxmlformats-officedocument", "application/vnd.ms-excel"),
    ),
    AudioBlock: ("audio/",),
    VideoBlock: ("video/",),
}

MAGIC: tuple[tuple[int, bytes, str], ...] = (
    # offset, bytes, type; the first that fits
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftyphei", "image/heic"),
    (4, b"ftypmif1", "image/heif"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftyp", "video/mp4"),
    (0, b"%PDF-", "application/pdf"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xfa", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
)
MAGIC_TYPES = frozenset(kind for _, _, kind in MAGIC)
"""Types that the first bytes show, so the name alone is not believed."""
HTML = (b"<!doctype html", b"<html")
UNSPECIFIC_TYPES = ("", "application/octet-stream", "binary/octet-stream", "application/binary")
BY_ENDING = {
    "md": "text/markdown", "csv": "text/csv", "html": "text/html", "json": "application/json", "rtf": "application/rtf",
    "doc": "application/msword", "xls": "application/vnd.ms-excel",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "pdf": "application/pdf", "txt": "text/plain", "wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg",
    "flac": "audio/flac", "m4a": "audio/mp4", "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
}  # fmt: skip
"""By the ending of a name, for files whose content does not tell, and for URLs."""


def type_by_name(name: str) -> str | None:
    """The media type that the ending of a name stands for."""
    _, dot, ending = name.rpartition(".")
    return BY_ENDING.get(ending.lower()) if dot else None


def media_type_of(data: bytes, content_type: str, declared: str | None = None) -> str:
    """The type by the first bytes, else the server's content type, else the caller's ``declared`` type."""
    for offset, magic, kind in MAGIC:
        if data.startswith(magic, offset):
            return kind
    if data[:100].lstrip().lower().startswith(HTML):
        return "text/html"
    served = content_type.partition(";")[0].strip().lower()
    return served if served not in UNSPECIFIC_TYPES else declared or ""

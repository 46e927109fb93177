"""Turns files into content of a message: pictures, documents, sound, video and text, told apart by their names."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from ..types.blocks import AudioBlock, Base64Source, Block, DocumentBlock, ImageBlock, TextBlock, VideoBlock
from .failures import CommandError

__all__ = ["file_block"]

MEDIA: dict[str, tuple[str, type[ImageBlock | DocumentBlock | AudioBlock | VideoBlock]]] = {
    ".png": ("image/png", ImageBlock),
    ".jpg": ("image/jpeg", ImageBlock),
    ".jpeg": ("image/jpeg", ImageBlock),
    ".gif": ("image/gif", ImageBlock),
    ".webp": ("image/webp", ImageBlock),
    ".heic": ("image/heic", ImageBlock),
    ".pdf": ("application/pdf", DocumentBlock),
    ".wav": ("audio/wav", AudioBlock),
    ".mp3": ("audio/mpeg", AudioBlock),
    ".flac": ("audio/flac", AudioBlock),
    ".ogg": ("audio/ogg", AudioBlock),
    ".mp4": ("video/mp4", VideoBlock),
    ".mov": ("video/quicktime", VideoBlock),
    ".webm": ("video/webm", VideoBlock),
}
LARGEST = 32 << 20


def file_block(name: str) -> Block:
    """The content block for a file. The text of a text file follows a line with its name."""
    path = Path(name).expanduser()
    data = path.read_bytes()
    if len(data) > LARGEST:
        raise CommandError(f"{name} has {len(data) >> 20} MiB; at most {LARGEST >> 20} MiB can be sent")
    known = MEDIA.get(path.suffix.lower())
    if known is not None:
        media_type, kind = known
        source = Base64Source(media_type, b64encode(data).decode())
        return DocumentBlock(source, filename=path.name) if kind is DocumentBlock else kind(source)
    try:
        return TextBlock(f"File {path.name}:\n\n{data.decode()}")
    except UnicodeDecodeError:
        endings = " ".join(MEDIA)
        raise CommandError(f"{name} is neither text nor one of {endings}: it cannot be sent") from None

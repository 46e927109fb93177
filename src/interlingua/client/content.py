"""Blocks made of paths, bytes and URLs: ``image("red.png")``. Their types are recognised by the content.

Files are read at once, so that changing a file later does not change what is sent. URLs are not fetched.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import unquote, urlsplit

from ..types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    TextSource,
    UrlSource,
    VideoBlock,
)
from .media_types import ACCEPTED, MAGIC_TYPES, media_type_of, type_by_name

__all__ = ["MAX_BYTES", "Medium", "audio", "document", "file", "image", "parts_of"]

Medium = str | PurePath | bytes | bytearray
"""A path, a URL (``https:``, ``gs:``, ``s3:``, or ``data:`` in base64), or the bytes themselves."""
MediaBlock = ImageBlock | DocumentBlock | AudioBlock | VideoBlock
B = TypeVar("B", ImageBlock, DocumentBlock, AudioBlock, VideoBlock)

MAX_BYTES = 50 * 1024 * 1024
"""The most that any provider takes in a request; many take less."""
URLS = ("https://", "http://", "gs://", "s3://")
KIND_NAMES: dict[type, str] = {
    ImageBlock: "a picture",
    DocumentBlock: "a document",
    AudioBlock: "sound",
    VideoBlock: "a film",
}


class Content(NamedTuple):
    """The bytes of a file. ``shown`` is how errors name it, ``declared`` the media type that the caller gave."""

    data: bytes
    name: str | None
    shown: str
    declared: str | None


def image(
    source: Medium,
    *,
    detail: str | None = None,
    longest: int | None = None,
    media_type: str | None = None,
    max_bytes: int | None = MAX_BYTES,
) -> ImageBlock:
    """A picture: a path, a URL or bytes. ``detail`` is how closely the model should look.

    With ``longest`` the picture is scaled down so that no side has more pixels (extra ``images``).
    """
    if longest is None:
        return ImageBlock(_source(ImageBlock, source, media_type, max_bytes), detail)
    _check_longest(longest, source)
    content = _accepted(ImageBlock, _content(source, media_type, max_bytes))
    smaller = content._replace(data=_scaled_down(content, longest))
    _check_size(len(smaller.data), f"{content.shown}, scaled down,", max_bytes)
    return ImageBlock(_inline(smaller), detail)


def document(
    source: Medium,
    *,
    title: str | None = None,
    context: str | None = None,
    filename: str | None = None,
    media_type: str | None = None,
    max_bytes: int | None = MAX_BYTES,
) -> DocumentBlock:
    """A PDF, a text or another file to be read: a path, a URL or bytes. Plain text stays text."""
    made = _source(DocumentBlock, source, media_type, max_bytes)
    return DocumentBlock(made, title, context, filename or _name(source))


def audio(source: Medium, *, media_type: str | None = None, max_bytes: int | None = MAX_BYTES) -> AudioBlock:
    """Sound: a path, a URL or bytes."""
    return AudioBlock(_source(AudioBlock, source, media_type, max_bytes))


def file(source: Medium, *, media_type: str | None = None, max_bytes: int | None = MAX_BYTES) -> MediaBlock:
    """A file of any kind. Its block is chosen by the content, for a URL by the ending."""
    if isinstance(source, str) and source.startswith(URLS):
        found = media_type or type_by_name(urlsplit(source).path) or ""
        kind = _kind(found)
        if kind is None:
            raise ValueError(f"the ending of the URL at {urlsplit(source).netloc} does not tell its type: {REMEDY}")
        made: Any = UrlSource(source, media_type)
    else:
        content = _content(source, media_type, max_bytes)
        kind, made = _kind(_type(content)) or DocumentBlock, _inline(content)
    return kind(made, filename=_name(source)) if kind is DocumentBlock else cast("Any", kind)(made)


def parts_of(content: Iterable[Any]) -> list[str | Block]:
    """Content with blocks in place of paths and of the bytes of media; strings and blocks stay as they are."""
    return [file(part) if _is_file(part) else part for part in content]


def _is_file(part: Any) -> bool:
    """Whether a part is a path or the bytes of a known medium. Other bytes are probably text that was not decoded."""
    return isinstance(part, PurePath) or (isinstance(part, bytes) and media_type_of(part, "") in MAGIC_TYPES)


REMEDY = "use image(), document() or audio(), or pass media_type="


def _source(
    kind: type[B], source: Medium, media_type: str | None, max_bytes: int | None
) -> Base64Source | TextSource | UrlSource:
    if isinstance(source, str) and source.startswith(URLS):
        return UrlSource(source, media_type)
    return _inline(_accepted(kind, _content(source, media_type, max_bytes)))


def _accepted(kind: type[B], content: Content) -> Content:
    found = _type(content)
    if not found.startswith(ACCEPTED[kind]):
        what = f"is {found}" if found else "is of no type that its content or its name tells"
        raise ValueError(f"{content.shown} {what}, which cannot be sent as {KIND_NAMES[kind]}")
    return content


def _inline(content: Content) -> Base64Source | TextSource:
    found = _type(content)
    if found.startswith("text/") and (text := _text(content.data)) is not None:
        return TextSource(text, found)
    if not found:
        raise ValueError(f"neither the content nor the name of {content.shown} tells its type: {REMEDY}")
    return Base64Source(found, b64encode(content.data).decode())


def _kind(media_type: str) -> type[MediaBlock] | None:
    return next((kind for kind, types in ACCEPTED.items() if media_type and media_type.startswith(types)), None)


def _type(content: Content) -> str:
    """The media type by the first bytes, else as declared, else by the name, else plain text if it can be decoded."""
    named = type_by_name(content.name or "") or ""
    found = media_type_of(content.data, content.declared or ("" if named in MAGIC_TYPES else named))
    return found or ("text/plain" if _text(content.data) is not None else "")


def _text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


# --------------------------------------------------------------------------------------------------------- scaling


def _check_longest(longest: Any, source: Medium) -> None:
    if not isinstance(longest, int) or isinstance(longest, bool):
        raise TypeError(f"longest is a number of pixels, such as 1568, not {type(longest).__name__}")
    if longest < 1:
        raise ValueError(f"longest is a number of pixels, at least 1, not {longest}")
    if isinstance(source, str) and source.startswith(URLS):
        raise ValueError(f"the picture at {urlsplit(source).netloc} is not fetched, so longest= cannot scale it down")


def _scaled_down(content: Content, longest: int) -> bytes:
    try:
        from .scaling import scaled_down  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("longest= needs the extra `images`: pip install 'interlingua[images]'") from error
    return scaled_down(content.data, _type(content), longest, content.shown)


# --------------------------------------------------------------------------------------------------------- reading


def _content(source: Medium, media_type: str | None, max_bytes: int | None) -> Content:
    content = _read(source, media_type, max_bytes)
    if not content.data:
        raise ValueError(f"{content.shown} is empty")
    _check_size(len(content.data), content.shown, max_bytes)
    return content


def _read(source: Any, media_type: str | None, max_bytes: int | None) -> Content:
    if isinstance(source, bytes | bytearray):
        return Content(bytes(source), None, "the content", media_type)
    if isinstance(source, str) and source.startswith("data:"):
        head, _, data = source.removeprefix("data:").partition(",")
        declared, _, encoding = head.partition(";")
        raw = b64decode(data) if encoding.endswith("base64") else unquote(data).encode()
        return Content(raw, None, "the data URL", media_type or declared or None)
    if not isinstance(source, str | PurePath):
        raise TypeError(f"expected a path, a URL or bytes, not {type(source).__name__}")
    path = Path(source)
    _check_size(path.stat().st_size, path.name, max_bytes)
    with path.open("rb") as opened:  # a device has no size, and may have no end
        data_read = opened.read(-1 if max_bytes is None else max_bytes + 1)
    return Content(data_read, path.name, path.name, media_type)


def _check_size(size: int, shown: str, max_bytes: int | None) -> None:
    if max_bytes is not None and size > max_bytes:
        raise ValueError(f"{shown} has {size:,} bytes, more than max_bytes={max_bytes:,}")


def _name(source: Medium) -> str | None:
    if isinstance(source, PurePath):
        return source.name
    return Path(source).name if isinstance(source, str) and not source.startswith((*URLS, "data:")) else None

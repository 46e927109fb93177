"""Pictures, sound, film and documents: ``inlineData`` holds them, ``fileData`` points to them.

What a part is, its media type says; a part without one is judged by the end of its address. Data travel in either
alphabet of base64; ours is the standard one, and plain text is text. Marks on a source: ``base64`` (how the data were
written), ``read`` (a checksum: what is no longer as it was read is not written as it was), ``mimeType`` (absent).
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Any
from zlib import crc32

from ...codec.tables import Ledger, Row, Words, kept, marks, own
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Base64Source,
    DocumentBlock,
    FileSource,
    ImageBlock,
    Source,
    TextSource,
    UrlSource,
    VideoBlock,
)
from .key_case import Wire, is_object

NAME = "gemini"
FAILURES_ONLY = f"{NAME} marks only failed results; false says the same as none"

Media = ImageBlock | AudioBlock | VideoBlock | DocumentBlock
KEYS = ("inlineData", "fileData")
KINDS: dict[str, type[Media]] = {"image": ImageBlock, "audio": AudioBlock, "video": VideoBlock}
EXTENSIONS = {
    **{end: f"image/{end}" for end in ("png", "gif", "webp", "heic", "heif", "bmp")},
    **{end: f"audio/{end}" for end in ("wav", "aac", "ogg", "flac", "aiff", "opus")},
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "mp3": "audio/mpeg", "m4a": "audio/mp4",
    "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "mpeg": "video/mpeg", "mpg": "video/mpeg",
    "avi": "video/x-msvideo", "wmv": "video/wmv", "flv": "video/x-flv", "3gp": "video/3gpp", "mkv": "video/x-matroska",
    "pdf": "application/pdf", "json": "application/json", "txt": "text/plain", "md": "text/markdown",
    "html": "text/html", "htm": "text/html", "csv": "text/csv", "xml": "text/xml", "rtf": "text/rtf",
    "css": "text/css", "js": "text/javascript", "py": "text/x-python",
}  # fmt: skip
YOUTUBE = re.compile(r"https?://(www\.|m\.)?(youtube\.com|youtu\.be)/")
STORED = re.compile(r"gs://|https://generativelanguage\.googleapis\.com/|(?!\w+://)")
DETAILS: Words[str] = Words(
    [
        ("MEDIA_RESOLUTION_LOW", "low"),
        ("MEDIA_RESOLUTION_MEDIUM", "medium"),
        ("MEDIA_RESOLUTION_HIGH", "high"),
        ("MEDIA_RESOLUTION_ULTRA_HIGH", "ultra_high"),
    ]
)


def media_type_of(url: str) -> str | None:
    """What the end of an address says."""
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    _, dot, end = path.rpartition("/")[2].rpartition(".")
    return EXTENSIONS.get(end.lower()) if dot else None


def kind_of(media_type: str | None, url: str = "") -> type[Media]:
    known = media_type or media_type_of(url)
    if known is None and YOUTUBE.match(url):
        return VideoBlock
    return KINDS.get((known or "").partition("/")[0], DocumentBlock)


def tag_of(rest: Wire) -> str:
    """The tag of a media part: its key does not tell what it is."""
    data: Wire = next((rest[key] for key in KEYS if is_object(rest.get(key))), Wire())
    media_type, url = data.get("mimeType"), data.get("fileUri")
    return TAGS[kind_of(media_type if type(media_type) is str else None, url if type(url) is str else "")]


def read_base64(data: str) -> tuple[str, Wire]:
    """Data in the standard alphabet, padded, and the mark of what they were."""
    if "-" not in data and "_" not in data and len(data) % 4 == 0:
        return data, {}
    form = "url" if "-" in data or "_" in data else "standard"
    form += "" if data.endswith("=") or len(data) % 4 == 0 else " unpadded"
    standard = data.replace("-", "+").replace("_", "/")
    standard += "=" * (-len(standard) % 4)
    return (standard, {"base64": form}) if say_base64(standard, form) == data else (data, {})


def say_base64(data: str, form: str) -> str:
    if form.startswith("url"):
        data = data.replace("+", "-").replace("/", "_")
    return data.rstrip("=") if form.endswith("unpadded") else data


def read_text(data: str) -> str | None:
    """The plain text that data hold, if the very data come of it again."""
    try:
        text = b64decode(data, validate=True).decode()
    except ValueError:
        return None
    return text if b64encode(text.encode()).decode() == data else None


def read_source(rest: Wire) -> Source:
    """Pops what it knows; the residue stays in its place."""
    key = "inlineData" if is_object(rest.get("inlineData")) else "fileData"
    wire: Wire = rest.pop(key)
    media_type = wire.pop("mimeType", None)
    source = _inline(wire, media_type) if key == "inlineData" else _stored(wire, media_type)
    if wire:
        rest[key] = wire
    return source


def _inline(wire: Wire, media_type: str) -> Source:
    if type(media_type) is not str:
        raise ValueError("inline data without a media type")
    data, forms = read_base64(wire.pop("data"))
    text = read_text(data) if media_type == "text/plain" else None
    if forms:
        forms["read"] = crc32((data if text is None else text).encode())
    fields = kept(NAME, {}, forms, {})
    return Base64Source(media_type, data, **fields) if text is None else TextSource(text, media_type, **fields)


def _stored(wire: Wire, media_type: str | None) -> Source:
    url = wire.pop("fileUri")
    if type(media_type) not in (str, type(None)):
        raise ValueError("a media type is a text")
    if STORED.match(url):
        return FileSource(url, media_type, NAME)
    return UrlSource(url, media_type, **kept(NAME, {}, {"mimeType": "absent"} if media_type is None else {}, {}))


def say_source(block: Media, ledger: Ledger) -> Wire | None:
    source = block.source
    ledger.foreign(source, NAME, "source")
    match source:
        case Base64Source():
            if source.media_type == "text/plain" and read_text(source.data) is not None:
                ledger.lose_form("approximated", f"{NAME} reads base64 of plain text as text", "source")
            wire = say_inline(source, source.data, source.data, ledger, "data")
        case TextSource():
            if source.media_type != "text/plain":
                ledger.lose_form("approximated", f"{NAME} has no text documents; sent as base64 data", "source")
            wire = say_inline(source, b64encode(source.text.encode()).decode(), source.text, ledger, "text")
        case FileSource() if source.dialect not in (None, NAME):
            ledger.lose("dropped", f"the file is stored elsewhere, with {source.dialect}", weight="state")
            return None
        case FileSource():
            wire = say_file(source.file_id, source.media_type)
            if not STORED.match(source.file_id):
                ledger.lose_form("approximated", f"{NAME} reads a file id of this form as a URL", "source")
        case UrlSource():
            said = say_url(source, ledger)
            if said is None:
                return None
            wire = said
    inner = next(iter(wire.values()))
    if kind_of(inner.get("mimeType"), inner.get("fileUri", "")) is not type(block):
        ledger.lose_form("approximated", f"{NAME} tells the kind by the media type {inner.get('mimeType')}")
    return own(NAME, wire, source)


def say_inline(source: Base64Source | TextSource, data: str, said: str, ledger: Ledger, field: str) -> Wire:
    mark = marks(NAME, source)
    if "read" in mark and mark["read"] != crc32(said.encode()):
        ledger.lose_form("approximated", f"{NAME} takes standard base64; written so", "source", field)
        mark = {}
    return {"inlineData": {"mimeType": source.media_type, "data": say_base64(data, mark.get("base64", ""))}}


def say_file(uri: str, media_type: str | None) -> Wire:
    return {"fileData": {"fileUri": uri} if media_type is None else {"fileUri": uri, "mimeType": media_type}}


def say_url(source: UrlSource, ledger: Ledger) -> Wire | None:
    media_type = source.media_type
    if media_type is None and marks(NAME, source).get("mimeType") != "absent" and not YOUTUBE.match(source.url):
        media_type = media_type_of(source.url)
        if media_type is None:
            ledger.lose("dropped", f"{NAME} requires the media type of a URL, and its extension does not tell")
            return None
        ledger.lose_form("added", f"{NAME} requires a media type; taken from the extension", "source", "media_type")
    if STORED.match(source.url):
        ledger.lose_form("approximated", f"{NAME} reads a URL of its own files as a file id", "source")
    return say_file(source.url, media_type)


def say_image(block: ImageBlock, ledger: Ledger) -> Wire | None:
    wire = say_source(block, ledger)
    if wire is not None and block.detail is not None:
        if block.detail in DETAILS.write:
            wire["mediaResolution"] = {"level": DETAILS.write[block.detail]}
        else:
            ledger.lose("dropped", f"{NAME} has the details {', '.join(DETAILS.write)} only", "detail")
    return wire


def read_image(rest: Wire) -> dict[str, Any]:
    fields: dict[str, Any] = {"source": _source(rest)}
    level = _inner(rest, "mediaResolution", "level", DETAILS.read)
    return fields if level is None else {**fields, "detail": DETAILS.read[level]}


def say_audio(block: AudioBlock, ledger: Ledger) -> Wire | None:
    wire = say_source(block, ledger)
    if wire is not None and block.transcript is not None:
        wire["audioTranscription"] = {"text": block.transcript}
    return wire


def read_audio(rest: Wire) -> dict[str, Any]:
    return {"source": _source(rest), "transcript": _inner(rest, "audioTranscription", "text", None)}


def say_document(block: DocumentBlock, ledger: Ledger) -> Wire | None:
    wire = say_source(block, ledger)
    if wire is None:
        return None
    if block.filename is not None:
        next(iter(wire.values()))["displayName"] = block.filename
    for field in ("title", "context"):
        if getattr(block, field) is not None:
            ledger.lose("dropped", f"documents of {NAME} have no {field}", field)
    return wire


def read_document(rest: Wire) -> dict[str, Any]:
    key = next(key for key in KEYS if is_object(rest.get(key)))
    name = rest[key].get("displayName")
    if isinstance(name, str) and name:
        del rest[key]["displayName"]
        return {"source": _source(rest), "filename": name}
    return {"source": _source(rest)}


def read_video(rest: Wire) -> dict[str, Any]:
    return {"source": _source(rest)}


def _source(rest: Wire) -> Source:
    for tag in TAGS.values():
        rest.pop(tag, None)
    return read_source(rest)


def _inner(rest: Wire, key: str, word: str, known: dict[str, str] | None) -> Json:
    """Pop a word of a nested object; what is left of that stays."""
    inner = rest.get(key)
    if not is_object(inner):
        return None
    value = inner.get(word)
    if not isinstance(value, str) or not value or (known is not None and value not in known):
        return None
    del inner[word]
    if not inner:
        del rest[key]
    return value


TAGS: dict[type[Media], str] = {
    ImageBlock: "(image)", AudioBlock: "(audio)", VideoBlock: "(video)", DocumentBlock: "(document)",
}  # fmt: skip
ROWS = (
    Row(ImageBlock, "(image)", say_image, read_image),
    Row(AudioBlock, "(audio)", say_audio, read_audio),
    Row(VideoBlock, "(video)", say_source, read_video),
    Row(DocumentBlock, "(document)", say_document, read_document),
)

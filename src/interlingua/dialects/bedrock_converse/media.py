"""Pictures, documents, sound and film. The wire has format words for media types, bytes or a place in S3, no URLs.

Marks: ``format`` (a word that we would not write, or ``absent``), ``bytes`` (text that is not base64), ``name``
(``absent``), ``tag`` (it stood in a ``guardContent``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from ...codec.tables import Ledger, kept, marks, own
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
from .names import NAME, NO_NAME, Scribe, document_name
from .wire import Wire, leave, opened, pop_text, take_text

Media = ImageBlock | DocumentBlock | AudioBlock | VideoBlock

OFFICE = "application/vnd.openxmlformats-officedocument."
# tag: format word -> media type; the first word of a media type is what we write
FORMATS: dict[str, dict[str, str]] = {
    "image": {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
    "document": {"pdf": "application/pdf", "csv": "text/csv", "doc": "application/msword",
                 "docx": f"{OFFICE}wordprocessingml.document", "xls": "application/vnd.ms-excel",
                 "xlsx": f"{OFFICE}spreadsheetml.sheet", "html": "text/html", "txt": "text/plain",
                 "md": "text/markdown"},
    "video": {"mkv": "video/x-matroska", "mov": "video/quicktime", "mp4": "video/mp4", "webm": "video/webm",
              "flv": "video/x-flv", "mpeg": "video/mpeg", "mpg": "video/mpeg", "wmv": "video/x-ms-wmv",
              "three_gp": "video/3gpp"},
    "audio": {"mp3": "audio/mpeg", "opus": "audio/opus", "wav": "audio/wav", "aac": "audio/aac", "flac": "audio/flac",
              "mp4": "audio/mp4", "ogg": "audio/ogg", "mkv": "audio/x-matroska", "mka": "audio/x-matroska",
              "x-aac": "audio/x-aac", "m4a": "audio/m4a", "mpeg": "audio/mpeg", "mpga": "audio/mpeg",
              "pcm": "audio/pcm", "webm": "audio/webm"},
}  # fmt: skip
WORDS: dict[str, dict[str, str]] = {
    tag: {media_type: word for word, media_type in reversed(words.items())} for tag, words in FORMATS.items()
}
# other names of the same formats
ALIASES = {
    "image/jpg": "jpeg", "audio/mp3": "mp3", "audio/x-wav": "wav", "audio/wave": "wav", "audio/x-m4a": "m4a",
    "audio/l16": "pcm", "video/3gp": "three_gp", "video/mov": "mov", "video/wmv": "wmv", "video/mpg": "mpg",
    "video/x-m4v": "mp4", "text/x-markdown": "md",
}  # fmt: skip
UNKNOWN = "application/octet-stream"


def is_base64(text: str) -> bool:
    """Whether a text is standard base64, padded and on one line. A regex takes three times as long for megabytes."""
    try:
        return bool(msgspec.convert(text, bytes))
    except (msgspec.ValidationError, UnicodeError):
        return False


def _media_type(tag: str, word: str) -> str:
    return FORMATS[tag].get(word) or (word if "/" in word else f"{tag}/{word}")


def read_source(tag: str, inner: Wire, forms: Wire) -> Source | None:
    """Pop format and source; None for what has no source of ours (a document of chunks)."""
    word, rest = inner.pop("format", "absent"), opened(inner, "source")
    media_type = None if word == "absent" else _media_type(tag, word)
    if media_type is None or WORDS[tag].get(media_type) != word:
        forms["format"] = word
    if isinstance(rest.get("bytes"), str):
        if not is_base64(rest["bytes"]):
            forms["bytes"] = "verbatim"
        return Base64Source(media_type or UNKNOWN, rest.pop("bytes"), **kept(NAME, rest, {}, {}))
    if isinstance(rest.get("s3Location"), dict):
        place = opened(rest, "s3Location")
        uri = pop_text(place, "uri")
        leave(rest, "s3Location", place)
        if word == "absent" and tag == "document" and _extension(tag, uri) is None:
            del forms["format"]  # as we would write it
        return FileSource(uri, media_type, NAME, **kept(NAME, rest, {}, {}))
    if isinstance(rest.get("text"), str):
        return TextSource(rest.pop("text"), media_type or UNKNOWN, **kept(NAME, rest, {}, {}))
    return None


def say_source(tag: str, block: Media, ledger: Ledger) -> Wire | None:
    """Format and source, or None after declaring why the block cannot be said."""
    source = block.source
    wire = _place(source, block, ledger)
    if wire is None:
        return None
    word = marks(NAME, block).get("format")
    if not _stands(tag, word, source.media_type):
        word = _word(tag, source, ledger)
    if word is None and (tag != "document" or isinstance(source, Base64Source)):
        ledger.lose("dropped", f"{NAME} takes {tag}s as {', '.join(FORMATS[tag])}, not {source.media_type}")
        return None
    ledger.foreign(source, NAME, "source")
    said: Wire = {"format": word} if word not in (None, "absent") else {}
    said["source"] = own(NAME, wire, source)
    return said


def _place(source: Source, block: Media, ledger: Ledger) -> Wire | None:
    match source:
        case Base64Source():
            data = _bytes(source.data, block, ledger)
            return None if data is None else {"bytes": data}
        case FileSource() if source.dialect in (None, NAME) and source.file_id.startswith("s3://"):
            return {"s3Location": {"uri": source.file_id}}
        case UrlSource() if source.url.startswith("s3://"):
            ledger.lose_form("approximated", f"{NAME} reads a place in S3 as a stored file", "source")
            return {"s3Location": {"uri": source.url}}
        case TextSource() if isinstance(block, DocumentBlock):
            return {"text": source.text}
        case FileSource() if source.dialect not in (None, NAME):
            ledger.lose("dropped", f"the file is stored elsewhere, with {source.dialect}", weight="state")
        case _:
            ledger.lose("dropped", f"{NAME} takes media as data or from S3, not by URL or file id")
    return None


def _bytes(data: str, block: Media, ledger: Ledger) -> str | None:
    """Base64 as the service reads it: the standard alphabet, padded, on one line."""
    if is_base64(data) or "bytes" in marks(NAME, block):
        return data
    plain = re.sub(r"\s+", "", data).translate(str.maketrans("-_", "+/")).rstrip("=")
    plain += "=" * (-len(plain) % 4)
    if not is_base64(plain):
        ledger.lose("dropped", "the data is not base64")
        return None
    ledger.lose_form("approximated", f"{NAME} takes standard base64; written so", "source", "data")
    return plain


def _stands(tag: str, word: str | None, media_type: str | None) -> bool:
    """Whether the word that was read still says the media type."""
    if word == "absent":
        return media_type in (None, UNKNOWN)
    return word is not None and _media_type(tag, word) == media_type


def _word(tag: str, source: Source, ledger: Ledger) -> str | None:
    if source.media_type is None:
        return _by_extension(tag, source, ledger)
    if source.media_type in WORDS[tag]:
        return WORDS[tag][source.media_type]
    found = ALIASES.get(source.media_type.lower().partition(";")[0])
    if found not in FORMATS[tag]:
        if not isinstance(source, TextSource):
            return None
        found = "txt"
    ledger.lose_form("approximated", f"{NAME} calls the format {found}", "source", "media_type")
    return found


def _by_extension(tag: str, source: Source, ledger: Ledger) -> str | None:
    place = source.file_id if isinstance(source, FileSource) else source.url if isinstance(source, UrlSource) else ""
    word = _extension(tag, place)
    if word is not None:
        ledger.lose_form("added", f"{NAME} requires a format; taken from the extension", "source", "media_type")
    return word


def _extension(tag: str, place: str) -> str | None:
    word = place.rpartition(".")[2].lower()
    word = {"jpg": "jpeg", "3gp": "three_gp", "htm": "html"}.get(word, word)
    return word if word in FORMATS[tag] else None


def read_media(tag: str) -> Callable[[Wire], dict[str, Any] | None]:
    def read(rest: Wire) -> dict[str, Any] | None:
        inner, forms = opened(rest, tag), Wire()
        source = read_source(tag, inner, forms)
        if source is None or isinstance(source, TextSource):
            return None
        leave(rest, tag, inner)
        return {"source": source, **kept(NAME, {}, forms, {})}

    return read


def say_image(block: ImageBlock, ledger: Ledger) -> Wire | None:
    said = say_source("image", block, ledger)
    if said is None:
        return None
    if block.detail is not None:
        ledger.lose("dropped", f"{NAME} has no `detail` of images", "detail")
    guarded = marks(NAME, block).get("tag") == "guardContent"
    return {"guardContent": {"image": said}} if guarded else {"image": said}


def say_video(block: VideoBlock, ledger: Ledger) -> Wire | None:
    said = say_source("video", block, ledger)
    return None if said is None else {"video": said}


def say_audio(block: AudioBlock, ledger: Ledger) -> Wire | None:
    said = say_source("audio", block, ledger)
    if said is None:
        return None
    if block.transcript is not None:
        ledger.lose("dropped", f"audio of {NAME} has no transcript", "transcript")
    return {"audio": said}


def read_document(rest: Wire) -> dict[str, Any] | None:
    inner, forms, blanks = opened(rest, "document"), Wire(), Wire()
    source = read_source("document", inner, forms)
    if source is None:
        return None
    if "name" not in inner:
        forms["name"] = "absent"
    title, context = take_text(inner, "name", blanks), take_text(inner, "context", blanks)
    fields = {"source": source, "title": title, "context": context}
    leave(rest, "document", inner)
    return {**fields, **kept(NAME, {}, forms, {"document": blanks} if blanks else {})}


def say_document(block: DocumentBlock, ledger: Ledger) -> Wire | None:
    said = say_source("document", block, ledger)
    if said is None:
        return None
    name = _say_name(block, ledger)
    if name is not None:
        said["name"] = name
    if block.context is not None:
        said["context"] = block.context
    return {"document": said}


def _say_name(block: DocumentBlock, ledger: Ledger) -> str | None:
    mark = marks(NAME, block)
    if block.title is None and (mark.get("name") == "absent" or "name" in mark.get("blank", {}).get("document", ())):
        return None
    taken = ledger.documents if isinstance(ledger, Scribe) else set[str]()
    if "verbatim" in mark and block.title is not None:
        taken.add(block.title.casefold())
        return block.title
    wanted = block.title
    if wanted is None and block.filename is not None:
        wanted = block.filename.rpartition(".")[0] or block.filename
        ledger.lose_form("moved", f"documents of {NAME} have a name; the file name was taken", "filename")
        ledger.lose_form("added", f"documents of {NAME} have a name; the file name was taken", "title")
    elif block.filename is not None:
        ledger.lose_form("dropped", f"documents of {NAME} have one name, and the title was taken", "filename")
    name = document_name(wanted or NO_NAME, taken)
    if wanted is None:
        ledger.lose_form("added", f"{NAME} requires a document name; one was added", "title")
    elif name != block.title and block.title is not None:
        ledger.lose("approximated", f"{NAME} takes unique document names of A-Z a-z 0-9 -_()[]", "title")
    return name

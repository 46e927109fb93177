"""The parts of a message's content: left column ours, right column theirs.

Forms a part may be marked with: ``part`` (the tag of a compatible server: ``document_url``, ``video_url``, …),
``image`` (the URL was a plain string), ``cache`` (the mark was spelled ``cache_control``).
"""

from __future__ import annotations

import base64
import re
from typing import Any

from msgspec.structs import replace

from ...codec.json import is_dict
from ...codec.stream import dump
from ...codec.tables import BlockTable, CacheWord, Ledger, Row, kept, marks, own, take
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    DocumentBlock,
    FileSource,
    ImageBlock,
    JsonBlock,
    RefusalBlock,
    Source,
    TextBlock,
    TextSource,
    ThinkingBlock,
    UrlSource,
    VideoBlock,
)
from .quirks import Quirks

NAME = "openai-chat"
Wire = dict[str, Json]

DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
TTLS = ("30m", "12h")
AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}
AUDIO_WORDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
EXTENSIONS = {"application/pdf": "pdf", "text/plain": "txt", "text/markdown": "md", "text/csv": "csv"}


def say_breakpoint(mark: CacheMark, ledger: Ledger) -> Wire:
    wire: Wire = {"mode": "explicit"}
    if mark.ttl in TTLS:
        wire["ttl"] = mark.ttl
    elif mark.ttl is not None:
        ledger.lose("dropped", f"{NAME} caches for {' or '.join(TTLS)} only", "cache", "ttl")
    return wire


def read_breakpoint(wire: Json) -> CacheMark | None:
    if not is_dict(wire) or wire.get("mode") != "explicit":
        return None
    rest = {key: value for key, value in wire.items() if key != "mode"}
    ttl = rest.pop("ttl") if rest.get("ttl") in TTLS else None
    return CacheMark(ttl=ttl, **kept(NAME, rest, {}, {}))


def say_ephemeral(mark: CacheMark, ledger: Ledger) -> Wire:
    return {"type": "ephemeral"} if mark.ttl is None else {"type": "ephemeral", "ttl": mark.ttl}


def read_ephemeral(wire: Json) -> CacheMark | None:
    """The spelling of routers to Anthropic models; marked, so that it is written so again."""
    if not is_dict(wire) or wire.get("type") != "ephemeral":
        return None
    rest = {key: value for key, value in wire.items() if key not in ("type", "ttl")}
    return CacheMark(ttl=wire.get("ttl"), **kept(NAME, rest, {"cache": "cache_control"}, {}))


CACHES = {
    "prompt_cache_breakpoint": CacheWord("prompt_cache_breakpoint", say_breakpoint, read_breakpoint),
    "cache_control": CacheWord("cache_control", say_ephemeral, read_ephemeral),
}


def read_cache(rest: Wire) -> CacheMark | None:
    for key, word in CACHES.items():
        if key in rest and (mark := word.read(rest[key])) is not None:
            del rest[key]
            return mark
    return None


def say_cache(mark: CacheMark | None, wire: Wire, quirks: Quirks, ledger: Ledger, *, here: bool = True) -> None:
    """Write a cache mark on a part; ``here`` is False where only a mark that was read here may be written."""
    if mark is None:
        return
    word = CACHES.get(marks(NAME, mark).get("cache") or (quirks.cache_key if here else None) or "")
    if word is None:
        ledger.lose("dropped", f"{NAME} takes cache marks on content parts only", "cache")
    else:
        wire[word.key] = own(NAME, word.say(mark, ledger) or {}, mark)
        ledger.foreign(mark, NAME, "cache")


def read_url(url: str) -> Source:
    found = DATA_URL.fullmatch(url)
    return Base64Source(found[1], found[2]) if found else UrlSource(url)


def say_url(source: Source, ledger: Ledger) -> str | None:
    """A URL, or the data as one. Nothing for a stored file: this protocol's parts take no other provider's ids."""
    ledger.foreign(source, NAME, "source")
    match source:
        case Base64Source():
            return f"data:{source.media_type};base64,{source.data}"
        case UrlSource():
            if source.media_type is not None:
                ledger.lose_form("dropped", f"{NAME} takes no media type beside a URL", "source", "media_type")
            return source.url
        case TextSource():
            ledger.lose_form("approximated", f"{NAME} has no text documents; sent as base64 data", "source")
            return f"data:{source.media_type};base64,{base64.b64encode(source.text.encode()).decode()}"
        case FileSource():
            return None


def read_image(rest: Wire) -> dict[str, Any] | None:
    wire = rest.pop("image_url")
    if isinstance(wire, str):
        return {"source": read_url(wire), "forms": {NAME: {"image": "string"}}}
    inner, blanks = dict(wire), Wire()
    fields: dict[str, Any] = {"source": read_url(inner.pop("url")), "detail": take(inner, "detail", blanks)}
    if inner:
        rest["image_url"] = inner
    return {**fields, **kept(NAME, {}, {}, {"image_url": blanks} if blanks else {})}


def say_image(block: ImageBlock, ledger: Ledger) -> Wire | None:
    url = say_url(block.source, ledger)
    if url is None:
        ledger.lose("dropped", f"{NAME} takes images as data or by URL, not by file id", weight="state")
        return None
    if block.detail is None and marks(NAME, block).get("image") == "string":
        return {"image_url": url}
    return {"image_url": {"url": url} if block.detail is None else {"url": url, "detail": block.detail}}


def read_audio(rest: Wire) -> dict[str, Any]:
    inner = dict(rest.pop("input_audio"))
    word = inner.pop("format")
    fields = {"source": Base64Source(AUDIO.get(word, f"audio/{word}"), inner.pop("data"))}
    if inner:
        rest["input_audio"] = inner
    return fields if word in AUDIO else {**fields, "forms": {NAME: {"format": word}}}


def say_audio(block: AudioBlock, ledger: Ledger) -> Wire | None:
    source = block.source
    if not isinstance(source, Base64Source):
        ledger.lose("dropped", f"{NAME} takes audio as data only")
        return None
    word = marks(NAME, block).get("format") or AUDIO_WORDS.get(source.media_type)
    if word is None:
        ledger.lose("dropped", f"{NAME} takes audio as {' or '.join(AUDIO)}, not {source.media_type}")
        return None
    if AUDIO.get(word, source.media_type) != source.media_type:
        ledger.lose_form("approximated", f"{NAME} calls {source.media_type} {word}", "source", "media_type")
    if block.transcript is not None:
        ledger.lose("dropped", f"audio in a request of {NAME} has no transcript", "transcript")
    return {"input_audio": {"data": source.data, "format": word}}


def read_file(rest: Wire) -> dict[str, Any] | None:
    inner, forms, blanks = dict(rest.pop("file")), Wire(), Wire()
    fields: dict[str, Any] = {"filename": take(inner, "filename", blanks)}
    data = inner.get("file_data")
    if isinstance(inner.get("file_id"), str) and not data:
        fields["source"] = FileSource(inner.pop("file_id"), dialect=NAME)
    elif isinstance(data, str) and (DATA_URL.fullmatch(data) or data.startswith(("http://", "https://"))):
        fields["source"] = read_url(inner.pop("file_data"))
        if fields["filename"] is None:
            forms["filename"] = "absent"
        if isinstance(fields["source"], UrlSource):
            forms["part"] = "file"
    else:
        return None
    if inner:
        rest["file"] = inner
    return {**fields, **kept(NAME, {}, forms, {"file": blanks} if blanks else {})}


def say_file(block: DocumentBlock, ledger: Ledger) -> Wire | None:
    mark, source = marks(NAME, block), block.source
    for name in ("title", "context"):
        if getattr(block, name) is not None:
            ledger.lose("dropped", f"documents of {NAME} have no {name}", name)
    if isinstance(source, UrlSource) and "part" not in mark:
        ledger.lose("dropped", f"{NAME} takes documents as data or by file id, not by URL")
        return None
    if isinstance(source, UrlSource) and mark["part"] == "document_url":
        return {"type": "document_url", "document_url": source.url}
    if isinstance(source, FileSource):
        if source.dialect not in (None, NAME):
            ledger.lose("dropped", f"the file is stored elsewhere, with {source.dialect}", weight="state")
            return None
        inner: Wire = {"file_id": source.file_id}
        if source.media_type is not None:
            ledger.lose_form("dropped", f"{NAME} takes no media type beside a file id", "source", "media_type")
    else:
        inner = {"file_data": say_url(source, ledger)}
    if block.filename is not None:
        inner["filename"] = block.filename
    elif "file_data" in inner and mark.get("filename") != "absent":
        inner["filename"] = f"document.{EXTENSIONS.get(getattr(source, 'media_type', ''), 'bin')}"
        ledger.lose_form("added", f"{NAME} requires a file name; one was added", "filename")
    return {"file": inner}


def read_document_url(rest: Wire) -> dict[str, Any]:
    return {"source": UrlSource(rest.pop("document_url")), "forms": {NAME: {"part": "document_url"}}}


def read_video(rest: Wire) -> dict[str, Any]:
    inner = dict(rest.pop("video_url"))
    fields = {"source": read_url(inner.pop("url")), "forms": {NAME: {"part": "video_url"}}}
    if inner:
        rest["video_url"] = inner
    return fields


def say_video(block: VideoBlock, ledger: Ledger) -> Wire | None:
    url = say_url(block.source, ledger) if marks(NAME, block).get("part") else None
    if url is None:
        ledger.lose("dropped", f"{NAME} has no video blocks")
        return None
    return {"video_url": {"url": url}}


def read_thinking(rest: Wire) -> dict[str, Any] | None:
    """Reasoning as a part: a list of text parts, of which a single one is ours."""
    inner: list[Wire] = rest["thinking"]
    if type(inner) is not list or len(inner) != 1 or inner[0].keys() != {"type", "text"} or inner[0]["type"] != "text":
        return None
    del rest["thinking"]
    fields: dict[str, Any] = {"text": inner[0]["text"], "forms": {NAME: {"part": "thinking"}}}
    if isinstance(rest.get("signature"), str):
        fields["signature"] = rest.pop("signature")
    return fields


def say_thinking(block: ThinkingBlock, ledger: Ledger) -> Wire:
    wire: Wire = {"thinking": [{"type": "text", "text": block.text}]}
    return wire if block.signature is None else {**wire, "signature": block.signature}


def say_json(block: JsonBlock, ledger: Ledger) -> Wire:
    ledger.lose_form("approximated", f"{NAME} has no JSON here; sent as JSON text")
    return {"type": "text", "text": dump(block.value).decode()}


def say_text(block: TextBlock, ledger: Ledger) -> Wire:
    return {"text": block.text}


def read_text(rest: Wire) -> dict[str, Any] | None:
    return {"text": rest.pop("text")} if isinstance(rest["text"], str) else None


def say_refusal(block: RefusalBlock, ledger: Ledger) -> Wire:
    return {"refusal": block.text}


def read_refusal(rest: Wire) -> dict[str, Any]:
    return {"text": rest.pop("refusal")}


def never(rest: Wire) -> None:
    """The row is for saying only; the wire has no such tag."""


PARTS = BlockTable(
    NAME,
    # canonical     wire tag        say it      read it
    Row(TextBlock, "text", say_text, read_text),
    Row(RefusalBlock, "refusal", say_refusal, read_refusal),
    Row(ImageBlock, "image_url", say_image, read_image),
    Row(AudioBlock, "input_audio", say_audio, read_audio),
    Row(DocumentBlock, "file", say_file, read_file),
    Row(DocumentBlock, "document_url", say_file, read_document_url),
    Row(VideoBlock, "video_url", say_video, read_video),
    Row(ThinkingBlock, "thinking", say_thinking, read_thinking, signs=True),
    Row(JsonBlock, "(json)", say_json, never),
)


def read_part(wire: Wire) -> Block:
    """One part, or what stands in its place; a cache mark in either spelling becomes ours."""
    if type(wire) is dict and not CACHES.keys().isdisjoint(wire):
        rest = dict(wire)
        mark = read_cache(rest)
        block = PARTS.decode(rest)
        if mark is not None and "type" in wire and block.type != "opaque":
            return replace(block, cache=mark)
    return PARTS.decode(wire)


def as_listed(block: Block) -> Block:
    """A block as a server writes it whose content lists more kinds of parts."""
    tag = "thinking" if isinstance(block, ThinkingBlock) else None
    if isinstance(block, DocumentBlock) and isinstance(block.source, UrlSource):
        tag = "document_url"
    return block if tag is None else replace(block, forms={**block.forms, NAME: {**marks(NAME, block), "part": tag}})


def say_part(block: Block, quirks: Quirks, ledger: Ledger) -> Wire | None:
    """One part, or nothing and a loss."""
    if quirks.list_content:
        block = as_listed(block)
    if block.cache is None or block.type == "opaque":
        return PARTS.encode(block, ledger)
    mark = block.cache
    wire = PARTS.encode(replace(block, cache=None), ledger)
    if wire is not None:
        say_cache(mark, wire, quirks, ledger)
    return wire

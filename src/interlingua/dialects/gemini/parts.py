"""Media and the results of functions: parts in which several keys together make our fields.

``inlineData`` holds media, ``fileData`` points to them. The media type of a part says which block it becomes; without
one, the extension of its URL does. We write data in the standard alphabet of base64, padded; the servers take both
alphabets. Plain text is base64 on the wire and a ``TextSource`` in our blocks.

A function response is an object. ``{"output": …}`` and ``{"error": …}`` are the protocol's own words for a result and a
failure; any other object is the result itself. A text is sent as ``output``, unless it is the JSON of an object just as
we would write it: then as that object. Media of a result follow in ``parts``.
"""

from __future__ import annotations

import re
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...codec.base64 import standard_base64
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.paths import ABSENT
from ...codec.rows.kinds import OMIT, REFUSED
from ...codec.rows.plain_text import is_plain_text, plain_condition
from ...codec.rows.table import Table
from ...codec.rows.together import Group
from ...codec.streams.stream import dump
from ...codec.tools.arguments import parse_object
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    FileSource,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    Source,
    TextBlock,
    TextSource,
    UrlSource,
    VideoBlock,
)
from .facts import MEDIA_TYPES, NAME, STORED, YOUTUBE

if TYPE_CHECKING:
    from ...codec.rows.source import Source as Code

Media = ImageBlock | AudioBlock | VideoBlock | DocumentBlock
PLAIN = "text/plain"
BLOCKS: dict[str, type[Media]] = {"image": ImageBlock, "audio": AudioBlock, "video": VideoBlock}
TAGS: dict[type[Media], str] = {
    ImageBlock: "image", AudioBlock: "audio", VideoBlock: "video", DocumentBlock: "document",
}  # fmt: skip
SOURCE_KEYS = "inlineData.mimeType inlineData.data fileData.fileUri fileData.mimeType"
NAMED_SOURCE_KEYS = f"{SOURCE_KEYS} inlineData.displayName fileData.displayName"
IN_PARTS = (ImageBlock, AudioBlock, VideoBlock, DocumentBlock, OpaqueBlock)
RESPONSE_KEY, PARTS_KEY = "functionResponse.response", "functionResponse.parts"
RESULT_KEYS = f"{RESPONSE_KEY} {PARTS_KEY}"
Placed = list[tuple[int, Block]]


# ------------------------------------------------------------------------------------------------------ what a part is


def media_type_of(url: str) -> str | None:
    """The media type for the extension of a URL; None if it has none that we know."""
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    _, dot, end = path.rpartition("/")[2].rpartition(".")
    return MEDIA_TYPES.get(end.lower()) if dot else None


def block_type(media_type: Json, url: Json) -> type[Media]:
    """The type of block for a part with this media type or, if it has none, with this URL."""
    if type(media_type) is not str or not media_type:
        if type(url) is not str:
            return DocumentBlock
        media_type = media_type_of(url)
        if media_type is None:
            return VideoBlock if YOUTUBE.match(url) else DocumentBlock
    return BLOCKS.get(media_type.partition("/")[0], DocumentBlock)


def media_tag(part: Wire) -> str | None:
    """The tag of a media part, found by its media type or URL; None for other parts."""
    for key in ("inlineData", "fileData"):
        data = part.get(key)
        if is_object(data):
            return TAGS[block_type(data.get("mimeType"), data.get("fileUri"))]
    return None


def read_text(data: str) -> str | None:
    """The plain text that base64 data hold; None if writing it again would give other data."""
    try:
        text = a2b_base64(data, strict_mode=True).decode()
    except ValueError:
        return None
    return text if b64encode(text.encode()).decode() == data else None


# ------------------------------------------------------------------------------------------------------------- sources


class MediaSource(Group):
    """The source of a media part, and with ``named`` its file name too."""

    name = "media"

    def __init__(self, block: type[Media], *, named: bool = False) -> None:
        self.block, self.named = block, named

    def read(self, found: Wire, marks: Wire) -> Any:
        key = "inlineData" if "inlineData.data" in found else "fileData"
        media_type = found.get(f"{key}.mimeType")
        source = _read_inline(found, media_type) if key == "inlineData" else _read_stored(found, media_type)
        if source is None:
            return REFUSED
        for taken in (f"{key}.mimeType", "inlineData.data" if key == "inlineData" else "fileData.fileUri"):
            found.pop(taken, None)
        if not self.named:
            return (source,)
        name = found.get(f"{key}.displayName")
        return source, found.pop(f"{key}.displayName") if type(name) is str and name else None

    def quick(self, media_type: Json, data: Json, uri: Json, uri_type: Json, *names: Json) -> Any:
        """The common case: data that look like standard base64. They are not decoded to find out."""
        if type(media_type) is not str or type(data) is not str or uri is not ABSENT or uri_type is not ABSENT:
            return REFUSED
        if media_type == PLAIN or len(data) % 4 or "-" in data or "_" in data:
            return REFUSED
        if not self.named:
            return (Base64Source(media_type, data),)
        return (Base64Source(media_type, data), None) if names == (ABSENT, ABSENT) else REFUSED

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        source: Source = values[0]
        wire = _write_source(source, ledger)
        if wire is None:
            return OMIT
        ((key, data),) = wire.items()
        if block_type(data.get("mimeType"), data.get("fileUri")) is not self.block:
            ledger.lose_form("approximated", f"{NAME} tells the kind by the media type {data.get('mimeType')}")
        if self.named and values[1] is not None:
            data["displayName"] = values[1]
        if "inlineData.data" in self._spelled(marks):
            field = "text" if type(source) is TextSource else "data"
            ledger.lose_form("approximated", f"{NAME} takes standard base64; written so", "source", field)
        if source.extras:
            ledger.lose_foreign_extras(source, NAME, "source")
        return {key: data}

    def _spelled(self, marks: Mapping[str, Json]) -> Wire:
        """The keys and values as they were read, if we would write them otherwise; else empty."""
        kept: list[Wire] = marks.get("spelling", {}).get("source filename" if self.named else "source") or [{}]
        return kept[0]


def _read_inline(found: Wire, media_type: Json) -> Source | None:
    data = found["inlineData.data"]
    if type(media_type) is not str or type(data) is not str:
        return None
    data = standard_base64(data)
    text = read_text(data) if media_type == PLAIN else None
    return Base64Source(media_type, data) if text is None else TextSource(text, media_type)


def _read_stored(found: Wire, media_type: Json) -> Source | None:
    url = found.get("fileData.fileUri")
    if type(url) is not str or not (media_type is None or type(media_type) is str):
        return None
    return FileSource(url, media_type, NAME) if STORED.match(url) else UrlSource(url, media_type)


def _write_source(source: Source, ledger: Ledger) -> Wire | None:
    match source:
        case Base64Source():
            if source.media_type == PLAIN and read_text(source.data) is not None:
                ledger.lose_form("approximated", f"{NAME} reads base64 of plain text as text", "source")
            return {"inlineData": {"mimeType": source.media_type, "data": source.data}}
        case TextSource():
            if source.media_type != PLAIN:
                ledger.lose_form("approximated", f"{NAME} has no text documents; sent as base64 data", "source")
            data = b64encode(source.text.encode()).decode()
            return {"inlineData": {"mimeType": source.media_type, "data": data}}
        case FileSource():
            return _write_file(source, ledger)
        case UrlSource():
            return _write_url(source, ledger)


def _write_file(source: FileSource, ledger: Ledger) -> Wire | None:
    if source.dialect not in (None, NAME):
        ledger.lose("dropped", f"the file is stored elsewhere, with {source.dialect}", weight="state")
        return None
    if not STORED.match(source.file_id):
        ledger.lose_form("approximated", f"{NAME} reads a file id of this form as a URL", "source")
    return _file_data(source.file_id, source.media_type)


def _write_url(source: UrlSource, ledger: Ledger) -> Wire | None:
    media_type = source.media_type
    if media_type is None and not YOUTUBE.match(source.url):
        media_type = media_type_of(source.url)
        if media_type is None:
            ledger.lose("dropped", f"{NAME} requires the media type of a URL, and its extension does not tell")
            return None
        ledger.lose_form("added", f"{NAME} requires a media type; taken from the extension", "source", "media_type")
    if STORED.match(source.url):
        ledger.lose_form("approximated", f"{NAME} reads a URL of its own files as a file id", "source")
    return _file_data(source.url, media_type)


def _file_data(uri: str, media_type: str | None) -> Wire:
    return {"fileData": {"fileUri": uri} if media_type is None else {"fileUri": uri, "mimeType": media_type}}


# -------------------------------------------------------------------------------------------------------------- results


def is_wrapped(value: Json) -> bool:
    """Whether a value must be wrapped as ``output``, because as a response it would not be read as the result."""
    if not is_object(value) or not value:
        return True
    if len(value) > 1:
        return False
    if "output" in value:
        return is_wrapped(value["output"])
    return "error" in value


def spelled_object(text: str) -> dict[str, Json] | None:
    """The object of which a text is the JSON, exactly as we would write it; None for other texts."""
    value = parse_object(text) if text.startswith("{") else None
    return value if value is not None and not is_wrapped(value) and dump(value) == text.encode() else None


class ResultContent(Group):
    """The content of a result, and whether it is a failure. ``parts`` is the table for media in results."""

    name = "a result"

    def __init__(self, parts: Table) -> None:
        self.parts = parts

    # ----------------------------------------------------------------------------------------------------- reading

    def read(self, found: Wire, marks: Wire) -> Any:
        content: tuple[Block, ...] = ()
        failed: bool | None = None
        if is_object(found.get(RESPONSE_KEY)):
            content, failed = _read_response(found.pop(RESPONSE_KEY))
        elif RESPONSE_KEY in found and found[RESPONSE_KEY] is None:
            del found[RESPONSE_KEY]
        parts = found.get(PARTS_KEY, ABSENT)
        if is_array(parts):
            content += tuple(map(self.parts.interpret_read, found.pop(PARTS_KEY)))
        elif parts is None:
            del found[PARTS_KEY]
        return content, failed

    def is_usual(self, values: Any, found: Wire) -> bool:
        """As in the base class, but media are not compared: each media block keeps its own spelling."""
        content, failed = values
        words: Placed = [(place, block) for place, block in enumerate(content) if not isinstance(block, IN_PARTS)]
        ledger = Ledger()
        same = _write_words(words, bool(failed), ledger) == found.get(RESPONSE_KEY)
        return same and not ledger.losses and (PARTS_KEY in found) is (len(words) < len(content))

    def quick(self, response: Json, parts: Json) -> Any:
        """The common case: one text or one object, perhaps with media."""
        if response.__class__ is not dict:
            return REFUSED
        if parts is ABSENT and len(response) == 1 and type(text := response.get("output")) is str and text[:1] != "{":
            return (TextBlock(text),), None
        content, failed = _read_response(response)
        if content and type(content[0]) is TextBlock and not failed and content[0].text.startswith("{"):
            return REFUSED
        if parts is ABSENT:
            return content, failed
        return (content + tuple(map(self.parts.read, parts)), failed) if is_array(parts) and parts else REFUSED

    # ----------------------------------------------------------------------------------------------------- writing

    def quick_write(self, content: Sequence[Block], failed: bool | None) -> Any:
        """The common case: one plain text or one plain object."""
        if len(content) != 1 or failed is False:
            return OMIT
        only = content[0]
        if only.forms or only.extras or only.signature or only.cache:
            return OMIT
        if type(only) is TextBlock and not only.citations and (failed or only.text[:1] != "{"):
            return {"error" if failed else "output": only.text}
        return only.value if type(only) is JsonBlock and not failed and not is_wrapped(only.value) else OMIT

    def frequent(self, fields: Sequence[str], source: Code) -> tuple[str, str] | None:
        """The expression and condition for the most frequent case: one plain text that does not look like an object."""
        content, failed = fields
        is_text = f"len({content}) == 1 and {plain_condition('block', f'{content}[0]', source)}"
        return "{'output': block.text}", f"{failed} is None and {is_text} and block.text[:1] != '{{'"

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        content: Sequence[Block]
        content, failed = values
        words: Placed = [(place, block) for place, block in enumerate(content) if not isinstance(block, IN_PARTS)]
        wire: Wire = {"response": _write_words(words, bool(failed), ledger)}
        if len(words) < len(content):
            parts = list(self._write_parts(content, words[0][0] if words else 0, ledger))
            if parts:
                wire["parts"] = parts
        if failed is False:
            why = f"{NAME} marks only failed results; false means the same as leaving it out"
            ledger.lose_form("dropped", why, "is_error")
        return {"functionResponse": wire}

    def _write_parts(self, content: Sequence[Block], first_word: int, ledger: Ledger) -> Iterator[Json]:
        """The media of a result, which come after its texts. ``first_word`` is the index of the first text."""
        where = ledger.where
        for place, block in enumerate(content):
            if isinstance(block, IN_PARTS):
                ledger.where = (*where, "content", place)
                wire = self.parts.interpret_write(block, ledger)
                if wire is not None or self.parts.is_null(block):
                    yield wire
                    if place < first_word:
                        ledger.lose_form("moved", f"media in a result of {NAME} come after its text")
        ledger.where = where


def _read_response(response: Wire) -> tuple[tuple[Block, ...], bool | None]:
    if not response:
        return (), None
    if not is_wrapped(response):
        return (JsonBlock(response),), None
    ((key, value),) = response.items()
    content = (TextBlock(value),) if type(value) is str else (JsonBlock(value),)
    return content, True if key == "error" else None


def _write_words(words: Placed, failed: bool, ledger: Ledger) -> Wire:
    key = "error" if failed else "output"
    for place, block in words:
        _lose_attributes(block, ledger, "content", place)
    if not words:
        if failed:
            ledger.lose_form("added", f"a failed result of {NAME} needs a text; added", "content")
        return {"error": ""} if failed else {}
    if len(words) == 1:
        place, only = words[0]
        if type(only) is JsonBlock:
            return _write_json(only, key, ledger, place)
        if type(only) is TextBlock:
            return _write_text(only, key, ledger, place)
    for place, block in words:
        ledger.lose_form("approximated", f"a result of {NAME} is one text; several were joined", "content", place)
        if type(block) is not JsonBlock and not isinstance(block, TextBlock | RefusalBlock):
            ledger.lose("dropped", f"a result of {NAME} has no {block.type} blocks", "content", place)
    return {key: "\n".join([text for _, block in words if (text := _as_text(block)) is not None])}


def _lose_attributes(block: Block, ledger: Ledger, *path: str | int) -> None:
    """Declare what a text has beside its words: a text in a result can have nothing else."""
    if is_plain_text(block):
        return
    for field in ("citations", "cache", "signature"):
        if getattr(block, field, None):
            ledger.lose("dropped", f"text in a result of {NAME} has no {field}", *path, field)
    ledger.lose_foreign_extras(block, "", *path)


def _as_text(block: Block) -> str | None:
    if isinstance(block, TextBlock | RefusalBlock):
        return block.text
    return dump(block.value).decode() if type(block) is JsonBlock else None


def _write_json(block: JsonBlock, key: str, ledger: Ledger, place: int) -> Wire:
    if isinstance(block.value, str):
        ledger.lose_form("approximated", f"{NAME} reads a JSON string in a result as text", "content", place)
    value: Json = block.value
    return {key: value} if key == "error" or is_wrapped(value) else value


def _write_text(block: TextBlock, key: str, ledger: Ledger, place: int) -> Wire:
    value = spelled_object(block.text) if key == "output" else None
    if value is None:
        return {key: block.text}
    ledger.lose_form("approximated", f"{NAME} reads text that is a JSON object as the object", "content", place)
    return value

"""Blocks: what a message is made of, in order. Adjacent text blocks are never merged.

Every block may carry a ``signature`` (an opaque proof; some providers sign any part) and a ``cache`` mark. A block
that was still open when its answer broke off is ``incomplete``: it is kept, but never run and never sent as finished.
Opaque state (signatures, redacted data, server-tool payloads, opaque blocks) belongs to its issuer and is never
sent to another one: see ``Message.origin``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, get_args

from .base import Json, Value
from .checking import check, check_content

__all__ = [
    "AudioBlock",
    "Base64Source",
    "Block",
    "BlockBase",
    "CacheMark",
    "Citation",
    "DocumentBlock",
    "FileSource",
    "ImageBlock",
    "JsonBlock",
    "OpaqueBlock",
    "RedactedThinkingBlock",
    "RefusalBlock",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "Source",
    "TextBlock",
    "TextSource",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "UrlSource",
    "VideoBlock",
]


TEXTS = frozenset({str, type(None)})
NUMBERS = frozenset({int, type(None)})
FLAGS = frozenset({bool, type(None)})
KINDS = ("json", "text")
NOTHING: tuple[()] = ()
"""The empty tuple, which exists only once: guards compare by identity, which is cheapest."""


class CacheMark(Value, frozen=True):
    """The prompt up to and including the marked part is worth caching. ``ttl`` is the provider's word for how long."""

    ttl: str | None = None

    def __post_init__(self) -> None:
        if type(self.ttl) not in TEXTS:
            check(self)


MARKS = frozenset({CacheMark, type(None)})


class Citation(Value, frozen=True):
    """Where a statement comes from.

    ``kind`` says what ``start`` and ``end`` count: ``url`` (characters of the answer), ``char``, ``page`` and
    ``block`` (of document number ``index``), ``search_result`` (blocks of result number ``index``). ``text`` is
    the passage cited.
    """

    kind: str
    url: str | None = None
    title: str | None = None
    text: str | None = None
    index: int | None = None
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        texts = (type(self.url), type(self.title), type(self.text))
        numbers = (type(self.index), type(self.start), type(self.end))
        if type(self.kind) is not str or not TEXTS.issuperset(texts) or not NUMBERS.issuperset(numbers):
            check(self)


class Base64Source(Value, frozen=True, tag_field="type", tag="base64"):
    """Media inside the message. ``data`` is base64 text."""

    media_type: str
    data: str

    def __post_init__(self) -> None:
        if type(self.media_type) is not str or type(self.data) is not str:
            check(self)


class UrlSource(Value, frozen=True, tag_field="type", tag="url"):
    """Media somewhere else. We never fetch it unless the caller opts in."""

    url: str
    media_type: str | None = None

    def __post_init__(self) -> None:
        if type(self.url) is not str or type(self.media_type) not in TEXTS:
            check(self)


class FileSource(Value, frozen=True, tag_field="type", tag="file"):
    """Media stored with one provider, which alone knows the id; ``dialect`` is that provider's, if known.

    Equality does not compare ``dialect``, just as it does not compare ``Message.origin``.
    """

    file_id: str
    media_type: str | None = None
    dialect: str | None = None

    def __post_init__(self) -> None:
        if type(self.file_id) is not str or type(self.media_type) not in TEXTS or type(self.dialect) not in TEXTS:
            check(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not FileSource:
            return NotImplemented
        mine, theirs = (self.file_id, self.media_type, self.extras), (other.file_id, other.media_type, other.extras)
        return mine == theirs and self.forms == other.forms

    __hash__ = None  # type: ignore[assignment]


class TextSource(Value, frozen=True, tag_field="type", tag="text"):
    """A document that is plain text."""

    text: str
    media_type: str = "text/plain"

    def __post_init__(self) -> None:
        if type(self.text) is not str or type(self.media_type) is not str:
            check(self)


Source = Base64Source | UrlSource | FileSource | TextSource
"""Where the bytes of an image, a document, a sound or a video are."""
SOURCES: frozenset[type] = frozenset(get_args(Source))
_CITATIONS = frozenset({Citation})


def _are_citations(value: Json) -> bool:
    items: tuple[Json, ...] = value
    return type(value) is tuple and (not items or _CITATIONS.issuperset(map(type, items)))


class BlockBase(Value, frozen=True, kw_only=True, tag_field="type"):
    """The root of all blocks."""

    signature: str | None = None
    cache: CacheMark | None = None
    incomplete: bool = False

    @property
    def type(self) -> str:
        """The block's tag, e.g. ``"text"``."""
        return str(self.__struct_config__.tag)


class TextBlock(BlockBase, frozen=True, tag="text"):
    """Text, with the sources it cites."""

    text: str
    citations: tuple[Citation, ...] = ()

    def __post_init__(self) -> None:
        if type(self.text) is not str or (self.signature is not None and type(self.signature) is not str):
            check(self)
        if self.cache is not None and type(self.cache) is not CacheMark:
            check(self)
        if self.citations is not NOTHING and not _are_citations(self.citations):
            check(self)


def _check_marks(block: BlockBase) -> None:
    if type(block.signature) not in TEXTS or type(block.cache) not in MARKS:
        check(block)


class ImageBlock(BlockBase, frozen=True, tag="image"):
    """A picture. ``detail`` is how closely the model shall look (``low``, ``high``, …)."""

    source: Source
    detail: str | None = None

    def __post_init__(self) -> None:
        if type(self.source) not in SOURCES or type(self.detail) not in TEXTS:
            check(self)
        _check_marks(self)


class DocumentBlock(BlockBase, frozen=True, tag="document"):
    """A PDF, a text or another file to be read."""

    source: Source
    title: str | None = None
    context: str | None = None
    filename: str | None = None

    def __post_init__(self) -> None:
        texts = (type(self.title), type(self.context), type(self.filename))
        if type(self.source) not in SOURCES or not TEXTS.issuperset(texts):
            check(self)
        _check_marks(self)


class AudioBlock(BlockBase, frozen=True, tag="audio"):
    """Sound to be heard. ``transcript`` is the text that is spoken, if the provider returns it."""

    source: Source
    transcript: str | None = None

    def __post_init__(self) -> None:
        if type(self.source) not in SOURCES or type(self.transcript) not in TEXTS:
            check(self)
        _check_marks(self)


class VideoBlock(BlockBase, frozen=True, tag="video"):
    """Moving pictures to be watched."""

    source: Source

    def __post_init__(self) -> None:
        if type(self.source) not in SOURCES:
            check(self)
        _check_marks(self)


class ThinkingBlock(BlockBase, frozen=True, tag="thinking"):
    """Reasoning the model showed; an empty ``text`` with a ``signature`` is still a proof to be returned."""

    text: str = ""

    def __post_init__(self) -> None:
        if type(self.text) is not str or type(self.signature) not in TEXTS or type(self.cache) not in MARKS:
            check(self)


class RedactedThinkingBlock(BlockBase, frozen=True, tag="redacted_thinking"):
    """Reasoning the provider encrypted; only its issuer can read ``data``."""

    data: str

    def __post_init__(self) -> None:
        if type(self.data) is not str:
            check(self)
        _check_marks(self)


class ToolUseBlock(BlockBase, frozen=True, tag="tool_use"):
    """The model calls one of the caller's tools.

    ``input`` is always a parsed object. ``input_text`` is the exact text the model wrote, kept when it is
    malformed (then ``input`` is ``{}``), when it is free text (``kind="text"``), or when it is valid but not
    what we would write, so that the same dialect can replay it byte for byte.
    """

    id: str
    name: str
    kind: Literal["json", "text"] = "json"
    input: dict[str, Json] = {}
    input_text: str | None = None
    native_ids: dict[str, str] = {}

    def __post_init__(self) -> None:
        if type(self.id) is not str or type(self.name) is not str or type(self.input) is not dict:
            check(self)
        if (self.input_text is not None and type(self.input_text) is not str) or self.kind not in KINDS:
            check(self)
        if type(self.signature) not in TEXTS or type(self.cache) not in MARKS:
            check(self)


class ToolResultBlock(BlockBase, frozen=True, tag="tool_result"):
    """What a tool answered. ``is_error`` has three values: ``None`` means that the wire has no such key."""

    tool_use_id: str
    content: tuple[Block, ...] = ()
    name: str | None = None
    is_error: bool | None = None

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(
            self,
            tool_use_id: str,
            content: str | Block | Iterable[str | Block] = (),
            name: str | None = None,
            is_error: bool | None = None,
            *,
            signature: str | None = None,
            cache: CacheMark | None = None,
            incomplete: bool = False,
            extras: dict[str, Json] = ...,
            forms: dict[str, Json] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.content) is not tuple:
            check_content(self, "content", self.content, TextBlock)
        for block in self.content:
            if type(block) not in BLOCK_TYPES:
                check(self)
        if type(self.tool_use_id) is not str or (self.name is not None and type(self.name) is not str):
            check(self)
        if type(self.is_error) not in FLAGS:
            check(self)
        if type(self.signature) not in TEXTS or type(self.cache) not in MARKS:
            check(self)


class JsonBlock(BlockBase, frozen=True, tag="json"):
    """A structured tool result."""

    value: Json


class ServerToolUseBlock(BlockBase, frozen=True, tag="server_tool_use"):
    """The provider runs a tool of its own: web search, code execution, an MCP server's tool."""

    id: str
    name: str
    input: dict[str, Json] = {}
    dialect: str = ""

    def __post_init__(self) -> None:
        if type(self.id) is not str or type(self.name) is not str or type(self.dialect) is not str:
            check(self)
        if type(self.input) is not dict:
            check(self)


class ServerToolResultBlock(BlockBase, frozen=True, tag="server_tool_result"):
    """What the provider's own tool found. ``content`` is kept as ``dialect`` writes it."""

    tool_use_id: str
    name: str
    content: Json = None
    dialect: str = ""
    is_error: bool | None = None

    def __post_init__(self) -> None:
        if type(self.tool_use_id) is not str or type(self.name) is not str or type(self.dialect) is not str:
            check(self)
        if type(self.is_error) not in FLAGS:
            check(self)


class RefusalBlock(BlockBase, frozen=True, tag="refusal"):
    """The model declines, in words."""

    text: str

    def __post_init__(self) -> None:
        if type(self.text) is not str:
            check(self)
        _check_marks(self)


class OpaqueBlock(BlockBase, frozen=True, tag="opaque"):
    """A block only ``dialect`` understands, carried whole."""

    dialect: str
    raw: Json

    def __post_init__(self) -> None:
        if type(self.dialect) is not str:
            check(self)


Block = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | AudioBlock
    | VideoBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
    | JsonBlock
    | ServerToolUseBlock
    | ServerToolResultBlock
    | RefusalBlock
    | OpaqueBlock
)
"""What a message is made of."""

BLOCK_TYPES: frozenset[type] = frozenset(get_args(Block))
"""The types of all blocks, for guards."""

"""Strategies for texts, JSON values and blocks."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from interlingua.testing.samples import FOREIGN, OPAQUE
from interlingua.types import (
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    Citation,
    DocumentBlock,
    FileSource,
    ImageBlock,
    Json,
    JsonBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    Source,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolUseBlock,
    UrlSource,
    VideoBlock,
)

T = TypeVar("T")

# ------------------------------------------------------------------------------------------------------------- leaves

ODD_TEXTS = (
    "",
    " ",
    "\n",
    "naïve – 日本語 😀",
    "\u0000\u2028\ufeff",
    '{"a": 1}',
    "[DONE]",
    "data: x\n\n",
    "Error: no",
    "null",
)


@cache
def texts(*, empty: bool = True) -> SearchStrategy[str]:
    """Texts: mostly short, sometimes ones that may confuse framings and readers."""
    letters = st.text(st.characters(exclude_categories=["Cs"]), min_size=0 if empty else 1, max_size=12)
    return letters | st.sampled_from([text for text in ODD_TEXTS if text or empty])


@cache
def names() -> SearchStrategy[str]:
    """Names of tools: mostly names that every protocol accepts, sometimes one that most refuse."""
    usual = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,11}", fullmatch=True)
    return usual | st.sampled_from(["files/read", "files read", "files_read", "3d.model", "long_" * 30])


@cache
def _data() -> SearchStrategy[str]:
    return st.binary(min_size=1, max_size=9).map(lambda data: base64.b64encode(data).decode())


@cache
def json_values() -> SearchStrategy[Json]:
    """Any JSON value of modest size, with numbers that every JSON library reads back."""
    numbers = st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9).filter(
        lambda number: math.copysign(1, number) > 0 or number
    )
    leaves = st.none() | st.booleans() | numbers | texts()
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3), max_leaves=6
    )


@cache
def json_objects() -> SearchStrategy[dict[str, Json]]:
    """Any JSON object."""
    return st.dictionaries(texts(), json_values(), max_size=3)


def maybe(inner: SearchStrategy[T]) -> SearchStrategy[T | None]:
    return st.none() | inner


CACHES = st.sampled_from(
    [None, None, CacheMark(), CacheMark("5m"), CacheMark("1h"), CacheMark("30m"), CacheMark("forever")]
)
RESIDUES: tuple[dict[str, Json], ...] = (
    {"x_vendor": 1},
    {"x_vendor": {"deep": ["é", None, {}]}, "x_more": False},
    {"x_vendor": None, "x_more": [""]},
)


@cache
def residue(dialect: str | None) -> SearchStrategy[dict[str, Json]]:
    """The ``extras`` of a value: residue of the dialect or of one that does not exist; mostly empty."""
    foreign: list[dict[str, Json]] = [{FOREIGN: residue} for residue in RESIDUES]
    own: list[dict[str, Json]] = [{dialect: residue} for residue in RESIDUES[:2]] if dialect is not None else []
    nothing: dict[str, Json] = {}
    return st.sampled_from([nothing] * 12 + foreign + own)


@cache
def _marks() -> SearchStrategy[dict[str, Any]]:
    """Cache marks, signatures and residue of any block, as fields; mostly none."""
    caches: list[dict[str, Any]] = [{"cache": CacheMark(ttl)} for ttl in (None, "5m", "1h", "30m", "forever")]
    signed: list[dict[str, Any]] = [{"signature": "c2lnbmVk"}, {"signature": "c2lnbmVk", "cache": CacheMark()}]
    left: list[dict[str, Any]] = [{"extras": {FOREIGN: residue}} for residue in RESIDUES[:2]]
    nothing: dict[str, Any] = {}
    return st.sampled_from([nothing] * 15 + caches + signed * 2 + left)


def marked(block: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """The block with some of the fields that any block may have."""

    def mark(value: Any, marks: dict[str, Any]) -> Any:
        return replace(value, **marks) if marks else value

    return st.builds(mark, block, _marks())


# ------------------------------------------------------------------------------------------------------------- blocks


def _sources(kinds: Sequence[str], dialect: str | None) -> SearchStrategy[Source]:
    urls = st.sampled_from(["https://example.com/a.png", "https://example.com/b.pdf", "https://example.com/c?d=é"])
    media = maybe(st.sampled_from(list(kinds)))
    return st.one_of(
        st.builds(Base64Source, st.sampled_from(list(kinds)), _data()),
        st.builds(UrlSource, urls, media),
        st.builds(FileSource, st.just("file_1"), media, dialect=st.sampled_from([dialect, FOREIGN])),
    )


@cache
def _media(dialect: str | None) -> SearchStrategy[Block]:
    def source(*kinds: str) -> SearchStrategy[Source]:
        return _sources(kinds, dialect)

    papers = source("application/pdf", "text/plain") | st.builds(TextSource, texts(empty=False))
    return st.one_of(
        st.builds(ImageBlock, source("image/png", "image/webp", "image/tiff"), maybe(st.sampled_from(["low", "high"]))),
        st.builds(DocumentBlock, papers, *[maybe(texts(empty=False))] * 2, maybe(st.just("a.pdf"))),
        st.builds(AudioBlock, source("audio/wav", "audio/mpeg", "audio/ogg"), maybe(texts(empty=False))),
        st.builds(VideoBlock, source("video/mp4")),
    )


@cache
def _opaque(dialect: str | None) -> SearchStrategy[Block]:
    return st.builds(OpaqueBlock, st.sampled_from([dialect or FOREIGN, FOREIGN]), st.just(OPAQUE))


@cache
def system_blocks() -> SearchStrategy[Block]:
    """Blocks of a system prompt."""
    return marked(st.builds(TextBlock, texts()))


@cache
def user_blocks(dialect: str | None = None) -> SearchStrategy[Block]:
    """Blocks of a user's turn."""
    text = st.builds(TextBlock, texts())
    return marked(text | text | _media(dialect)) | _opaque(FOREIGN)


@cache
def _citations() -> SearchStrategy[Citation]:
    kinds = st.sampled_from(["url", "char", "page", "block", "search_result", "other"])
    return st.builds(
        Citation,
        kinds,
        maybe(st.just("https://example.com")),
        maybe(texts(empty=False)),
        maybe(texts(empty=False)),
        *[maybe(st.integers(0, 9))] * 3,
    )


@cache
def _calls() -> SearchStrategy[Block]:
    """Calls whose arguments are an object, an object spelled unusually, text that is not an object, or free text."""
    ids = st.sampled_from(["call_a", "toolu_b", "functions.add:0", "x" * 70])
    call, malformed = (
        partial(st.builds, ToolUseBlock, ids, names()),
        st.sampled_from(['{"a": 1', "[1]", "null", "", "no"]),
    )
    return marked(
        call(input=json_objects())
        | call(input=st.just({"a": 1}), input_text=st.just('{ "a": 1 }'))
        | call(input_text=malformed)
        | call(st.just("text"), input_text=texts())
    )


@cache
def _server_blocks(dialect: str | None) -> SearchStrategy[Block]:
    whose = st.sampled_from([dialect or FOREIGN, FOREIGN])
    call = st.builds(ServerToolUseBlock, st.just("srv_1"), st.just("web_search"), json_objects(), whose)
    content = st.just([{"type": "x_result", "url": "https://example.com"}])
    result = st.builds(
        ServerToolResultBlock, st.just("srv_1"), st.just("web_search"), content, whose, maybe(st.booleans())
    )
    return call | result


@cache
def answer_blocks(dialect: str | None = None) -> SearchStrategy[Block]:
    """Blocks of an answer."""
    text = st.builds(TextBlock, texts(), st.just(()) | st.lists(_citations(), max_size=2).map(tuple))
    thought = st.builds(ThinkingBlock, texts())
    plain = st.one_of(
        text, thought, st.builds(RedactedThinkingBlock, _data()), st.builds(RefusalBlock, texts(empty=False)),
        _server_blocks(dialect), _media(dialect),
    )  # fmt: skip
    return marked(text | text | thought | plain) | _calls() | _calls() | _opaque(dialect)


@cache
def result_contents(dialect: str | None) -> SearchStrategy[tuple[Block, ...]]:
    inner = st.builds(TextBlock, texts()) | _media(dialect) | st.builds(JsonBlock, json_values())
    return st.lists(marked(inner), max_size=3).map(tuple)


def cut_short(content: tuple[Block, ...]) -> tuple[Block, ...]:
    """A turn whose last block was cut off."""
    return (*content[:-1], replace(content[-1], incomplete=True))

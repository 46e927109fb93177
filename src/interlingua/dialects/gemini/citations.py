"""Citations: the protocol keeps them beside the answer, in two objects, with offsets in bytes.

``groundingMetadata`` has sources (chunks) and the segments of the answer that they support; ``citationMetadata`` has
passages that were recited. Both become citations of the text block that they refer to, with offsets in characters. A
segment seldom names its part: without a name it refers to the first text that has its words at its offsets.

If we would write other lists than those that were read, the mark ``citations`` of the answer keeps both objects. They
are written back as long as they give the citations that the texts have; after an edit, all citations are written anew.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from msgspec.structs import replace

from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.paths import merge
from ...types.base import Json
from ...types.blocks import Block, Citation, TextBlock
from .facts import NAME

CHUNKS = ("web", "retrievedContext", "maps")
SOURCES = ("citations", "citationSources")
KEYS = ("groundingMetadata", "citationMetadata")
MOST_TEXTS = 256
"""A segment that names no part is looked for in at most so many texts."""
Found = dict[int, list[Citation]]


class Text:
    """A text, and the offset in bytes at which each of its characters ends."""

    __slots__ = ("data", "ends", "text")

    def __init__(self, text: str) -> None:
        self.text, self.data = text, text.encode()
        self.ends: array[int] | None = None  # None: every character has one byte
        if len(self.data) != len(text):
            self.ends, end = array("Q"), 0
            for character in text:
                end += len(character.encode())
                self.ends.append(end)

    def character(self, offset: int) -> int:
        """The offset in characters for an offset in bytes."""
        offset = min(offset, len(self.data))
        return offset if self.ends is None else bisect_right(self.ends, offset)

    def byte(self, place: int) -> int:
        """The offset in bytes for an offset in characters."""
        place = min(place, len(self.text)) if place >= 0 else max(place + len(self.text), 0)
        return place if self.ends is None or not place else self.ends[place - 1]

    def has(self, start: int, end: int, words: bytes) -> bool:
        """Whether the bytes from ``start`` to ``end`` are ``words``."""
        return min(end, len(self.data)) - start == len(words) and self.data.startswith(words, start)


class Texts:
    """The texts among the blocks of an answer. Each is measured once, when it is first needed."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.places = [index for index, block in enumerate(blocks) if type(block) is TextBlock]
        self.measured: dict[int, Text] = {}

    def at(self, index: int) -> Text:
        found = self.measured.get(index)
        if found is None:
            block = self.blocks[index]
            assert isinstance(block, TextBlock)
            found = self.measured[index] = Text(block.text)
        return found

    def is_text(self, index: int) -> bool:
        return 0 <= index < len(self.blocks) and type(self.blocks[index]) is TextBlock

    def find(self, segment: Wire) -> int | None:
        """The index of the text that a segment refers to: the part that it names, else the first that has its words."""
        start, end = segment.get("startIndex", 0), segment.get("endIndex")
        if type(start) is not int or type(end) is not int or not 0 <= start <= end:
            return None
        part = segment.get("partIndex")
        if type(part) is int and self.is_text(part) and end <= len(self.at(part).data):
            return part
        quoted = segment.get("text")
        words = quoted.encode() if type(quoted) is str else None
        near = self.places[:MOST_TEXTS]
        exact = (index for index in near if words is not None and self.at(index).has(start, end, words))
        return next(exact, next((index for index in near if end <= len(self.at(index).data)), None))


# ------------------------------------------------------------------------------------------------------------- reading


def read_citations(candidate: Wire, blocks: Sequence[Block], mark: Wire) -> Sequence[Block]:
    """The blocks with the citations of a candidate, which are taken out of it as far as our fields hold them."""
    original: Wire = {key: candidate[key] for key in KEYS if is_object(candidate.get(key))}
    if not original:
        return blocks
    left, cited = take_citations(original, blocks)
    for key in original:
        candidate[key] = left.get(key)
        if key not in left:
            del candidate[key]
    if merge(write_anew(cited, left, Ledger()), deepcopy(left)) != original:
        mark["citations"] = original
    return cited


def take_citations(original: Wire, blocks: Sequence[Block]) -> tuple[Wire, list[Block]]:
    """What is left of both objects when the citations are taken out, and the blocks with their citations."""
    left, found, texts = deepcopy(original), Found(), Texts(blocks)
    for key, read in zip(KEYS, (read_grounding, read_sources), strict=True):
        if key in left:
            read(left[key], texts, found)
            if not left[key] and original[key]:
                del left[key]
    cited = [replace(b, citations=tuple(found[index])) if index in found else b for index, b in enumerate(blocks)]
    return left, cited


def read_grounding(wire: Wire, texts: Texts, found: Found) -> None:
    chunks, supports = wire.get("groundingChunks"), wire.get("groundingSupports")
    if not is_array(chunks) or not is_array(supports):
        return
    taken: dict[int, dict[str, Any]] = {}
    kinds = {index: _kind(chunk) for index, chunk in enumerate(chunks)}
    for support in supports:
        cited = [(index, kinds.get(index, "")) for index in _indices(support)]
        home = texts.find(support["segment"]) if cited and all(kind for _, kind in cited) else None
        if home is None:
            continue
        del support["groundingChunkIndices"]
        segment: Wire = support.pop("segment")
        start, end = _characters(segment, texts.at(home))
        for index, kind in cited:
            if index not in taken:
                taken[index] = _take_chunk(chunks[index], kind)
            found.setdefault(home, []).append(Citation("url", **taken[index], start=start, end=end))
    for key, rest in (("groundingChunks", chunks), ("groundingSupports", supports)):
        if taken and not any(rest):
            del wire[key]


def _indices(support: Json) -> list[Json]:
    known = is_object(support) and is_object(support.get("segment"))
    indices = support.get("groundingChunkIndices") if known else None
    return indices if is_array(indices) and all(type(index) is int for index in indices) else []


def _kind(chunk: Json) -> str:
    return next((key for key in CHUNKS if is_object(chunk) and is_object(chunk.get(key))), "")


def _take_chunk(chunk: Wire, kind: str) -> dict[str, Any]:
    """Take the fields of a citation out of a chunk."""
    keys = {"url": "uri", "title": "title"} | ({"text": "text"} if kind == "retrievedContext" else {})
    taken = {field: chunk[kind].pop(key) for field, key in keys.items() if type(chunk[kind].get(key)) is str}
    if not chunk[kind]:
        del chunk[kind]
    return taken


def _characters(segment: Wire, text: Text) -> tuple[int, int]:
    return text.character(segment.get("startIndex", 0)), text.character(segment["endIndex"])


def read_sources(wire: Wire, texts: Texts, found: Found) -> None:
    key = next((key for key in SOURCES if is_array(wire.get(key))), None)
    if key is None or not texts.places:
        return
    first, whole = texts.places[0], True
    for source in wire[key]:
        if not is_object(source) or type(source.get("uri")) is not str:
            whole = False
            continue
        home = texts.find(source)
        fields: dict[str, Any] = {"url": source.pop("uri")}
        if type(source.get("title")) is str:
            fields["title"] = source.pop("title")
        if home is not None:
            fields["start"], fields["end"] = _characters(source, texts.at(home))
            source.pop("startIndex", None)
            del source["endIndex"]
        found.setdefault(first if home is None else home, []).append(Citation("url", **fields))
    if whole and not any(wire[key]):
        del wire[key]


# ------------------------------------------------------------------------------------------------------------- writing


def write_citations(
    blocks: Sequence[Block], residue: Wire, kept: Wire | None, ledger: Ledger, places: Sequence[int]
) -> Wire:
    """``groundingMetadata`` and ``citationMetadata`` of the texts of an answer.

    ``blocks`` are the blocks that have a part on the wire, ``places`` their indexes in the answer.
    """
    if kept is not None:
        bare = [replace(block, citations=()) if type(block) is TextBlock else block for block in blocks]
        if take_citations(kept, bare)[1] == list(blocks):
            return deepcopy(kept)
    return write_anew(blocks, residue, ledger, places)


def write_anew(blocks: Sequence[Block], residue: Wire, ledger: Ledger, places: Sequence[int] | None = None) -> Wire:
    """Both objects, as we write them. New entries of lists come after those that residue has."""
    texts, sources, where = Texts(blocks), list[Wire](), ledger.where
    left = residue.get(KEYS[0])
    grounding = Grounding(texts, left if is_object(left) else {})
    for index, block in enumerate(blocks):
        citations = block.citations if type(block) is TextBlock else ()
        last = max((place for place, citation in enumerate(citations) if _has_position(citation)), default=-1)
        for place, citation in enumerate(citations):
            ledger.where = ("content", index if places is None else places[index], "citations", place)
            if citation.kind != "url":
                ledger.lose("dropped", f"{NAME} has no {citation.kind} citations")
                continue
            if citation.index is not None:
                ledger.lose_form("dropped", f"citations of {NAME} have no index", "index")
            ledger.lose_foreign_extras(citation, NAME)
            if _has_position(citation):
                grounding.write(citation, index, ledger)
                continue
            if (source := write_source(citation, ledger)) is not None:
                sources.append(source)
            if index != texts.places[0]:
                ledger.lose_form("moved", f"{NAME} has citations without a position on the first text")
            elif place < last:
                ledger.lose_form("moved", f"{NAME} has these citations after those with a segment")
    ledger.where = where
    wire: Wire = {KEYS[0]: grounding.wire()} if grounding.supports else {}
    return {**wire, KEYS[1]: {SOURCES[0]: sources}} if sources else wire


def _has_position(citation: Citation) -> bool:
    """Whether a citation is written as a segment and its chunk."""
    return citation.kind == "url" and citation.start is not None and citation.end is not None


def write_source(citation: Citation, ledger: Ledger) -> Wire | None:
    if citation.url is None:
        ledger.lose("dropped", f"a citation of {NAME} needs a URL or a position")
        return None
    if citation.text is not None:
        ledger.lose("dropped", f"a citation of {NAME} has a position, not the quoted text", "text")
    for field in ("start", "end"):
        if getattr(citation, field) is not None:
            ledger.lose("dropped", f"a position in {NAME} has both start and end", field)
    return {"uri": citation.url} if citation.title is None else {"uri": citation.url, "title": citation.title}


class Grounding:
    """The chunks and supports of one answer while they are written."""

    def __init__(self, texts: Texts, residue: Wire) -> None:
        self.texts = texts
        chunks, supports = residue.get("groundingChunks"), residue.get("groundingSupports")
        self.chunks: list[Wire] = [{} for _ in chunks] if is_array(chunks) else []
        self.supports: list[Wire] = []
        self.before = len(supports) if is_array(supports) else 0  # how many supports residue has
        self.indexes: dict[tuple[str | None, ...], int] = {}  # the index of the chunk of each source

    def write(self, citation: Citation, index: int, ledger: Ledger) -> None:
        text = self.texts.at(index)
        start, end = citation.start or 0, max(citation.start or 0, citation.end or 0)
        first, last = text.byte(start), text.byte(end)
        segment: Wire = {"startIndex": first} if first else {}
        segment |= {"endIndex": last, "text": text.text[start:end]}
        for field, written in zip(("start", "end"), _characters(segment, text), strict=True):
            if getattr(citation, field) != written:
                ledger.lose("approximated", f"a position in {NAME} lies within the text", field)
        if self.texts.find(segment) != index:
            segment["partIndex"] = index
        if not self.supports or self.supports[-1]["segment"] != segment:
            self.supports.append({"segment": segment, "groundingChunkIndices": []})
        self.supports[-1]["groundingChunkIndices"].append(self.chunk_index(citation))

    def chunk_index(self, citation: Citation) -> int:
        """The index of the chunk of a citation's source, which is added if it is new."""
        kind = "web" if citation.text is None else "retrievedContext"
        fields = {"uri": citation.url, "title": citation.title, "text": citation.text}
        index = self.indexes.setdefault((citation.url, citation.title, citation.text), len(self.chunks))
        if index == len(self.chunks):
            self.chunks.append({kind: {key: value for key, value in fields.items() if value is not None}})
        return index

    def wire(self) -> Wire:
        return {"groundingChunks": self.chunks, "groundingSupports": [{} for _ in range(self.before)] + self.supports}

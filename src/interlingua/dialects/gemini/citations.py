"""Citations: the protocol keeps them beside the answer, in two places, with offsets in bytes.

``groundingMetadata`` has sources (chunks) and the segments of the answer that they support; ``citationMetadata`` has
passages that were recited. Both are read onto the text that they are about, with offsets in characters. A segment names
its part seldom: without a name it is the first text that says at those offsets what the segment says.

Residue keeps what is left of the lists in their places, so that both lay over each other. Marks on a citation, only
where we would lay it out otherwise: ``support`` and ``chunk``, or ``source`` and ``key`` (its places in the lists),
``kind`` (of the chunk), ``segment`` (it does not fit the text).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from msgspec.structs import replace

from ...codec.tables import Ledger, marks, merge
from ...types.base import Json
from ...types.blocks import Block, Citation, TextBlock
from .key_case import Wire, is_array, is_object
from .media import NAME

CHUNKS = ("web", "retrievedContext", "maps")
SOURCES = ("citations", "citationSources")
KEYS = ("groundingMetadata", "citationMetadata")
MOST_TEXTS = 256
"""In how many texts a segment that names no part is looked for."""
Found = dict[int, list[Citation]]


class Text:
    """A text, and where its characters end in bytes."""

    __slots__ = ("ends", "said", "text")

    def __init__(self, text: str) -> None:
        self.text, self.said = text, text.encode()
        self.ends: array[int] | None = None  # None: each has one byte
        if len(self.said) != len(text):
            self.ends, end = array("Q"), 0
            for character in text:
                end += len(character.encode())
                self.ends.append(end)

    def character(self, offset: int) -> int:
        """How many characters end within so many bytes."""
        offset = min(offset, len(self.said))
        return offset if self.ends is None else bisect_right(self.ends, offset)

    def byte(self, place: int) -> int:
        """How many bytes so many characters have."""
        place = min(place, len(self.text)) if place >= 0 else max(place + len(self.text), 0)
        return place if self.ends is None or not place else self.ends[place - 1]

    def says(self, start: int, end: int, said: bytes) -> bool:
        """Whether these bytes stand there."""
        return min(end, len(self.said)) - start == len(said) and self.said.startswith(said, start)


class Texts:
    """The texts among the blocks of an answer, each measured once."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.places = [index for index, block in enumerate(blocks) if type(block) is TextBlock]
        self.known: dict[int, Text] = {}

    def at(self, index: int) -> Text:
        found = self.known.get(index)
        if found is None:
            block = self.blocks[index]
            assert isinstance(block, TextBlock)
            found = self.known[index] = Text(block.text)
        return found

    def is_text(self, index: int) -> bool:
        return 0 <= index < len(self.blocks) and type(self.blocks[index]) is TextBlock

    def find(self, segment: Wire) -> int | None:
        """The text that a segment is about: the part that it names, else what its words tell."""
        start, end = segment.get("startIndex", 0), segment.get("endIndex")
        if type(start) is not int or type(end) is not int or not 0 <= start <= end:
            return None
        part = segment.get("partIndex")
        if type(part) is int and self.is_text(part) and end <= len(self.at(part).said):
            return part
        said = segment.get("text")
        words = said.encode() if type(said) is str else None
        near = self.places[:MOST_TEXTS]
        exact = (index for index in near if words is not None and self.at(index).says(start, end, words))
        return next(exact, next((index for index in near if end <= len(self.at(index).said)), None))


# ------------------------------------------------------------------------------------------------------------ reading


def read_citations(candidate: Wire, blocks: Sequence[Block], blanks: Wire) -> Sequence[Block]:
    """Moves citations from a candidate, a private copy, onto its texts."""
    for key in KEYS:
        if key in candidate and not candidate[key]:
            blanks[key] = candidate.pop(key)
    original = {key: deepcopy(candidate[key]) for key in KEYS if is_object(candidate.get(key))}
    if not original:
        return blocks
    found: Found = {}
    texts = Texts(blocks)
    for key, read in zip(KEYS, (read_grounding, read_sources), strict=True):
        if key in original:
            read(candidate[key], texts, found)
            if not candidate[key]:
                del candidate[key]
    residue = {key: deepcopy(candidate[key]) for key in KEYS if key in candidate}
    plain = _cited(blocks, {home: [replace(citation, forms={}) for citation in found[home]] for home in found})
    if merge(say_citations(plain, residue, Ledger()), residue) == original:
        return plain
    return _cited(blocks, found)


def _cited(blocks: Sequence[Block], found: Found) -> list[Block]:
    return [
        replace(block, citations=tuple(found[index])) if index in found else block for index, block in enumerate(blocks)
    ]


def read_grounding(wire: Wire, texts: Texts, found: Found) -> None:
    chunks, supports = wire.get("groundingChunks"), wire.get("groundingSupports")
    if not is_array(chunks) or not is_array(supports):
        return
    told: dict[int, dict[str, Any]] = {}
    kinds = {index: _kind(chunk) for index, chunk in enumerate(chunks)}
    for place, support in enumerate(supports):
        cited = [(index, kinds.get(index, "")) for index in _indices(support)]
        home = texts.find(support["segment"]) if cited and all(kind for _, kind in cited) else None
        if home is None:
            continue
        del support["groundingChunkIndices"]
        fields, forms = read_segment(support, texts, home)
        for index, kind in cited:
            if index not in told:
                told[index] = _told(chunks[index], kind)
            mark = {**forms, "support": place, "chunk": index, **({"kind": kind} if kind != "web" else {})}
            found.setdefault(home, []).append(Citation("url", **told[index], **fields, forms={NAME: mark}))
    for key, rest in (("groundingChunks", chunks), ("groundingSupports", supports)):
        if told and not any(rest):
            del wire[key]


def _indices(support: Json) -> list[Json]:
    known = is_object(support) and is_object(support.get("segment"))
    indices = support.get("groundingChunkIndices") if known else None
    return indices if is_array(indices) and all(type(index) is int for index in indices) else []


def _kind(chunk: Json) -> str:
    return next((key for key in CHUNKS if is_object(chunk) and is_object(chunk.get(key))), "")


def _told(chunk: Wire, kind: str) -> dict[str, Any]:
    """Pops what a chunk says in words of ours."""
    words = {"url": "uri", "title": "title"} | ({"text": "text"} if kind == "retrievedContext" else {})
    told = {ours: chunk[kind].pop(theirs) for ours, theirs in words.items() if type(chunk[kind].get(theirs)) is str}
    if not chunk[kind]:
        del chunk[kind]
    return told


def read_segment(support: Wire, texts: Texts, home: int) -> tuple[dict[str, Any], Wire]:
    """Pops a segment: its offsets in characters, and the mark of one that does not fit its text."""
    segment: Wire = support.pop("segment")
    part = segment.pop("partIndex", None)
    if part is not None and texts.find(segment) == home:
        support["segment"] = {"partIndex": part}  # we would not have named it
    text = texts.at(home)
    start, end = _characters(segment, text)
    usual = "text" in segment and say_segment(text, start, end) == segment
    return {"start": start, "end": end}, {} if usual else {"segment": segment}


def _characters(segment: Wire, text: Text) -> tuple[int, int]:
    return text.character(segment.get("startIndex", 0)), text.character(segment["endIndex"])


def read_sources(wire: Wire, texts: Texts, found: Found) -> None:
    key = next((key for key in SOURCES if is_array(wire.get(key))), None)
    if key is None or not texts.places:
        return
    first, whole = texts.places[0], True
    for place, source in enumerate(wire[key]):
        if not is_object(source) or type(source.get("uri")) is not str:
            whole = False
            continue
        forms: Wire = {"source": place, **({"key": key} if key != SOURCES[0] else {})}
        home = texts.find(source)
        spans = read_span(source, texts.at(home), forms) if home is not None else {}
        fields = {ours: source.pop(theirs) for ours, theirs in (("url", "uri"), ("title", "title")) if theirs in source}
        citation = Citation("url", **fields, **spans, forms={NAME: forms})
        found.setdefault(first if home is None else home, []).append(citation)
    if whole and not any(wire[key]):
        del wire[key]


def read_span(source: Wire, text: Text, forms: Wire) -> dict[str, Any]:
    span: Wire = {key: source.pop(key) for key in ("startIndex", "endIndex") if key in source}
    start, end = _characters(span, text)
    if say_span(text, start, end) != span:
        forms["segment"] = span
    return {"start": start, "end": end}


# ------------------------------------------------------------------------------------------------------------ writing


def say_citations(blocks: Sequence[Block], residue: Wire, ledger: Ledger, places: Sequence[int] | None = None) -> Wire:
    """``groundingMetadata`` and ``citationMetadata`` of the texts of an answer.

    ``blocks`` are those that have a part; ``places`` tells where they stood, if some have none.
    """
    left = residue.get(KEYS[0])
    texts = Texts(blocks)
    grounding, sources = Grounding(texts, left if is_object(left) else {}), Sources()
    for index, block in enumerate(blocks):
        citations = block.citations if type(block) is TextBlock else ()
        last = max((place for place, citation in enumerate(citations) if _supports(citation)), default=-1)
        for place, citation in enumerate(citations):
            ledger.where = ("content", index if places is None else places[index], "citations", place)
            if citation.kind != "url":
                ledger.lose("dropped", f"{NAME} has no {citation.kind} citations")
                continue
            if citation.index is not None:
                ledger.lose_form("dropped", f"citations of {NAME} have no index", "index")
            ledger.foreign(citation, NAME)
            if _supports(citation):
                grounding.say(citation, index, ledger)
                continue
            sources.say(citation, texts.at(index), ledger)
            placed = citation.start is not None and citation.end is not None
            if not placed and index != texts.places[0]:
                ledger.lose_form("moved", f"{NAME} has citations without a position on the first text")
            elif place < last:
                ledger.lose_form("moved", f"{NAME} has these citations after those with a segment")
    ledger.where = ()
    said = {KEYS[0]: grounding.wire(), KEYS[1]: _lists(sources.places)}
    return {key: value for key, value in said.items() if value}


def _supports(citation: Citation) -> bool:
    """Whether it goes as a segment and its chunk."""
    placed = citation.start is not None and citation.end is not None
    return citation.kind == "url" and placed and "source" not in marks(NAME, citation)


def _lists(places: Wire) -> Wire:
    """Lists of what stands at known places; the others are left to residue."""
    return {key: [found.get(i, {}) for i in range(max(found) + 1)] for key, found in places.items() if found}


def say_span(text: Text, start: int, end: int) -> Wire:
    """Offsets in bytes; a start of 0 is left out, as the protocol's default."""
    first, last = text.byte(start), text.byte(end)
    return {"startIndex": first, "endIndex": last} if first else {"endIndex": last}


def say_segment(text: Text, start: int, end: int) -> Wire:
    return {**say_span(text, start, end), "text": text.text[start:end]}


class Sources:
    """The recited passages of one answer while they are laid out: by their key, then by their place."""

    def __init__(self) -> None:
        self.places: Wire = {}
        self.following: dict[str, int] = {}

    def say(self, citation: Citation, text: Text, ledger: Ledger) -> None:
        wire = say_source(citation, text, ledger)
        if wire is not None:
            mark = marks(NAME, citation)
            key = mark.get("key", SOURCES[0])
            place = mark.get("source", self.following.get(key, 0))
            self.following[key] = max(self.following.get(key, 0), place + 1)
            self.places.setdefault(key, {})[place] = wire


def say_source(citation: Citation, text: Text, ledger: Ledger) -> Wire | None:
    mark = marks(NAME, citation)
    if citation.url is None:
        ledger.lose("dropped", f"a citation of {NAME} needs a URL or a position")
        return None
    if citation.text is not None:
        ledger.lose("dropped", f"a citation of {NAME} has a position, not the quoted text", "text")
    wire: Wire = {"uri": citation.url} if citation.title is None else {"uri": citation.url, "title": citation.title}
    if citation.start is None or citation.end is None:
        for field in ("start", "end"):
            if getattr(citation, field) is not None:
                ledger.lose("dropped", f"a position in {NAME} has both start and end", field)
    else:
        end = max(citation.start, citation.end)
        span = _standing(mark, text, citation) or say_span(text, citation.start, end)
        _lose_place(citation, span, text, ledger)
        wire |= span
    return wire


def _standing(mark: Wire, text: Text, citation: Citation) -> Wire | None:
    """The offsets as they were read, while they still mean the same."""
    segment = mark.get("segment")
    same = segment is not None and _characters(segment, text) == (citation.start, citation.end)
    return dict(segment) if same and segment is not None else None


def _lose_place(citation: Citation, span: Wire, text: Text, ledger: Ledger) -> None:
    for field, said in zip(("start", "end"), _characters(span, text), strict=True):
        if getattr(citation, field) != said:
            ledger.lose("approximated", f"a position in {NAME} lies within the text", field)


class Grounding:
    """The sources and segments of one answer while they are laid out."""

    def __init__(self, texts: Texts, residue: Wire) -> None:
        self.texts = texts
        self.chunks: dict[int, Wire] = {}
        self.homes: dict[tuple[str | None, ...], int] = {}  # the first place of each source
        self.supports: dict[int, Wire] = {}
        self.last: int | None = None  # the support that was said last: the next citation of its segment joins it
        chunks, supports = residue.get("groundingChunks"), residue.get("groundingSupports")
        self.next_chunk = len(chunks) if is_array(chunks) else 0
        self.next_support = len(supports) if is_array(supports) else 0

    def say(self, citation: Citation, index: int, ledger: Ledger) -> None:
        mark, text = marks(NAME, citation), self.texts.at(index)
        assert citation.start is not None
        assert citation.end is not None
        end = max(citation.start, citation.end)
        segment = _standing(mark, text, citation) or say_segment(text, citation.start, end)
        _lose_place(citation, segment, text, ledger)
        if self.texts.find(segment) != index:
            segment["partIndex"] = index
        place = mark.get("support")
        if place is None or self.supports.get(place, {}).get("segment", segment) != segment:
            again = self.last is not None and self.supports[self.last]["segment"] == segment
            place = self.last if again and self.last is not None else self.next_support
        self.last = place
        self.next_support = max(self.next_support, place + 1)
        support = self.supports.setdefault(place, {"segment": segment, "groundingChunkIndices": []})
        support["groundingChunkIndices"].append(self.chunk(citation, mark))

    def chunk(self, citation: Citation, mark: Wire) -> int:
        """The place of a source: its own while nothing else stands there, else that of an equal one, else a new one."""
        kind = mark.get("kind", "web" if citation.text is None else "retrievedContext")
        known = {"uri": citation.url, "title": citation.title}
        known |= {"text": citation.text} if kind == "retrievedContext" else {}
        wire = {kind: {key: value for key, value in known.items() if value is not None}}
        source = (kind, *known.values())
        place = mark.get("chunk")
        if place is None or self.chunks.get(place, wire) != wire:
            place = self.homes.get(source, self.next_chunk)
        self.next_chunk = max(self.next_chunk, place + 1)
        self.chunks[place] = wire
        self.homes.setdefault(source, place)
        return int(place)

    def wire(self) -> Wire:
        return _lists({"groundingChunks": self.chunks, "groundingSupports": self.supports})

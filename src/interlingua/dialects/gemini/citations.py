"""Citations: the protocol keeps them beside the answer, in two places, with offsets in bytes.

``groundingMetadata`` has sources (chunks) and the segments of the answer that they support; ``citationMetadata`` has
passages that were recited. Both are read onto the text that they are about, with offsets in characters. A segment names
its part seldom: without a name it is the first text that says at those offsets what the segment says.

Marks on a citation: ``support`` and ``chunk``, or ``source`` (its places in the lists), ``kind`` (of the chunk), and
``segment`` (where it does not fit the text). Residue keeps the lists in their order, so that both lay over each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ...types.base import Json
from ...types.blocks import Block, Citation, TextBlock
from .._tables import Ledger, kept, marks, own
from .media import NAME
from .spelling import Wire

CHUNKS = ("web", "retrievedContext", "maps")
SOURCES = ("citations", "citationSources")


# ------------------------------------------------------------------------------------------------------------ reading


def read_citations(candidate: Wire, blocks: Sequence[Block], blanks: Wire) -> Sequence[Block]:
    """Moves citations from a candidate, a private copy, onto its texts."""
    found: dict[int, list[Citation]] = {}
    for key, read in (("groundingMetadata", read_grounding), ("citationMetadata", read_sources)):
        wire = candidate.get(key)
        if type(wire) is dict and wire:
            read(wire, blocks, found)
            if not wire:
                del candidate[key]
        elif key in candidate and not wire:
            blanks[key] = candidate.pop(key)
    if not found:
        return blocks
    return [
        replace(block, citations=tuple(found[index])) if index in found else block  # type: ignore[call-arg]
        for index, block in enumerate(blocks)
    ]


def read_grounding(wire: Wire, blocks: Sequence[Block], found: dict[int, list[Citation]]) -> None:
    chunks, supports = wire.get("groundingChunks"), wire.get("groundingSupports")
    if type(chunks) is not list or type(supports) is not list:
        return
    taken: dict[int, dict[str, Any]] = {}
    for place, support in enumerate(supports):
        cited = [_chunk(chunks, index) for index in _indices(support)]
        home = find_text(support["segment"], blocks) if cited and None not in cited else None
        if home is None:
            continue
        indices, segment = support.pop("groundingChunkIndices"), support.pop("segment")
        fields, forms = read_segment(segment, blocks[home])
        if segment:
            support["segment"] = segment
        for index, (kind, chunk) in zip(indices, (pair for pair in cited if pair is not None), strict=True):
            forms = {**forms, "support": place, "chunk": index} | ({} if kind == "web" else {"kind": kind})
            told = taken.setdefault(index, _told(kind, chunk))
            found.setdefault(home, []).append(Citation("url", **told, **fields, forms={NAME: forms}))
    for index in taken:
        chunks[index] = {key: value for key, value in chunks[index].items() if value}
    _leave(wire, "groundingChunks", chunks)
    _leave(wire, "groundingSupports", supports)


def _indices(support: Json) -> list[Json]:
    known = type(support) is dict and type(support.get("segment")) is dict
    indices = support.get("groundingChunkIndices") if known else None
    return indices if type(indices) is list else []


def _chunk(chunks: list[Json], index: Json) -> tuple[str, Wire] | None:
    chunk = chunks[index] if type(index) is int and 0 <= index < len(chunks) else None
    kind = next((key for key in CHUNKS if type(chunk) is dict and type(chunk.get(key)) is dict), None)
    return (kind, chunk[kind]) if kind is not None and chunk is not None else None


def _told(kind: str, chunk: Wire) -> dict[str, Any]:
    """Pops what a chunk says in words of ours."""
    words = {"url": "uri", "title": "title"} | ({"text": "text"} if kind == "retrievedContext" else {})
    return {ours: chunk.pop(theirs) for ours, theirs in words.items() if type(chunk.get(theirs)) is str}


def _leave(wire: Wire, key: str, rest: list[Json]) -> None:
    """What is left of a list keeps its places; a list of which nothing is left was said."""
    if any(rest):
        wire[key] = rest
    else:
        wire.pop(key, None)


def find_text(segment: Wire, blocks: Sequence[Block]) -> int | None:
    """The text that a segment is about, as the protocol names it or as the segment's words tell."""
    start, end = segment.get("startIndex", 0), segment.get("endIndex")
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        return None
    texts = [(index, block.text.encode()) for index, block in enumerate(blocks) if type(block) is TextBlock]
    part = segment.get("partIndex")
    if type(part) is int and any(index == part and end <= len(text) for index, text in texts):
        return part
    said = segment.get("text")
    exact = (index for index, text in texts if type(said) is str and text[start:end] == said.encode())
    return next(exact, next((index for index, text in texts if end <= len(text)), None))


def read_segment(segment: Wire, block: Block) -> tuple[dict[str, Any], Wire]:
    """Offsets in characters; a segment that we would write otherwise is a mark. Pops what it knows."""
    assert isinstance(block, TextBlock)
    text = block.text.encode()
    known = {key: segment.pop(key) for key in ("startIndex", "endIndex", "text") if key in segment}
    fields = {
        "start": len(text[: known.get("startIndex", 0)].decode("utf-8", "ignore")),
        "end": len(text[: known["endIndex"]].decode("utf-8", "ignore")),
    }
    usual = say_segment(block.text, fields["start"], fields["end"])
    return fields, {} if usual == known else {"segment": known}


def read_sources(wire: Wire, blocks: Sequence[Block], found: dict[int, list[Citation]]) -> None:
    key = next((key for key in SOURCES if type(wire.get(key)) is list), None)
    home = next((index for index, block in enumerate(blocks) if type(block) is TextBlock), None)
    if key is None or home is None:
        return
    rest: list[Json] = []
    whole = True
    for place, source in enumerate(wire[key]):
        citation = read_source(source, blocks, place, key) if type(source) is dict else None
        if citation is not None:
            found.setdefault(citation[0], []).append(citation[1])
        whole = whole and citation is not None
        rest.append(source)
    if whole and not any(rest):
        del wire[key]


def read_source(source: Wire, blocks: Sequence[Block], place: int, key: str) -> tuple[int, Citation] | None:
    if type(source.get("uri")) is not str:
        return None
    forms: Wire = {"source": place} | ({} if key == SOURCES[0] else {"key": key})
    home = find_text(source, blocks)
    fields = {ours: source.pop(theirs) for ours, theirs in (("url", "uri"), ("title", "title")) if theirs in source}
    if home is None:
        home = next(index for index, block in enumerate(blocks) if type(block) is TextBlock)
    else:
        spans, inexact = read_segment(source, blocks[home])
        fields, forms = {**fields, **spans}, {**forms, **inexact}
    return home, Citation("url", **fields, forms={NAME: forms})


# ------------------------------------------------------------------------------------------------------------ writing


def say_citations(blocks: Sequence[Block], residue: Wire, ledger: Ledger) -> Wire:
    """``groundingMetadata`` and ``citationMetadata`` of the texts of an answer."""
    grounding, sources = Grounding(residue.get("groundingMetadata") or {}), Wire()
    for index, block in enumerate(blocks):
        for place, citation in enumerate(block.citations if type(block) is TextBlock else ()):
            ledger.where = ("content", index, "citations", place)
            if citation.kind != "url":
                ledger.lose("dropped", f"{NAME} has no citation of kind {citation.kind}")
                continue
            if citation.index is not None:
                ledger.lose("dropped", "sources have no numbers", "index")
            ledger.foreign(citation, NAME)
            mark = marks(NAME, citation)
            if citation.start is None or citation.end is None or "source" in mark:
                say_source(citation, block, mark, sources, ledger)
            else:
                grounding.say(citation, blocks, index, mark)
    ledger.where = ()
    return {
        **({"groundingMetadata": said} if (said := grounding.wire()) else {}),
        **({"citationMetadata": _lists(sources)} if sources else {}),
    }


def _lists(places: Wire) -> Wire:
    return {key: [found.get(i, {}) for i in range(max(found) + 1)] for key, found in places.items()}


def say_segment(text: str, start: int, end: int) -> Wire:
    """A segment in bytes; a start of 0 is left out, as the protocol's default."""
    first, last = len(text[:start].encode()), len(text[:end].encode())
    return {**({"startIndex": first} if first else {}), "endIndex": last, "text": text[start:end]}


def spoken_segment(citation: Citation, block: TextBlock, mark: Wire) -> Wire:
    """The segment as it was read while it still means the same, else as we would write it."""
    assert citation.start is not None and citation.end is not None
    if "segment" in mark:
        fields, _ = read_segment(dict(mark["segment"]), block)
        if (fields["start"], fields["end"]) == (citation.start, citation.end):
            return dict(mark["segment"])
    return say_segment(block.text, citation.start, citation.end)


def say_source(citation: Citation, block: TextBlock, mark: Wire, sources: Wire, ledger: Ledger) -> None:
    if citation.text is not None:
        ledger.lose("dropped", "a recited passage is told by its place", "text")
    known = {"uri": citation.url, "title": citation.title}
    wire: Wire = {key: value for key, value in known.items() if value is not None}
    if citation.start is not None and citation.end is not None:
        segment = spoken_segment(citation, block, mark)
        if "segment" not in mark:
            del segment["text"]
        wire |= segment
    places = sources.setdefault(mark.get("key", SOURCES[0]), {})
    places[mark.get("source", max(places, default=-1) + 1)] = own(NAME, wire, citation)


class Grounding:
    """The sources and segments of one answer while they are laid out."""

    def __init__(self, residue: Wire) -> None:
        self.chunks: dict[int, Wire] = {}
        self.supports: dict[int, Wire] = {}
        self.next_chunk = len(residue.get("groundingChunks") or ())
        self.next_support = len(residue.get("groundingSupports") or ())

    def say(self, citation: Citation, blocks: Sequence[Block], index: int, mark: Wire) -> None:
        block = blocks[index]
        assert isinstance(block, TextBlock)
        segment = spoken_segment(citation, block, mark)
        if find_text(segment, blocks) != index:
            segment["partIndex"] = index
        chunk = self.chunk(citation, mark)
        place = mark.get("support")
        if place is None or self.supports.get(place, {}).get("segment", segment) != segment:
            same = (at for at, said in self.supports.items() if said["segment"] == segment)
            place = next(same, self.next_support) if place is None else self.next_support
        self.next_support = max(self.next_support, place + 1)
        support = self.supports.setdefault(place, {"segment": segment, "groundingChunkIndices": []})
        support["groundingChunkIndices"].append(chunk)

    def chunk(self, citation: Citation, mark: Wire) -> int:
        kind = mark.get("kind", "web" if citation.text is None else "retrievedContext")
        known = {"uri": citation.url, "title": citation.title}
        known |= {"text": citation.text} if kind == "retrievedContext" else {}
        wire = {kind: {key: value for key, value in known.items() if value is not None}}
        place = mark.get("chunk")
        if place is None or self.chunks.get(place, wire) != wire:
            place = next((at for at, said in self.chunks.items() if said == wire), self.next_chunk)
        self.next_chunk = max(self.next_chunk, place + 1)
        self.chunks[place] = wire
        return int(place)

    def wire(self) -> Wire:
        if not self.supports:
            return {}
        return _lists({"groundingChunks": self.chunks, "groundingSupports": self.supports})


def kept_citation(wire: Wire) -> dict[str, Any]:
    """Residue of a citation."""
    return kept(NAME, wire, {}, {})

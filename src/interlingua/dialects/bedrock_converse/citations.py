"""Text and the sources it cites: plain ``text``, or ``citationsContent`` where there is a citation.

Marks on a text block: ``tag`` (it stood in a ``guardContent``, or in a ``citationsContent`` without citations),
``content`` (the lengths of its pieces where there was not exactly one; ``absent``), ``type`` (a tag beside the key).
On a citation: ``content``, the same for the passage.
"""

from __future__ import annotations

from typing import Any

from ...codec.tables import Ledger, kept, marks, own, take
from ...types.base import Json
from ...types.blocks import Citation, TextBlock
from .names import NAME, Scribe
from .wire import Wire, is_array, leave, opened, pop_text, take_text

_SPAN = {"start": "start", "end": "end"}
# wire location          canonical kind    canonical field -> wire field
LOCATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "web": ("url", {"url": "url"}),
    "documentChar": ("char", {"index": "documentIndex", **_SPAN}),
    "documentPage": ("page", {"index": "documentIndex", **_SPAN}),
    "documentChunk": ("block", {"index": "documentIndex", **_SPAN}),
    "searchResultLocation": ("search_result", {"index": "searchResultIndex", **_SPAN}),
}
NOWHERE = "text"  # the kind of a citation that names a passage and no place
PLACES = {kind: wire for wire, (kind, _) in LOCATIONS.items()}


def read_pieces(wire: Json) -> list[str]:
    """The texts of ``[{text}, …]``; anything else is none of ours."""
    if not is_array(wire):
        raise TypeError("pieces")
    texts: list[str] = []
    for piece in wire:
        rest = dict(piece)
        texts.append(pop_text(rest, "text"))
        if rest:
            raise TypeError("pieces")
    return texts


def say_pieces(text: str, lengths: Json) -> list[Wire]:
    """One piece, or those that were read, where they still add up to the text."""
    if not is_array(lengths) or sum(lengths) != len(text):
        return [{"text": text}]
    pieces: list[Wire] = []
    start = 0
    for length in lengths:
        pieces.append({"text": text[start : start + length]})
        start += length
    return pieces


def read_citation(wire: Wire) -> Citation:
    rest, forms, blanks = dict(wire), Wire(), Wire()
    fields = read_location(rest)
    fields["title"] = take_text(rest, "title", blanks)
    if fields["kind"] != "url":
        fields["url"] = take_text(rest, "source", blanks)
    if "sourceContent" in rest:
        passages = read_pieces(rest["sourceContent"])
        del rest["sourceContent"]
        fields["text"] = "".join(passages)
        if len(passages) != 1:
            forms["content"] = [len(passage) for passage in passages]
    return Citation(**fields, **kept(NAME, rest, forms, blanks))


def read_location(rest: Wire) -> dict[str, Any]:
    if "location" not in rest:
        return {"kind": NOWHERE}
    location = opened(rest, "location")
    tag = next(iter(location), "")
    if tag not in LOCATIONS:
        rest["location"] = location
        return {"kind": tag or NOWHERE}
    kind, names = LOCATIONS[tag]
    place = opened(location, tag)
    fields = {ours: place.pop(theirs) for ours, theirs in names.items() if place.get(theirs) is not None}
    leave(location, tag, place)
    leave(rest, "location", location)
    return {"kind": kind, **fields}


def say_citation(citation: Citation, ledger: Ledger, *path: str | int) -> Wire | None:
    kind = citation.kind
    if kind not in PLACES and kind != NOWHERE and NAME not in citation.extras:
        ledger.lose("dropped", f"{NAME} has no {kind} citations", *path)
        return None
    wire: Wire = {}
    _, names = LOCATIONS.get(PLACES.get(kind, ""), ("", dict[str, str]()))
    if kind in PLACES:
        said = {theirs: getattr(citation, ours) for ours, theirs in names.items()}
        wire["location"] = {PLACES[kind]: {key: value for key, value in said.items() if value is not None}}
    if citation.title is not None:
        wire["title"] = citation.title
    if citation.url is not None and kind != "url":
        wire["source"] = citation.url
    if citation.text is not None:
        wire["sourceContent"] = say_pieces(citation.text, marks(NAME, citation).get("content"))
    for field in ("index", "start", "end"):
        if getattr(citation, field) is not None and field not in names:
            ledger.lose("dropped", f"a {kind} citation of {NAME} has no {field}", *path, field)
    ledger.foreign(citation, NAME, *path)
    return own(NAME, wire, citation)


def read_text(rest: Wire) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": pop_text(rest, "text")}
    if rest.get("type") == "text":
        fields["forms"] = {NAME: {"type": rest.pop("type")}}
    return fields


def read_cited(rest: Wire) -> dict[str, Any]:
    inner, forms, blanks = opened(rest, "citationsContent"), Wire(), Wire()
    if "content" not in inner:
        forms["content"] = "absent"
    pieces = read_pieces(take(inner, "content", blanks) or [])
    if pieces and len(pieces) != 1:
        forms["content"] = [len(piece) for piece in pieces]
    citations = take(inner, "citations", blanks)
    if not citations:
        forms["tag"] = "citationsContent"
    leave(rest, "citationsContent", inner)
    fields = {"text": "".join(pieces), "citations": tuple(map(read_citation, citations or ()))}
    return {**fields, **kept(NAME, {}, forms, {"citationsContent": blanks} if blanks else {})}


def say_text(block: TextBlock, ledger: Ledger) -> Wire:
    mark = marks(NAME, block)
    cited = [say_citation(citation, ledger, "citations", i) for i, citation in enumerate(block.citations)]
    citations = [wire for wire in cited if wire is not None]
    if not citations and mark.get("tag") == "guardContent":
        return {"guardContent": {"text": {"text": block.text}}}
    if not citations and mark.get("tag") != "citationsContent":
        tagged = "type" in mark and ("verbatim" in mark or not isinstance(ledger, Scribe))
        return {"text": block.text, "type": "text"} if tagged else {"text": block.text}
    inner: Wire = {"citations": citations} if citations else {}
    hollow = mark.get("content") == "absent" or "content" in mark.get("blank", {}).get("citationsContent", ())
    if block.text or not hollow:
        inner["content"] = say_pieces(block.text, mark.get("content"))
    return {"citationsContent": inner}

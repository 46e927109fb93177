"""URL citations of an answer: ``annotations`` on the turn, which point into its content. Mark: ``absent`` (keys)."""

from __future__ import annotations

from ...types.base import Json
from ...types.blocks import Citation
from .._json import is_dict
from .._tables import Ledger, kept, marks, own, take
from .parts import NAME, Wire


# canonical -> wire; an annotation has a title, if an empty one, and says where
FIELDS = {"url": "url", "title": "title", "start": "start_index", "end": "end_index"}


def is_url_citation(wire: Json) -> bool:
    return is_dict(wire) and wire.get("type") == "url_citation" and isinstance(wire.get("url_citation"), dict)


def read_citation(wire: Wire) -> Citation:
    rest, forms, blanks = dict(wire), Wire(), Wire()
    del rest["type"]
    inner = dict(rest.pop("url_citation"))
    if absent := [key for key in FIELDS.values() if key not in inner]:
        forms["absent"] = absent
    if inner.get("title") == "":
        del inner["title"]
    fields = {ours: take(inner, theirs, blanks) for ours, theirs in FIELDS.items()}
    if inner:
        rest["url_citation"] = inner
    return Citation(kind="url", **fields, **kept(NAME, rest, forms, {"url_citation": blanks} if blanks else {}))


def say_citation(citation: Citation, span: tuple[int, int], ledger: Ledger, *path: str | int) -> Wire | None:
    """``span`` is where the cited text stands in the whole content: what is cited unless the citation says."""
    if citation.kind != "url" or (citation.url is None and NAME not in citation.forms):
        ledger.lose("dropped", "annotations cite URLs only", *path)
        return None
    if citation.text is not None:
        ledger.lose("dropped", "an annotation does not quote", *path, "text")
    if citation.index is not None:
        ledger.lose("dropped", "sources have no numbers", *path, "index")
    mark = marks(NAME, citation)
    hollow = (*mark.get("absent", ()), *mark.get("blank", {}).get("url_citation", ()))
    inner: Wire = {}
    for (ours, theirs), usual in zip(FIELDS.items(), (None, "", *span), strict=True):
        value = getattr(citation, ours)
        if value is not None:
            inner[theirs] = value
        elif theirs not in hollow:
            inner[theirs] = usual
            if usual != "":
                ledger.lose("added", "an annotation says where: the whole text", *path, ours)
    ledger.foreign(citation, NAME, *path)
    return own(NAME, {"type": "url_citation", "url_citation": inner}, citation)

"""URL citations of an answer: ``annotations`` on the turn, which point into its content."""

from __future__ import annotations

from ...types.base import Json
from ...types.blocks import Citation
from .._json import is_dict
from .._tables import Ledger, kept, own, take
from .parts import NAME, Wire


def is_url_citation(wire: Json) -> bool:
    return is_dict(wire) and wire.get("type") == "url_citation" and isinstance(wire.get("url_citation"), dict)


def read_citation(wire: Wire) -> Citation:
    rest, blanks = dict(wire), Wire()
    del rest["type"]
    inner = dict(rest.pop("url_citation"))
    fields = {"url": take(inner, "url", blanks), "title": take(inner, "title", blanks)}
    fields |= {"start": take(inner, "start_index", blanks), "end": take(inner, "end_index", blanks)}
    if inner:
        rest["url_citation"] = inner
    return Citation(kind="url", **fields, **kept(NAME, rest, {}, {"url_citation": blanks} if blanks else {}))


def say_citation(citation: Citation, span: tuple[int, int], ledger: Ledger, *path: str | int) -> Wire | None:
    """``span`` is where the cited text stands in the whole content: what is cited unless the citation says."""
    if citation.kind != "url" or citation.url is None:
        ledger.lose("dropped", "annotations cite URLs only", *path)
        return None
    if citation.text is not None:
        ledger.lose("dropped", "an annotation does not quote", *path, "text")
    if citation.index is not None:
        ledger.lose("dropped", "sources have no numbers", *path, "index")
    inner: Wire = {"url": citation.url}
    ours = NAME in citation.extras or NAME in citation.forms
    inner |= {"title": citation.title} if citation.title is not None or ours else {"title": ""}
    for name, value, whole in (("start", citation.start, span[0]), ("end", citation.end, span[1])):
        if value is not None or not ours:
            inner[f"{name}_index"] = whole if value is None else value
        if value is None and not ours:
            ledger.lose("added", "an annotation says where: the whole text", *path, name)
    if ours and citation.title is None:
        del inner["title"]
    ledger.foreign(citation, NAME, *path)
    return own(NAME, {"type": "url_citation", "url_citation": inner}, citation)

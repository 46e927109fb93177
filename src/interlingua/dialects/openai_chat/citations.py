"""URL citations of an answer: ``annotations`` on the turn, which point into its content. Mark: ``absent`` (keys)."""

from __future__ import annotations

from msgspec.structs import replace

from ...codec.json import is_array, is_dict
from ...codec.tables import Ledger, kept, marks, own, take
from ...types.base import Json
from ...types.blocks import Block, Citation, TextBlock
from .parts import NAME, Wire

# canonical -> wire; an annotation has a title, if an empty one, and says where
FIELDS = {"url": "url", "title": "title", "start": "start_index", "end": "end_index"}


def is_url_citation(wire: Json) -> bool:
    return is_dict(wire) and wire.get("type") == "url_citation" and isinstance(wire.get("url_citation"), dict)


def read_annotations(rest: Wire, blocks: list[Block], forms: Wire, blanks: Wire) -> None:
    """URL citations attach to the text; others, and those of a turn with no single text to cite, stay residue."""
    annotations = take(rest, "annotations", blanks)
    if annotations is None:
        return
    texts = [(index, block) for index, block in enumerate(blocks) if type(block) is TextBlock]
    cited = len(texts) == 1 and texts[0][1].text
    if cited and is_array(annotations) and all(map(is_url_citation, annotations)):
        index, text = texts[0]
        blocks[index] = replace(text, citations=tuple(map(read_citation, annotations)))
        forms["annotations"] = True
    else:
        rest["annotations"] = annotations


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


def say_annotations(block: TextBlock, offset: int, wire: Wire, ledger: Ledger, *, answer: bool) -> None:
    """Those of one text, whose place in the whole content is ``offset``."""
    if not answer or not block.text:
        why = (
            f"citations of {NAME} have a position in the text, and it is empty"
            if answer
            else f"{NAME} takes no citations in a request"
        )
        ledger.lose("dropped", why, "citations")
        return
    span = (offset, offset + len(block.text))
    said = [say_citation(c, span, ledger, "citations", i) for i, c in enumerate(block.citations)]
    found = [citation for citation in said if citation is not None]
    if found:
        wire.setdefault("annotations", []).extend(found)


def say_citation(citation: Citation, span: tuple[int, int], ledger: Ledger, *path: str | int) -> Wire | None:
    """``span`` is where the cited text stands in the whole content: what is cited unless the citation says."""
    if citation.kind != "url" or (citation.url is None and NAME not in citation.forms):
        ledger.lose("dropped", f"{NAME} has citations of URLs only", *path)
        return None
    if citation.text is not None:
        ledger.lose("dropped", f"citations of {NAME} quote no text", *path, "text")
    if citation.index is not None:
        ledger.lose_form("dropped", f"citations of {NAME} have no index", *path, "index")
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
                ledger.lose_form("added", f"{NAME} requires a position; that of the text was added", *path, ours)
    ledger.foreign(citation, NAME, *path)
    return own(NAME, {"type": "url_citation", "url_citation": inner}, citation)


def declare_cited(blocks: list[tuple[int, Block]], ledger: Ledger) -> None:
    """Annotations stand on the turn: of several texts, which one cites is not told."""
    texts = [(index, block) for index, block in blocks if isinstance(block, TextBlock)]
    for index, text in texts if len(texts) > 1 else ():
        if text.citations:
            ledger.lose_form("moved", f"{NAME} has citations on the message", "content", index, "citations")

"""Citations of Anthropic Messages: where a document, a search result or the web says what the text says.

A citation has a title, which may be null. Marks: ``title`` (it was absent), ``verbatim`` (the protocol would not take
it, and it was read here).
"""

from __future__ import annotations

from ...codec.tables import Ledger, kept, marks, own, take
from ...types.base import Json
from ...types.blocks import Citation

NAME = "anthropic-messages"
Wire = dict[str, Json]

# wire type                     canonical kind    canonical field -> wire field
CITATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "char_location": ("char", {"index": "document_index", "title": "document_title", "text": "cited_text",
                               "start": "start_char_index", "end": "end_char_index"}),
    "page_location": ("page", {"index": "document_index", "title": "document_title", "text": "cited_text",
                               "start": "start_page_number", "end": "end_page_number"}),
    "content_block_location": ("block", {"index": "document_index", "title": "document_title", "text": "cited_text",
                                         "start": "start_block_index", "end": "end_block_index"}),
    "search_result_location": ("search_result", {"index": "search_result_index", "url": "source", "title": "title",
                                                 "text": "cited_text", "start": "start_block_index",
                                                 "end": "end_block_index"}),
    "web_search_result_location": ("url", {"url": "url", "title": "title", "text": "cited_text"}),
}  # fmt: skip
CITATION_TYPES = {kind: wire for wire, (kind, _) in CITATIONS.items()}


def read_citation(wire: Wire) -> Citation:
    rest, forms, blanks = dict(wire), Wire(), Wire()
    tag = rest.pop("type")
    kind, names = CITATIONS.get(tag, (tag, {}))
    title = names.get("title")
    if title is not None and title not in rest:
        forms["title"] = "absent"
    elif title is not None and rest[title] is None:
        del rest[title]
    fields = {ours: take(rest, theirs, blanks) for ours, theirs in names.items()}
    if _refused(Citation(kind=kind, **fields, extras={NAME: rest}), names) is not None:
        forms["verbatim"] = True
    return Citation(kind=kind, **fields, **kept(NAME, rest, forms, blanks))


def _refused(citation: Citation, names: dict[str, str]) -> str | None:
    """Why the protocol would not take a citation."""
    kind, ours = citation.kind, citation.extras.get(NAME, ())
    if kind not in CITATION_TYPES and not ours:
        return f"{NAME} has no {kind} citations"
    if kind == "url" and "encrypted_index" not in ours:
        return f"a web citation of {NAME} needs its issuer's `encrypted_index`"
    unsaid = [field for field in names if field != "title" and getattr(citation, field) is None]
    return f"a {kind} citation of {NAME} needs its {', '.join(unsaid)}" if unsaid else None


def say_citation(citation: Citation, ledger: Ledger, *path: str | int) -> Wire | None:
    tag, mark = CITATION_TYPES.get(citation.kind, citation.kind), marks(NAME, citation)
    _, names = CITATIONS.get(tag, (tag, {}))
    if "verbatim" not in mark and (why := _refused(citation, names)) is not None:
        ledger.lose("dropped", why, *path)
        return None
    for ours in ("url", "title", "text", "index", "start", "end"):
        if ours not in names and getattr(citation, ours) is not None:
            ledger.lose("dropped", f"a {citation.kind} citation of {NAME} has no {ours}", *path, ours)
    title = names.get("title")
    null = title if "title" not in mark and title not in mark.get("blank", ()) else None
    said = {theirs: getattr(citation, ours) for ours, theirs in names.items()}
    wire = {"type": tag, **{key: value for key, value in said.items() if value is not None or key == null}}
    ledger.foreign(citation, NAME, *path)
    return own(NAME, wire, citation)

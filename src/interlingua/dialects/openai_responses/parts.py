"""The parts of a message or a result: left column ours, right column theirs.

Two tables: what is put in (``input_text``, ``input_image``, ``input_file``) and what comes out (``output_text``,
``refusal``). Marks on a part: ``absent`` (keys we would write), ``data`` (file data without its ``data:`` prefix),
``part`` (an unknown part, which does not look like one), ``tag`` (the other table's tag).
"""

from __future__ import annotations

import base64
import re
from typing import Any

from msgspec.structs import replace

from ...codec.stream import dump
from ...codec.tables import BlockTable, CacheWord, Ledger, Row, kept, marks, own, read_constants, take
from ...types.base import Json
from ...types.blocks import (
    Base64Source,
    Block,
    CacheMark,
    Citation,
    DocumentBlock,
    FileSource,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    Source,
    TextBlock,
    TextSource,
    UrlSource,
)
from .wire import DETAIL, NAME, NEEDS_DETAIL, Wire, is_array, is_object, take_text

DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
TTLS = ("30m", "12h")
BARE_DATA = "application/octet-stream"
EXTENSIONS = {"application/pdf": "pdf", "text/plain": "txt", "text/markdown": "md", "text/csv": "csv"}
PART: Wire = {"part": True}


def say_breakpoint(mark: CacheMark, ledger: Ledger) -> Wire:
    wire: Wire = {"mode": "explicit"}
    if mark.ttl in TTLS:
        wire["ttl"] = mark.ttl
    elif mark.ttl is not None:
        ledger.lose("dropped", f"{NAME} caches for {' or '.join(TTLS)} only", "cache", "ttl")
    return wire


def read_breakpoint(wire: Json) -> CacheMark | None:
    if not is_object(wire) or wire.get("mode") != "explicit":
        return None
    rest = {key: value for key, value in wire.items() if key != "mode"}
    ttl = rest.pop("ttl") if rest.get("ttl") in TTLS else None
    return CacheMark(ttl=ttl, **kept(NAME, rest, {}, {}))


# ------------------------------------------------------------------------------------------------------------ media


def read_url(url: str) -> Source:
    found = DATA_URL.fullmatch(url)
    return Base64Source(found[1], found[2]) if found else UrlSource(url)


def say_data(source: Base64Source | TextSource, ledger: Ledger) -> str:
    if isinstance(source, Base64Source):
        return f"data:{source.media_type};base64,{source.data}"
    ledger.lose_form("approximated", f"{NAME} has no text documents; sent as base64 data", "source")
    return f"data:{source.media_type};base64,{base64.b64encode(source.text.encode()).decode()}"


def say_source(source: Source, ledger: Ledger, *, url: str, data: str) -> Wire | None:
    """A source under the keys of its part, or nothing and a loss."""
    ledger.foreign(source, NAME, "source")
    match source:
        case FileSource():
            if source.dialect not in (None, NAME):
                ledger.lose("dropped", f"the file is stored elsewhere, with {source.dialect}", weight="state")
                return None
            wire = {"file_id": source.file_id}
        case UrlSource():
            wire = {url: source.url}
        case _:
            return {data: say_data(source, ledger)}
    if source.media_type is not None:
        ledger.lose_form("dropped", f"{NAME} takes no media type beside a file id or URL", "source", "media_type")
    return wire


def read_image(rest: Wire) -> dict[str, Any] | None:
    blanks: Wire = {}
    forms: Wire = {}
    url, file_id = take(rest, "image_url", blanks), take(rest, "file_id", blanks)
    if isinstance(url, str) and file_id is None:
        source = read_url(url)
    elif isinstance(file_id, str) and url is None:
        source = FileSource(file_id, dialect=NAME)
    else:
        return None
    fields: dict[str, Any] = {"source": source}
    if isinstance(rest.get("detail"), str):
        fields["detail"] = rest.pop("detail")
    else:
        forms["detail"] = rest.pop("detail", "absent")
    return {**fields, **kept(NAME, {}, forms, blanks)}


def say_image(block: ImageBlock, ledger: Ledger) -> Wire | None:
    if isinstance(block.source, TextSource):
        ledger.lose("dropped", f"{NAME} takes images as data, by URL or by file id, not as text")
        return None
    wire = say_source(block.source, ledger, url="image_url", data="image_url")
    if wire is None:
        return None
    form = marks(NAME, block).get("detail", DETAIL)
    if block.detail is not None or form != "absent":
        wire["detail"] = block.detail or form
    if block.detail is None and form == DETAIL:
        ledger.lose_form("added", NEEDS_DETAIL, "detail")
    return wire


def read_file(rest: Wire) -> dict[str, Any] | None:
    blanks: Wire = {}
    forms: Wire = {}
    data, url, file_id = (take(rest, key, blanks) for key in ("file_data", "file_url", "file_id"))
    if [data, url, file_id].count(None) != 2:
        return None
    if isinstance(data, str):
        source = read_url(data)
        if isinstance(source, UrlSource):
            source, forms["data"] = Base64Source(BARE_DATA, data), "bare"
    else:
        source = UrlSource(url) if url is not None else FileSource(file_id, dialect=NAME)
    name = take(rest, "filename", blanks)
    if name is None and data is not None:
        forms["filename"] = "absent"
    return {"source": source, "filename": name, **kept(NAME, {}, forms, blanks)}


def say_file(block: DocumentBlock, ledger: Ledger) -> Wire | None:
    mark, source = marks(NAME, block), block.source
    wire = say_source(source, ledger, url="file_url", data="file_data")
    if wire is None:
        return None
    if mark.get("data") == "bare" and isinstance(source, Base64Source) and source.media_type == BARE_DATA:
        wire["file_data"] = source.data
    filename, title = block.filename, block.title
    if filename is None and "file_data" in wire and mark.get("filename") != "absent":
        filename = title or f"document.{EXTENSIONS.get(getattr(source, 'media_type', ''), 'bin')}"
        ledger.lose_form("added", f"{NAME} requires a file name; one was added", "filename")
    if filename is not None:
        wire["filename"] = filename
    if title is not None:
        ledger.lose(
            "approximated" if title == filename else "dropped",
            f"documents of {NAME} have no title",
            "title",
            weight="form" if title == filename else "content",
        )
    if block.context is not None:
        ledger.lose("dropped", f"documents of {NAME} have no context", "context")
    return wire


# -------------------------------------------------------------------------------------------------------- citations

# wire type                 canonical kind    canonical field -> wire field
ANNOTATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "url_citation": ("url", {"url": "url", "title": "title", "start": "start_index", "end": "end_index"}),
    "file_citation": ("file", {"title": "filename", "index": "index"}),
    "container_file_citation": ("container_file", {"title": "filename", "start": "start_index", "end": "end_index"}),
    "file_path": ("file_path", {"index": "index"}),
}  # fmt: skip
CITATIONS = {kind: tag for tag, (kind, _) in ANNOTATIONS.items()}


def read_annotation(wire: Wire) -> Citation:
    rest = dict(wire)
    blanks: Wire = {}
    tag = rest.pop("type")
    kind, names = ANNOTATIONS.get(tag, (tag, {}))
    absent = [theirs for theirs in names.values() if theirs not in rest]
    fields = {ours: take(rest, theirs, blanks) for ours, theirs in names.items()}
    forms: Wire = {"absent": absent} if absent else {}
    if kind != "url" and not rest:
        forms["verbatim"] = True
    return Citation(kind=kind, **fields, **kept(NAME, rest, forms, blanks))


def say_annotation(citation: Citation, text: str, ledger: Ledger, *path: str | int) -> Wire | None:
    """An annotation of a text, or nothing and a loss: only its issuer can cite a file again."""
    if citation.kind != "url" and NAME not in citation.extras and "verbatim" not in marks(NAME, citation):
        ledger.lose("dropped", f"{NAME} has no {citation.kind} citations", *path)
        return None
    if citation.kind == "url" and citation.url is None and NAME not in citation.forms:
        ledger.lose("dropped", f"a URL citation of {NAME} needs a URL", *path)
        return None
    tag = CITATIONS.get(citation.kind, citation.kind)
    _, names = ANNOTATIONS.get(tag, (tag, {}))
    wire = {"type": tag, **{theirs: getattr(citation, ours) for ours, theirs in names.items()}}
    wire = {key: value for key, value in wire.items() if value is not None}
    for field in ("text", "index", "url", "title", "start", "end"):
        if field not in names and getattr(citation, field) is not None:
            ledger.lose("dropped", f"a {tag} of {NAME} has no {field}", *path, field)
    ledger.foreign(citation, NAME, *path)
    own(NAME, wire, citation)
    if tag == "url_citation":
        absent = marks(NAME, citation).get("absent", ())
        for key, field, value in (("title", "title", ""), ("start_index", "start", 0), ("end_index", "end", len(text))):
            if key not in wire and key not in absent:
                wire[key] = value
                ledger.lose_form("added", f"{NAME} requires a title and a position; added", *path, field)
    return wire


# ------------------------------------------------------------------------------------------------------------ texts

OUTPUT_TEXT: Wire = {"annotations": [], "logprobs": []}


def read_text(rest: Wire) -> dict[str, Any]:
    return {"text": take_text(rest, "text")}


def read_refusal(rest: Wire) -> dict[str, Any]:
    return {"text": take_text(rest, "refusal")}


def read_output_text(rest: Wire) -> dict[str, Any]:
    forms: Wire = {}
    fields: dict[str, Any] = {"text": take_text(rest, "text")}
    annotations = rest.get("annotations")
    if is_array(annotations) and annotations and all(map(_is_annotation, annotations)):
        fields["citations"] = tuple(map(read_annotation, rest.pop("annotations")))
        read_constants(rest, forms, {"logprobs": []})
    else:
        read_constants(rest, forms, OUTPUT_TEXT)
    return {**fields, **kept(NAME, {}, forms, {})}


def _is_annotation(wire: Json) -> bool:
    return is_object(wire) and isinstance(wire.get("type"), str)


def say_output_text(block: TextBlock, ledger: Ledger) -> Wire:
    wire: Wire = {"text": block.text}
    said = [say_annotation(c, block.text, ledger, "citations", i) for i, c in enumerate(block.citations)]
    if found := [citation for citation in said if citation is not None]:
        wire["annotations"] = found
    return wire


def say_json(block: JsonBlock, ledger: Ledger) -> Wire:
    ledger.lose_form("approximated", f"{NAME} has no JSON here; sent as JSON text")
    return {"type": "input_text", "text": dump(block.value).decode()}


def say_input_text(block: TextBlock, ledger: Ledger) -> Wire:
    if block.citations:
        ledger.lose("dropped", f"{NAME} takes no citations in input", "citations")
    return {"text": block.text}


def say_refusal(block: RefusalBlock, ledger: Ledger) -> Wire:
    return {"refusal": block.text}


def say_input_refusal(block: RefusalBlock, ledger: Ledger) -> Wire:
    ledger.lose("approximated", f"{NAME} takes no refusals in input; sent as text")
    return {"type": "input_text", "text": block.text}


def never(rest: Wire) -> None:
    """The row is for saying only; the wire has no such tag."""


CACHE = CacheWord("prompt_cache_breakpoint", say_breakpoint, read_breakpoint)
INPUT = BlockTable(
    NAME,
    # canonical         wire tag       say it              read it
    Row(TextBlock, "input_text", say_input_text, read_text),
    Row(ImageBlock, "input_image", say_image, read_image),
    Row(DocumentBlock, "input_file", say_file, read_file),
    Row(JsonBlock, "(json)", say_json, never),
    Row(RefusalBlock, "(refusal)", say_input_refusal, never),
    cache=CACHE,
)
OUTPUT = BlockTable(
    NAME,
    Row(TextBlock, "output_text", say_output_text, read_output_text),
    Row(RefusalBlock, "refusal", say_refusal, read_refusal),
)


def read_input(wire: Json) -> Block:
    block = INPUT.decode(wire)
    if type(block) is not OpaqueBlock:
        return block
    block = OUTPUT.decode(wire)
    if type(block) is not OpaqueBlock:
        return _marked(block, {"tag": wire["type"]})
    return block if is_part(block, put_in=True) else _marked(block, PART)


def read_output(wire: Json) -> Block:
    block = OUTPUT.decode(wire)
    if type(block) is not OpaqueBlock:
        return block
    block = INPUT.decode(wire)
    if type(block) is not OpaqueBlock:
        return _marked(block, {"tag": wire["type"]})
    return block if is_part(block) else _marked(block, PART)


def _marked(block: Block, mark: Wire) -> Block:
    return replace(block, forms={NAME: {**marks(NAME, block), **mark}})


def say_input(block: Block, ledger: Ledger) -> Wire | None:
    if marks(NAME, block).get("tag") in ("output_text", "refusal"):
        return say_output(block, ledger)
    return INPUT.encode(block, ledger)


def say_output(block: Block, ledger: Ledger) -> Wire | None:
    if str(marks(NAME, block).get("tag")).startswith("input_"):
        return INPUT.encode(block, ledger)
    wire = OUTPUT.encode(block, ledger)
    if type(block) is TextBlock and wire is not None:
        absent = marks(NAME, block).get("absent", ())
        for key in OUTPUT_TEXT:
            if key not in absent:
                wire.setdefault(key, [])
    return wire


# Items that are carried whole where they stand among what is put in.
WHOLE_ITEMS = (
    "additional_tools",
    "compaction",
    "compaction_trigger",
    "configuration_update",
    "item_reference",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_list_tools",
    "message",
    "program",
    "reasoning",
)


def is_part(block: Block, *, put_in: bool = False) -> bool:
    """Whether a block stands inside a message; the others are items of their own.

    An unknown block is a part where things are put in, and an item where the model speaks.
    """
    if type(block) is not OpaqueBlock:
        return isinstance(block, TextBlock | ImageBlock | DocumentBlock | RefusalBlock | JsonBlock)
    if block.dialect != NAME or "part" in marks(NAME, block):
        return True
    tag = str(block.raw.get("type", "item_reference")) if is_object(block.raw) else ""
    if put_in:
        return tag not in WHOLE_ITEMS and not tag.endswith(("_call", "_output"))
    return tag.startswith(("input_", "output_"))

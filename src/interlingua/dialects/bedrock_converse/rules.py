"""What Bedrock Converse refuses in a value that another dialect or the caller made, and what is written instead.

Document names must be unique within a request: a ``RequestLedger`` keeps those that are used already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.paths import find, merge, put, remove
from ...codec.rows.kinds import OMIT, REFUSED, Plain
from ...codec.rows.row import Rule
from ...codec.rows.together import Group, Together
from ...codec.rules import (
    Condition,
    as_json_text,
    by_id_rule,
    change,
    drop,
    filled,
    hosted_here,
    is_json_call,
    leave_out,
    rule,
    sendable,
    when,
)
from ...codec.tools.ids import IdMap
from ...codec.tools.tool_names import UniqueNames, verbatim_name
from ...types.base import Json
from ...types.blocks import Base64Source, Citation, DocumentBlock, FileSource, Source, TextSource, UrlSource
from ...types.request import Thinking
from ...types.tools import ToolDefinition
from .facts import DOCUMENT_NAME, EXTENSIONS, FORMATS, IDS, MOST_TAGS, NAME, NAMES, OTHER_TYPES, TAG, UNKNOWN, WORDS

if TYPE_CHECKING:
    from ...codec.rows.source import Source as Code

# --------------------------------------------------------------------------------------------------------------- names


class RequestLedger(Ledger):
    """A ledger that also keeps the document names that are used in the request."""

    __slots__ = ("documents",)

    def __init__(self) -> None:
        super().__init__()
        self.ids = IdMap(IDS)
        self.documents = UniqueNames(200, " ")


class DocumentName(Plain):
    """The name of a document. The model reads it, so a name that must be changed stays readable."""

    def __init__(self) -> None:
        super().__init__("a string", str, blank="")

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        if "title" in marks.get("verbatim", ()):
            _names(ledger).add(value)
            return value
        name = _document_name(value, ledger)
        if name != value:
            ledger.lose("approximated", f"{NAME} takes unique document names of A-Z a-z 0-9 -_()[]")
        return name

    def emit_write(self, source: Code, var: str) -> None:
        source.fail_if("True")  # compiled code has no ledger, which knows the used names


def _document_name(wanted: str, ledger: Ledger) -> str:
    """A name that the service accepts and that no other document of the request has."""
    name = wanted
    if not DOCUMENT_NAME.fullmatch(name):
        name = " ".join(re.sub(r"[^a-zA-Z0-9_()\[\]-]+", " ", name).split())
    return _names(ledger).free(name or "document")


def _names(ledger: Ledger) -> UniqueNames:
    return ledger.documents if isinstance(ledger, RequestLedger) else UniqueNames(200, " ")


def _is_named(block: DocumentBlock) -> bool:
    return block.filename is None and block.title is not None and DOCUMENT_NAME.fullmatch(block.title) is not None


def _with_name(block: DocumentBlock, ledger: Ledger) -> DocumentBlock:
    """The document with a name. The mark ``verbatim`` keeps a name made here from being changed again."""
    if block.title is not None:
        if block.filename is not None:
            ledger.lose_form("dropped", f"documents of {NAME} have one name, and the title was taken", "filename")
        return replace(block, filename=None)
    wanted = ""
    if block.filename is not None:
        wanted = block.filename.rpartition(".")[0] or block.filename
        ledger.lose_form("moved", f"documents of {NAME} have a name; the file name was taken", "filename")
        ledger.lose_form("added", f"documents of {NAME} have a name; the file name was taken", "title")
    else:
        ledger.lose_form("added", f"{NAME} requires a document name; one was added", "title")
    mark = marks(NAME, block)
    named = {**mark, "verbatim": [*mark.get("verbatim", ()), "title"]}
    name = _document_name(wanted, ledger)
    return replace(block, title=name, filename=None, forms={**block.forms, NAME: named})


# --------------------------------------------------------------------------------------------------------------- media

PLAIN = "text/plain"
SAMPLE = 1024
"""How many characters of both ends of long data are decoded: to decode all of it takes longer than to parse it."""
S3 = ("s3Location", "uri")
OTHER_ALPHABET = ("-", "_", "\n", " ")
"""Characters of base64 in URLs, e-mail or forms that standard base64 does not have."""


def is_base64(text: str) -> bool:
    """Whether a text is standard base64, padded and on one line. Of a long text, only both ends are decoded."""
    if len(text) <= 2 * SAMPLE:
        return _decodes(text)
    if len(text) % 4 or not text.isascii() or not _decodes(text[:SAMPLE]) or not _decodes(text[-SAMPLE:]):
        return False
    return not any(character in text for character in OTHER_ALPHABET)


def _decodes(text: str) -> bool:
    try:
        return bool(msgspec.convert(text, bytes))
    except (msgspec.ValidationError, UnicodeError):
        return False


def media(block: str, at: str = "") -> Together:
    """The source of a block. Its keys stand below ``at``, by default the name of the block."""
    group = Media(block, at or block)
    return Together("source", " ".join(group.paths), group, required=True)


class Media(Group):
    """A source, which is a format and a source on the wire."""

    name = "a format and a source"

    def __init__(self, block: str, at: str) -> None:
        self.block, self.at = block, at.split(".")
        self.formats, self.words = FORMATS[block], WORDS[block]
        self.paths = (f"{at}.format", f"{at}.source")

    # --------------------------------------------------------------------------------------------------------- reading

    def quick(self, word: Json, wire: Json) -> Any:
        """The source if it is the usual case, data in a known format; else ``REFUSED``."""
        media_type = self.formats.get(word) if type(word) is str else None
        if media_type is None or self.words[media_type] != word or not is_object(wire) or len(wire) != 1:
            return REFUSED
        data = wire.get("bytes")
        return (Base64Source(media_type, data),) if type(data) is str and is_base64(data) else REFUSED

    def read(self, found: Wire, marks: Wire) -> Any:
        word, wire = [found.get(path) for path in self.paths]
        media_type = self._media_type(word) if type(word) is str else None
        source = self._source(dict(wire), media_type) if is_object(wire) else None
        if source is None:
            return REFUSED
        found.pop(self.paths[1])
        if media_type is not None:
            found.pop(self.paths[0])
        return (source,)

    def _source(self, rest: Wire, media_type: str | None) -> Source | None:
        """Read a source from ``rest``, a copy; the keys that are left become its residue."""
        source: Source
        if type(rest.get("bytes")) is str:
            source = Base64Source(media_type or UNKNOWN, rest.pop("bytes"))
        elif type(uri := find(rest, S3)) is str:
            source = FileSource(uri, media_type, NAME)
            remove(rest, S3)
        elif type(rest.get("text")) is str and self.block == "document":
            source = TextSource(rest.pop("text"), media_type or PLAIN)
        else:
            return None
        return replace(source, extras={NAME: rest}) if rest else source

    def _media_type(self, word: str) -> str:
        return self.formats.get(word) or (word if "/" in word else f"{self.block}/{word}")

    # --------------------------------------------------------------------------------------------------------- writing

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        source: Source = values[0]
        place = self._place(source, ledger)
        if place is None:
            return OMIT
        word = self._word(source, ledger)
        if word is None and (self.block != "document" or isinstance(source, Base64Source)):
            ledger.lose("dropped", f"{NAME} takes {self.block}s as {', '.join(self.formats)}, not {source.media_type}")
            return OMIT
        ledger.lose_foreign_extras(source, NAME, "source")
        wire: Wire = {}
        if word is not None:
            put(wire, [*self.at, "format"], word)
        put(wire, [*self.at, "source"], merge(place, source.extras.get(NAME, {})))
        return wire

    def _place(self, source: Source, ledger: Ledger) -> Wire | None:
        """The source on the wire; None after a declared loss."""
        match source:
            case Base64Source():
                data = _standard_base64(source.data, ledger)
                return None if data is None else {"bytes": data}
            case FileSource() if source.dialect in (None, NAME) and source.file_id.startswith("s3://"):
                return {"s3Location": {"uri": source.file_id}}
            case UrlSource() if source.url.startswith("s3://"):
                ledger.lose_form("approximated", f"{NAME} reads a place in S3 as a stored file", "source")
                return {"s3Location": {"uri": source.url}}
            case TextSource() if self.block == "document":
                return {"text": source.text}
            case FileSource() if source.dialect not in (None, NAME):
                ledger.lose("dropped", f"the file is stored elsewhere, with {source.dialect}", weight="state")
            case _:
                ledger.lose("dropped", f"{NAME} takes media as data or from S3, not by URL or file id")
        return None

    def _word(self, source: Source, ledger: Ledger) -> str | None:
        """The word for the format of a source; None if there is none."""
        if source.media_type is None:
            return self._by_extension(source, ledger)
        if source.media_type in self.words:
            return self.words[source.media_type]
        found = OTHER_TYPES.get(source.media_type.lower().partition(";")[0])
        if found not in self.formats:
            if not isinstance(source, TextSource):
                return None
            found = "txt"
        ledger.lose_form("approximated", f"{NAME} calls the format {found}", "source", "media_type")
        return found

    def _by_extension(self, source: Source, ledger: Ledger) -> str | None:
        place: str = getattr(source, "file_id", "") or getattr(source, "url", "")
        ending = place.rpartition(".")[2].lower()
        word = EXTENSIONS.get(ending, ending)
        if word not in self.formats:
            return None
        ledger.lose_form("added", f"{NAME} requires a format; taken from the extension", "source", "media_type")
        return word


def _standard_base64(data: str, ledger: Ledger) -> str | None:
    """The data in standard base64, padded and on one line; None if it is not base64."""
    if is_base64(data):
        return data
    plain = re.sub(r"\s+", "", data).translate(str.maketrans("-_", "+/")).rstrip("=")
    plain += "=" * (-len(plain) % 4)
    if not is_base64(plain):
        ledger.lose("dropped", "the data is not base64")
        return None
    ledger.lose_form("approximated", f"{NAME} takes standard base64; written so", "source", "data")
    return plain


# ----------------------------------------------------------------------------------------------------------- citations


def place_key(tag: str, fields: list[str]) -> Rule:
    """The rule that writes the key of a place even if none of its fields is set, because the key tells the kind."""

    def holds(citation: Citation) -> bool:
        return any(getattr(citation, field) is not None for field in fields)

    def fit(citation: Citation, ledger: Ledger) -> Citation:
        residue = merge({"location": {tag: {}}}, citation.extras.get(NAME, {}))
        return replace(citation, extras={**citation.extras, NAME: residue})

    return Rule("place", holds, fit)


def _is_ours(citation: Citation) -> bool:
    return citation.kind == "text" or NAME in citation.extras


# -------------------------------------------------------------------------------------------------------------- blocks


def no_type(key: str) -> Rule:
    """The rule that removes a type that was read from an answer: requests may not have it."""

    def holds(value: Any) -> bool:
        return f"?{key}" not in marks(NAME, value).get("spelling", ())

    def fit(value: Any, ledger: Ledger) -> Any:
        mark = marks(NAME, value)
        spelling = {name: wire for name, wire in mark["spelling"].items() if name != f"?{key}"}
        return replace(value, forms={**value.forms, NAME: {**mark, "spelling": spelling}})

    spelled = f"{{0}}.forms.get({NAME!r}, {{{{}}}}).get('spelling', ())"
    return Rule("type", holds, fit, f"not {{0}}.forms or {f'?{key}'!r} not in {spelled}", history=True)


def _never(block: Any) -> bool:
    return False


# ---------------------------------------------------------------------------------------------------------- parameters


def _is_described(tool: ToolDefinition) -> bool:
    return tool.description != ""


def _is_budgeted(thinking: Thinking) -> bool:
    return thinking.mode != "enabled" or thinking.budget is not None


def read_tags(wire: Json) -> Any:
    """Read the tags for the log, an object of strings; else ``REFUSED``."""
    return wire if is_object(wire) and all(type(value) is str for value in wire.values()) else REFUSED


def write_tags(tags: Mapping[str, Json], ledger: Ledger) -> Json:
    written: dict[str, Json] = {}
    for key, value in tags.items():
        if len(written) < MOST_TAGS and key and type(value) is str and TAG.fullmatch(key) and TAG.fullmatch(value):
            written[key] = value
        else:
            ledger.lose("dropped", f"{NAME} takes at most {MOST_TAGS} tags of up to 256 plain characters", key)
    return written or OMIT


BAD_ID = f"{NAME} takes ids of 64 letters, digits and _.:-; one was derived"
AS_JSON_TEXT = as_json_text(f"{NAME} has no JSON here; sent as JSON text")
ONLY_TEXT = drop(f"{NAME} takes only text in a system prompt")
NO_SUCH_KIND = drop(f"{NAME} has no {{0.kind}} citations")
ONLY_USERS = drop(f"{NAME} takes media in user messages only")
UNDESCRIBED = leave_out("description", f"{NAME} accepts no empty description", "form")
NEEDS_NAME = leave_out("mode", f"a tool choice of {NAME} that is specific needs a name")
ADAPTIVE = change("mode", "adaptive", "approximated", "enabled thinking needs a budget on this model; sent as adaptive")

# fmt: off
#                  what is accepted                                                        what is written otherwise
FILLED      = filled(NAME)
CALL_ID     = by_id_rule("id", IDS, BAD_ID)
RESULT_ID   = by_id_rule("tool_use_id", IDS, BAD_ID)
TOOL_NAMED  = verbatim_name(NAMES)
JSON_CALL   = is_json_call(NAME)
HOSTED_HERE = hosted_here(NAME)
NAMED       = rule(when("title", _is_named),                                               _with_name)
OUR_CITATION = rule(when("kind", _is_ours),                                                NO_SUCH_KIND)
JSON_OBJECT = rule(when("value", lambda block: type(block.value) is dict),                 AS_JSON_TEXT)
NO_MEDIA    = Rule("source", _never,                                                       ONLY_USERS, "False", True)
SENDABLE    = sendable(NAME)
DESCRIBED   = rule(Condition("description", _is_described, "{0}.description != ''"),         UNDESCRIBED)
HAS_NAME    = rule(when("mode", lambda choice: choice.name is not None),                   NEEDS_NAME)
BUDGETED    = rule(when("budget", _is_budgeted),                                           ADAPTIVE)
# fmt: on

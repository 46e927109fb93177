"""Kinds of fields that only OpenAI Responses has (``codec.kinds`` says what a kind is)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...codec.json import Wire
from ...codec.ledger import Ledger
from ...codec.paths import ABSENT
from ...codec.rows.kinds import OMIT, REFUSED, Texts
from ...codec.rows.media_urls import MediaUrl, StoredFile, read_url
from ...codec.rows.together import Group
from ...codec.streams.stream import dump
from ...types.base import Json
from ...types.blocks import Base64Source, FileSource, JsonBlock, UrlSource
from ..openai import EFFORTS
from .facts import NAME

__all__ = ["JSON_TEXT", "Effort", "Media", "Output", "Picture"]

BARE_DATA = "application/octet-stream"
JSON_TEXT = f"{NAME} has no JSON here; sent as JSON text"
URL, STORED = MediaUrl(NAME), StoredFile(NAME)


class Media(Group):
    """A source: data as a data URL, a URL, or the id of a stored file, each under its key.

    Other keys may be null or empty. Data without the head of a data URL is read too, where it has a key of its own.
    """

    name = "a data URL, a URL or a file id"

    def __init__(self, data: str, url: str) -> None:
        self.data, self.url = data, url
        if data == url:
            self.quick = self._read_one

    def read(self, found: Wire, marks: Wire) -> Any:
        keys = [key for key, value in found.items() if value not in (None, "")]
        if len(keys) != 1 or type(found[keys[0]]) is not str:
            return REFUSED
        key, text = keys[0], found.pop(keys[0])
        if key == "file_id":
            return (FileSource(text, dialect=NAME),)
        source = read_url(text) if key == self.data else UrlSource(text)
        bare = type(source) is UrlSource and key != self.url
        return (Base64Source(BARE_DATA, text) if bare else source,)

    def _read_one(self, url: Json, file_id: Json) -> Any:
        return (read_url(url),) if type(url) is str and url and file_id is ABSENT else REFUSED

    def is_usual(self, values: Any, found: Wire) -> bool:
        data = found.get(self.data)
        return self.data == self.url or data is None or data.startswith("data:")

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        (source,) = values
        key = "file_id" if type(source) is FileSource else self.url if type(source) is UrlSource else self.data
        where, ledger.where = ledger.where, (*ledger.where, "source")
        written = (STORED if type(source) is FileSource else URL).write(source, ledger, {})
        ledger.where = where
        return {key: written}


class Picture(Group):
    """A picture that the model made: its data, and its format unless that is PNG."""

    name = "base64 data and its format"

    def read(self, found: Wire, marks: Wire) -> Any:
        if type(found.get("result")) is not str or not found["result"]:
            return REFUSED
        kind = found.pop("output_format") if type(found.get("output_format")) is str else "png"
        return (Base64Source(f"image/{kind}", found.pop("result")),)

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        (source,) = values
        ledger.foreign(source, NAME, "source")
        kind = source.media_type.removeprefix("image/")
        return {"result": source.data, **({"output_format": kind} if kind != "png" else {})}


class Output(Texts):
    """What a tool answered: usually a string for one text or one JSON value, else parts."""

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        only: Any = value[0] if len(value) == 1 and marks.get(self.mark) != "list" else None
        if type(only) is JsonBlock and not (only.cache or only.signature or only.extras):
            ledger.lose_form("approximated", JSON_TEXT, 0)
            return dump(only.value).decode()
        written = super().write(value, ledger, marks)
        return "" if written is OMIT else written


class Effort(Group):
    """How much to think: one word for a mode and an effort."""

    name = "a string"

    def read(self, found: Wire, marks: Wire) -> Any:
        word = found["effort"]
        if word != "none" and word not in EFFORTS:
            return REFUSED
        del found["effort"]
        return ("disabled", None) if word == "none" else (None, word)

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        return {"effort": "none" if values[0] == "disabled" else values[1]}

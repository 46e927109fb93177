"""Media as one string: a URL, data as a data URL, or the id of a file that a provider stores."""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Mapping
from typing import Any

from ...types.base import Json
from ...types.blocks import Base64Source, FileSource, TextSource, UrlSource
from ..ledger import Ledger
from .kinds import OMIT, REFUSED, Kind, Typed

__all__ = ["MediaUrl", "StoredFile", "is_data_url", "read_url"]

DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def is_data_url(url: Json) -> bool:
    """Whether a wire value is a data URL in base64."""
    return isinstance(url, str) and DATA_URL.fullmatch(url) is not None


def read_url(url: str) -> Base64Source | UrlSource:
    """The source that a URL stands for."""
    found = DATA_URL.fullmatch(url) if url.startswith("data:") else None
    return Base64Source(found[1], found[2]) if found else UrlSource(url)


class MediaUrl(Kind):
    """A source of media as a URL. A text becomes a data URL; a file that a provider stores has none and is left out."""

    rejects_none = True
    name = "a URL"

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return read_url(wire) if type(wire) is str else REFUSED

    def is_usual(self, value: Any, wire: Json) -> bool:
        return True

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        if type(value) is FileSource:
            ledger.lose("dropped", f"{self.dialect} takes data or a URL here, not a file id", weight="state")
            return OMIT
        ledger.lose_foreign_extras(value, self.dialect)
        if type(value) is TextSource:
            ledger.lose_form("approximated", f"{self.dialect} has no text documents; sent as base64 data")
            return f"data:{value.media_type};base64,{b2a_base64(value.text.encode(), newline=False).decode()}"
        if type(value) is UrlSource and value.media_type is not None:
            ledger.lose_form("dropped", f"{self.dialect} takes no media type beside a URL", "media_type")
        return value.url if isinstance(value, UrlSource) else f"data:{value.media_type};base64,{value.data}"


class StoredFile(Typed):
    """The id of a file that this provider stores."""

    def __init__(self, dialect: str) -> None:
        super().__init__("a file id", str)
        self.dialect = dialect

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return FileSource(wire, dialect=self.dialect) if type(wire) is str and wire else REFUSED

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        ledger.lose_foreign_extras(value, self.dialect)
        if value.media_type is not None:
            ledger.lose_form("dropped", f"{self.dialect} takes no media type beside a file id", "media_type")
        return value.file_id

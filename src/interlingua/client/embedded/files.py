"""The Files API of the scripted provider: OpenAI's, Anthropic's and Google's. ``Script.files`` is what was uploaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from ...types.base import Json
from ..transport.memory import Answer
from .model import Script, StoredFile

__all__ = ["answer_file"]

JSON = {"content-type": "application/json"}
BOUNDARY = re.compile(r'boundary="?([^";]+)')
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/files"
LATER = "2099-01-01T00:00:00Z"


class _Part(NamedTuple):
    head: str
    data: bytes

    def named(self, key: str) -> str | None:
        found = re.search(rf'\b{key}="([^"]*)"', self.head)
        return found[1] if found else None

    @property
    def media_type(self) -> str:
        found = re.search(r"content-type: *([^\r\n;]+)", self.head, re.IGNORECASE)
        return found[1] if found else ""


def answer_file(script: Script, path: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
    """The answer to a request for the Files API; None if it is something else."""
    found = next((answer for pattern, answer in ROUTES if pattern.search(path)), None)
    if found is None:
        return None
    lower = {name.lower(): value for name, value in headers.items()}
    answer = found(script, path, _parts(lower.get("content-type", ""), body))
    return None if answer is None else Answer(200, JSON, [msgspec.json.encode(answer)])


def _parts(content_type: str, body: bytes) -> list[_Part]:
    found = BOUNDARY.search(content_type)
    if found is None:
        return []
    made: list[_Part] = []
    for piece in body.split(f"--{found[1]}".encode())[1:-1]:
        head, _, data = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        made.append(_Part(head.decode(), data.removesuffix(b"\r\n")))
    return made


def _store(script: Script, name: str, media_type: str, data: bytes, fields: dict[str, str]) -> str:
    id = f"file_{len(script.files) + 1}"
    script.files[id] = StoredFile(name, media_type, data, fields)
    return id


def _take_form_upload(script: Script, path: str, parts: list[_Part]) -> Json:
    """An upload to OpenAI or Anthropic. Only OpenAI has the field ``purpose``."""
    file = next((part for part in parts if part.named("filename") is not None), None)
    if file is None:  # a request for the list of files, which is not supported
        return None
    fields = {part.named("name") or "": part.data.decode() for part in parts if part is not file}
    id = _store(script, file.named("filename") or "", file.media_type, file.data, fields)
    size, name = len(file.data), file.named("filename")
    if "purpose" not in fields:
        return {"id": id, "type": "file", "filename": name, "mime_type": file.media_type, "size_bytes": size}
    return {"id": id, "object": "file", "bytes": size, "filename": name, "expires_at": 4070908800, **fields}


def _take_google_upload(script: Script, path: str, parts: list[_Part]) -> Json:
    metadata, file = parts
    name = msgspec.json.decode(metadata.data)["file"]["displayName"]
    return {"file": _google_file(script, _store(script, name, file.media_type, file.data, {}), "PROCESSING")}


def _report_file(script: Script, path: str, parts: list[_Part]) -> Json:
    return _google_file(script, path.rpartition("/")[2], "ACTIVE")


def _google_file(script: Script, id: str, state: str) -> dict[str, Json]:
    mime = script.files[id].media_type
    uri = f"{GOOGLE}/{id}"
    return {"name": f"files/{id}", "uri": uri, "mimeType": mime, "state": state, "expirationTime": LATER}


ROUTES: tuple[tuple[re.Pattern[str], Callable[[Script, str, list[_Part]], Json]], ...] = (
    (re.compile(r"/upload/v1beta/files$"), _take_google_upload),
    (re.compile(r"/v1beta/files/[^/]+$"), _report_file),
    (re.compile(r"/files$"), _take_form_upload),
)

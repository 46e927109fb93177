"""Media that are too big for a request: uploaded to the provider's Files API first, if the caller allows it.

A generator decides and yields HTTP requests, or seconds to wait; the clients send them. Differences between providers
are rows: where files go, in which form, and how much a request may hold. The request of the caller is not changed: the
copy that is sent names the file.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple, TypeAlias, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import AdapterError, InvalidRequestError, ParseError
from ..types.base import Json
from ..types.blocks import AudioBlock, Base64Source, DocumentBlock, FileSource, ImageBlock, VideoBlock
from ..types.request import Request
from .exchange import Exchange
from .http import HttpRequest, Timeouts
from .media import MediaBlock, dropped_paths, media_places, with_sources
from .uploaded import Uploaded, Uploads

__all__ = ["after_failure", "Received", "Uploading", "upload_steps"]

MB = 1024 * 1024
KEPT_SECONDS = 30 * 24 * 3600
POLL_SECONDS = 2.0


class File(NamedTuple):
    """What is uploaded."""

    name: str
    media_type: str
    data: bytes
    digest: str


Received: TypeAlias = tuple[int, Mapping[str, str], bytes]
"""The answer to one of the requests: status, headers, body."""
Uploading: TypeAlias = Generator[HttpRequest | float, Received | None, Exchange]


class Stored(NamedTuple):
    """A file as the provider's answer describes it. ``pending``: the path to poll until the file can be used."""

    file_id: str
    expires_at: float | None = None
    pending: str | None = None


class FilesApi(Struct, frozen=True, kw_only=True):
    """How a provider takes files. ``most``: bytes of one medium inside of a request; ``total``: of all of them, in
    base64."""

    path: str
    form: Callable[[File], tuple[str, bytes]]
    read: Callable[[dict[str, Json]], Stored]
    headers: dict[str, str] = {}
    betas: tuple[str, ...] = ()
    most: dict[type, int] = {}
    total: int


# ------------------------------------------------------------------------------------------------ what providers want


def _part(boundary: str, head: str, data: bytes) -> bytes:
    return f"--{boundary}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"


def _boundary(file: File) -> str:
    """A boundary that does not occur in the content, because it contains the content's digest."""
    return f"interlingua-{file.digest[:40]}"


def _form_data(file: File, fields: Mapping[str, str]) -> tuple[str, bytes]:
    boundary = _boundary(file)
    name = file.name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")
    parts = [_part(boundary, f'Content-Disposition: form-data; name="{key}"', fields[key].encode()) for key in fields]
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: {file.media_type}'
    parts += [_part(boundary, head, file.data), f"--{boundary}--\r\n".encode()]
    return f"multipart/form-data; boundary={boundary}", b"".join(parts)


def _openai_form(file: File) -> tuple[str, bytes]:
    purpose = "vision" if file.media_type.startswith("image/") else "user_data"
    expiry = {"expires_after[anchor]": "created_at", "expires_after[seconds]": str(KEPT_SECONDS)}
    return _form_data(file, {"purpose": purpose, **expiry})


def _google_form(file: File) -> tuple[str, bytes]:
    boundary = _boundary(file)
    metadata = msgspec.json.encode({"file": {"displayName": file.name, "mimeType": file.media_type}})
    parts = (
        _part(boundary, "Content-Type: application/json; charset=utf-8", metadata),
        _part(boundary, f"Content-Type: {file.media_type}", file.data),
        f"--{boundary}--\r\n".encode(),
    )
    return f"multipart/related; boundary={boundary}", b"".join(parts)


def _read_openai(answer: dict[str, Json]) -> Stored:
    return Stored(answer["id"], answer.get("expires_at"))


def _read_anthropic(answer: dict[str, Json]) -> Stored:
    return Stored(answer["id"])


def _read_google(answer: dict[str, Json]) -> Stored:
    file = answer.get("file", answer)
    ends = file.get("expirationTime")
    if file.get("state") == "FAILED":
        raise InvalidRequestError(f"it cannot be read: {file.get('error') or 'no reason was given'}")
    pending = f"/v1beta/{file['name']}" if file.get("state") == "PROCESSING" else None
    return Stored(file["uri"], datetime.fromisoformat(ends).timestamp() if ends else None, pending)


OPENAI = FilesApi(path="/v1/files", form=_openai_form, read=_read_openai, total=50 * MB)
FILES: dict[str, FilesApi] = {
    # https://platform.openai.com/docs/api-reference/files/create: a request may hold 50 MB of files
    "openai": OPENAI,
    "openai-chat": OPENAI,
    # https://platform.claude.com/docs/en/api/files-create: a picture may have 5 MB, a request 32 MB
    "anthropic": FilesApi(
        path="/v1/files",
        form=lambda file: _form_data(file, {}),
        read=_read_anthropic,
        betas=("files-api-2025-04-14",),
        most={ImageBlock: 5 * MB},
        total=30 * MB,
    ),
    # https://ai.google.dev/api/files: a request may hold 20 MB; files are there for 48 hours
    "google": FilesApi(
        path="/upload/v1beta/files",
        form=_google_form,
        read=_read_google,
        headers={"x-goog-upload-protocol": "multipart"},
        total=19 * MB,
    ),
}
ENDINGS = {"image/jpeg": "jpg", "text/plain": "txt", "audio/mpeg": "mp3", "video/quicktime": "mov"}
KINDS: dict[type, str] = {ImageBlock: "picture", DocumentBlock: "document", AudioBlock: "sound", VideoBlock: "film"}


# ---------------------------------------------------------------------------------------------- what is too big


def too_big(request: Request, provider: str) -> dict[str, MediaBlock]:
    """The media that do not fit into a request to this provider, by path: those above the limit of their kind, then the
    largest, until the others fit."""
    api = FILES.get(provider)
    if api is None:
        return {}
    sizes = {
        place.path: (len(place.block.source.data), place.block)
        for place in media_places(request)
        if isinstance(place.block.source, Base64Source)
    }
    left, found = sum(size for size, _ in sizes.values()), dict[str, MediaBlock]()
    for path, (size, block) in sorted(sizes.items(), key=lambda one: -one[1][0]):
        most = api.most.get(type(block))
        if left > api.total or (most is not None and size * 3 // 4 > most):
            found[path] = block
            left -= size
    return found


def after_failure(error: AdapterError, exchange: Exchange, uploads: Uploads | None) -> None:
    """Add to the error of a refused request which option helps if its media are too big. If uploading is allowed,
    forget the files that the error names instead, so that the next call uploads them again."""
    provider = exchange.provider.name
    if uploads is not None:
        uploads.forget_named(error.message)
    elif found := too_big(exchange.request, provider):
        block = next(iter(found.values()))
        error.message += f"; a {_described(block)} is more than {provider} takes inside of a request: give upload=True"
        error.message += " to a client or a session, and such media are sent to its Files API first"
        error.args = (error.message,)


def _described(block: MediaBlock) -> str:
    size = len(cast("Base64Source", block.source).data) * 3 // 4
    return f"{KINDS[type(block)]} of {size / MB:.1f} MB"


# ------------------------------------------------------------------------------------------------------ uploading


def upload_steps(exchange: Exchange, uploads: Uploads, timeouts: Timeouts, account: str | None) -> Uploading | None:
    """The steps that upload the too big media of a request. They return the exchange that names the files instead.

    None if nothing is too big, or if this dialect cannot name files of that kind: then the request is sent as it is.
    """
    found = too_big(exchange.request, exchange.provider.name)
    if not found:
        return None
    named = {path: _source("file_trial", block, exchange) for path, block in found.items()}
    lost = dropped_paths(with_sources(exchange.request, named), exchange.dialect, exchange.target)
    found = {path: block for path, block in found.items() if path not in lost}
    return _upload_all(found, exchange, uploads, timeouts, account) if found else None


def _upload_all(
    found: dict[str, MediaBlock], exchange: Exchange, uploads: Uploads, timeouts: Timeouts, account: str | None
) -> Uploading:
    api, request = FILES[exchange.provider.name], exchange.request
    issuer = f"{account} at {exchange.provider.name} {exchange.address.url(api.path)}"
    sources: dict[str, FileSource] = {}
    for path, block in found.items():
        file = _file(block)
        uploaded = uploads.find(issuer, file.digest)
        if uploaded is None:
            stored = yield from _upload(api, file, block, exchange, timeouts)
            uploaded = Uploaded(
                issuer=issuer,
                digest=file.digest,
                file_id=stored.file_id,
                media_type=file.media_type,
                expires_at=stored.expires_at,
            )
            uploads.note(uploaded)
        sources[path] = _source(uploaded.file_id, block, exchange)
    request = replace(with_sources(request, sources), betas=tuple(dict.fromkeys((*request.betas, *api.betas))))
    return exchange.with_request(request)


def _upload(
    api: FilesApi, file: File, block: MediaBlock, exchange: Exchange, timeouts: Timeouts
) -> Generator[HttpRequest | float, Received | None, Stored]:
    """Upload one file. A failure says which one, and is retried as any other failure of the call."""
    content_type, body = api.form(file)
    betas = {"anthropic-beta": ",".join(api.betas)} if api.betas else {}
    headers = {**exchange.address.headers({}), "content-type": content_type, **api.headers, **betas}
    http = HttpRequest("POST", exchange.address.url(api.path), headers, body, timeouts)
    try:
        stored = _read(api, (yield http), exchange)
        while stored.pending is not None:
            yield POLL_SECONDS
            http = HttpRequest("GET", exchange.address.url(stored.pending), exchange.address.headers({}), b"", timeouts)
            stored = _read(api, (yield http), exchange)
    except AdapterError as error:
        error.message = f"the upload of a {_described(block)} to {exchange.provider.name} failed: {error.message}"
        error.args = (error.message,)
        raise
    return stored


def _read(api: FilesApi, received: Received | None, exchange: Exchange) -> Stored:
    assert received is not None
    status, headers, body = received
    body = exchange.scrub(body)
    if not 200 <= status < 300:
        raise exchange.dialect.decode_error(status, headers, body)
    try:
        return api.read(msgspec.json.decode(body))
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError, ValueError):
        raise ParseError(f"the answer names no file: {body[:200].decode(errors='replace')}") from None


def _file(block: MediaBlock) -> File:
    source = cast("Base64Source", block.source)
    try:
        data = b64decode(source.data)
    except NotBase64 as error:
        raise InvalidRequestError(
            f"a {KINDS[type(block)]} cannot be uploaded: its data are not base64: {error}"
        ) from None
    ending = ENDINGS.get(source.media_type, source.media_type.rpartition("/")[2])
    name = (block.filename if isinstance(block, DocumentBlock) else None) or f"file.{ending}"
    return File(name, source.media_type, data, sha256(data).hexdigest())


def _source(file_id: str, block: MediaBlock, exchange: Exchange) -> FileSource:
    media_type = cast("Base64Source", block.source).media_type
    return FileSource(file_id, media_type, exchange.dialect.name)

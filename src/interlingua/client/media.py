"""Media by URL, for a target that takes data only: fetched if the caller opts in, or left, and then it is a Loss.

Which URLs a target cannot take is not written down here: the dialect is asked. A block that it drops with a URL, and
does not drop with data in its place, is worth fetching. ``fetch_media`` awaits, ``fetch_media_sync`` blocks; both ask
the same ``Errand``. Nothing is fetched by anything else.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ..dialects import Dialect
from ..types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    ToolResultBlock,
    UrlSource,
    VideoBlock,
)
from ..types.capabilities import Target
from ..types.loss import Loss
from ..types.request import Request
from .deadline import Deadline
from .transport.guard import Allowance, FetchLimits, Hop, Refusal

if TYPE_CHECKING:
    from .transport.fetching import Fetch, FetchBlocking, Fetched

__all__ = ["FetchLimits", "fetch_media", "fetch_media_sync", "media_type_of"]

MediaBlock = ImageBlock | DocumentBlock | AudioBlock | VideoBlock
MEDIA = (ImageBlock, DocumentBlock, AudioBlock, VideoBlock)
AT_ONCE = 4
LIMITS = FetchLimits()

SAMPLES: dict[type, str] = {
    ImageBlock: "image/png",
    DocumentBlock: "application/pdf",
    AudioBlock: "audio/wav",
    VideoBlock: "video/mp4",
}
"""A type of each kind that every dialect with a word for the kind takes, to ask it with."""

ABLE: dict[type, str] = {
    ImageBlock: "images",
    DocumentBlock: "documents",
    AudioBlock: "audio",
    VideoBlock: "video",
}
"""What a model must be able to do to be sent this kind."""

ACCEPTED: dict[type, tuple[str, ...]] = {
    # How the types begin that may be sent as this kind. A drawing that runs scripts is no picture.
    ImageBlock: ("image/png", "image/jpeg", "image/gif", "image/webp", "image/heic", "image/heif", "image/avif"),
    DocumentBlock: (
        *("application/pdf", "text/", "application/json", "application/rtf", "application/msword"),
        *("application/vnd.openxmlformats-officedocument", "application/vnd.ms-excel"),
    ),
    AudioBlock: ("audio/",),
    VideoBlock: ("video/",),
}

MAGIC: tuple[tuple[int, bytes, str], ...] = (
    # offset, bytes, what they are; the first that fits
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftyp", "video/mp4"),
    (0, b"%PDF-", "application/pdf"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
)
PAGES = (b"<!doctype html", b"<html")
VAGUE = ("", "application/octet-stream", "binary/octet-stream", "application/binary")


class Place(NamedTuple):
    """Where a block with a URL stands."""

    path: str
    block: MediaBlock
    url: str


async def fetch_media(
    request: Request,
    dialect: Dialect,
    target: Target | None = None,
    *,
    limits: FetchLimits = LIMITS,
    fetch: Fetch | None = None,
    deadline: Deadline | None = None,
) -> tuple[Request, tuple[Loss, ...]]:
    """The request with media in place of the URLs that ``dialect`` cannot take, and a Loss for each that failed.

    Public addresses only, a few at once, within ``limits`` and before ``deadline``. ``fetch`` replaces the network.
    """
    errand = Errand(request, dialect, target, Allowance(limits, deadline))
    if not errand.urls:
        return request, errand.losses
    get = fetch or import_module(".transport.fetching", __package__).fetch
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(url: str) -> None:
        async with turns:
            try:
                errand.bring(url, await get(url, errand.allowance))
            except Refusal as refusal:
                errand.bring(url, refusal)

    await asyncio.gather(*(one(url) for url in errand.urls))
    return errand.done(), errand.losses


def fetch_media_sync(
    request: Request,
    dialect: Dialect,
    target: Target | None = None,
    *,
    limits: FetchLimits = LIMITS,
    fetch: FetchBlocking | None = None,
    deadline: Deadline | None = None,
) -> tuple[Request, tuple[Loss, ...]]:
    """The twin of ``fetch_media``, one after the other."""
    errand = Errand(request, dialect, target, Allowance(limits, deadline))
    get = (fetch or import_module(".transport.fetching", __package__).fetch_blocking) if errand.urls else None
    for url in errand.urls:
        assert get is not None
        try:
            errand.bring(url, get(url, errand.allowance))
        except Refusal as refusal:
            errand.bring(url, refusal)
    return errand.done(), errand.losses


class Errand:
    """What to fetch for a request, and the request with what was brought. Without I/O."""

    def __init__(self, request: Request, dialect: Dialect, target: Target | None, allowance: Allowance) -> None:
        self.request, self.allowance, limits = request, allowance, allowance.limits
        self.wanted = wanted(request, dialect, target)
        self._brought: dict[str, Fetched | Refusal] = {}
        known = list(dict.fromkeys(place.url for place in self.wanted))
        self.urls = known[: limits.items]
        for url in known[limits.items :]:
            self.bring(url, Refusal(f"no more than {limits.items} are fetched"))

    def bring(self, url: str, outcome: Fetched | Refusal) -> None:
        """What became of a URL."""
        self._brought[url] = outcome

    def done(self) -> Request:
        """The request, with data where data came."""
        found = {place.path: self._source(place) for place in self.wanted}
        data = {path: source for path, source in found.items() if isinstance(source, Base64Source)}
        return with_sources(self.request, data) if data else self.request

    @property
    def losses(self) -> tuple[Loss, ...]:
        """A Loss for each URL that was not fetched; the dialect will say what becomes of it."""
        found = ((place, self._source(place)) for place in self.wanted)
        return tuple(
            Loss(place.path, "dropped", f"the URL at {host_of(place.url)} was not fetched: {why}")
            for place, why in found
            if isinstance(why, Refusal)
        )

    def _source(self, place: Place) -> Base64Source | Refusal:
        outcome = self._brought[place.url]
        if isinstance(outcome, Refusal):
            return outcome
        source = place.block.source
        told = source.media_type if isinstance(source, UrlSource) else None
        kind = media_type_of(outcome.data, outcome.content_type, told)
        if not kind.startswith(ACCEPTED[type(place.block)]):
            return Refusal(f"it is {kind or 'of no known type'}, and no {place.block.type}")
        return Base64Source(kind, b64encode(outcome.data).decode())


# ------------------------------------------------------------------------------------------------ what is wanted


def wanted(request: Request, dialect: Dialect, target: Target | None = None) -> list[Place]:
    """The blocks whose URLs this target drops, though it would take data, and that the model can perceive."""
    able = target.capabilities if target else None
    places = [
        place
        for place in media_places(request)
        if place.url and (able is None or getattr(able, ABLE[type(place.block)]))
    ]
    if not places:
        return []
    lost = _dropped(request, dialect, target)
    places = [place for place in places if place.path in lost]
    if not places:
        return []
    samples = {place.path: Base64Source(SAMPLES[type(place.block)], "AAAA") for place in places}
    still = _dropped(with_sources(request, samples), dialect, target)
    return [place for place in places if place.path not in still]


def _dropped(request: Request, dialect: Dialect, target: Target | None) -> set[str]:
    return {loss.path for loss in dialect.encode_request(request, target).losses if loss.kind == "dropped"}


def media_places(request: Request) -> Iterator[Place]:
    """Every media block, those inside tool results too; ``url`` is empty where there is none."""
    found: list[Place] = []

    def see(path: str, block: MediaBlock) -> MediaBlock:
        found.append(Place(path, block, block.source.url if isinstance(block.source, UrlSource) else ""))
        return block

    _mapped(request, see)
    yield from found


def with_sources(request: Request, sources: Mapping[str, Base64Source]) -> Request:
    """The request with other sources at these paths."""
    return _mapped(request, lambda path, block: replace(block, source=sources[path]) if path in sources else block)


def _mapped(request: Request, change: Callable[[str, MediaBlock], MediaBlock]) -> Request:
    def blocks(content: tuple[Block, ...], path: str) -> tuple[Block, ...]:
        return tuple(one(block, f"{path}/{index}") for index, block in enumerate(content))

    def one(block: Block, path: str) -> Block:
        if isinstance(block, ToolResultBlock):
            return replace(block, content=blocks(block.content, f"{path}/content"))
        return change(path, block) if isinstance(block, MEDIA) else block

    messages = tuple(
        replace(message, content=blocks(message.content, f"messages/{index}/content"))
        for index, message in enumerate(request.messages)
    )
    return replace(request, messages=messages, system=blocks(request.system, "system"))


# ---------------------------------------------------------------------------------------------------- what it is


def media_type_of(data: bytes, content_type: str, told: str | None = None) -> str:
    """By its first bytes; else what the server says; else what the caller said."""
    for offset, magic, kind in MAGIC:
        if data.startswith(magic, offset):
            return kind
    if data[:100].lstrip().lower().startswith(PAGES):
        return "text/html"
    declared = content_type.partition(";")[0].strip().lower()
    return declared if declared not in VAGUE else told or ""


def host_of(url: str) -> str:
    """A URL's host, which is all of it that may be repeated."""
    try:
        return Hop.of(url).host
    except Refusal:
        return "an address that cannot be read"

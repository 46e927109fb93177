"""Media by URL, for a target that takes data only: fetched if the caller opts in, else dropped with a Loss.

Trial encodings find the URLs that a target does not take: a block is fetched if the dialect drops it with a URL, and
keeps it with data in its place. ``fetch_media`` is async, ``fetch_media_sync`` blocks; both use a ``MediaPlan``.
Nothing else in the package fetches URLs.
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
    Source,
    ToolResultBlock,
    UrlSource,
    VideoBlock,
)
from ..types.capabilities import Target
from ..types.loss import Loss
from ..types.request import Request
from .deadline import Deadline
from .media_types import ACCEPTED, media_type_of
from .transport.guard import Allowance, FetchLimits, Hop, Refusal

if TYPE_CHECKING:
    from .transport.fetching import Fetch, FetchBlocking, Fetched

__all__ = [
    "FetchLimits",
    "MediaBlock",
    "fetch_media",
    "fetch_media_sync",
    "media_places",
    "media_type_of",
    "dropped_paths",
    "with_sources",
]

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
"""For each kind a type that every dialect takes if it takes the kind at all; for trial encodings."""

CAPABILITIES: dict[type, str] = {
    ImageBlock: "images",
    DocumentBlock: "documents",
    AudioBlock: "audio",
    VideoBlock: "video",
}
"""The capability that a model needs for this kind."""


class Place(NamedTuple):
    """A media block and its path. ``url`` is empty if its source is not a URL."""

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
    """The request with data in place of the URLs that ``dialect`` does not take, and a Loss for each that failed.

    Only public addresses are fetched, a few at once, within ``limits`` and before ``deadline``. ``fetch`` replaces the
    network.
    """
    plan = MediaPlan(request, dialect, target, Allowance(limits, deadline))
    if not plan.urls:
        return request, plan.losses
    get = fetch or import_module(".transport.fetching", __package__).fetch
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(url: str) -> None:
        async with slots:
            try:
                plan.record(url, await get(url, plan.allowance))
            except Refusal as refusal:
                plan.record(url, refusal)

    await asyncio.gather(*(one(url) for url in plan.urls))
    return plan.fetched_request(), plan.losses


def fetch_media_sync(
    request: Request,
    dialect: Dialect,
    target: Target | None = None,
    *,
    limits: FetchLimits = LIMITS,
    fetch: FetchBlocking | None = None,
    deadline: Deadline | None = None,
) -> tuple[Request, tuple[Loss, ...]]:
    """As ``fetch_media``, blocking, one URL after the other."""
    plan = MediaPlan(request, dialect, target, Allowance(limits, deadline))
    get = (fetch or import_module(".transport.fetching", __package__).fetch_blocking) if plan.urls else None
    for url in plan.urls:
        assert get is not None
        try:
            plan.record(url, get(url, plan.allowance))
        except Refusal as refusal:
            plan.record(url, refusal)
    return plan.fetched_request(), plan.losses


class MediaPlan:
    """Which URLs of a request are fetched, and the request with the fetched data. Without I/O."""

    def __init__(self, request: Request, dialect: Dialect, target: Target | None, allowance: Allowance) -> None:
        self.request, self.allowance, limits = request, allowance, allowance.limits
        self.places = places_to_fetch(request, dialect, target)
        self._outcomes: dict[str, Fetched | Refusal] = {}
        urls = list(dict.fromkeys(place.url for place in self.places))
        self.urls = urls[: limits.items]
        for url in urls[limits.items :]:
            self.record(url, Refusal(f"no more than {limits.items} are fetched"))

    def record(self, url: str, outcome: Fetched | Refusal) -> None:
        """Note what was fetched from a URL, or why it was not fetched."""
        self._outcomes[url] = outcome

    def fetched_request(self) -> Request:
        """The request with the data that was fetched."""
        found = {place.path: self._source(place) for place in self.places}
        data = {path: source for path, source in found.items() if isinstance(source, Base64Source)}
        return with_sources(self.request, data) if data else self.request

    @property
    def losses(self) -> tuple[Loss, ...]:
        """A Loss for each URL that was not fetched. The dialect adds its own Loss for the block."""
        found = ((place, self._source(place)) for place in self.places)
        return tuple(
            Loss(place.path, "dropped", f"the URL at {host_of(place.url)} was not fetched: {why}")
            for place, why in found
            if isinstance(why, Refusal)
        )

    def _source(self, place: Place) -> Base64Source | Refusal:
        outcome = self._outcomes[place.url]
        if isinstance(outcome, Refusal):
            return outcome
        source = place.block.source
        declared = source.media_type if isinstance(source, UrlSource) else None
        kind = media_type_of(outcome.data, outcome.content_type, declared)
        if not kind.startswith(ACCEPTED[type(place.block)]):
            return Refusal(f"its type is {kind or 'not known'}, which cannot be sent as {place.block.type}")
        return Base64Source(kind, b64encode(outcome.data).decode())


# ------------------------------------------------------------------------------------------ which URLs are fetched


def places_to_fetch(request: Request, dialect: Dialect, target: Target | None = None) -> list[Place]:
    """The blocks whose URLs this target drops, though it takes data, and whose kind the model can read."""
    able = target.capabilities if target else None
    places = [
        place
        for place in media_places(request)
        if place.url and (able is None or getattr(able, CAPABILITIES[type(place.block)]))
    ]
    if not places:
        return []
    lost = dropped_paths(request, dialect, target)
    places = [place for place in places if place.path in lost]
    if not places:
        return []
    samples = {place.path: Base64Source(SAMPLES[type(place.block)], "AAAA") for place in places}
    dropped_anyway = dropped_paths(with_sources(request, samples), dialect, target)
    return [place for place in places if place.path not in dropped_anyway]


def dropped_paths(request: Request, dialect: Dialect, target: Target | None) -> set[str]:
    """The paths of the request that a dialect drops."""
    return {loss.path for loss in dialect.encode_request(request, target).losses if loss.kind == "dropped"}


def media_places(request: Request) -> Iterator[Place]:
    """Every media block, also inside tool results."""
    found: list[Place] = []

    def note(path: str, block: MediaBlock) -> MediaBlock:
        found.append(Place(path, block, block.source.url if isinstance(block.source, UrlSource) else ""))
        return block

    _map_media(request, note)
    yield from found


def with_sources(request: Request, sources: Mapping[str, Source]) -> Request:
    """The request with other sources at these paths."""
    return _map_media(request, lambda path, block: replace(block, source=sources[path]) if path in sources else block)


def _map_media(request: Request, change: Callable[[str, MediaBlock], MediaBlock]) -> Request:
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


def host_of(url: str) -> str:
    """The host of a URL. Only the host is shown: the rest may be a key."""
    try:
        return Hop.of(url).host
    except Refusal:
        return "an address that cannot be read"

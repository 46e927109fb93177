"""The model that will read a request, and what it can do."""

from __future__ import annotations

from msgspec import Struct

from .base import Json
from .blocks import TEXTS
from .checking import check

__all__ = ["AdapterCapabilities", "Target"]


class AdapterCapabilities(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one model accepts and returns.

    ``known`` is False for an unknown model: then the abilities are those of its protocol, and no request is refused
    because of them.
    """

    images: bool = False
    documents: bool = False
    audio: bool = False
    video: bool = False
    thinking: bool = False
    tools: bool = True
    system_prompt: bool = True
    structured_output: bool = False
    streaming: bool = True
    streaming_tool_calls: bool = True
    parallel_tool_calls: bool = True
    prompt_caching: bool = False
    max_context_tokens: int | None = None
    max_output_tokens: int | None = None
    image_types: tuple[str, ...] = ()
    known: bool = True


class Target(Struct, frozen=True, omit_defaults=True):
    """The reader of a request.

    ``quirks`` is the dialect's own struct of known deviations; ``shares`` names other providers whose signatures this
    reader understands.
    """

    provider: str | None = None
    model: str | None = None
    capabilities: AdapterCapabilities | None = None
    quirks: Json = None
    shares: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not TEXTS.issuperset((type(self.provider), type(self.model))) or type(self.shares) is not tuple:
            check(self)

"""The tools that a model may call, and which of them it may or must choose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from .base import Json, Value
from .blocks import FLAGS, KINDS, TEXTS, CacheMark
from .checking import check

__all__ = [
    "ANY",
    "ServerTool",
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolDefinition",
    "ToolOutput",
    "code_execution",
    "web_fetch",
    "web_search",
]

ANY = "any"
"""In the place of a dialect's name: a hosted tool under our own name, which each dialect writes in its own way."""


MODES = (None, "auto", "any", "specific", "none")


class ToolAnnotations(Struct, frozen=True, omit_defaults=True):
    """Hints for the program that runs the tools; they are not sent to any provider."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    def __post_init__(self) -> None:
        if not FLAGS.issuperset(map(type, (self.read_only, self.destructive, self.idempotent, self.open_world))):
            check(self)


class ToolDefinition(Value, frozen=True, tag_field="type", tag="tool"):
    """A tool of the caller's. ``kind="text"`` takes free text instead of a JSON object."""

    name: str
    description: str | None = None
    input_schema: dict[str, Json] = {}
    annotations: ToolAnnotations | None = None
    strict: bool | None = None
    cache: CacheMark | None = None
    kind: Literal["json", "text"] = "json"

    def __post_init__(self) -> None:
        if type(self.name) is not str or type(self.input_schema) is not dict or self.kind not in KINDS:
            check(self)
        if self.description is not None and type(self.description) is not str:
            check(self)
        if (self.strict is not None and type(self.strict) is not bool) or self.annotations is not None:
            check(self)
        if self.cache is not None and type(self.cache) is not CacheMark:
            check(self)


class ServerTool(Value, frozen=True, tag_field="type", tag="server_tool"):
    """A provider's built-in tool, carried whole as its dialect writes it. ``web_search()`` and the other functions here
    make one for any dialect."""

    dialect: str
    raw: Json

    def __post_init__(self) -> None:
        if type(self.dialect) is not str:
            check(self)


Tool = ToolDefinition | ServerTool
"""What a request offers: a tool of the caller, or one that the provider runs."""


def web_search(
    *,
    allowed_domains: Iterable[str] = (),
    blocked_domains: Iterable[str] = (),
    user_location: dict[str, Json] | None = None,
    max_uses: int | None = None,
) -> ServerTool:
    """The provider's own search of the web. A setting that it does not have is a Loss."""
    given: dict[str, Json] = {
        "allowed_domains": list(allowed_domains),
        "blocked_domains": list(blocked_domains),
        "user_location": user_location,
        "max_uses": max_uses,
    }
    return _hosted("web_search", given)


def web_fetch(
    *, allowed_domains: Iterable[str] = (), blocked_domains: Iterable[str] = (), max_uses: int | None = None
) -> ServerTool:
    """The provider's own tool that reads web pages by address. A setting that it does not have is a Loss."""
    given: dict[str, Json] = {
        "allowed_domains": list(allowed_domains),
        "blocked_domains": list(blocked_domains),
        "max_uses": max_uses,
    }
    return _hosted("web_fetch", given)


def code_execution() -> ServerTool:
    """The provider's own tool that runs code which the model writes."""
    return _hosted("code_execution", {})


def _hosted(name: str, given: dict[str, Json]) -> ServerTool:
    return ServerTool(ANY, {"name": name, **{key: value for key, value in given.items() if value not in (None, [])}})


class ToolChoice(Value, frozen=True):
    """How the model may choose. Any field may be set alone.

    ``mode`` is ``auto``, ``any``, ``specific`` (with ``name``) or ``none``; ``allowed`` narrows the choice to some
    names; ``parallel`` says whether several calls in one turn are allowed.
    """

    mode: Literal["auto", "any", "specific", "none"] | None = None
    name: str | None = None
    allowed: tuple[str, ...] = ()
    parallel: bool | None = None

    def __post_init__(self) -> None:
        if type(self.name) not in TEXTS or type(self.parallel) not in FLAGS or self.allowed != ():
            check(self)
        if self.mode not in MODES:
            check(self)

    def allows(self, name: str) -> bool:
        """Whether a tool of this name may be called."""
        if self.mode == "specific":
            return name == self.name
        return self.mode != "none" and (not self.allowed or name in self.allowed)

    @classmethod
    def auto(cls, *, parallel: bool | None = None) -> ToolChoice:
        """The model decides."""
        return cls(mode="auto", parallel=parallel)

    @classmethod
    def any(cls, *, parallel: bool | None = None) -> ToolChoice:
        """Some tool must be called."""
        return cls(mode="any", parallel=parallel)

    @classmethod
    def none(cls) -> ToolChoice:
        """No tool may be called."""
        return cls(mode="none")

    @classmethod
    def specific(cls, name: str, *, parallel: bool | None = None) -> ToolChoice:
        """This very tool must be called."""
        return cls(mode="specific", name=name, parallel=parallel)


class ToolOutput(Struct, frozen=True, omit_defaults=True):
    """The result of one call, from a caller that runs tools itself: input of ``build_tool_results``."""

    id: str
    content: Json
    is_error: bool | None = None

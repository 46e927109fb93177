"""The limits on what is accepted from servers and files. Sizes are bytes; ``None`` lifts a limit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct

__all__ = ["ERROR_TEXT", "Limits", "is_deep", "is_deeper", "too_deep", "too_long"]

KIB, MIB = 1024, 1024 * 1024
ERROR_TEXT = 4 * KIB
"""How many bytes of an error's text are read. Dialects read no configuration, so they use this default."""


class Limits(Struct, frozen=True, omit_defaults=True):
    """What a client and a session accept before they give up with a clear error."""

    body: int | None = 64 * MIB
    """A whole answer, after unpacking."""
    error: int | None = MIB
    """The body of an error answer; the rest is not read."""
    error_text: int | None = ERROR_TEXT
    """How many bytes of an error's text are read to classify it. This field has no effect: dialects use its default."""
    event: int | None = 16 * MIB
    """One event of a stream."""
    arguments: int | None = 8 * MIB
    """The arguments of one tool call."""
    depth: int | None = 128
    """How deeply the JSON of a whole answer or an error may be nested. Elsewhere (events of a stream, arguments, saved
    sessions, YAML) the default holds."""
    held_events: int | None = 1000
    """Events held back before the first content of a stream."""
    held_bytes: int | None = 4 * MIB
    """The bytes of those events."""
    parallel_tools: int | None = 16
    """Calls of one turn that run at the same time."""
    threads: int | None = 16
    """Threads of tools that block, over all turns of a session."""


def _children(value: Any) -> Iterable[Any]:
    return cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)


def is_deeper(value: Any, depth: int | None) -> bool:
    """Whether lists and objects are nested more than ``depth`` deep. Searched level by level, without recursion."""
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(depth or 0):
        if not level:
            return False
        level = [child for one in level for child in _children(one) if isinstance(child, dict | list)]
    return depth is not None and bool(level)


def is_deep(body: bytes, depth: int | None, value: Any = None) -> bool:
    """Whether a JSON body is nested more than ``depth`` deep; ``value`` is the parsed body, if the caller has it.

    Most bodies have fewer brackets than that, and are not parsed.
    """
    if depth is None or body.count(b"{") + body.count(b"[") <= depth:
        return False
    try:
        return is_deeper(msgspec.json.decode(body) if value is None else value, depth)
    except RecursionError:
        return True
    except (msgspec.DecodeError, UnicodeError):
        return False


def too_long(name: str, most: int) -> str:
    """The end of an error message: what is over a limit, and how to lift the limit."""
    return f"is longer than the limit of {most} bytes; AdapterConfig(limits=Limits({name}=None)) lifts it"


def too_deep(most: int | None) -> str:
    """The same for JSON that is nested too deeply."""
    return f"is nested more than {most} deep; AdapterConfig(limits=Limits(depth=None)) lifts that limit"

"""Which tools go along when there are more than a model handles well.

Never left out: tools of the provider, those that the request's own choice names, core tools, tools of active skills.
The seats that remain go to tools called earlier in the conversation (at most half of them, the latest first), to tools
of active connectors, and to whatever is most relevant to the last user message. The order stays the caller's.

The answer is the same at every step of one tool loop: nothing that a step adds to the history changes a seat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...types.blocks import ToolUseBlock
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import Tool, ToolDefinition
from ...types.words import Role
from .relevance import scores

__all__ = ["Chosen", "choose"]

USER = Role.user


class Chosen(Struct, frozen=True):
    """The tools that go along, the names of those that do not, and a warning where the limit could not be kept."""

    tools: tuple[Tool, ...]
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def choose(
    request: Request,
    limit: int,
    *,
    core_tools: Iterable[str] = (),
    active_skills: Iterable[str] = (),
    active_connectors: Iterable[str] = (),
) -> Chosen:
    """At most ``limit`` tools of the request, or as many more as must never be left out."""
    tools = request.tools
    if len(tools) <= limit:
        return Chosen(tools)
    named = {index: tool for index, tool in enumerate(tools) if isinstance(tool, ToolDefinition)}
    core, skills, connectors = {*core_tools, *_demanded(request)}, tuple(active_skills), tuple(active_connectors)
    always = {i for i in range(len(tools)) if i not in named or _belongs(named[i].name, core, skills)}
    now = _last_question(request.messages)
    kept = always | set(_seated(request, named, always, limit - len(always), connectors, now))
    running = set(_called(request.messages[now:]))
    kept |= {i for i, tool in named.items() if tool.name in running}
    left_out = tuple(tool.name for i, tool in named.items() if i not in kept)
    return Chosen(_with_marks(tools, kept), left_out, _over(len(kept), limit))


def _seated(
    request: Request,
    named: dict[int, ToolDefinition],
    always: set[int],
    seats: int,
    connectors: Sequence[str],
    now: int,
) -> Iterator[int]:
    """The tools that get one of the free seats."""
    if seats <= 0:
        return
    question = request.messages[now].text if now < len(request.messages) else ""
    marks = dict(zip(named, scores(question, list(named.values())), strict=True))
    earlier = {name: age for age, name in enumerate(_called(reversed(request.messages[:now])))}
    free = [i for i in named if i not in always]
    used = sorted((i for i in free if named[i].name in earlier), key=lambda i: (earlier[named[i].name], i))
    used = used[: seats // 2]
    taken = set(used)
    others = [i for i in free if i not in taken]
    others.sort(key=lambda i: (not _prefixed(named[i].name, connectors), -marks[i], i))
    yield from used
    yield from others[: seats - len(used)]


# ------------------------------------------------------------------------------------------------- what is never left


def _belongs(name: str, core: set[str], skills: Sequence[str]) -> bool:
    return name in core or _prefixed(name, skills)


def _demanded(request: Request) -> tuple[str, ...]:
    """Names that the caller's own choice depends on."""
    choice = request.tool_choice
    if choice is None:
        return ()
    return choice.allowed if choice.name is None else (*choice.allowed, choice.name)


def _prefixed(name: str, prefixes: Sequence[str]) -> bool:
    return any(name.startswith(prefix) and _at_seam(name, len(prefix)) for prefix in prefixes if prefix)


def _at_seam(name: str, end: int) -> bool:
    """Whether a word ends there: ``app`` begins ``app_list``, ``app.list`` and ``appList``, but not ``apply``."""
    before, after = name[end - 1], name[end : end + 1]
    return not after or not before.isalnum() or not after.isalnum() or (before.islower() and after.isupper())


# ----------------------------------------------------------------------------------------------------- what was said


def _last_question(messages: Sequence[Message]) -> int:
    """Where the last user message with words stands; tool results are not the user's. The length if there is none."""
    places = (i for i in range(len(messages) - 1, -1, -1) if messages[i].role is USER and messages[i].text.strip())
    return next(places, len(messages))


def _called(messages: Iterable[Message]) -> dict[str, None]:
    """The names of the tools that were called, each once, in the order met."""
    return {block.name: None for m in messages for block in m.content if type(block) is ToolUseBlock}


# ---------------------------------------------------------------------------------------------------- what comes of it


def _with_marks(tools: tuple[Tool, ...], kept: set[int]) -> tuple[Tool, ...]:
    """The tools that stay. The cache mark of one that goes moves to the tool before it, so the prefix stays cached."""
    made: list[Tool] = []
    for index, tool in enumerate(tools):
        if index in kept:
            made.append(tool)
        elif isinstance(tool, ToolDefinition) and tool.cache is not None and made:
            last = made[-1]
            if isinstance(last, ToolDefinition) and last.cache is None:
                made[-1] = replace(last, cache=tool.cache)
    return tuple(made)


def _over(count: int, limit: int) -> tuple[str, ...]:
    never = "core tools, tools of active skills, tools in use and tools that the request names are never left out"
    return (f"{count} tools are sent, {count - limit} over the limit of {limit}: {never}",) if count > limit else ()

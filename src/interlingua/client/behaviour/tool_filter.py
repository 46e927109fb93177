"""Which tools are sent if there are more than a model handles well.

Never left out: tools of the provider, tools that the request's tool choice names, core tools, tools of active skills.
The remaining places go to tools called earlier in the conversation (at most half of the places, the latest first), to
tools of active connectors, and to the tools that are most relevant to the last user message. The order is not changed.

The result is the same at every step of one tool loop: messages that a step adds do not change it.
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
    """The tools that are sent, the names of those that are not, and a warning if the limit could not be kept."""

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
    """Choose at most ``limit`` tools of the request; more only if more must not be left out."""
    tools = request.tools
    if len(tools) <= limit:
        return Chosen(tools)
    named = {index: tool for index, tool in enumerate(tools) if isinstance(tool, ToolDefinition)}
    core, skills, connectors = {*core_tools, *_named_by_choice(request)}, tuple(active_skills), tuple(active_connectors)
    always = {i for i in range(len(tools)) if i not in named or _is_core(named[i].name, core, skills)}
    asked_at = _last_question(request.messages)
    sent = always | set(_relevant(request, named, always, limit - len(always), connectors, asked_at))
    running = set(_called(request.messages[asked_at:]))
    sent |= {i for i, tool in named.items() if tool.name in running}
    left_out = tuple(tool.name for i, tool in named.items() if i not in sent)
    return Chosen(_with_marks(tools, sent), left_out, _warning(len(sent), limit))


def _relevant(
    request: Request,
    named: dict[int, ToolDefinition],
    always: set[int],
    places: int,
    connectors: Sequence[str],
    asked_at: int,
) -> Iterator[int]:
    """The tools that get one of the free places."""
    if places <= 0:
        return
    question = request.messages[asked_at].text if asked_at < len(request.messages) else ""
    relevance = dict(zip(named, scores(question, list(named.values())), strict=True))
    earlier = {name: age for age, name in enumerate(_called(reversed(request.messages[:asked_at])))}
    free = [i for i in named if i not in always]
    used = sorted((i for i in free if named[i].name in earlier), key=lambda i: (earlier[named[i].name], i))
    used = used[: places // 2]
    taken = set(used)
    others = [i for i in free if i not in taken]
    others.sort(key=lambda i: (not _has_prefix(named[i].name, connectors), -relevance[i], i))
    yield from used
    yield from others[: places - len(used)]


# ------------------------------------------------------------------------------------------ what is never left out


def _is_core(name: str, core: set[str], skills: Sequence[str]) -> bool:
    return name in core or _has_prefix(name, skills)


def _named_by_choice(request: Request) -> tuple[str, ...]:
    """The tools that the caller's tool choice names."""
    choice = request.tool_choice
    if choice is None:
        return ()
    return choice.allowed if choice.name is None else (*choice.allowed, choice.name)


def _has_prefix(name: str, prefixes: Sequence[str]) -> bool:
    return any(name.startswith(prefix) and _ends_word(name, len(prefix)) for prefix in prefixes if prefix)


def _ends_word(name: str, end: int) -> bool:
    """Whether a word ends there: ``app`` begins ``app_list``, ``app.list`` and ``appList``, but not ``apply``."""
    before, after = name[end - 1], name[end : end + 1]
    return not after or not before.isalnum() or not after.isalnum() or (before.islower() and after.isupper())


# ------------------------------------------------------------------------------------------------- the conversation


def _last_question(messages: Sequence[Message]) -> int:
    """The index of the last user message with text; tool results do not count. The length if there is none."""
    places = (i for i in range(len(messages) - 1, -1, -1) if messages[i].role is USER and messages[i].text.strip())
    return next(places, len(messages))


def _called(messages: Iterable[Message]) -> dict[str, None]:
    """The names of the tools that were called, each once, in the order of ``messages``."""
    return {block.name: None for m in messages for block in m.content if type(block) is ToolUseBlock}


# ---------------------------------------------------------------------------------------------------- the result


def _with_marks(tools: tuple[Tool, ...], sent: set[int]) -> tuple[Tool, ...]:
    """The tools that are sent. The cache mark of a tool that is left out moves to the tool before it."""
    made: list[Tool] = []
    for index, tool in enumerate(tools):
        if index in sent:
            made.append(tool)
        elif isinstance(tool, ToolDefinition) and tool.cache is not None and made:
            last = made[-1]
            if isinstance(last, ToolDefinition) and last.cache is None:
                made[-1] = replace(last, cache=tool.cache)
    return tuple(made)


def _warning(count: int, limit: int) -> tuple[str, ...]:
    never = "core tools, tools of active skills, tools in use and tools that the request names are never left out"
    return (f"{count} tools are sent, {count - limit} over the limit of {limit}: {never}",) if count > limit else ()

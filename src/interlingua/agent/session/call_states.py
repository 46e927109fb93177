"""How far the calls of an answer came, in ``Message.metadata["calls"]``: by id, ``{"state": …}``. The states are in
``agent/tools/calls.py``.

Calls that the session runs, or refuses to run (``refused``: why), have an entry. Calls that the caller answers have
none, because only the caller knows whether they were run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from ...errors import CancelledError, StoreError
from ...types.base import Json
from ...types.blocks import ToolUseBlock
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import ServerTool, Tool
from ..tools.calls import MOVES, CallRun, State, unanswered
from ..tools.running import ENDED

if TYPE_CHECKING:
    from .history import History

__all__ = [
    "BY_CALLER",
    "NOT_STARTED",
    "Starting",
    "cause_of",
    "entries",
    "entry_of",
    "name_of",
    "refusals",
    "why_unanswered",
    "with_states",
]

KEY = "calls"
NOT_STARTED = ("offered", "asked", "approved")

BY_CALLER = "the turn was cancelled by the caller"
CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (asyncio.CancelledError, BY_CALLER),
    (CancelledError, BY_CALLER),
    (GeneratorExit, "the caller left before the turn was over"),
    (KeyboardInterrupt, "the program was interrupted"),
    (SystemExit, "the program was interrupted"),
    (StoreError, "the session could not be stored"),
)


def cause_of(error: BaseException) -> str:
    """Why a turn ended early, in words for the model."""
    found = (cause for kind, cause in CAUSES if isinstance(error, kind))
    return next(found, f"the turn failed with {type(error).__name__}")


# ---------------------------------------------------------------------------------------------------- what was offered


def refusals(calls: Iterable[ToolUseBlock], request: Request) -> dict[str, str]:
    """Why some calls may not run, by id: the request did not offer the tool, or did not allow it."""
    names = [name for tool in request.tools if (name := name_of(tool)) and _allows(request, tool, name)]
    offered = f"Offered: {', '.join(names) or 'none'}."
    return {
        call.id: f"`{call.name}` was not offered in this request, so it was not run. {offered}"
        for call in calls
        if call.name not in names
    }


def _allows(request: Request, tool: Tool, name: str) -> bool:
    choice = request.tool_choice
    if choice is None:
        return True
    return choice.mode != "none" if isinstance(tool, ServerTool) else choice.allows(name)


def name_of(tool: Tool) -> str | None:
    """The name by which calls refer to a tool; None if it has no name."""
    if not isinstance(tool, ServerTool):
        return tool.name
    raw: Json = tool.raw
    definition = cast("dict[str, Json]", raw) if isinstance(raw, dict) else {}
    name = definition.get("name") or definition.get("type")
    return name if isinstance(name, str) else None


# --------------------------------------------------------------------------------------------------- what is written


def entries(calls: Iterable[ToolUseBlock], refused: Mapping[str, str]) -> dict[str, Json]:
    """The entries of calls that the model has just made."""
    made: dict[str, Json] = {}
    for call in calls:
        made[call.id] = {"state": "offered"}
        if call.id in refused:
            made[call.id]["refused"] = refused[call.id]
    return made


def entry_of(message: Message, id: str) -> dict[str, Any]:
    """The entry of a call; empty if there is none, or if it was not written by a session."""
    calls: Any = message.metadata.get(KEY)
    found: Any = cast("dict[str, Any]", calls).get(id) if isinstance(calls, dict) else None
    if not isinstance(found, dict):
        return {}
    entry = cast("dict[str, Any]", found)
    return entry if isinstance(entry.get("state"), str) and entry["state"] in MOVES else {}


def with_states(message: Message, states: Mapping[str, State]) -> Message:
    """The answer with new states of its calls. Calls of other answers are ignored."""
    ids = {block.id for block in message.content if type(block) is ToolUseBlock}
    changed = {id: {**entry_of(message, id), "state": state} for id, state in states.items() if id in ids}
    calls: Any = message.metadata.get(KEY)
    before = cast("dict[str, Any]", calls) if isinstance(calls, dict) else {}
    return replace(message, metadata={**message.metadata, KEY: {**before, **changed}})


def why_unanswered(entry: Mapping[str, Any], cause: str | None) -> str:
    """The text for the model about a call without a result."""
    if not entry:
        return "No result was given for this call."
    if "refused" in entry:
        return str(entry["refused"])
    if entry["state"] in NOT_STARTED:
        return unanswered("offered", cause or "the conversation went on before")
    return unanswered("started", cause or ENDED)


class Starting:
    """Stores the state ``started`` of a call before its function runs. Calls that start together share one write."""

    def __init__(self, history: History, persist: Callable[[], Awaitable[None]]) -> None:
        self._history, self._persist = history, persist
        self._writing = asyncio.Lock()
        self._new: list[CallRun] = []

    async def __call__(self, run: CallRun) -> None:
        self._new.append(run)
        async with self._writing:
            if run not in self._new:
                return  # it was written together with another call
            starting, self._new = self._new, []
            self._history.note_states({one.call.id: "started" for one in starting})
            try:
                await self._persist()
            except BaseException:
                self._new += [one for one in starting if one is not run]  # each of them tries to store itself
                self._history.note_states({one.call.id: one.state for one in starting})
                raise

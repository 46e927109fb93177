"""What an answer says of its calls in ``Message.metadata["calls"]``: by id, ``{"state": …}``
(``agent/tools/calls.py``).

Calls that the session runs, or refuses to run (``refused``: why), have an entry. Calls that are left to the caller have
none: nobody but the caller knows whether they were run.
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
    """Why a turn was cut, for the model."""
    found = (cause for kind, cause in CAUSES if isinstance(error, kind))
    return next(found, f"the turn failed with {type(error).__name__}")


# ---------------------------------------------------------------------------------------------------- what was offered


def refusals(calls: Iterable[ToolUseBlock], request: Request) -> dict[str, str]:
    """Why some calls may not run, by id: the request did not offer such a tool, or did not allow it."""
    names = [name for tool in request.tools if (name := name_of(tool)) and _allows(request, tool, name)]
    told = f"Offered: {', '.join(names) or 'none'}."
    return {
        call.id: f"`{call.name}` was not offered in this request, so it was not run. {told}"
        for call in calls
        if call.name not in names
    }


def _allows(request: Request, tool: Tool, name: str) -> bool:
    choice = request.tool_choice
    if choice is None:
        return True
    return choice.mode != "none" if isinstance(tool, ServerTool) else choice.allows(name)


def name_of(tool: Tool) -> str | None:
    """How calls name a tool, if it has a name."""
    if not isinstance(tool, ServerTool):
        return tool.name
    raw: Json = tool.raw
    told = cast("dict[str, Json]", raw) if isinstance(raw, dict) else {}
    name = told.get("name") or told.get("type")
    return name if isinstance(name, str) else None


# --------------------------------------------------------------------------------------------------- what is written


def entries(calls: Iterable[ToolUseBlock], refused: Mapping[str, str]) -> dict[str, Json]:
    """The entries of calls that were just made."""
    made: dict[str, Json] = {}
    for call in calls:
        made[call.id] = {"state": "offered"}
        if call.id in refused:
            made[call.id]["refused"] = refused[call.id]
    return made


def entry_of(message: Message, id: str) -> dict[str, Any]:
    """What is written of a call; nothing, if it is no entry of ours."""
    calls: Any = message.metadata.get(KEY)
    found: Any = cast("dict[str, Any]", calls).get(id) if isinstance(calls, dict) else None
    if not isinstance(found, dict):
        return {}
    entry = cast("dict[str, Any]", found)
    return entry if isinstance(entry.get("state"), str) and entry["state"] in MOVES else {}


def with_states(message: Message, states: Mapping[str, State]) -> Message:
    """The answer with other states of its calls."""
    own = {block.id for block in message.content if type(block) is ToolUseBlock}
    made = {id: {**entry_of(message, id), "state": state} for id, state in states.items() if id in own}
    told: Any = message.metadata.get(KEY)
    before = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    return replace(message, metadata={**message.metadata, KEY: {**before, **made}})


def why_unanswered(entry: Mapping[str, Any], cause: str | None) -> str:
    """What the model is told of a call without a result."""
    if not entry:
        return "No result was given for this call."
    if "refused" in entry:
        return str(entry["refused"])
    if entry["state"] in NOT_STARTED:
        return unanswered("offered", cause or "the conversation went on before")
    return unanswered("started", cause or ENDED)


class Starting:
    """Stores that calls are started, before they are. Calls that start at the same time share a write."""

    def __init__(self, history: History, persist: Callable[[], Awaitable[None]]) -> None:
        self._history, self._persist = history, persist
        self._writing = asyncio.Lock()
        self._new: list[CallRun] = []

    async def __call__(self, run: CallRun) -> None:
        self._new.append(run)
        async with self._writing:
            if run not in self._new:
                return  # written along with another
            marked, self._new = self._new, []
            self._history.mark({one.call.id: "started" for one in marked})
            try:
                await self._persist()
            except BaseException:
                self._new += [one for one in marked if one is not run]  # they try for themselves
                self._history.mark({one.call.id: one.state for one in marked})
                raise

"""The verdict on a run: the agent finished the task, gave up and said so, or wrongly ended as if all were well."""

from __future__ import annotations

from .faults import FAULTS, REAL, Cell
from .rows import AGENTS, Agent
from .run import Seen
from .scripted import FINAL

__all__ = ["verdict"]

FINISHED = "finished"
HONEST = frozenset({FINISHED, "gave up", "still trying"})
"""The outcomes that pass if the fault may stop an agent. Otherwise only ``FINISHED`` passes."""


def verdict(cell: Cell, seen: Seen) -> tuple[bool, str]:
    """Whether a run passes, and its outcome in words."""
    agent = AGENTS[cell.agent]
    if cell.upstream == REAL:
        return (True, FINISHED) if seen.exit == 0 and seen.results else (False, _unfinished(seen, agent))
    fault = FAULTS[cell.fault]
    if fault.unfinished and seen.ran and not seen.whole:
        return False, "ran a call that was never finished"
    found = _finished(seen, agent, fault.calls if agent.tools else 0)
    return found in ({FINISHED} if fault.must_finish else HONEST), found


def _finished(seen: Seen, agent: Agent, calls: int) -> str:
    if seen.exit == 0 and FINAL in seen.output:
        return FINISHED if seen.ran == calls else f"said that all is done, with {seen.ran} commands run of {calls}"
    return _unfinished(seen, agent)


def _unfinished(seen: Seen, agent: Agent) -> str:
    if seen.exit is None:
        return "still trying"
    gave_up = agent.gives_up and agent.gives_up in seen.output
    return "gave up" if seen.exit or gave_up else "ended as if all were well"

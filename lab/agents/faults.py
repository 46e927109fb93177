"""The faults of the upstream, how an agent may react, and the plan: which agent meets which fault over which upstream.

``script`` names faults in the words of the scripted upstream. A cut is given as a number of stream events, which
differs by protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from msgspec import Struct

from .rows import AGENTS, Agent

__all__ = ["FAULTS", "REAL", "UPSTREAMS", "Cell", "Fault", "Upstream", "plan"]

SEED = 13


class Upstream(Struct, frozen=True):
    """A server behind the gateway, and the adapter and model for it."""

    adapter: str
    model: str
    path: str


UPSTREAMS = {
    "chat": Upstream("openai-chat", "gpt-5", "/v1"),
    "responses": Upstream("openai", "gpt-5", "/v1"),
    "messages": Upstream("anthropic", "claude-sonnet-4-5", "/v1"),
    "gemini": Upstream("google", "gemini-2.5-pro", "/v1beta"),
    "llama.cpp": Upstream("llamacpp", "tiny", "/v1"),
}
SCRIPTED = ("chat", "responses", "messages", "gemini")
REAL = "llama.cpp"


class Fault(Struct, frozen=True, kw_only=True):
    """One behaviour of the upstream."""

    title: str
    script: str | dict[str, str]
    """One for all protocols, or one by protocol."""
    must_finish: bool = False
    """Whether the task must be finished; else an agent may give up, if it says so."""
    calls: int = 1
    """How many commands a finished task has run."""
    unfinished: bool = False
    """Whether the only streamed call is never finished: an agent that runs it did what the model did not ask for."""
    only: tuple[tuple[str, str], ...] = ()
    """The agents, each with its upstream, for a fault that means something to these only."""

    def script_for(self, upstream: str) -> str:
        """The words for the scripted upstream."""
        return self.script if isinstance(self.script, str) else self.script[upstream]


# fmt: off
FAULTS = {
    "none":          Fault(title="nothing goes wrong", script="-", must_finish=True),
    "429":           Fault(title="429 once, with retry-after", script="status:429:1,retry-after:1", must_finish=True),
    "500":           Fault(title="500 four times", script="status:500:4"),
    "529":           Fault(title="529 four times", script="status:529:4"),
    "cut early":     Fault(title="every stream is cut before any content",
                           script={"chat": "cut:1", "responses": "cut:2", "messages": "cut:2", "gemini": "cut:0"},
                           unfinished=True),
    "cut in call":   Fault(title="every stream is cut within a call (Gemini: before it, since its calls come whole)",
                           script={"chat": "cut:3", "responses": "cut:4", "messages": "cut:9", "gemini": "think,cut:1"},
                           unfinished=True),
    "cut after call": Fault(title="every stream is cut between a whole call and the end",
                           script={"chat": "cut:4", "responses": "cut:7", "messages": "cut:11", "gemini": "par,cut:1"}),
    "cut in text":   Fault(title="every stream is cut within the text", calls=0,
                           script={"chat": "notool,cut:2", "responses": "notool,cut:5", "messages": "notool,cut:4",
                                   "gemini": "notool,cut:1"}),
    "parallel":      Fault(title="two calls at once", script="par", calls=2, must_finish=True),
    "thinking":      Fault(title="thinking before the call and the text", script="think", must_finish=True),
    "crlf":          Fault(title="CRLF as ends of lines", script="crlf", must_finish=True),
    "slow":          Fault(title="a second and a half between events, in which the gateway sends what clients skip",
                           script="slow:1500", must_finish=True),
    "overflow":      Fault(title="the first request is too long for the model", script="ctxat:1"),
    "danger":        Fault(title="a script is cut after its first line, which alone would do something",
                           script="danger,cut:3", unfinished=True, only=(("codex, namespaces", "chat"),)),
}
# fmt: on


class Cell(Struct, frozen=True):
    """One run."""

    agent: str
    fault: str
    upstream: str

    @property
    def label(self) -> str:
        """A name for folders and URLs."""
        return "--".join(part.replace(", ", "-").replace(" ", "-") for part in (self.agent, self.fault, self.upstream))


def plan() -> Iterator[Cell]:
    """Every run, the clean ones first."""
    for agent in AGENTS.values():
        for upstream in ("chat",) if agent.once else (*SCRIPTED, REAL):
            yield Cell(agent.name, "none", upstream)
    full = [agent for agent in AGENTS.values() if not agent.once]
    for name, fault in FAULTS.items():
        if name != "none":
            yield from (Cell(agent, name, upstream) for agent, upstream in fault.only or rotated(name, full))


def rotated(fault: str, agents: list[Agent]) -> list[tuple[str, str]]:
    """Each agent once with a fault, over an upstream that is drawn at random, each about equally often."""
    chance = Random(f"{SEED} {fault}")
    order = chance.sample(SCRIPTED, len(SCRIPTED))
    return [(agent.name, order[index % len(order)]) for index, agent in enumerate(chance.sample(agents, len(agents)))]

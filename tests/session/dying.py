"""A process that holds a conversation, prints each place, and waits where it is to die. It imports little, because
it is started often."""

from __future__ import annotations

import sys

from interlingua import TextBlock, ToolUseBlock
from interlingua.agent.session import SyncSession
from interlingua.client.embedded import Script, Step
from session.scenes import scripted


def call(n: int) -> Step:
    return Step(content=(TextBlock("Let me see."), ToolUseBlock(f"toolu_{n}", "count", input={"n": n})))


SCRIPT = (call(1), Step(content=(TextBlock("one two three"),)))


def tell(place: str, stop: str) -> None:
    """Print the place. At ``stop``, wait to be killed."""
    print(place, flush=True)
    if place == stop:
        sys.stdin.read()


def hold(path: str, stop: str) -> None:
    """Run turns with one call each without end, or until the place ``stop``."""

    def count(n: int) -> str:
        """Count."""
        tell(f"{turn} tool", stop)
        return f"counted {n}"

    def model(request: object) -> Step:
        first = len(session.messages) % 4 == 1
        tell(f"{turn} {'asked' if first else 'told'}", stop)
        return SCRIPT[0 if first else 1]

    session = SyncSession("anthropic:m", [count], "be brief", manager=scripted(Script(model)), store=path)
    for turn in range(1, 10_000):
        for event in session.run_stream(f"question {turn}"):
            if event.type == "text.delta" and len(session.messages) % 4 == 3:
                tell(f"{turn} words", stop)
        tell(f"{turn} done", stop)

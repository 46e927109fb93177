"""A conversation with a tool call moves through six protocols; before each move, its cost and losses are printed.

    python examples/move.py

It needs no key: the model is scripted, in each of the six protocols.
"""

from __future__ import annotations

from interlingua import DIALECTS, SyncSession, ToolUseBlock
from interlingua.embedded import call


def weather(city: str) -> str:
    """The current weather of a city."""
    return f"{city}: 3 °C, rain"


def main() -> None:
    first, *others = DIALECTS
    script = [call("weather", city="Oslo"), "It rains in Oslo."]
    with SyncSession(f"embedded:{first}", [weather], script=script) as session:
        print(f"{first}: {session.run('How is the weather in Oslo?').text}")
        for name in others:
            plan = session.plan_swap(f"embedded:{name}")
            lost = [loss.reason for loss in plan.losses if loss.weight != "form"]
            print(f"{name}: legal {plan.legal}, about {plan.input_tokens} tokens, {len(lost)} losses")
            session.model = f"embedded:{name}"
            session.send("And is that still so?")
        calls = [block for message in session.messages for block in message.content if isinstance(block, ToolUseBlock)]
        print(f"the call is still {calls[0].name}({calls[0].input}), with the id {calls[0].id[:3]}…")


if __name__ == "__main__":
    main()

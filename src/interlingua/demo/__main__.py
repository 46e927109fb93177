"""Runs the demo: seven turns of one conversation, over HTTP on loopback, through all six dialects and back."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from ..agent.session import Session
from ..client.embedded import LoopbackServer, Script
from ..client.manager import ProviderManager
from ..models.catalogue import Price
from ..models.pricing import Pricing
from ..models.providers import provider
from ..types.blocks import ThinkingBlock
from .showing import transcript, wire_forms
from .task import SYSTEM, THOUGHT, TURNS, Desk, script

MODEL = "demo-model"
PRICES = {MODEL: Price(input=3.0, output=15.0)}
CLOSING = """
The model was scripted. With a key of your own the same lines speak to a real one: set ANTHROPIC_API_KEY (or
OPENAI_API_KEY, GEMINI_API_KEY, …), write Session("anthropic:sonnet", tools=[…]) and await session.run("…").
Without a key, a small real model runs in this process: pip install 'interlingua[cli,local]',
interlingua local get smollm2, interlingua chat local:smollm2."""


async def main() -> None:
    """Run the whole demo."""
    logging.getLogger("interlingua").addHandler(logging.NullHandler())  # losses are printed, turn by turn
    async with LoopbackServer(script()) as server, _providers(server.url) as manager:
        pricing = Pricing(PRICES, edition="demo")
        session = Session(f"anthropic:{MODEL}", Desk().tools, SYSTEM, manager=manager, pricing=pricing)
        print("One agent, one conversation, over HTTP on loopback; before every turn it moves to another provider.")
        for name, text in TURNS:
            await _turn(session, name, text)
        _show_wire(session)
        _show_home(server.script)
        cost = "unknown" if session.cost_usd is None else f"${session.cost_usd:.6f}"
        print(f"All turns: {session.usage.total_tokens} tokens, {cost} by the demo's own price table.")
        print(CLOSING)


def _providers(url: str) -> ProviderManager:
    """The providers of the demo, with their requests sent to ``url``."""
    manager = ProviderManager(environment={})
    for name in dict.fromkeys(name for name, _ in TURNS):
        settings = {"api_key": "no-key-needed", "base_url": url, "options": {"region": "loopback"}}
        manager.register(name, None, settings)
    return manager


async def _turn(session: Session, name: str, text: str) -> None:
    session.model = f"{name}:{MODEL}"
    before = len(session.messages)
    await session.run(text)
    print(f"\n── {name} ({provider(name).dialect})")
    for line in transcript(session.messages[before:], session.report):
        print(line)


def _show_wire(session: Session) -> None:
    """Print the first turn as each dialect writes it."""
    print("\n── the first turn on the wire, in all six dialects")
    for line in wire_forms(session.messages[:3]):
        print(line)


def _show_home(script: Script) -> None:
    """Print that the signed thinking of the first turn went back to its issuer, unchanged, and to nobody else."""
    kept = [any(isinstance(b, ThinkingBlock) for m in request.messages for b in m.content) for request in script.seen]
    sent = [block for m in script.seen[-1].messages for block in m.content if isinstance(block, ThinkingBlock)]
    same = [block.signature for block in sent] == [THOUGHT.signature]
    print(f"\nThe signed thinking of the first turn was sent with {sum(kept)} of {len(kept)} calls: to its issuer,")
    print(f"and to Bedrock, which has its models too. It came back byte for byte the same: {'yes' if same else 'no'}.")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""A chat in the terminal: your line goes to the model, and its answer is printed while it arrives.

    python examples/chat.py anthropic:sonnet

Without a model's name, a scripted model answers with your own words. An empty line ends the chat. `interlingua chat`
can do more: tools, pictures, history, another model in mid-conversation.
"""

from __future__ import annotations

import asyncio
import sys

from interlingua import AdapterError, Session


async def main(model: str) -> None:
    async with Session(model, system="You are terse.") as session:
        while line := await asyncio.to_thread(read_line):
            try:
                async for event in session.stream(line):
                    if event.type == "text.delta":
                        print(event.text, end="", flush=True)
            except AdapterError as error:  # the conversation stays as it was before the question
                print(f"[{error.error_class}] {error}", end="")
            print()
        print(f"{session.usage.total_tokens} tokens, {session.cost_usd} dollars")


def read_line() -> str:
    print("> ", end="", flush=True)
    return sys.stdin.readline().strip()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "embedded:"))

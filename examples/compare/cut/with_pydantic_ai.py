import asyncio
import json
import os

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=os.environ["BASE"] + "/v1", api_key="k")))


async def main() -> None:
    pieces, error = [], None
    try:
        async with agent.run_stream("Tell me a story.") as stream:
            async for piece in stream.stream_text(delta=True, debounce_by=None):
                pieces.append(piece)
    except Exception as found:
        error = f"{type(found).__name__}: {found}"
    print(json.dumps({"text": "".join(pieces), "error": error}))


asyncio.run(main())

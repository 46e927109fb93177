import asyncio
import json
import os

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=os.environ["BASE"] + "/v1", api_key="k")))


async def main() -> None:
    pieces = []
    async with agent.run_stream("Tell me a story.") as stream:
        async for piece in stream.stream_text(delta=True, debounce_by=None):
            pieces.append(piece)
    answer, usage = stream.response, stream.usage
    print(
        json.dumps(
            {
                "text": "".join(pieces),
                "pieces": len(pieces),
                "thinking": answer.thinking,
                "stop": answer.finish_reason,
                "input": usage.input_tokens,
                "cached": usage.cache_read_tokens,
                "output": usage.output_tokens,
            }
        )
    )


asyncio.run(main())

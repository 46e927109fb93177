import asyncio
import json
import os

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

agent = Agent(OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(base_url=os.environ["BASE"] + "/v1", api_key="k")))
prompts = [f"question {n}" for n in range(500)]
limit = asyncio.Semaphore(20)


async def ask(prompt: str):
    async with limit:
        return await agent.run(prompt)


async def main() -> None:
    results = await asyncio.gather(*map(ask, prompts), return_exceptions=True)
    good = [result for result in results if not isinstance(result, Exception)]
    usages = [result.usage for result in good]
    print(
        json.dumps(
            {
                "done": len(good),
                "in_order": [result.output for result in good] == [prompt.upper() for prompt in prompts],
                "tokens": sum(usage.input_tokens + usage.output_tokens for usage in usages),
                "cost": None,
            }
        )
    )


asyncio.run(main())

import json
import os
from dataclasses import dataclass

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


@dataclass
class Verdict:
    score: int
    reason: str
    tags: list[str] | None = None


model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=os.environ["BASE"] + "/v1", api_key="k"))
verdict = Agent(model, output_type=Verdict).run_sync("Judge this text.").output
print(json.dumps({"score": verdict.score, "reason": verdict.reason, "tags": verdict.tags}))

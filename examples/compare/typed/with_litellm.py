import json
import os

import litellm
from pydantic import BaseModel


class Verdict(BaseModel):
    score: int
    reason: str
    tags: list[str] | None = None


answer = litellm.completion(
    model="openai/m",
    api_base=os.environ["BASE"] + "/v1",
    api_key="k",
    response_format=Verdict,
    messages=[{"role": "user", "content": "Judge this text."}],
)
verdict = Verdict.model_validate_json(answer.choices[0].message.content)
print(json.dumps({"score": verdict.score, "reason": verdict.reason, "tags": verdict.tags}))

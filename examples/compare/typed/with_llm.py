import json
import os

from llm.default_plugins.openai_models import Chat
from pydantic import BaseModel


class Verdict(BaseModel):
    score: int
    reason: str
    tags: list[str] | None = None


model = Chat("m", model_name="m", api_base=os.environ["BASE"] + "/v1", key="k", supports_schema=True)
verdict = Verdict.model_validate_json(model.prompt("Judge this text.", schema=Verdict, key="k").text())
print(json.dumps({"score": verdict.score, "reason": verdict.reason, "tags": verdict.tags}))

import json
import os
from dataclasses import dataclass

from interlingua import SyncSession


@dataclass
class Verdict:
    score: int
    reason: str
    tags: list[str] | None = None


with SyncSession("openai-chat:m", base_url=os.environ["BASE"] + "/v1", api_key="k") as session:
    verdict = session.run("Judge this text.", output=Verdict).output
print(json.dumps({"score": verdict.score, "reason": verdict.reason, "tags": verdict.tags}))

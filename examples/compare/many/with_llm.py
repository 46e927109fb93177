import json
import os
from concurrent.futures import ThreadPoolExecutor

from llm.default_plugins.openai_models import Chat

model = Chat("m", model_name="gpt-4o-mini", api_base=os.environ["BASE"] + "/v1", key="k")
prompts = [f"question {n}" for n in range(500)]


def ask(prompt: str):
    response = model.prompt(prompt, key="k", stream=False)
    return response.text(), response.usage()


with ThreadPoolExecutor(20) as pool:
    results = [future.result() for future in [pool.submit(ask, prompt) for prompt in prompts] if not future.exception()]
print(
    json.dumps(
        {
            "done": len(results),
            "in_order": [text for text, _ in results] == [prompt.upper() for prompt in prompts],
            "tokens": sum(usage.input + usage.output for _, usage in results),
            "cost": None,
        }
    )
)

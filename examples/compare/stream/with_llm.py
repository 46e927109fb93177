import json
import os

from llm.default_plugins.openai_models import Chat

model = Chat("m", model_name="m", api_base=os.environ["BASE"] + "/v1", key="k")
response = model.prompt("Tell me a story.", key="k")
pieces = [piece for piece in response]
usage = response.usage()
details = usage.details or {}
print(
    json.dumps(
        {
            "text": "".join(pieces),
            "pieces": len(pieces),
            "thinking": None,
            "stop": None,
            "input": usage.input,
            "cached": details.get("prompt_tokens_details", {}).get("cached_tokens"),
            "output": usage.output,
        }
    )
)

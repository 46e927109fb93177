import json
import os

import litellm

text, error = "", None
try:
    stream = litellm.completion(
        model="openai/m",
        api_base=os.environ["BASE"] + "/v1",
        api_key="k",
        stream=True,
        messages=[{"role": "user", "content": "Tell me a story."}],
    )
    for chunk in stream:
        text += chunk.choices[0].delta.content or ""
except Exception as found:
    error = f"{type(found).__name__}: {found}"
print(json.dumps({"text": text, "error": error}))

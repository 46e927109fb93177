import json
import os

from llm.default_plugins.openai_models import Chat

model = Chat("m", model_name="m", api_base=os.environ["BASE"] + "/v1", key="k")
pieces, error = [], None
try:
    for piece in model.prompt("Tell me a story.", key="k"):
        pieces.append(piece)
except Exception as found:
    error = f"{type(found).__name__}: {found}"
print(json.dumps({"text": "".join(pieces), "error": error}))

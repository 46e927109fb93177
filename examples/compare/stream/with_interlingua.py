import json
import os

from interlingua import SyncSession

with SyncSession("openai-chat:m", base_url=os.environ["BASE"] + "/v1", api_key="k") as session:
    with session.stream("Tell me a story.") as stream:
        pieces = [piece for piece in stream.text]
    answer = stream.response
usage = answer.usage
print(
    json.dumps(
        {
            "text": "".join(pieces),
            "pieces": len(pieces),
            "thinking": answer.thinking,
            "stop": answer.stop_reason,
            "input": usage.total_input_tokens,
            "cached": usage.cached_input_tokens,
            "output": usage.output_tokens,
        }
    )
)

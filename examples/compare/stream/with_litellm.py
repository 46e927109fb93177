import json
import os

import litellm

stream = litellm.completion(
    model="openai/m",
    api_base=os.environ["BASE"] + "/v1",
    api_key="k",
    stream=True,
    messages=[{"role": "user", "content": "Tell me a story."}],
    stream_options={"include_usage": True},
)
text, thinking, pieces, stop, usage = "", "", 0, None, None
for chunk in stream:
    usage = getattr(chunk, "usage", None) or usage
    for choice in chunk.choices:
        if choice.delta.content:
            text += choice.delta.content
            pieces += 1
        thinking += getattr(choice.delta, "reasoning_content", None) or ""
        stop = choice.finish_reason or stop
print(
    json.dumps(
        {
            "text": text,
            "pieces": pieces,
            "thinking": thinking,
            "stop": stop,
            "input": usage.prompt_tokens,
            "cached": usage.prompt_tokens_details.cached_tokens,
            "output": usage.completion_tokens,
        }
    )
)

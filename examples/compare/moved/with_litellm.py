import json
import os

import litellm

base = os.environ["BASE"]
parameters = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
tools = [
    {"type": "function", "function": {"name": "lookup", "description": "Look a key up.", "parameters": parameters}}
]


def run(messages: list, **model: str) -> str:
    while True:
        answer = litellm.completion(messages=messages, tools=tools, api_key="k", **model).choices[0].message
        messages.append(answer)
        if not answer.tool_calls:
            return answer.content
        for call in answer.tool_calls:
            found = f"found {json.loads(call.function.arguments)['key']}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": found})


claude, chat = {"model": "anthropic/claude", "api_base": base}, {"model": "openai/m", "api_base": base + "/v1"}
messages = [{"role": "user", "content": "Look up a and b."}]
run(messages, **claude)
messages.append({"role": "user", "content": "And now?"})
run(messages, **chat)
messages.append({"role": "user", "content": "Thank you."})
print(json.dumps({"text": run(messages, **claude)}))

import json
import os

import litellm

ran = []


def weather(city: str) -> str:
    ran.append("weather")
    return f"{city}: rain"


def delete_file(path: str) -> str:
    ran.append("delete_file")
    return "deleted"


def schema(name: str, about: str, field: str) -> dict:
    parameters = {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


handlers, needs_approval = {"weather": weather, "delete_file": delete_file}, {"delete_file"}
tools = [schema("weather", "The weather of a city.", "city"), schema("delete_file", "Delete a file.", "path")]
messages = [{"role": "user", "content": "Look at the weather, then delete /etc/hosts."}]
while True:
    answer = (
        litellm.completion(
            model="openai/m",
            api_base=os.environ["BASE"] + "/v1",
            api_key="k",
            messages=messages,
            tools=tools,
        )
        .choices[0]
        .message
    )
    messages.append(answer)
    if not answer.tool_calls:
        break
    for call in answer.tool_calls:
        name, arguments = call.function.name, json.loads(call.function.arguments)
        said = "the user said no" if name in needs_approval else handlers[name](**arguments)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": said})
print(json.dumps({"text": answer.content, "ran": ran}))

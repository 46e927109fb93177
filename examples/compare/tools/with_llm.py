import json
import os

import llm
from llm.default_plugins.openai_models import Chat

ran = []


def weather(city: str) -> str:
    """The weather of a city."""
    ran.append("weather")
    return f"{city}: rain"


def delete_file(path: str) -> str:
    """Delete a file."""
    ran.append("delete_file")
    return "deleted"


def before_call(tool, call):
    if tool.name == "delete_file":
        raise llm.CancelToolCall("the user said no")


model = Chat("m", model_name="m", api_base=os.environ["BASE"] + "/v1", key="k", supports_tools=True)
chain = model.chain(
    "Look at the weather, then delete /etc/hosts.",
    tools=[weather, delete_file],
    before_call=before_call,
    key="k",
)
texts = [response.text() for response in chain.responses()]
print(json.dumps({"text": texts[-1], "ran": ran}))

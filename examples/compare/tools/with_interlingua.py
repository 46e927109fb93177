import json
import os

from interlingua import SyncSession, ToolAnnotations, tool

ran = []


def weather(city: str) -> str:
    """The weather of a city."""
    ran.append("weather")
    return f"{city}: rain"


@tool(annotations=ToolAnnotations(destructive=True))
def delete_file(path: str) -> str:
    """Delete a file."""
    ran.append("delete_file")
    return "deleted"


with SyncSession(
    "openai-chat:m",
    tools=[weather, delete_file],
    approve=lambda call, definition: False,
    base_url=os.environ["BASE"] + "/v1",
    api_key="k",
) as session:
    print(json.dumps({"text": session.run("Look at the weather, then delete /etc/hosts.").text, "ran": ran}))

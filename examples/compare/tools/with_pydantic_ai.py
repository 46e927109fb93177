import json
import os

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=os.environ["BASE"] + "/v1", api_key="k"))
agent = Agent(model, output_type=[str, DeferredToolRequests])
ran = []


@agent.tool_plain
def weather(city: str) -> str:
    """The weather of a city."""
    ran.append("weather")
    return f"{city}: rain"


@agent.tool_plain(requires_approval=True)
def delete_file(path: str) -> str:
    """Delete a file."""
    ran.append("delete_file")
    return "deleted"


result = agent.run_sync("Look at the weather, then delete /etc/hosts.")
while isinstance(result.output, DeferredToolRequests):
    answers = DeferredToolResults()
    for call in result.output.approvals:
        answers.approvals[call.tool_call_id] = ToolDenied("the user said no")
    result = agent.run_sync(message_history=result.all_messages(), deferred_tool_results=answers)
print(json.dumps({"text": result.output, "ran": ran}))

import json
import os

from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

base, agent = os.environ["BASE"], Agent()


@agent.tool_plain
def lookup(key: str) -> str:
    """Look a key up."""
    return f"found {key}"


claude = AnthropicModel("claude", provider=AnthropicProvider(base_url=base, api_key="k"))
chat = OpenAIChatModel("m", provider=OpenAIProvider(base_url=base + "/v1", api_key="k"))
first = agent.run_sync("Look up a and b.", model=claude)
second = agent.run_sync("And now?", message_history=first.all_messages(), model=chat)
third = agent.run_sync("Thank you.", message_history=second.all_messages(), model=claude)
print(json.dumps({"text": third.output}))

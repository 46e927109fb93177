import json
import os

from interlingua import AdapterConfig, ProviderManager, SyncSession


def lookup(key: str) -> str:
    """Look a key up."""
    return f"found {key}"


base, manager = os.environ["BASE"], ProviderManager()
manager.register("openai-chat", config=AdapterConfig("k", base + "/v1"))
manager.register("anthropic", config=AdapterConfig("k", base))
with manager, SyncSession("anthropic:claude", tools=[lookup], manager=manager) as session:
    session.run("Look up a and b.")
    session.model = "openai-chat:m"
    session.run("And now?")
    session.model = "anthropic:claude"
    print(json.dumps({"text": session.run("Thank you.").text}))

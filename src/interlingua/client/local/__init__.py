"""``local:``: a model in a GGUF file, run by llama.cpp inside of this process (extra ``local``).

The provider is a row like any other. Its transport starts a server of llama.cpp on loopback when the first request is
sent, so that everything above it is as for a server elsewhere: ``local:`` speaks OpenAI Chat, ``local-responses:``
OpenAI Responses, ``local-anthropic:`` Anthropic Messages.
"""

from .ability import Ability, loaded
from .finding import LocalModel, find_model, local_models, models_folder
from .transport import AsyncLocalTransport, LocalTransport

__all__ = [
    "Ability",
    "AsyncLocalTransport",
    "LocalModel",
    "LocalTransport",
    "find_model",
    "loaded",
    "local_models",
    "models_folder",
]

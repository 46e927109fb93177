"""How many tokens a prompt will be, without a network and without a tokenizer.

What is counted (``counting.py``) is weighed with a few coefficients per tokenizer (``weights.py``), fitted on half
the sources of the recorded traffic and checked on the other half by ``bench/fit_estimate.py``: the errors per provider
are in ``docs/estimates.md``. A number that a provider reports always wins over these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from ..types.blocks import Block
from ..types.messages import Message
from ..types.request import Request
from ..types.tools import Tool
from .counting import FEATURES, counts
from .weights import WEIGHTS

__all__ = ["estimate_input_tokens", "estimate_output", "estimate_request", "tokenizer"]

# Model names by what is counted alike, the first that matches; then who serves them, if only that is known.
MODELS = (
    (r"claude-(fable|mythos|opus-4[.-][78]|\w+-[5-9])", "claude-5"),
    (r"claude-\w+-4[.-][56]", "claude-4-5"),
    (r"claude-(\w+-4|4)", "claude-4"),
    (r"claude", "claude-3"),
    (r"gemini-(3|[4-9]|flash-latest|pro-latest)", "gemini-3"),
    (r"gemini-2[.-]5", "gemini-2-5"),
    (r"gemini", "gemini-2"),
    (r"gpt-oss", "gpt-oss"),
    (r"^(openai/)?(gpt|chatgpt|o\d|codex)", "gpt"),
    (r"mistral|mixtral|codestral|pixtral|magistral|devstral|voxtral|ministral", "mistral"),
    (r"deepseek", "deepseek"),
    (r"grok-[123]", "grok-3"),
    (r"grok", "grok-4"),
    (r"qwen|qwq", "qwen"),
    (r"llama-?4", "llama-4"),
    (r"llama", "llama-3"),
    (r"nova-2", "nova-2"),
    (r"nova", "nova"),
)
# the same models, counted otherwise behind another door
DOORS = {
    ("vertex", "gemini-3"): "gemini-vertex",
    ("vertex", "gemini-2-5"): "gemini-vertex",
    ("vertex", "gemini-2"): "gemini-vertex",
    ("azure", "grok-4"): "grok-azure",
}
SERVERS = {
    "anthropic": "claude-5", "anthropic-messages": "claude-5", "vertex-anthropic": "claude-5",
    "bedrock": "claude-5", "bedrock-converse": "claude-5", "openai": "gpt", "openai-chat": "gpt",
    "openai-responses": "gpt", "azure": "gpt", "google": "gemini-3", "gemini": "gemini-3", "vertex": "gemini-vertex",
    "mistral": "mistral", "deepseek": "deepseek", "deepseek-anthropic": "deepseek", "xai": "grok-4",
}  # fmt: skip
_MODELS = tuple((re.compile(pattern), name) for pattern, name in MODELS)


def estimate_input_tokens(
    messages: Iterable[Message],
    tools: Sequence[Tool] = (),
    system: str | Iterable[Block] | None = None,
    *,
    provider: str,
    model: str | None = None,
    output_schema: dict[str, Any] | None = None,
) -> int:
    """The tokens of a prompt, roughly. ``provider`` may also be a dialect's name; ``model`` makes it better."""
    request = Request(messages=messages, tools=tools, system=system or (), output_schema=output_schema)
    return estimate_request(request, provider, model)


def estimate_request(request: Request, provider: str, model: str | None = None) -> int:
    """The same, of a whole request."""
    row = tokenizer(provider, model or request.model)
    tally = counts(request, model or request.model or row)
    weighed = sum(tally[name] * weight for name, weight in zip(FEATURES, WEIGHTS[row], strict=True))
    return max(1, round(weighed) + tally["picture_tokens"])


def estimate_output(content: Iterable[Block], provider: str, model: str | None = None) -> int:
    """The tokens of an answer, as if it stood alone in a prompt."""
    alone = Request(messages=(Message("assistant", tuple(content)),))
    return max(0, estimate_request(alone, provider, model) - estimate_request(Request(), provider, model))


@lru_cache(maxsize=512)
def tokenizer(provider: str, model: str | None) -> str:
    """Which row of weights holds: by the model's name, else by the provider, else those of open models."""
    name = (model or "").lower()
    found = next((row for pattern, row in _MODELS if pattern.search(name)), None)
    if found is None:
        return SERVERS.get(provider, "open")
    return DOORS.get((provider, found), found)

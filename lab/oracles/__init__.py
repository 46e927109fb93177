"""Independent judges of requests: the official SDK types with unknown keys forbidden, and rules of order and limits.

The oracles use none of our own code: they read wire bodies (parsed JSON), so that they can contradict it. An empty list
means that no fault was found; a line that begins with ``warning: `` breaks a rule that nobody has verified and that the
provider was seen not to enforce.

An SDK is loaded when its dialect is first used. `check_order` needs none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from lab.oracles.order import check_order

__all__ = ["DIALECTS", "WARNING", "MissingSdkError", "check_order", "problems", "validate_request"]

SDKS = {
    # dialect              module           its check             the distribution that it needs
    "anthropic-messages": ("sdk_anthropic", "validate", "anthropic>=2.8"),
    "openai-chat": ("sdk_openai", "validate_chat", "openai>=3.49"),
    "openai-responses": ("sdk_openai", "validate_responses", "openai>=3.49"),
    "gemini": ("sdk_google", "validate", "google-genai>=3.1"),
    "ollama": ("sdk_ollama", "validate", "ollama>=0.6.3"),
    "bedrock-converse": ("sdk_bedrock", "validate", "botocore>=1.44"),
}
DIALECTS = tuple(SDKS)
WARNING = "warning: "


class MissingSdkError(ImportError):
    """The official SDK that judges a dialect is not installed."""


def validate_request(body: Any, dialect: str) -> list[str]:
    """The faults that the official SDK's types find in a request body, unknown keys included, each with its JSON path.

    The insides of JSON Schemas, tool inputs and metadata may be anything. Anthropic's sampling parameters, which only
    older models take, are allowed.
    """
    return validator(dialect)(body)


def problems(body: Any, dialect: str) -> list[str]:
    """`validate_request` and `check_order` together."""
    return [*validate_request(body, dialect), *check_order(body, dialect)]


@cache
def validator(dialect: str) -> Callable[[Any], list[str]]:
    if dialect not in SDKS:
        raise ValueError(f"no oracle for {dialect!r}: known are {', '.join(DIALECTS)}")
    module, name, distribution = SDKS[dialect]
    try:
        found: Callable[[Any], list[str]] = getattr(import_module(f"{__name__}.{module}"), name)
    except ImportError as error:
        hint = f"the oracle of {dialect} reads the vendor's SDK: pip install '{distribution}' (or 'interlingua[dev]')"
        raise MissingSdkError(hint) from error
    return found

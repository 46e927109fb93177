"""Rules of the providers' servers that types cannot express: order of turns, pairing of calls and results, limits.

One module per dialect, one small function per rule, written from the protocol sheets and from recorded refusals. A rule
is ``disputed``, and only warns, if nobody has verified it and recorded traffic that the provider accepted breaks it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from lab.oracles.leaves import is_object
from lab.oracles.order.rules import Rule, apply

MODULES = {
    "anthropic-messages": "anthropic",
    "openai-chat": "chat",
    "openai-responses": "responses",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock-converse": "bedrock",
}


@cache
def rules_of(dialect: str) -> tuple[Rule, ...]:
    """The rules of one dialect, in the order of their reports."""
    if dialect not in MODULES:
        raise ValueError(f"no rules for {dialect!r}: known are {', '.join(MODULES)}")
    rules: tuple[Rule, ...] = import_module(f"{__name__}.{MODULES[dialect]}").RULES
    return rules


def check_order(body: Any, dialect: str) -> list[str]:
    """Every broken rule, as ``path: what is wrong [rule]``; a disputed rule's line begins with ``warning: ``."""
    rules = rules_of(dialect)
    return apply(rules, body) if is_object(body) else ["$: not object"]

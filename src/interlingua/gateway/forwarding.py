"""Which parts of a client's URL and headers are sent to the provider, and which headers of the answer come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ..codec.json import is_dict, is_list
from ..serving import KEY_HEADERS
from .http import NOT_FORWARDED
from .peek import Peek

__all__ = ["ALL_TOOLS", "answer_headers", "forwarded_headers", "forwarded_url", "has_plain_tools", "with_query"]

GENERAL = ("accept", "content-type", "user-agent")
FAMILIES = {
    "anthropic-messages": ("anthropic-", "x-claude-", "x-app", "x-stainless-", "x-client-"),
    "openai-chat": ("openai-", "x-stainless-", "x-client-"),
    "openai-responses": (
        *("openai-", "x-codex-", "x-openai-", "x-stainless-", "x-client-"),
        *("originator", "session", "thread"),
    ),
    "gemini": ("x-goog-", "x-gemini-"),
    "ollama": (),
    "bedrock-converse": ("x-amzn-bedrock-",),
}
"""The beginnings of header names that a vendor's clients send to it."""
WITH_QUERY = frozenset({"anthropic-messages", "gemini"})
"""Dialects in which the query of the URL has a meaning."""
NOT_RETURNED = NOT_FORWARDED | {"set-cookie"}
SECRET = frozenset({"key", "api_key", "access_token", "token"})


def forwarded_url(url: str, query: str, dialect: str) -> str:
    """The provider's URL, with the client's query if it has a meaning in the dialect."""
    return with_query(url, query) if dialect in WITH_QUERY else url


def with_query(url: str, query: str) -> str:
    """A URL whose query is replaced by the client's, without credentials."""
    if not query:
        return url
    kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in SECRET]
    return f"{url.partition('?')[0]}?{urlencode(kept)}" if kept else url.partition("?")[0]


def forwarded_headers(client: Mapping[str, str], provider: Mapping[str, str], dialect: str) -> dict[str, str]:
    """The provider's headers with its key, and those of the client that the vendor knows, without credentials."""
    kept = {name: value for name, value in client.items() if _is_forwarded(name, dialect)}
    return {**provider, **kept}


@lru_cache(maxsize=1024)
def _is_forwarded(name: str, dialect: str) -> bool:
    if name in KEY_HEADERS or name in NOT_FORWARDED:
        return False
    return name in GENERAL or name.startswith(FAMILIES[dialect])


def answer_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that return to the client: not those of the connection, and no cookies."""
    return {name: value for name, value in headers.items() if name not in NOT_RETURNED}


# -------------------------------------------------------------------------------------- tools that not all servers know

ALL_TOOLS = {
    "openai-chat": frozenset({"openai-chat", "azure"}),
    "openai-responses": frozenset({"openai", "azure"}),
}
"""The providers that accept all kinds of tools of their dialect. Others accept functions only."""
PLAIN = frozenset({"function", None})


def has_plain_tools(peek: Peek) -> bool:
    """Whether every server of the dialect accepts the tools of a body as they are. If not, the body is translated:
    free-text tools, namespaces and tools that came as an item become functions."""
    return _are_plain(peek.get("tools")) and not (b'"additional_tools"' in peek.body and _adds_tools(peek.get("input")))


def _are_plain(tools: Any) -> bool:
    return not is_list(tools) or all(not is_dict(tool) or tool.get("type") in PLAIN for tool in tools)


def _adds_tools(items: Iterable[Any]) -> bool:
    return is_list(items) and any(is_dict(item) and item.get("type") == "additional_tools" for item in items)

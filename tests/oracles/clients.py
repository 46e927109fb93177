"""The official clients, one class each: what a client holds of an answer, whole and streamed, and what it sends.

A client is asked through its own public methods. What it holds is given as JSON (``reads`` and ``reads_stream``), and
``view`` says of that what can be compared between clients.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from oracles.client import Client, View
from oracles.clients_in_memory import Anthropic, Chat, Http, Responses
from oracles.clients_on_loopback import Bedrock, Gemini, Ollama

__all__ = ["CLIENTS", "Client", "Chat", "Http", "View", "bytes_in"]

Json = Any


def bytes_in(value: Json) -> Any:
    """Arguments of a client, where an object ``{"base64": …}`` stands for bytes."""
    if isinstance(value, list):
        return [bytes_in(item) for item in value]
    if not isinstance(value, dict):
        return value
    return b64decode(value["base64"]) if value.keys() == {"base64"} else {k: bytes_in(v) for k, v in value.items()}


CLIENTS: dict[str, Client] = {
    client.name: client for client in (Anthropic(), Chat(), Responses(), Gemini(), Ollama(), Bedrock())
}

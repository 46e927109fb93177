"""Recorded answers beside what the wire itself said of their tokens, read here without any of our decoders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from interlingua import MessageComplete, Response, UsageUpdate, dialect
from shared_data import corpus, stream_bytes

Wire = dict[str, Any]

FILES = {
    "openai-chat": "openai-chat",
    "mistral": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic-messages": "anthropic-messages",
    "gemini": "gemini",
    "bedrock-converse": "bedrock-converse",
    "bedrock-converse-stream": "bedrock-converse",
    "ollama": "ollama",
}


class Heard(NamedTuple):
    """One good exchange. ``whole`` is the body that says the usage: the answer, or what a stream amounts to."""

    file: str
    dialect: str
    id: str
    provider: str
    model: str | None
    stream: bool
    whole: Wire
    response: Response
    last_update: Any

    @property
    def wire(self) -> Wire:
        """The provider's own usage object, its last word."""
        return self.whole.get("usage") or self.whole.get("usageMetadata") or self.whole


@cache
def heard(file: str) -> tuple[Heard, ...]:
    """Every recorded answer of a file that tells its usage."""
    return tuple(found for record in corpus(file) if (found := _hear(file, record)) is not None)


def _hear(file: str, record: Wire) -> Heard | None:
    name, body = FILES[file], record.get("response")
    if record["status"] != 200 or (file == "bedrock-converse-stream" and "response_b64" not in record):
        return None  # an error, or frames of which only the payloads were kept
    whole = body if isinstance(body, dict) else SUMS[name](list(_pieces(record)))
    if whole is None or not _tells(name, whole):
        return None
    response, update = (dialect(name).decode_response(whole), None) if whole is body else _stream(name, record)
    path = record["url_path"]
    model = unquote(path.split("/model/")[1].split("/")[0]) if "/model/" in path else response.model
    return Heard(
        file, name, record["id"], record["provider"], model, whole is not body, whole, response, update
    )  # fmt: skip


def _stream(name: str, record: Wire) -> tuple[Response, Any]:
    decoder = dialect(name).stream_decoder()
    events = [*decoder.feed(stream_bytes(record) or b""), *decoder.close()]
    assert isinstance(events[-1], MessageComplete), record["id"]
    updates = [event.usage for event in events if isinstance(event, UsageUpdate)]
    return events[-1].response, updates[-1] if updates else None


PLACES = {"gemini": "usageMetadata", "ollama": None}


def _tells(name: str, whole: Wire) -> bool:
    """Whether there is a usage with numbers in it."""
    place = PLACES.get(name, "usage")
    told = whole if place is None and "eval_count" in whole else whole.get(place or "")
    return isinstance(told, dict) and any(type(value) is int for value in told.values())


# ------------------------------------------------------------------------------------------------ streams


def _pieces(record: Wire) -> Iterator[Wire]:
    """The JSON objects of a stream, whatever its framing."""
    for event in record.get("response_events") or ():
        yield {event["headers"].get(":event-type", ""): event["payload"]}
    text = record.get("response_text") or ""
    if text.lstrip().startswith("["):
        yield from (piece for piece in json.loads(text) if isinstance(piece, dict))
        return
    for line in text.splitlines():
        start = line.find("{")
        if start >= 0 and line[:start].strip() in ("data:", ""):
            try:
                yield json.loads(line[start:])
            except ValueError:
                continue


def _sum_chat(pieces: list[Wire]) -> Wire | None:
    told = [piece for piece in pieces if isinstance(piece.get("usage"), dict)]
    return {"model": told[-1].get("model"), "usage": told[-1]["usage"], "choices": []} if told else None


def _sum_responses(pieces: list[Wire]) -> Wire | None:
    """The first that is told: some files hold the streams of two calls."""
    return next((piece["response"] for piece in pieces if (piece.get("response") or {}).get("usage")), None)


def _sum_anthropic(pieces: list[Wire]) -> Wire | None:
    start = next((piece["message"] for piece in pieces if piece.get("type") == "message_start"), None)
    if start is None:
        return None
    usage = dict(start.get("usage") or {})
    for piece in pieces:
        if piece.get("type") == "message_delta":
            usage |= piece.get("usage") or {}
        if piece.get("type") == "message_stop":
            break  # some files hold the streams of two calls
    return {**start, "usage": usage}


def _sum_gemini(pieces: list[Wire]) -> Wire | None:
    return next((piece for piece in reversed(pieces) if isinstance(piece.get("usageMetadata"), dict)), None)


def _sum_bedrock(pieces: list[Wire]) -> Wire | None:
    return next((piece["metadata"] for piece in reversed(pieces) if "metadata" in piece), None)


def _sum_ollama(pieces: list[Wire]) -> Wire | None:
    return next((piece for piece in reversed(pieces) if piece.get("done")), None)


SUMS = {
    "openai-chat": _sum_chat,
    "openai-responses": _sum_responses,
    "anthropic-messages": _sum_anthropic,
    "gemini": _sum_gemini,
    "bedrock-converse": _sum_bedrock,
    "ollama": _sum_ollama,
}

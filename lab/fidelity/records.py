"""The recordings: which file holds which protocol, and one exchange in the form that the measures need."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from interlingua.codec.framing import encode_frame
from interlingua.types.base import Json
from lab.oracles.leaves import is_array, is_object

__all__ = ["Record", "model_and_stream", "corpus_files", "file_protocol", "has_history", "read_lines", "read_record"]


class Source(NamedTuple):
    """A protocol of the corpus: the dialect for it, and the URL paths of its endpoints for generation."""

    dialect: str
    generation: re.Pattern[str]


def _source(dialect: str, generation: str) -> Source:
    return Source(dialect, re.compile(generation))


# By the `dialect` of a record, else by the name of its file. A protocol that is missing is reported as not covered.
SOURCES: dict[str, Source] = {
    "anthropic-messages": _source("anthropic-messages", r"/messages$|:(streamRawPredict|rawPredict)$"),
    "openai-chat": _source("openai-chat", r"/completions$"),
    "mistral": _source("openai-chat", r"/completions$"),
    "openai-responses": _source("openai-responses", r"/responses(/(?!input_tokens$|compact$)[^/]+)?$"),
    "gemini": _source("gemini", r":(generateContent|streamGenerateContent)$"),
    "ollama": _source("ollama", r"/api/(chat|generate)$"),
    "bedrock-converse": _source("bedrock-converse", r"/converse$"),
    "bedrock-converse-stream": _source("bedrock-converse", r"/converse-stream$"),
}
# Errors of other endpoints (files, models, embeddings, …) have the shape of their provider's own protocol.
OTHER_ERRORS = "other-errors"
ERROR_DIALECTS: dict[str, str] = {
    "anthropic": "anthropic-messages",
    "google": "gemini",
    "vertex": "gemini",
    "ollama": "ollama",
    "bedrock": "bedrock-converse",
    "cohere": "",
}
# The keys of a request's history. Requests of other endpoints (counting tokens, …) that have one are decoded, too.
HISTORY: dict[str, tuple[str, ...]] = {
    "anthropic-messages": ("messages",),
    "openai-chat": ("messages",),
    "openai-responses": ("input",),
    "gemini": ("contents",),
    "ollama": ("messages", "prompt"),
    "bedrock-converse": ("messages",),
}
# Protocols that have the model, and whether to stream, in the URL.
CALLED: dict[str, re.Pattern[str]] = {
    "gemini": re.compile(r"/models/(?P<model>.+):(?P<verb>\w+)(?:\?|$)"),
    "bedrock-converse": re.compile(r"/model/(?P<model>.+)/(?P<verb>converse(?:-stream)?)$"),
}
# Hosts that have the model in the URL instead of the body: needed to translate a request to another protocol.
HOSTED = re.compile(r"/deployments/([^/]+)/|/models/([^/:]+):(?:streamRawPredict|rawPredict)$")
STREAM_VERBS = {"streamGenerateContent": True, "generateContent": False, "converse-stream": True, "converse": False}


class Record(NamedTuple):
    """One exchange. At most one of ``whole``, ``stream`` and ``error`` (status, body) is set."""

    id: str
    dialect: str
    generation: bool
    request: Json | None = None
    request_headers: dict[str, str] = {}
    model: str | None = None
    streamed: bool | None = None
    hosted_model: str | None = None
    response_headers: dict[str, str] = {}
    whole: Json | None = None
    stream: bytes | None = None
    error: tuple[int, bytes] | None = None


def corpus_files(directory: Path) -> list[Path]:
    """The recordings of a directory: JSON lines, gzip'd or not."""
    return sorted(path for path in directory.iterdir() if path.name.endswith((".jsonl", ".jsonl.gz")))


def read_lines(path: Path) -> list[bytes]:
    """The lines of a file that are not blank."""
    held = path.read_bytes()
    lines = (gzip.decompress(held) if path.suffix == ".gz" else held).split(b"\n")
    return [line for line in lines if line.strip()]


def file_protocol(path: Path) -> str:
    """The protocol that a file is named after."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def model_and_stream(dialect: str, path: str | None) -> tuple[str | None, bool | None]:
    """``(model, stream)`` from the URL path, for protocols that have them there; else None for both."""
    found = CALLED[dialect].search(path) if path and dialect in CALLED else None
    if found is None:
        return None, None
    return unquote(found["model"]), STREAM_VERBS.get(found["verb"])


def read_record(wire: dict[str, Any], protocol: str) -> Record | None:
    """One line of a file; None for a protocol that no dialect covers."""
    source = _source_of(wire, protocol)
    if source is None:
        return None
    path: str | None = wire.get("url_path")
    model, streamed = model_and_stream(source.dialect, path)
    return Record(
        id=str(wire.get("id", "?")),
        dialect=source.dialect,
        generation=path is None or source.generation.search(path) is not None,
        request=wire.get("request"),
        request_headers=wire.get("request_headers") or {},
        model=model,
        streamed=streamed,
        hosted_model=_hosted_model(path),
        response_headers=wire.get("response_headers") or {},
        **_answer(wire),
    )


def _hosted_model(path: str | None) -> str | None:
    found = HOSTED.search(path) if path else None
    return unquote(found[1] or found[2]) if found else None


def _source_of(wire: dict[str, Any], protocol: str) -> Source | None:
    if protocol != OTHER_ERRORS:
        return SOURCES.get(protocol)
    dialect = ERROR_DIALECTS.get(str(wire.get("provider")), "openai-chat")
    return _source(dialect, r"(?!)") if dialect else None


def _answer(wire: dict[str, Any]) -> dict[str, Any]:
    status = wire.get("status") or 200
    body, text = wire.get("response"), wire.get("response_text")
    if status >= 400:
        return {"error": (status, msgspec.json.encode(body) if body is not None else (text or "").encode())}
    if is_object(body):
        return {"whole": body}
    if is_array(body):  # a stream that came as one JSON array
        return {"stream": msgspec.json.encode(body)}
    if text is not None:
        whole = None if wire.get("stream") else _parsed(text)
        return {"whole": whole} if is_object(whole) else {"stream": text.encode()}
    frames = _frames(wire)
    return {} if frames is None else {"stream": frames}


def _parsed(text: str) -> Json:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def _frames(wire: dict[str, Any]) -> bytes | None:
    """The exact bytes of an AWS event stream, or the recorded frames put back into bytes."""
    if wire.get("response_b64") is not None:
        return base64.b64decode(wire["response_b64"])
    if not is_array(wire.get("response_events")):
        return None
    return b"".join(map(_frame, wire["response_events"]))


def _frame(event: dict[str, Any]) -> bytes:
    headers = {":message-type": "event", **event["headers"]}
    return encode_frame(headers, msgspec.json.encode(event["payload"]))


def has_history(record: Record) -> bool:
    """Whether a request has a history, so that it can be decoded as a request for an answer."""
    return is_object(record.request) and any(key in record.request for key in HISTORY.get(record.dialect, ()))

"""The scripted model in every dialect: an HTTP request in, an answer of bytes (and faults) out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from ..dialects import Dialect, dialect
from ..errors import AdapterError, NetworkError
from ..folding import unfold
from ..transport.memory import STALL, Answer, Handler
from ..types.events import Event, TextDelta
from ..types.loss import WireError
from ..types.request import Request
from ..types.response import Response
from .model import Script, Step, decide, failure

__all__ = ["handler", "respond"]


class Route(NamedTuple):
    """Which paths a dialect answers, and how its streams are labelled. ``streams``: unless the body says otherwise."""

    path: re.Pattern[str]
    dialect: str
    kind: str
    streams: bool = False


SSE = "text/event-stream"
ROUTES = (
    Route(re.compile(r"/messages$"), "anthropic-messages", SSE),
    Route(
        re.compile(r"/models/(?P<model>[^/:]+):(?P<stream>stream)?rawPredict$", re.IGNORECASE),
        "anthropic-messages",
        SSE,
    ),
    Route(re.compile(r"/chat/completions$"), "openai-chat", SSE),
    Route(re.compile(r"/responses$"), "openai-responses", SSE),
    Route(re.compile(r"/models/(?P<model>[^/:]+):(?P<stream>stream)?generateContent$", re.IGNORECASE), "gemini", SSE),
    Route(re.compile(r"/api/chat$"), "ollama", "application/x-ndjson", streams=True),
    Route(
        re.compile(r"/model/(?P<model>[^/]+)/converse(?P<stream>-stream)?$"),
        "bedrock-converse",
        "application/vnd.amazon.eventstream",
    ),
)
PAGE = b"<html><body>Sign in to the network</body></html>"


def handler(script: Script | None = None) -> Handler:
    """For a memory transport: answers every dialect by the path of the request."""
    script = script or Script()
    return lambda request: respond(script, request.url, request.headers, request.body)


def respond(script: Script, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """The answer to one HTTP request. ``no_answer`` and ``stall_first`` are raised, for the caller to act out."""
    path = "/" + url.partition("://")[2].partition("/")[2] if "://" in url else url
    path = path.partition("?")[0]
    found = next(((route, match) for route in ROUTES if (match := route.path.search(path))), None)
    if found is None:
        return Answer(404, {"content-type": "text/plain"}, [f"no dialect is spoken at {path}".encode()])
    route, match = found
    named = match.groupdict()
    speaker = dialect(route.dialect)
    model = unquote(named["model"]) if "model" in named else None
    stream = bool(named["stream"]) if "stream" in named else None
    request = speaker.decode_request(msgspec.json.decode(body), headers, model, stream)
    step = script.next(request)
    if step.fault == "no_answer":
        raise NetworkError("the server closed the connection without an answer")
    return with_fault(step, speak(speaker, route, request, step))


def speak(speaker: Dialect, route: Route, request: Request, step: Step) -> Answer:
    """The answer as it should be."""
    answer = decide(step, request)
    streaming = route.streams if request.stream is None else request.stream
    if isinstance(answer, AdapterError):
        return refuse(speaker.encode_error(answer), step.status)
    if step.fault == "error_in_200":
        return fail_inside(speaker, route, request, step, answer, streaming=streaming)
    if streaming:
        return Answer(200, {"content-type": route.kind}, list(say(speaker, request, answer)))
    return Answer(200, {"content-type": "application/json"}, [whole(speaker, request, answer)])


def refuse(wire: WireError, status: int | None) -> Answer:
    return Answer(status or wire.status, wire.headers, [wire.body])


def whole(speaker: Dialect, request: Request, answer: Response) -> bytes:
    return msgspec.json.encode(speaker.encode_response(answer, request).body)


def say(speaker: Dialect, request: Request, answer: Response) -> Iterator[bytes]:
    """The stream, one chunk for each event that says something."""
    encoder = speaker.stream_encoder(request)
    for event in in_words(unfold(answer)):
        if chunk := encoder.feed(event):
            yield chunk
    if chunk := encoder.close():
        yield chunk


def in_words(events: Iterable[Event]) -> Iterator[Event]:
    """Text word by word, as models write it."""
    for event in events:
        if type(event) is TextDelta:
            for word in re.findall(r"\S+\s*|\s+", event.text):
                yield replace(event, text=word)
        else:
            yield event


def fail_inside(
    speaker: Dialect, route: Route, request: Request, step: Step, answer: Response, *, streaming: bool
) -> Answer:
    """An error under a good status: after the first words of a stream, or as the whole body."""
    if not streaming:
        return Answer(200, {"content-type": "application/json"}, [speaker.encode_error(failure(step)).body])
    encoder = speaker.stream_encoder(request)
    begun = list(in_words(unfold(answer)))[: step.after]
    chunks = [*map(encoder.feed, begun), encoder.fail(failure(step))]
    return Answer(200, {"content-type": route.kind}, [chunk for chunk in chunks if chunk])


def with_fault(step: Step, answer: Answer) -> Answer:
    """The answer as the fault makes it."""
    chunks = list(answer.parts)
    first, rest = chunks[: step.after], chunks[step.after :]
    cut = NetworkError("the connection broke")
    middle = rest[0][: max(1, len(rest[0]) // 2)] if rest else b""
    changed: dict[str, tuple[int, Mapping[str, str], list[Any]]] = {
        "stall_first": (answer.status, answer.headers, [STALL]),
        "stall": (answer.status, answer.headers, [*first, STALL]),
        "cut": (answer.status, answer.headers, [*first, cut]),
        "half": (answer.status, answer.headers, [*first, middle, cut]),
        "malformed": (200, {"content-type": "application/json"}, [b'{"oops": ']),
        "html": (200, {"content-type": "text/html; charset=utf-8"}, [PAGE]),
        "last_twice": (answer.status, answer.headers, [*chunks, *chunks[-1:]]),
    }
    status, headers, parts = changed.get(step.fault, (answer.status, answer.headers, chunks))
    return Answer(status, headers, parts, step.delay)

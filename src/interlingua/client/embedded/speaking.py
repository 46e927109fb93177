"""The scripted model in every dialect: an HTTP request in, an answer of bytes (and faults) out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from ...codec.fold import unfold
from ...dialects import Dialect, dialect
from ...errors import AdapterError
from ...types.events import Event, TextDelta
from ...types.request import Request
from ...types.response import Response
from ..transport.memory import Answer, Handler
from .faults import with_fault
from .model import Line, Script, Step, decide, failure
from .refusals import refusal

__all__ = ["Choice", "as_script", "handler", "respond"]


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
Choice: TypeAlias = Script | Step | Callable[[Request], Step] | Sequence[Line] | None


def handler(script: Choice = None) -> Handler:
    """For a memory transport: answers every dialect by the path of the request."""
    known = as_script(script)
    return lambda request: respond(known, request.url, request.headers, request.body)


def as_script(script: Choice) -> Script:
    """A script, a single step, a function of the request, or a list of lines, after which the model echoes."""
    if isinstance(script, Script):
        return script
    if isinstance(script, Step) or callable(script):
        return Script(script)
    if isinstance(script, str):
        raise TypeError(f"a script is a list with a line for each answer, not one string ({script[:60]!r})")
    return Script(*(script or ()), Step())


def respond(script: Script, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """The answer to one HTTP request, its fault included."""
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
    try:
        request = speaker.decode_request(msgspec.json.decode(body), headers, model, stream)
    except (AdapterError, msgspec.DecodeError, UnicodeError) as error:
        refused = refusal(route.dialect, 400, f"the request cannot be read: {error}")
        return Answer(400, refused.headers, [refused.body])
    step = script.next(request)
    return with_fault(step, speak(speaker, route, request, step))


def speak(speaker: Dialect, route: Route, request: Request, step: Step) -> Answer:
    """The answer as it should be."""
    if step.act == "fail" and step.error is None and step.status is not None:
        return Answer(step.status, *_refused(speaker, step))
    answer = decide(step, request)
    if isinstance(answer, AdapterError):
        wire = speaker.encode_error(answer)
        return Answer(step.status or wire.status, wire.headers, [wire.body])
    if step.fault == "error_in_200":
        return fail_inside(speaker, route, request, step, answer)
    if streams(route, request, step):
        return Answer(200, {"content-type": route.kind}, list(say(speaker, request, answer)))
    return Answer(200, {"content-type": "application/json"}, [whole(speaker, request, answer)])


def streams(route: Route, request: Request, step: Step) -> bool:
    """Whether the answer is a stream: as it was asked for, unless the step says otherwise."""
    asked = route.streams if request.stream is None else request.stream
    return {"streamed": True, "whole": False}.get(step.fault, asked)


def _refused(speaker: Dialect, step: Step) -> tuple[dict[str, str], list[bytes]]:
    assert step.status is not None
    refused = refusal(speaker.name, step.status, step.message, step.retry_after)
    return refused.headers, [refused.body]


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


def fail_inside(speaker: Dialect, route: Route, request: Request, step: Step, answer: Response) -> Answer:
    """An error under a good status: after the first words of a stream, or as the whole body."""
    if not streams(route, request, step):
        wire = speaker.encode_error(failure(step))
        return Answer(200, wire.headers, [wire.body])
    encoder = speaker.stream_encoder(request)
    begun = list(in_words(unfold(answer)))[: step.after]
    chunks = [*map(encoder.feed, begun), encoder.fail(failure(step))]
    return Answer(200, {"content-type": route.kind}, [chunk for chunk in chunks if chunk])

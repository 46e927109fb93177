"""The scripted model as an HTTP server without a network: a request in, an answer in bytes out, with its fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from ...codec.streams.fold import unfold
from ...dialects import Dialect, dialect
from ...errors import AdapterError
from ...serving import asks_for_usage
from ...types.events import Event, TextDelta, UsageUpdate
from ...types.request import Request
from ...types.response import Response
from ..transport.memory import Answer, Handler
from .error_bodies import error_answer
from .faults import with_fault
from .files import answer_file
from .model import Line, Script, Step, decide, failure

__all__ = ["Choice", "as_script", "handler", "respond"]


class Route(NamedTuple):
    """The paths of a dialect, and the content type of its streams. ``streams``: it streams unless the body says no."""

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
"""What ``script=`` takes: a script, its lines, one step, or a function that chooses the step for a request."""


def handler(script: Choice = None) -> Handler:
    """The handler for a memory transport. The path of a request decides which dialect is used."""
    made = as_script(script)
    return lambda request: respond(made, request.url, request.headers, request.body)


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
    if found is None and (stored := answer_file(script, path, headers, body)) is not None:
        return stored
    if found is None:
        return Answer(404, {"content-type": "text/plain"}, [f"no dialect has the path {path}".encode()])
    route, match = found
    named = match.groupdict()
    codec = dialect(route.dialect)
    model = unquote(named["model"]) if "model" in named else None
    stream = bool(named["stream"]) if "stream" in named else None
    try:
        wire = msgspec.json.decode(body)
        request = codec.decode_request(wire, headers, model, stream)
    except (AdapterError, msgspec.DecodeError, UnicodeError) as error:
        refused = error_answer(route.dialect, 400, f"the request cannot be read: {error}")
        return Answer(400, refused.headers, [refused.body])
    step = script.next(request)
    return with_fault(step, answer_of(codec, route, request, step, usage=asks_for_usage(wire, route.dialect)))


def answer_of(codec: Dialect, route: Route, request: Request, step: Step, *, usage: bool) -> Answer:
    """The answer before its fault is applied. ``usage``: whether a stream reports its usage."""
    if step.act == "fail" and step.error is None and step.status is not None:
        return Answer(step.status, *_refused(codec, step))
    answer = decide(step, request)
    if isinstance(answer, AdapterError):
        wire = codec.encode_error(answer)
        return Answer(step.status or wire.status, wire.headers, [wire.body])
    if step.fault == "error_in_200":
        return fail_inside(codec, route, request, step, answer)
    if streams(route, request, step):
        sent = answer if usage else replace(answer, usage=None)
        return Answer(200, {"content-type": route.kind}, list(stream_bytes(codec, request, sent)))
    return Answer(200, {"content-type": "application/json"}, [whole(codec, request, answer)])


def streams(route: Route, request: Request, step: Step) -> bool:
    """Whether the answer is a stream: as requested, unless the step has a fault that changes it."""
    requested = route.streams if request.stream is None else request.stream
    return {"streamed": True, "whole": False}.get(step.fault, requested)


def _refused(codec: Dialect, step: Step) -> tuple[dict[str, str], list[bytes]]:
    assert step.status is not None
    refused = error_answer(codec.name, step.status, step.message, step.retry_after)
    return refused.headers, [refused.body]


def whole(codec: Dialect, request: Request, answer: Response) -> bytes:
    return msgspec.json.encode(codec.encode_response(answer, request).body)


def stream_bytes(codec: Dialect, request: Request, answer: Response) -> Iterator[bytes]:
    """The stream, one chunk for each event that has bytes."""
    encoder = codec.stream_encoder(request)
    for event in word_by_word(_events(answer)):
        if chunk := encoder.feed(event):
            yield chunk
    if chunk := encoder.close():
        yield chunk


def _events(answer: Response) -> Iterator[Event]:
    """The events of an answer. The prompt's tokens are reported first, as in the first event of Anthropic Messages."""
    events = unfold(answer)
    yield next(events)
    if answer.usage is not None:
        yield UsageUpdate(replace(answer.usage, output_tokens=0, reasoning_tokens=0))
    yield from events


def word_by_word(events: Iterable[Event]) -> Iterator[Event]:
    """The events, with each text delta split into words, as models send them."""
    for event in events:
        if type(event) is TextDelta:
            for word in re.findall(r"\S+\s*|\s+", event.text):
                yield replace(event, text=word)
        else:
            yield event


def fail_inside(codec: Dialect, route: Route, request: Request, step: Step, answer: Response) -> Answer:
    """An error with status 200: after the first events of a stream, or as the whole body."""
    if not streams(route, request, step):
        wire = codec.encode_error(failure(step))
        return Answer(200, wire.headers, [wire.body])
    encoder = codec.stream_encoder(request)
    begun = list(word_by_word(unfold(answer)))[: step.after]
    chunks = [*map(encoder.feed, begun), encoder.fail(failure(step))]
    return Answer(200, {"content-type": route.kind}, [chunk for chunk in chunks if chunk])

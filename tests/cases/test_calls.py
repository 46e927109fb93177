"""Calls of public functions that do not fit into the other files of cases: ``tests/cases/calls/*.jsonl``.

The other files test a wire in its usual surroundings. Cases here are whole calls: a history after a cut answer, a
stream that fails, a dialect that knows its provider, a body that is not an answer. One JSON object per line:

- ``call``: the verb of a ``dialect`` (of the server of a ``provider``), ``decode_stream``, ``encode_stream`` or
  ``translate_stream``, or one of the functions in ``HELPERS``;
- ``given``: its arguments; for ``decode_stream`` the ``wire`` and, if the transport saw the proper end, ``clean``; for
  ``encode_stream`` the ``events``, or a whole ``answer`` whose events are written, and an ``error`` that ends the
  stream (for Bedrock, a wire is a list of names and payloads, as in ``test_stream_cases.py``);
- ``gives``: the result, in canonical JSON without marks; or ``raises``: the exception, its message if that quotes the
  caller's words, and its fields.

Each call is also checked so. What was read is written back unchanged, without losses, or as ``back`` says; read with
the ``request`` that it answers, it is the ``turn`` in the next request. A stream is legal, consistent and the same
however its bytes are split; a written answer is read as the same answer, or as ``read`` says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from cases.test_stream_cases import check_calls, check_deltas, written
from interlingua import (
    AdapterError,
    Encoded,
    Event,
    Loss,
    Message,
    Response,
    StreamGrammar,
    UsageUpdate,
    WireError,
    build_tool_results,
    detect_dialect,
    dialect,
    fold,
    from_json,
    parse_tool_calls,
    repair_tool_results,
    to_json,
    translate_request,
    translate_response,
    translate_stream,
    unfold,
    validate_request,
    validate_tool_results,
)
from interlingua.codec.framing import EventStreamDecoder
from interlingua.codec.schema import (
    from_gemini_schema,
    project_schema,
    restore_optional,
    strict_schema,
    to_gemini_schema,
)

Json = Any
HELPERS = {
    function.__name__: function
    for function in (
        build_tool_results,
        detect_dialect,
        from_gemini_schema,
        parse_tool_calls,
        project_schema,
        repair_tool_results,
        restore_optional,
        strict_schema,
        to_gemini_schema,
        translate_request,
        translate_response,
        validate_request,
        validate_tool_results,
    )
}
FOLDER = Path(__file__).parent / "calls"
LINES = [
    pytest.param(line, id=f"{file.stem}: {line['case']}")
    for file in sorted(FOLDER.glob("*.jsonl"))
    for line in map(json.loads, file.read_text(encoding="utf-8").splitlines())
]


# ------------------------------------------------------------------------------------------------- values and JSON


def value_of(said: Json, kind: Any) -> Any:
    """An argument of a function, of the kind that its signature names."""
    if kind is bytes:
        return said.encode("utf-8", "surrogateescape")
    if kind is AdapterError:
        return from_json(json.dumps({"content": [], "stop_reason": "error", "error": said}), Response).error
    return from_json(json.dumps(said), kind)


def said_of(value: Any) -> Json:
    """A result as JSON, without form marks and without the empty fields of an error."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, WireError):
        return {"status": value.status, "headers": dict(value.headers), "body": said_of(value.body)}
    if isinstance(value, Encoded):
        losses = [[loss.kind, loss.path, loss.weight] for loss in value.losses]
        told = {"path": value.path, "headers": dict(value.headers), "losses": losses}
        return {"body": value.body} | {name: item for name, item in told.items() if item}
    if isinstance(value, AdapterError):
        return without_marks(json.loads(to_json(Response((), error=value))))["error"]
    return without_marks(json.loads(to_json(value)))


def without_marks(value: Json) -> Json:
    if isinstance(value, list):
        return [without_marks(item) for item in value]
    if not isinstance(value, dict):
        return value
    is_error = "error_class" in value
    left_out = {"forms"} | ({name for name, item in value.items() if item in (None, {}, 1)} if is_error else set())
    return {name: without_marks(item) for name, item in value.items() if name not in left_out}


# ------------------------------------------------------------------------------------------------------- the calls


def done(line: Json) -> Json:
    """What the call returns or raises, and the results of further calls on that."""
    speaker = dialect(line["dialect"], line.get("provider")) if "dialect" in line else None
    try:
        if line["call"] == "decode_stream":
            return decoded_stream(speaker, **line["given"])
        if line["call"] == "encode_stream":
            return encoded_stream(speaker, **line["given"])
        if line["call"] == "translate_stream":
            return translated_stream(**line["given"])
        function = HELPERS.get(line["call"]) or getattr(speaker, line["call"])
        hints = get_type_hints(function)
        given = {name: argument(said, hints[name]) for name, said in line["given"].items()}
        result = function(**given)
    except AdapterError as error:
        told = said_of(error)
        if " allows: " in told["message"] or " cannot be written in " in told["message"]:
            del told["message"]  # it quotes a message of Python
        return {"raises": told}
    return {"gives": said_of(result)} | written_back(speaker, line, result)


def argument(said: Json, hint: Any) -> Any:
    """An argument; messages may be canonical or those of a wire."""
    if isinstance(said, dict) and "canonical" in said:
        return tuple(value_of(message, Message) for message in said["canonical"])
    as_it_is = hint in (bool, int) or "typing.Any" in str(hint) or (isinstance(said, str) and hint is not bytes)
    return said if as_it_is else value_of(said, hint)


def written_back(speaker: Any, line: Json, result: Any) -> Json:
    if line["call"] not in ("decode_request", "decode_response"):
        return {}
    write = speaker.encode_request if line["call"] == "decode_request" else speaker.encode_response
    try:
        back = said_of(write(result))
    except AdapterError as error:
        return {"back": {"exception": type(error).__name__}}
    back.pop("path", None)
    told = {} if back == {"body": line["given"]["body"]} else {"back": back}
    return told | (as_turn(speaker, result) if "request" in line["given"] else {})


def as_turn(speaker: Any, response: Response) -> Json:
    """An answer in the next request: its spelling must not be remembered if it was read by this request's tools."""
    return {"turn": said_of(speaker.encode_messages([Message("user", "?"), response.message]))}


def bytes_of(name: str, wire: Json) -> bytes:
    if isinstance(wire, list):
        return b"".join(written(name, frame) for frame in wire)
    body: bytes = wire.encode("utf-8", "surrogateescape")
    return body


def decoded_stream(speaker: Any, wire: Json, request: Json = None, clean: bool = False) -> Json:
    frames = wire if isinstance(wire, list) else [wire]
    body = b"".join(
        f.encode("utf-8", "surrogateescape") if isinstance(f, str) else written("bedrock-converse", f) for f in frames
    )
    asked = value_of(request, get_type_hints(speaker.stream_decoder)["request"])
    events, error = events_of(speaker, [body], asked, clean)
    for size in (1, 7):
        split = [body[i : i + size] for i in range(0, len(body), size)]
        assert events_of(speaker, split, asked, clean) == (events, error)
    response = fold(events)
    assert response.error == error
    told = [event.usage for event in events if isinstance(event, UsageUpdate)]
    assert not told or told[-1] == response.usage
    check_deltas(events)
    if request is None:  # whose schemas take nulls out of the arguments that were told
        check_calls(events)
        return {"gives": said_of(response)}
    return {"gives": said_of(response)} | as_turn(speaker, response)


def translated_stream(wire: Json, source: str, target: str) -> Json:
    body = bytes_of(source, wire)
    told: list[tuple[bytes, list[Loss]]] = []
    for size in (1, 7, len(body)):
        losses: list[Loss] = []
        chunks = [body[i : i + size] for i in range(0, len(body), size)]
        said = b"".join(translate_stream(chunks, source=source, target=target, on_loss=losses.append))
        told.append((said, losses))
    (said, losses), *others = told
    assert all(other == (said, losses) for other in others)
    read = said_of(fold(events_of(dialect(target), [said], None, False)[0]))
    kept = [[loss.kind, loss.path, loss.weight] for loss in losses]
    return {"gives": frames_of(target, said), "losses": kept, "read": read}


def events_of(speaker: Any, chunks: list[bytes], asked: Any, clean: bool) -> tuple[list[Event], AdapterError | None]:
    decoder = speaker.stream_decoder(asked)
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close(clean)
    grammar = StreamGrammar()
    for event in events:
        grammar.check(event)
    assert grammar.state == "done"
    assert decoder.close() == []
    return events, decoder.error


def encoded_stream(speaker: Any, events: Json = None, answer: Json = None, **given: Json) -> Json:
    asked = (
        value_of(given["request"], get_type_hints(speaker.stream_encoder)["request"]) if "request" in given else None
    )
    said = list(unfold(value_of(answer, Response))) if events is None else [value_of(event, Event) for event in events]
    encoder = speaker.stream_encoder(asked)
    body = b"".join(map(encoder.feed, said))
    if "error" in given:
        body += encoder.fail(value_of(given["error"], AdapterError))
    body += encoder.close()
    losses = [[loss.kind, loss.path, loss.weight] for loss in encoder.losses]
    assert all(loss.reason for loss in encoder.losses)
    result = {"gives": frames_of(speaker.name, body)} | ({"losses": losses} if losses else {})
    if body:
        read, _ = events_of(speaker, [body], None, False)
        response = said_of(fold(read))
        result |= {} if response == without_marks(answer) else {"read": response}
    return result


def frames_of(name: str, body: bytes) -> Json:
    if name != "bedrock-converse":
        return said_of(body)
    frames = [(dict(frame.headers), frame.payload) for frame in EventStreamDecoder().feed(body)]
    return [{headers.get(":event-type") or headers[":exception-type"]: json.loads(data)} for headers, data in frames]


@pytest.mark.parametrize("line", LINES)
def test_it_gives_what_is_said(line: Json) -> None:
    given = {name: line[name] for name in ("case", "call", "dialect", "provider", "given") if name in line}
    assert given | done(line) == line

"""Checks for changed traffic: only our own errors are raised, events are legal, values can be saved and loaded.

A trial changes the request, answer, stream or error of a record, and does with it what an application or a gateway
would do. Whatever it raises is reported by ``try_record``.
"""

from __future__ import annotations

import re
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from interlingua.agent.session import SyncSession
from interlingua.client.manager import ProviderManager
from interlingua.codec.saving import from_json, to_json
from interlingua.codec.streams.fold import fold, unfold
from interlingua.codec.streams.grammar import StreamGrammar
from interlingua.dialects import DIALECTS, Dialect, dialect
from interlingua.errors import AdapterError
from interlingua.types.events import Event
from interlingua.types.messages import Message
from interlingua.types.request import Request
from interlingua.types.response import Response
from lab.fidelity.records import Record
from lab.fuzzing.mutations import mutated, mutated_bytes
from lab.oracles.leaves import is_object

__all__ = ["TRIALS", "Fault", "try_record"]


class Fault(NamedTuple):
    """An exception that is not one of ours: its trial, its record, and where it was raised."""

    trial: str
    record: str
    error: str
    place: str


def try_record(record: Record, random: Random) -> list[Fault]:
    """Run all trials on a record, each with another change, and return the faults."""
    found: list[Fault] = []
    for name, trial in TRIALS.items():
        try:
            trial(record, random)
        except AdapterError:
            continue
        except Exception as error:  # noqa: BLE001 - finding these is the purpose
            found.append(Fault(name, record.id, f"{type(error).__name__}: {error}"[:200], _place(error)))
    return found


def _place(error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/testing/" not in frame.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).parent.name}/{Path(last.filename).name}:{last.lineno} {last.name}"


def _any_dialect(random: Random) -> Dialect:
    return dialect(random.choice(tuple(DIALECTS)))


# ------------------------------------------------------------------------------------------------------ the trials


def try_request(record: Record, random: Random) -> None:
    """Read a changed request as a server does, save and load it, and write it in two dialects."""
    if not is_object(record.request):
        return
    body = mutated(record.request, random, random.randint(1, 3))
    request = dialect(record.dialect).decode_request(body, record.request_headers, record.model, record.streamed)
    assert from_json(to_json(request), Request) == request
    _any_dialect(random).encode_request(request)
    dialect(record.dialect).encode_request(request)


def try_answer(record: Record, random: Random) -> None:
    """Read a changed answer, and write it in another protocol."""
    if not is_object(record.whole):
        return
    body = mutated(record.whole, random, random.randint(1, 3))
    _keep(dialect(record.dialect).decode_response(body), random)


def try_stream(record: Record, random: Random) -> None:
    """Read a stream of changed events or bytes, in pieces, and write it in another protocol."""
    if record.stream is None:
        return
    data = _changed_stream(record.stream, random)
    decoder, grammar, events = dialect(record.dialect).stream_decoder(), StreamGrammar(), list[Event]()
    size = max(1, len(data) // random.choice((1, 3, 17)))
    for begin in range(0, len(data), size):
        events += decoder.feed(data[begin : begin + size])
    events += decoder.close()
    for event in events:
        grammar.check(event)
    assert grammar.state == "done", f"the stream ended in the state {grammar.state}"
    response = fold(events)
    encoder = _any_dialect(random).stream_encoder()
    for event in events:
        encoder.feed(event)
    _keep(response, random)


def try_error(record: Record, random: Random) -> None:
    """Read a changed error answer, and write it in another protocol."""
    if record.error is None:
        return
    status, body = record.error
    body = mutated_bytes(body, random) if random.random() < 0.3 else _changed_json(body, random)
    headers = {**record.response_headers, "retry-after": random.choice(("1", "nan", "-1", "1e400", "²", "soon", ""))}
    error = dialect(record.dialect).decode_error(random.choice((status, 200, 400, 429, 503, 999)), headers, body)
    _any_dialect(random).encode_error(error)


def try_session(record: Record, random: Random) -> None:
    """Give a changed conversation to a session, save and load the session, and send a message."""
    if not is_object(record.request):
        return
    body = mutated(record.request, random, random.randint(1, 3))
    request = dialect(record.dialect).decode_request(body, record.request_headers, record.model, record.streamed)
    with tempfile.TemporaryDirectory() as folder, ProviderManager(environment={}) as manager:
        session = SyncSession("embedded:", manager=manager, messages=request.messages)
        session.save(Path(folder) / "talk.json")
        loaded = SyncSession.load(Path(folder) / "talk.json", manager=manager)
        assert [m.role for m in loaded.messages] == [m.role for m in session.messages]
        loaded.send("go on")


TRIALS: dict[str, Callable[[Record, Random], None]] = {
    "request": try_request,
    "answer": try_answer,
    "stream": try_stream,
    "error": try_error,
    "session": try_session,
}


def _keep(response: Response, random: Random) -> None:
    assert fold(unfold(response)) == response
    assert from_json(to_json(response), Response) == response
    other = _any_dialect(random)
    other.encode_response(response)
    turn = other.as_turn(response)
    assert from_json(to_json(turn), Message) == turn


def _changed_json(body: bytes, random: Random) -> bytes:
    try:
        return msgspec.json.encode(mutated(msgspec.json.decode(body), random, random.randint(1, 3)))
    except (msgspec.DecodeError, UnicodeError, OverflowError):
        return mutated_bytes(body, random)


LINE = re.compile(rb"(?m)^(data: ?)?(\{.*\})\r?$")


def _changed_stream(data: bytes, random: Random) -> bytes:
    """A stream with one of its events changed, or some of its bytes."""
    lines = list(LINE.finditer(data))
    if not lines or random.random() < 0.3:
        return mutated_bytes(data, random)
    for line in sorted(random.sample(lines, min(len(lines), random.randint(1, 3))), key=lambda m: -m.start()):
        data = data[: line.start(2)] + _changed_json(line[2], random) + data[line.end(2) :]
    return data

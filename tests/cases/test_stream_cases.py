"""What each dialect reads in a stream: ``tests/cases/streams/<dialect>.jsonl``, one JSON object per line.

A line with ``frame`` gives the surroundings of the cases after it that name it in ``in``: in ``stream`` the string
``"$"`` is replaced by the events of a case, each of them put into ``each`` at its ``"$"``, and ``value`` is expected of
all of them. All other lines are cases:

- ``wire``: the events. A string is an event as it is written, which need not be JSON; for Bedrock, an event is its name
  and its payload;
- ``value``: fields of the answer. All fields of its blocks are compared, except residue and marks that the case does
  not have;
- ``error``: the exception that the stream ends in, and its fields. Without it the stream does not fail;
- ``unknown``: the ``unknown`` events;
- ``told``: the usage of every usage update;
- ``whole``: a whole answer that is read as the same response;
- ``body``: keys of the response when it is written as a whole answer;
- ``losses``: the losses when the stream is written again, ``[kind, path]`` of each; without it there are none;
- ``rewritten``: why a stream that is written again is read as another response.

Every stream is also checked so: its events are legal, consistent and the same however its bytes are split; written
again, as a stream and as a whole answer, it is read as the same response.

``odd_events.jsonl`` has events that no server should send: wherever they are in a stream, nothing is raised and the
text around them arrives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from re import sub
from typing import Any, NamedTuple

import msgspec
import pytest

from cases.test_cases import fields, fill, says
from interlingua import (
    AdapterError,
    BlockComplete,
    BlockStart,
    CitationDelta,
    Event,
    MessageComplete,
    MessageStart,
    NetworkError,
    StopReason,
    StreamGrammar,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    Unknown,
    UsageUpdate,
    dialect,
    fold,
)
from interlingua.codec.framing import encode_frame
from interlingua.testing.stream_laws import check_events, check_stream_is_whole

Json = Any


class Case(NamedTuple):
    dialect: str
    line: Json
    frame: Json

    @property
    def events(self) -> list[Json]:
        around, events = self.frame.get("each"), self.line["wire"]
        if around is not None:
            events = [event if isinstance(event, str) else fill(around, event) for event in events]
        return [other for event in self.frame["stream"] for other in (events if event == "$" else [event])]

    @property
    def wire(self) -> bytes:
        return b"".join(written(self.dialect, event) for event in self.events)

    @property
    def value(self) -> Json:
        return {**self.frame.get("value", {}), **self.line.get("value", {})}


def written(name: str, event: Json) -> bytes:
    if name == "bedrock-converse":
        ((kind, payload),) = event.items()
        message = "exception" if kind.endswith("Exception") else "event"
        headers = {f":{message}-type": kind, ":content-type": "application/json", ":message-type": message}
        return encode_frame(headers, payload.encode() if isinstance(payload, str) else json.dumps(payload).encode())
    text = event if isinstance(event, str) else json.dumps(event)
    if name == "ollama":
        return text.encode() + b"\n"
    kind = event.get("type") if name == "anthropic-messages" and isinstance(event, dict) else None
    return (f"event: {kind}\n" if isinstance(kind, str) else "").encode() + f"data: {text}\n\n".encode()


def lines(file: Path) -> Iterator[Case]:
    frames: dict[str, Json] = {}
    for text in file.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if "frame" in line:
            frames[line["frame"]] = line
        else:
            yield Case(file.stem, line, frames[line["in"]])


CASES = [case for file in sorted(Path(__file__).parent.glob("streams/*.jsonl")) for case in lines(file)]
each = pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{case.dialect}: {case.line['in']}: {case.line['case']}") for case in CASES]
)


def events_of(name: str, chunks: list[bytes]) -> tuple[list[Event], AdapterError | None]:
    decoder = dialect(name).stream_decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    events += decoder.close()
    assert decoder.close() == []
    assert decoder.feed(chunks[0] if chunks else b"") == []
    return events, decoder.error


def read(name: str, body: bytes) -> tuple[list[Event], AdapterError | None]:
    """The events of a stream, found legal and the same for any split."""
    events, error = events_of(name, [body])
    grammar = StreamGrammar()
    for event in events:
        grammar.check(event)
    assert grammar.state == "done"
    splits = [[body[i : i + size] for i in range(0, len(body), size)] for size in (1, 7)]
    splits += [[body[:cut], b"", body[cut:]] for cut in range(0, len(body), max(1, len(body) // 40))]
    for split in splits:
        assert events_of(name, split) == (events, error)
    return events, error


def check_deltas(events: list[Event]) -> None:
    """Check that the deltas of a block add up to the block at its end."""
    for end in (event for event in events if isinstance(event, BlockComplete)):
        start, *block_events = [event for event in events if getattr(event, "index", None) == end.index]
        assert isinstance(start, BlockStart)
        if texts := [event.text for event in block_events if isinstance(event, TextDelta | ThinkingDelta)]:
            assert getattr(start.block, "text", "") + "".join(texts) == getattr(end.block, "text", None)
        if citations := [event.citation for event in block_events if isinstance(event, CitationDelta)]:
            assert tuple(citations) == getattr(end.block, "citations", None)


def check_calls(events: list[Event]) -> None:
    """Check that start, fragments and end of one index belong to one call."""
    for end in (event for event in events if isinstance(event, ToolUseEnd)):
        block_events = [event for event in events if getattr(event, "index", None) == end.index]
        start = block_events[0]
        assert isinstance(start, ToolUseStart)
        assert (start.id, start.name) == (end.block.id, end.block.name)
        assert end.final_input == end.block.input
        joined = "".join(event.partial_json for event in block_events if isinstance(event, ToolUseInputDelta))
        if end.block.input_text is not None:
            assert joined == end.block.input_text
        elif joined:  # empty if the arguments arrived as one object
            assert json.loads(joined) == end.block.input


def is_block(found: Any, expected: Json) -> bool:
    """Whether a block is equal to the expected one, ignoring residue and marks that the case does not mention."""
    left_out = {"extras", "forms"} - expected.keys()
    compared = {name: value for name, value in msgspec.to_builtins(found).items() if name not in left_out}
    if "citations" in compared:
        compared["citations"] = [
            {name: value for name, value in citation.items() if name not in ("extras", "forms")}
            for citation in compared["citations"]
        ]
    return bool({"extras": {}, **compared} == {"extras": {}, **expected})


@each
def test_a_stream_is_read(case: Case) -> None:
    events, error = read(case.dialect, case.wire)
    response = fold(events)
    assert response.error == error
    last = events[-1]
    assert isinstance(last, MessageComplete)
    assert last.response == response
    value = dict(case.value)
    if (blocks := value.pop("content", None)) is not None:
        assert len(response.content) == len(blocks), response.content
        for found, expected in zip(response.content, blocks, strict=True):
            assert is_block(found, expected), found
    found = fields(response)
    assert all(says(found[name], expected) for name, expected in value.items()), response
    check_deltas(events)
    check_calls(events)
    if fault := dict(case.line.get("error", {})):
        assert type(error).__name__ == fault.pop("exception")
        assert {name: getattr(error, name) for name in fault} == fault
        assert (response.stop_reason, getattr(error, "response", None)) == ("error", response)
    else:
        assert error is None
        if "id" in case.value and "rewritten" not in case.line:
            assert events[0] == MessageStart(response.id, response.model)
    if "unknown" in case.line:
        assert [event.raw for event in events if isinstance(event, Unknown)] == case.line["unknown"]
    if "told" in case.line:
        updates = [event.usage for event in events if isinstance(event, UsageUpdate)]
        assert [msgspec.to_builtins(usage) for usage in updates] == case.line["told"]
    if "whole" in case.line:
        assert dialect(case.dialect).decode_response(case.line["whole"]) == response
    if "body" in case.line:
        assert says(dialect(case.dialect).encode_response(response).body, case.line["body"])


@each
def test_it_is_written_and_read_again(case: Case) -> None:
    events, error = events_of(case.dialect, [case.wire])
    response = fold(events)
    broken_off = error is not None or any(block.incomplete for block in response.content)
    if not broken_off and "rewritten" not in case.line:
        losses = [[loss.kind, loss.path] for loss in check_events(case.dialect, events)]
        assert losses == case.line.get("losses", [])
        check_stream_is_whole(case.dialect, response)


ODD = Path(__file__).with_name("odd_events.jsonl").read_text(encoding="utf-8").splitlines()
PLAIN = {case.dialect: case for case in CASES if case.line["case"] == "plain"}
FRAMINGS: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda body: body.replace(b"\n", b"\r\n"),
    "CR": lambda body: body.replace(b"\n", b"\r"),
    "comments": lambda body: b": PROCESSING\n\n" + body.replace(b"\n\n", b"\n\n:\n: keep-alive\n\n", 1),
    "BOM": lambda body: b"\xef\xbb\xbf" + body,
    "no space after the colon": lambda body: body.replace(b": {", b":{"),
    "id and retry lines": lambda body: body.replace(b"data: {", b"id: 7\nretry: 10\ndata: {"),
    "other event names": lambda body: sub(rb"(event: \w+\n)?data: {", b"event: message\ndata: {", body),
    "no event names": lambda body: sub(rb"event: \w+\n", b"", body),
    "data on several lines": lambda body: body.replace(b', "', b',\ndata: "'),
    "no blank line at the end": lambda body: body[:-2],
    "blank lines first": lambda body: b"\n\n\n" + body,
}


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("name", sorted(PLAIN.keys() - {"bedrock-converse", "ollama"}))
def test_framings(name: str, framing: str) -> None:
    plain = PLAIN[name].wire
    assert read(name, FRAMINGS[framing](plain)) == read(name, plain)


@pytest.mark.parametrize("name", PLAIN)
def test_text_is_told_as_it_comes(name: str) -> None:
    """A fragment of the wire is an event at once, not at the end of its block."""
    decoder = dialect(name).stream_decoder()
    told = [
        [one.text for one in decoder.feed(written(name, event)) if isinstance(one, TextDelta)]
        for event in PLAIN[name].events
    ]
    assert [texts for texts in told if texts] == [["Hel"], ["lo"]]


@pytest.mark.parametrize("case", [case for case in CASES if case.line["case"] == "thought, text and call"])
def test_cut_at_any_byte_it_never_looks_finished(case: Case) -> None:
    """Until the event with the stop reason is whole."""
    wire, whole = case.wire, fold(events_of(case.dialect, [case.wire])[0])
    rest = case.events[-case.frame["stream"][::-1].index("$") :]
    finished_at = len(wire) - len(b"".join(written(case.dialect, event) for event in rest[1:])) - len(b"\n\n")
    for cut in range(len(wire)):
        events, error = events_of(case.dialect, [wire[:cut]])
        response = fold(events)
        assert (error is None) is (cut >= finished_at)
        if error is None:
            assert (response.content, response.stop_reason) == (whole.content, whole.stop_reason)
        else:
            assert isinstance(error, NetworkError)
            assert error.response == response
            assert response.stop_reason is StopReason.error
            assert whole.text.startswith(response.text)
            assert all(call.incomplete for call in response.tool_uses)


@pytest.mark.parametrize("text", ODD)
def test_no_event_ever_raises(text: str) -> None:
    odd = json.loads(text)
    name = odd["dialect"]
    plain = PLAIN[name].events
    for place in range(len(plain)):
        wire = b"".join(written(name, event) for event in (*plain[:place], odd["event"], *plain[place:]))
        response = fold(read(name, wire)[0])
        assert "Hello" in response.text.replace("x", "")
        dialect(name).encode_response(response)

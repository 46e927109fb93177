"""What is written for a target: ``tests/cases/written.jsonl``, one JSON object per line.

These values depend on their surroundings: histories, targets, and values that another protocol wrote. A case has

- ``dialect`` and, if it is for one server or model, the target ``to``;
- one of ``request``, ``messages``, ``system``, ``tools``, ``tool_choice`` and ``response``, in canonical JSON; a
  content of one text may be a string. Or ``read``: a request on the wire of any ``dialect``, which is read first;
- ``wire``, exactly what is written; ``losses``, all losses, each ``[kind, path]``; and ``path`` of the endpoint.

Each value is also checked so: after saving and loading it is written the same, every loss has a reason, official SDKs
accept the written requests, and what was written is read as the same value, except for the losses.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlingua import (
    Encoded,
    Message,
    Request,
    Response,
    Target,
    Tool,
    ToolChoice,
    dialect,
    from_json,
    to_json,
    unfold,
    validate_tool_results,
)
from interlingua.testing.conformance import check_events, check_request, check_response, check_stream_is_whole
from interlingua.types import Block
from lab.oracles import check_order, problems

Json = Any
KINDS: dict[str, Any] = {
    "request": Request,
    "response": Response,
    "messages": list[Message],
    "system": list[Block],
    "tools": list[Tool],
    "tool_choice": ToolChoice,
}
LINES = [
    json.loads(line) for line in Path(__file__).with_name("written.jsonl").read_text(encoding="utf-8").splitlines()
]


def spelled_out(value: Json) -> Json:
    """Canonical JSON in full: a content that is a string becomes one text block."""
    if isinstance(value, list):
        return [spelled_out(item) for item in value]
    if not isinstance(value, dict):
        return value
    blocks = {"content": [{"type": "text", "text": value["content"]}]} if isinstance(value.get("content"), str) else {}
    said_as_it_is = {"input", "input_schema", "raw"}
    return {key: item if key in said_as_it_is else spelled_out(item) for key, item in {**value, **blocks}.items()}


def given(line: Json) -> tuple[str, Any]:
    if "read" in line:
        wire = dict(line["read"])
        speaker, body = dialect(wire.pop("dialect")), wire.pop("body")
        return "request", speaker.decode_request(body, **wire)
    kind = next(kind for kind in KINDS if kind in line)
    return kind, msgspec.convert(spelled_out(line[kind]), KINDS[kind])


def written(line: Json, kind: str, value: Any) -> Encoded:
    write = getattr(dialect(line["dialect"]), f"encode_{kind}")
    encoded: Encoded = write(value, msgspec.convert(line["to"], Target)) if "to" in line else write(value)
    return encoded


@pytest.mark.parametrize("line", [pytest.param(line, id=f"{line['dialect']}: {line['case']}") for line in LINES])
def test_it_is_written(line: Json) -> None:
    name = line["dialect"]
    kind, value = given(line)
    encoded = written(line, kind, value)
    assert encoded.body == line["wire"]
    assert [[loss.kind, loss.path] for loss in encoded.losses] == line.get("losses", [])
    assert all(loss.reason for loss in encoded.losses)
    assert encoded.path == line.get("path", encoded.path)
    if kind == "request":
        assert written(line, kind, from_json(to_json(value), Request)) == encoded
        whole = value.messages and not validate_tool_results(value.messages, dialect=name)
        if whole and value.model and (name != "openai-chat" or "to" not in line):
            assert [fault for fault in problems(encoded.body, name) if not fault.startswith("warning")] == []
        elif whole:
            assert check_order(encoded.body, name) == []
        read = dialect(name).decode_request(encoded.body, model=value.model or "m")
        lost = {loss.path.split("/")[0] for loss in encoded.losses}
        for field in ("max_output_tokens", "temperature", "top_p", "top_k", "seed", "stop_sequences"):
            assert getattr(read, field) == getattr(value, field) or field in lost
        if "read" not in line and "native_ids" not in str(line):
            check_request(name, value)
    if kind == "response":
        check_response(name, value)
        check_events(name, list(unfold(value)))
        check_stream_is_whole(name, value)

"""``interlingua inspect`` shows what a file holds, whichever program recorded it."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from cli.support import Done, command
from interlingua import DIALECTS, translate_request
from shared_data import corpus, needs_shared

REQUEST = {
    "model": "gpt-5",
    "messages": [{"role": "user", "content": "hi"}],
    "seed": 3,
    "tools": [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}],
}
ANSWER = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
}
STREAM = 'data: {"type": "message_start", "message": {"id": "m", "model": "c", "content": [], "role": "assistant"}}\n\n'


def text(value: Any) -> str:
    return json.dumps(value)


HAR = {
    "log": {
        "entries": [
            {"request": {"url": "https://x/"}, "response": {"status": 200, "content": {"text": "<html>"}}},
            {
                "request": {"postData": {"text": text(REQUEST)}},
                "response": {
                    "status": 200,
                    "content": {"encoding": "base64", "text": b64encode(text(ANSWER).encode()).decode()},
                },
            },
        ]
    }
}
CASSETTE = {
    "cassette": 1,
    "recordings": [
        {
            "request": {"method": "POST", "url": "https://x/", "json": REQUEST},
            "response": {"status": 200, "json": ANSWER},
        }
    ],
}
VCR = {
    "interactions": [
        {"request": {"body": text(REQUEST)}, "response": {"status": {"code": 200}, "body": {"string": text(ANSWER)}}}
    ]
}
PARSED = {
    "interactions": [
        {"request": {"parsed_body": REQUEST}, "response": {"status": {"code": 200}, "parsed_body": ANSWER}}
    ]
}
RUBY = f"""---
http_interactions:
- request:
    method: post
    body: {{encoding: UTF-8, string: '{text(REQUEST)}'}}
  response:
    status: {{code: 200, message: OK}}
    body: {{encoding: BINARY, string: !binary {b64encode(text(ANSWER).encode()).decode()}}}
"""
GO = {
    "interactions": [
        {"request": {"body": text(REQUEST)}, "response": {"body": text(ANSWER), "status": "200 OK", "code": 200}}
    ]
}
ALONE = {"request": {"method": "POST", "body": text(REQUEST)}, "response": {"status": 200, "body": text(ANSWER)}}
RECORDINGS = {
    "har": text(HAR),
    "cassette": json.dumps(CASSETTE, indent=2),
    "vcr": yaml.safe_dump(VCR),
    "vcr, parsed": yaml.safe_dump(PARSED),
    "vcr, ruby": RUBY,
    "vcr, go": yaml.safe_dump(GO),
    "one exchange": json.dumps(ALONE, indent=2),
    "one exchange, bodies only": json.dumps({"request": REQUEST, "response": ANSWER, "status": 200}, indent=2),
    "json lines of exchanges": text({"request": REQUEST, "response": ANSWER, "status": 200}) + "\n\n" + text({"x": 1}),
    "json lines of bodies": f"{text(REQUEST)}\n{text(ANSWER)}\n",
}


@pytest.fixture
def look(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(data: str | bytes, *words: str) -> Done:
        stdin = data.encode() if isinstance(data, str) else data
        return command(capsysbinary, monkeypatch, "inspect", *words, stdin=stdin)

    return run


@pytest.mark.parametrize("form", RECORDINGS)
def test_a_recording_is_read_whoever_made_it(form: str, look: Any) -> None:
    done = look(RECORDINGS[form], "--json")
    request, answer = json.loads(done.out)
    assert (request["kind"], request["dialect"], request["model"]) == ("request", "openai-chat", "gpt-5")
    assert (request["messages"], request["blocks"], request["tools"]) == ({"user": 1}, {"text": 1}, ["add"])
    assert (answer["kind"], answer["dialect"], answer["tokens"], answer["stop"]) == (
        "response",
        "openai-chat",
        7,
        "end_turn",
    )
    assert look(RECORDINGS[form]).out.count(b"openai-chat") >= 2


def test_losses_are_those_of_the_library(look: Any) -> None:
    (found,) = json.loads(look(text(REQUEST), "--json").out)
    assert set(found["losses"]) == set(DIALECTS) - {"openai-chat"}
    for target, losses in found["losses"].items():
        translated = translate_request(REQUEST, source="openai-chat", target=target).losses
        assert losses == list(msgspec.to_builtins(translated))


def test_one_body_is_told_at_length(look: Any) -> None:
    output = look(json.dumps(REQUEST, indent=2), "--to", "anthropic-messages").out.decode()
    assert "request, openai-chat" in output
    assert "anthropic-messages has no `seed`" in output
    assert "ollama" not in output


def test_a_stream_that_broke_off_says_so(look: Any) -> None:
    (found,) = json.loads(look(STREAM, "--json").out)
    assert (found["kind"], found["dialect"], found["stop"]) == ("stream", "anthropic-messages", "error")
    assert "ended" in found["problem"] or "cut" in found["problem"] or "broke" in found["problem"]


def test_an_error_says_its_class(look: Any) -> None:
    body = {"request": REQUEST, "response": {"error": {"message": "no", "type": "x"}}, "status": 401}
    found = json.loads(look(text(body) + "\n" + text(body), "--json").out)
    assert [one["kind"] for one in found] == ["request", "error", "request", "error"]
    assert found[1]["problem"].startswith("auth: ")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("", "the input is empty"),
        ('{"log": {"entries": [{"response": {"content": {"text": "abc", "encoding": "base64"}}}]}}', "cannot be read"),
        ('{"log": {"entries": [{"response": {"status": 400, "content": {"text": "[1]"}}}]}}', "cannot be told"),
        ('{"http_interactions": [{"request": {"body": {"base64_string": 5}}}]}', "cannot be read"),
        ('{"request": 1, "response_b64": "abc"}\n{"request": 2}', "cannot be read"),
        ("interactions: [", "this is no YAML"),
        ('{"what": 1}', "cannot be told"),
        ("a,b\n1,2\n", "this is no JSON"),
    ],
)
def test_what_nobody_can_read(data: str, says: str, look: Any) -> None:
    done = look(data)
    assert (done.code, done.out) == (2, b"")
    assert says in done.err


def test_our_own_cassettes(look: Any) -> None:
    folder = Path(__file__).parents[1] / "client" / "cassettes"
    for path in sorted(folder.glob("*.json")):
        findings = json.loads(look(path.read_bytes(), "--json").out)
        assert {one["kind"] for one in findings} >= {"request"}
        assert not [one for one in findings if one["kind"] == "request" and "problem" in one]


@needs_shared
def test_recorded_exchanges_as_json_lines(look: Any) -> None:
    records = [record for _, record in zip(range(40), corpus("gemini"), strict=False)]
    findings = json.loads(look(b"\n".join(map(msgspec.json.encode, records)), "--json", "--to", "ollama").out)
    assert {one["dialect"] for one in findings} == {"gemini"}
    assert len(findings) > 60

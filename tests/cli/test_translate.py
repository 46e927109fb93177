"""``interlingua translate`` writes what the library writes, and finds out what it reads."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.support import SOURCE, command, process
from interlingua import (
    DIALECTS,
    AdapterError,
    Loss,
    detect_dialect,
    dialect,
    translate_request,
    translate_response,
    translate_stream,
)
from interlingua.cli import translate
from interlingua.cli.failures import CommandError
from interlingua.cli.reading import read_wire
from shared_data import corpus, needs_shared, stream_bytes

FILES = {name: (name,) for name in DIALECTS} | {"bedrock-converse": ("bedrock-converse", "bedrock-converse-stream")}
PAIRS = [(one, other) for one in DIALECTS for other in DIALECTS if one != other]
EACH = 6


@cache
def sample(name: str) -> dict[str, list[Any]]:
    """Some recorded requests, answers and streams of a dialect, spread over its recordings."""
    records = [record for file in FILES[name] for record in corpus(file) if record["status"] == 200]
    requests = [r["request"] for r in records if readable(name, r["request"])]
    answers = [r["response"] for r in records if isinstance(r.get("response"), dict) and "framing" not in r]
    streams = [s for r in records if (s := stream_bytes(r)) and usual(r, s)]
    whole = [body for body in answers if not {"data", "totalTokens", "inputTokens", "input_tokens"} & set(body)]
    return {kind: spread(found) for kind, found in (("request", requests), ("response", whole), ("stream", streams))}


def readable(name: str, body: Any) -> bool:
    return isinstance(body, dict) and dialect(name).history_key in body


def usual(record: dict[str, Any], data: bytes) -> bool:
    """Whether a recording is short and has the bytes that came: not reassembled, and without lengths of HTTP chunks."""
    return record["stream"] and "framing" not in record and len(data) < 50_000 and data.lstrip()[:1] in b"{[de:\0"


def spread(found: list[Any]) -> list[Any]:
    return list(islice(found, 0, None, max(1, len(found) // EACH)))[:EACH]


def expected(kind: str, value: Any, source: str, target: str) -> tuple[bytes, list[Loss]]:
    """The result and the losses of the library's own functions."""
    losses: list[Loss] = []
    if kind == "stream":
        written = b"".join(translate_stream([value], source=source, target=target, on_loss=losses.append))
        return written, losses
    helper = translate_request if kind == "request" else translate_response
    encoded = helper(value, source=source, target=target)
    return msgspec.json.encode(encoded.body) + b"\n", list(encoded.losses)


@needs_shared
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_recorded_traffic_is_translated_as_the_library_does(
    source: str, target: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0
    for kind, values in sample(source).items():
        for value in values:
            data = value if kind == "stream" else msgspec.json.encode(value)
            words = ("translate", "--from", source, "--to", target, "--kind", kind)
            losses: list[Loss] = []
            try:
                written, losses = expected(kind, value, source, target)
            except AdapterError as error:
                written, refused = b"", error.message
            else:
                refused = None
            done = command(capsysbinary, monkeypatch, *words, stdin=data)
            assert done.out == written
            if refused is not None:
                assert done.code != 0
                assert refused in done.err
                continue
            reported = [line for line in done.err.splitlines() if not line.startswith("interlingua: the stream ended")]
            assert reported == [f"{loss.kind} ({loss.weight}) {loss.path}: {loss.reason}" for loss in losses]
            compared += 1
    assert compared >= EACH


@needs_shared
@pytest.mark.parametrize("source", DIALECTS)
def test_kind_and_dialect_are_found_out(source: str) -> None:
    unknown: list[tuple[str, str]] = []
    for kind, values in sample(source).items():
        for value in values:
            data = value if kind == "stream" else msgspec.json.encode(value)
            try:
                wire = read_wire(io.BytesIO(data))
            except CommandError as error:
                unknown.append((kind, str(error)))
                continue
            assert wire.kind == kind
            assert wire.dialect == (source if kind == "stream" else detect_dialect(value))
    assert [(kind, why) for kind, why in unknown if kind != "request" or "name it, --from" not in why] == []


ERRORS = {
    "anthropic-messages": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}},
    "openai-chat": {"error": {"message": "slow down", "type": "rate_limit_error", "code": None, "param": None}},
    "gemini": {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}},
    "ollama": {"error": "slow down"},
    "bedrock-converse": {"message": "slow down"},
}


@pytest.mark.parametrize("source", ERRORS)
@pytest.mark.parametrize("target", DIALECTS)
def test_an_error_is_translated(
    source: str, target: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = msgspec.json.encode(ERRORS[source])
    done = command(capsysbinary, monkeypatch, "translate", "--to", target, "--status", "429", "--json", stdin=body)
    written = dialect(target).encode_error(dialect(source).decode_error(429, {}, body))
    result = json.loads(done.out)
    assert (result["from"], result["kind"]) == (source, "error")
    assert result["body"] == json.loads(written.body)
    assert result["headers"]["status"] == str(written.status)


REQUEST = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 3}'


def test_strict_writes_nothing_that_loses(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("translate", "--to", "anthropic-messages", "--strict")
    done = command(capsysbinary, monkeypatch, *words, stdin=REQUEST)
    assert (done.code, done.out) == (4, b"")
    assert "seed: anthropic-messages has no `seed`" in done.err


def test_a_provider_brings_its_quirks(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("translate", "--to", "mistral", "--model", "mistral-small-latest", "--quiet")
    done = command(capsysbinary, monkeypatch, *words, stdin=REQUEST)
    result = json.loads(done.out)
    assert (result["model"], result["random_seed"]) == ("mistral-small-latest", 3)


def test_the_help_names_every_dialect() -> None:
    assert ", ".join(DIALECTS) == translate.DIALECTS


MISTAKES = [
    (("--to", "anthropc-messages"), REQUEST, 2, "did you mean 'anthropic-messages'?"),
    (("--to", "gemini"), b"hello", 2, "this is no JSON and no stream of a provider"),
    (("--to", "gemini"), b"", 2, "the input is empty"),
    (("--to", "gemini"), b'{"question": 1}', 2, "name it, --from anthropic-messages|"),
    (("--to", "gemini"), b'data: {"question": 1}\n\n', 2, "the dialect of this stream cannot be told"),
    (("--to", "gemini"), b"[" * 5000, 2, "cannot be told"),
    (("--to", "gemini", "--kind", "error"), b"[1]", 2, "the dialect of this error cannot be told"),
    (("--to", "gemini", "--from", "ollama"), b'{"x": 1}', 2, "; --from and --kind say what it is"),
    (("--to", "gemini", "--status", "99999"), b"{}", 2, "'99999' is not a whole number from 100 to 599"),
    ((), REQUEST, 2, "required: --to"),
    (("--to", "gemini", "no-such-file.json"), REQUEST, 2, "no-such-file.json: No such file"),
    (("--to", "gemini", "--from", "openai-chat"), b"3", 2, "it is not a JSON object"),
]


@pytest.mark.parametrize(("words", "stdin", "code", "says"), MISTAKES)
def test_a_mistake_is_one_line(
    words: tuple[str, ...],
    stdin: bytes,
    code: int,
    says: str,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = command(capsysbinary, monkeypatch, "translate", *words, stdin=stdin)
    assert (done.code, done.out) == (code, b"")
    assert says in done.err
    assert done.err.count("\n") == 1


def chat_chunks(count: int) -> Iterator[bytes]:
    """A long answer of OpenAI Chat, word by word."""
    head = '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,'
    yield f'data: {head % json.dumps({"role": "assistant", "content": ""})}"finish_reason":null}}]}}\n\n'.encode()
    line = f'data: {head % json.dumps({"content": " word"})}"finish_reason":null}}]}}\n\n'.encode()
    yield from (line * 100 for _ in range(count // 100))
    yield f'data: {head % "{}"}"finish_reason":"stop"}}]}}\n\ndata: [DONE]\n\n'.encode()


MEASURED = """
import sys
from interlingua.cli.app import main
assert main(["translate", "--quiet", "--to", "anthropic-messages", sys.argv[1]]) == 0
(line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(line.split()[1], file=sys.stderr)
"""


def peak(place: Path, count: int) -> int:
    """The most memory, in kB, that a stream of so many words needs."""
    place.write_bytes(b"".join(chat_chunks(count)))
    line = [sys.executable, "-c", MEASURED, str(place)]
    done = subprocess.run(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={"PYTHONPATH": SOURCE}, check=True
    )
    return int(done.stderr)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc says what a process needs")
def test_a_long_stream_needs_no_more_memory_than_its_text(tmp_path: Path) -> None:
    """30 MB with 1 MB of text. A list with every word would take 16 MB more."""
    assert peak(tmp_path / "long", 200_000) - peak(tmp_path / "short", 2_000) < 8_000


def test_a_stream_is_handed_on_as_it_comes() -> None:
    """The first event is there while the source is still open."""
    line = [sys.executable, "-m", "interlingua", "translate", "--to", "anthropic-messages"]
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={"PYTHONPATH": SOURCE}
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for chunk in islice(chat_chunks(200), 2):
            running.stdin.write(chunk)
            running.stdin.flush()
        assert running.stdout.readline() == b"event: message_start\n"
        running.stdin.close()
        assert b"message_stop" not in running.stdout.read()  # it was cut
        assert running.wait() == 1


def test_it_works_as_a_process(tmp_path: Path) -> None:
    done = process("translate", "--to", "openai-responses", home=tmp_path, stdin=REQUEST)
    assert done.code == 0
    assert json.loads(done.out)["input"][0]["role"] == "user"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no file that is always full")
def test_output_for_which_there_is_no_room_is_told_in_a_sentence() -> None:
    words = [sys.executable, "-m", "interlingua", "translate", "--quiet", "--to", "gemini"]
    request = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, input=request, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        "interlingua: the output is incomplete, because there is no room to write it"
    ]

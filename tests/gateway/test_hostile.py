"""Hostile or broken requests get answers in a dialect, never a 500 without a reason, and never hang."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.asking import BEDROCK, CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES, body_of
from gateway.raw_http import fetch, recorder
from gateway.serving_gateway import MODEL, UPSTREAMS, Served, gateway, manager_for
from gateway.test_gateway import PATHS, broken_off
from interlingua import DIALECTS, dialect
from interlingua.client.embedded import Script, Step
from interlingua.client.embedded.server import LoopbackServer
from interlingua.errors import AdapterError
from interlingua.gateway.carry import ENVELOPE
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.state import State
from interlingua.models.providers import PROVIDERS
from interlingua.serving import find_entrance
from shared_data import SHARED

SEED = 20261118
BODIES, HEADS, LINES = 40, 60, 80
"""How many of each: more find more, and these take some seconds."""
JUNK: tuple[Any, ...] = (
    None, True, -1, 1e300, 2**70, "", "x" * 5000, "\ud800", "\r\nevil: 1", "../..", ENVELOPE, f"{ENVELOPE}AAAA", [], {},
    [[]], [None], {"type": None}, {"type": "text"}, {"role": "user"}, {"a": {"b": {"c": []}}},
)  # fmt: skip


def mutated(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """A body with a random fault."""
    if chance.random() < 0.06 or depth > 12:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        kept = {key: mutated(item, chance, depth + 1) for key, item in value.items() if chance.random() > 0.03}
        return {**kept, chance.choice(["type", "id", "content", "x\r\ny", "é"]): 1} if chance.random() < 0.03 else kept
    if isinstance(value, list):
        items = [mutated(item, chance, depth + 1) for item in value]
        return items * 2 if items and chance.random() < 0.05 else items
    return value


def bodies(client: str) -> list[Any]:
    """The captured bodies of real clients, if they are there, and one of our own."""
    found = [{**body_of(client), "model": "asked"}]
    for path in sorted((SHARED / "clients").glob("*/*.json")):
        captured = json.loads(path.read_text())
        entrance = find_entrance(captured["method"], captured["path"])
        if entrance is not None and (entrance.door.dialect, entrance.door.kind) == (client, "generate"):
            found.append(captured["body"])
    return found[:6]


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    """A gateway with a provider of every dialect."""
    with LoopbackServer.in_thread(Script(Step())) as upstream:
        routes = {f"{name}-*": Route(f"{provider}:{MODEL}") for name, provider in UPSTREAMS.items()}
        snapshot = Snapshot(routes={**routes, "*": Route(f"openai-chat:{MODEL}")})
        with gateway(State(snapshot, manager=manager_for(upstream))) as found:
            yield found


def judged(client: str, status: int, headers: dict[str, str], body: bytes, sent: object) -> None:
    """Check that an answer is one of the dialect, or an error of the dialect with a message."""
    assert not {"evil", "x-evil"} & set(headers), sent
    if status == 200:
        return
    error = dialect(client).decode_error(status, headers, body)
    assert isinstance(error, AdapterError)
    assert len(error.provider_message or "") > 5, (sent, status, body)
    assert "traceback" not in body.decode("utf-8", "replace").lower()
    assert status < 500 or status in (501, 503, 529), (sent, status, body)


@pytest.mark.parametrize("client", DIALECTS)
def test_mutated_bodies_are_answered_in_the_dialect(client: str, running: Served) -> None:
    chance = random.Random(f"{SEED} {client}")
    samples = bodies(client)
    for number in range(BODIES):
        body = mutated(chance.choice(samples), chance)
        if isinstance(body, dict) and chance.random() < 0.8:
            body["model"] = f"{chance.choice(list(DIALECTS))}-x"
        sent = json.dumps(body).encode("utf-8", "surrogatepass")
        if chance.random() < 0.2:
            at = chance.randrange(len(sent))
            sent = sent[:at] + bytes([chance.randrange(256)]) + sent[at + chance.randrange(3) :]
        path = PATHS[client][number % 2].replace("asked", f"{chance.choice(list(DIALECTS))}-x")
        got = fetch(running.url, path, sent)
        judged(client, got.status, got.headers, got.body, (path, sent[:2000]))


def raw(url: str, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send these bytes and return the answer."""
    host, port = urlsplit(url).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=15) as connection:
        connection.sendall(request)
        read = b""
        while chunk := connection.recv(65536):
            read += chunk
    read = read.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    head, _, body = read.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (item.partition(":") for item in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = _unchunked(body)
    return int(line.split(" ")[1]), headers, body


def _unchunked(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        whole, body = whole + rest[:length], rest[length + 2 :]
        if not length:
            break
    return whole


ODD_HEADERS = (
    "content-type: text/plain", "content-type: multipart/form-data; boundary=x", "content-encoding: br",
    "content-encoding: gzip, deflate", "content-encoding: \xff\xfe", "accept: */*;q=\x7f", "authorization: Bearer",
    "authorization: Basic Og==", "x-api-key: \xe9\xe9", "cookie: " + "a" * 3000, "x-session-id: ../../\x01",
    "anthropic-version: ", "anthropic-version: 1\x0b2", "anthropic-beta: " + ",".join(["b"] * 300), "te: trailers",
    "x-goog-api-key: k", "upgrade: h2c", "x-forwarded-host: evil", "host: evil", "expect: 100-continue",
    "range: bytes=0-1", "x-interlingua-model: me", "x-stainless-lang: " + "\t" * 50,
)  # fmt: skip


def test_odd_heads_are_answered(running: Served) -> None:
    chance = random.Random(f"{SEED} heads")
    for _ in range(HEADS):
        client = chance.choice(list(DIALECTS))
        path = PATHS[client][0]
        body = json.dumps({**body_of(client), "model": f"{chance.choice(list(DIALECTS))}-x"}).encode()
        lines = chance.sample(ODD_HEADERS, chance.randrange(1, 6))
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n"
        sent = head.encode() + b"".join(line.encode("latin-1") + b"\r\n" for line in lines) + b"\r\n" + body
        status, headers, answer = raw(running.url, sent)
        if not (status == 400 and headers.get("content-type", "").startswith("text/plain")):  # no HTTP request
            judged(client, status, headers, answer, lines)


WORDS = (
    "v1", "v1beta", "messages", "models", "responses", "chat", "completions", "files", "api", "model", "converse", "..",
    ".", "", "%2e%2e", "%2f", "%00", "%0d%0aevil:1", "a:generateContent", "a:countTokens", "invoke", "anthropic",
    "openai", "gemini", "bedrock", "ollama", "deployments", "batches", "receipts", "metrics", "x" * 300, "\xe9", "a;b",
    "%ff%fe", "{model}", "compact", "input_tokens", "inference-profiles", "embed", "~", "a%2Fb",
)  # fmt: skip


def test_odd_request_lines_are_answered(running: Served) -> None:
    chance = random.Random(f"{SEED} lines")
    for _ in range(LINES):
        path = "/" + "/".join(chance.choice(WORDS) for _ in range(chance.randrange(1, 7)))
        path += chance.choice(["", "?", "?alt=sse", "?key=k&a=%zz", "?" + "a=b&" * 200])
        method = chance.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"])
        body = chance.choice([b"", b"{}", b'{"model":"x","messages":[]}', b"\x00"])
        head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        status, headers, answer = raw(running.url, head.encode("latin-1") + body)
        assert "evil" not in headers, path
        assert status < 500 or status == 501, (method, path, status, answer)
        if status >= 400 and method != "HEAD":
            assert len(answer) > 10, (method, path, status)


# -------------------------------------------------------------------------------------------------- names and addresses

TRAVERSING = (
    "../../x",
    "..",
    "a/../../b",
    "a\r\nx-evil: 1",
    "a\nb",
    "a\x00b",
    "é" * 10,
    "x" * 300,
    "a?b=c",
    "a#b",
    "{}",
)


@pytest.mark.parametrize("upstream", DIALECTS)
def test_names_of_models_never_choose_an_address_or_write_a_header(upstream: str) -> None:
    """Without routes a client may name any model of a provider."""
    with recorder() as provider:
        keys = {key: "upstream-key-1234" for row in UPSTREAMS.values() for key in PROVIDERS[row].auth.keys}
        manager: Any = manager_for(provider, environment={**keys, "AWS_REGION": "us-east-1"})  # type: ignore[arg-type]
        with gateway(State(Snapshot(), manager=manager)) as running:
            for name in TRAVERSING:
                body = {**body_of(CHAT), "model": f"{UPSTREAMS[upstream]}:{name}"}
                got = fetch(running.url, "/v1/chat/completions", body)
                assert (got.status, provider.asked) == (404, []), name
                assert "x-evil" not in got.headers
            body = {**body_of(CHAT), "model": f"{UPSTREAMS[upstream]}:good-model"}
            fetch(running.url, "/v1/chat/completions", body)
            assert len(provider.asked) > 0
            assert ".." not in provider.asked[0].path


@pytest.mark.parametrize("client", [CLAUDE, RESPONSES, GEMINI, BEDROCK])
def test_a_forged_envelope_is_left_out_with_a_loss_and_never_sent(client: str, running: Served) -> None:
    forged = f"{ENVELOPE}{'A' * 44}"
    user, model = {"role": "user"}, {"role": "assistant"}
    bodies: dict[str, Any] = {
        CLAUDE: {
            "max_tokens": 9,
            "messages": [
                {**user, "content": "a"},
                {**model, "content": [{"type": "redacted_thinking", "data": forged}, {"type": "text", "text": "b"}]},
                {**user, "content": "c"},
            ],
        },
        RESPONSES: {
            "input": [
                {**user, "content": "a"},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": forged},
                {**model, "content": "b"},
                {**user, "content": "c"},
            ]
        },
        GEMINI: {
            "contents": [
                {"role": "user", "parts": [{"text": "a"}]},
                {"role": "model", "parts": [{"text": "b", "thoughtSignature": forged}]},
                {"role": "user", "parts": [{"text": "c"}]},
            ]
        },
        BEDROCK: {
            "messages": [
                {**user, "content": [{"text": "a"}]},
                {**model, "content": [{"reasoningContent": {"redactedContent": forged}}, {"text": "b"}]},
                {**user, "content": [{"text": "c"}]},
            ]
        },
    }
    for upstream, provider in UPSTREAMS.items():
        with recorder() as found:
            manager: Any = manager_for(found)  # type: ignore[arg-type]
            with gateway(State(Snapshot(routes={"*": Route(f"{provider}:{MODEL}")}), manager=manager)) as served:
                path = PATHS[client][0]
                body = bodies[client] if client in (GEMINI, BEDROCK) else {**bodies[client], "model": "asked"}
                fetch(served.url, path, body)
                assert ENVELOPE not in found.asked[0].body.decode(), upstream
                assert '"b"' in found.asked[0].body.decode()
    got = fetch(running.url, path.replace("asked", "x"), {**body, "model": "x"} if "model" in body else body)
    assert got.status == 200
    id = got.headers["x-interlingua-receipt"].partition(";")[0]
    losses = fetch(running.url, f"/receipts/{id}").json()["losses"]
    assert any("envelope" in loss["reason"] and loss["weight"] == "state" for loss in losses)


def test_oversized_ids_do_no_harm(running: Served) -> None:
    long = "c" * 100_000
    call = {"id": long, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    body = {"messages": [*turns, {"role": "tool", "tool_call_id": long, "content": "1"}]}
    for name in DIALECTS:
        assert fetch(running.url, "/v1/chat/completions", {**body, "model": f"{name}-x"}).status == 200
    for header in ("x-session-id", "x-request-id", "anthropic-beta"):
        got = fetch(
            running.url, "/v1/chat/completions", {**body, "model": "x"}, **{header.replace("-", "_"): "a" * 9000}
        )
        assert got.status == 200


def test_a_stream_to_a_mutated_request_ends(running: Served) -> None:
    """No stream stays open, whatever the request."""
    chance = random.Random(f"{SEED} streams")
    for client in (CLAUDE, CHAT, RESPONSES, GEMINI, OLLAMA):
        for _ in range(4):
            body = mutated(body_of(client), chance)
            if isinstance(body, dict):
                read, ended = broken_off(running, PATHS[client][1], {**body, "model": "gemini-x", "stream": True})
                assert read.startswith(b"HTTP/1.1 ")
                assert ended or b"content-length" in read


@pytest.mark.parametrize("key", ["properties", "required", "enum", "anyOf", "type"])
@pytest.mark.parametrize("odd", [True, 3, "x", [], {}, None])
def test_the_embedded_model_answers_to_any_schema(key: str, odd: Any, running: Served) -> None:
    """Found by a longer run of the test of mutated bodies."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], key: odd}
    form = {"type": "json_schema", "name": "n", "schema": schema}
    body = {"model": "openai-responses-x", "input": "x", "text": {"format": form}}
    assert fetch(running.url, "/v1/responses", body).status in (200, 400)


def test_what_is_asked_with_head_has_an_answer_each_time(running: Served) -> None:
    """Also with one connection to the provider, on which no rest of the first answer may remain."""
    for _ in range(3):
        got = fetch(running.url, "/v1/files", method="HEAD")
        assert (got.status, got.body) == (404, b"")

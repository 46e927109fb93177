"""The gateway over HTTP: bytes, errors, keys, limits, receipts, and clients that leave."""

from __future__ import annotations

import gzip
import json
import re
import socket
import time
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.asking import BEDROCK, CALLS, CHAT, CLAUDE, GEMINI, OLLAMA, QUESTION, RESPONSES, TEXT, body_of, judge
from gateway.raw_http import Recorder, fetch, recorder
from gateway.serving_gateway import MODEL, UPSTREAMS, Served, gateway, manager_for, served
from interlingua import DIALECTS, Price, Pricing, dialect
from interlingua.client.embedded import Script, Step
from interlingua.gateway.admission import Key, hash_key
from interlingua.gateway.config import Route, Settings, Snapshot
from interlingua.gateway.state import State
from interlingua.serving import Entrance, find_entrance
from interlingua.serving.refusals import TYPES
from shared_data import SHARED, needs_shared

PATHS = {
    CLAUDE: ("/v1/messages", "/v1/messages"),
    CHAT: ("/v1/chat/completions", "/v1/chat/completions"),
    RESPONSES: ("/v1/responses", "/v1/responses"),
    GEMINI: ("/v1beta/models/asked:generateContent", "/v1beta/models/asked:streamGenerateContent?alt=sse"),
    OLLAMA: ("/api/chat", "/api/chat"),
    BEDROCK: ("/model/asked/converse", "/model/asked/converse-stream"),
}
IN_URL = (GEMINI, BEDROCK)
every_client = pytest.mark.parametrize("client", DIALECTS)


def asking(client: str, *, stream: bool = False) -> tuple[str, Any]:
    """The path and the body of the request in a dialect."""
    body = {**body_of(client), "model": "asked"}
    if client in IN_URL:
        del body["model"]
    else:
        body["stream"] = stream
    return PATHS[client][stream], body


# ------------------------------------------------------------------------------------- same dialect: the client's bytes


@pytest.fixture(scope="module")
def recorded() -> Iterator[tuple[Served, Recorder]]:
    with recorder() as upstream:
        manager: Any = manager_for(upstream)  # type: ignore[arg-type]
        routes = {f"{name}-*": Route(f"{provider}:{MODEL}") for name, provider in UPSTREAMS.items()}
        with gateway(State(Snapshot(routes=routes), manager=manager)) as found:
            yield found, upstream


WRITTEN = {
    "compact": lambda body: json.dumps(body, separators=(",", ":"), ensure_ascii=False),
    "spaced": lambda body: json.dumps(body, indent=2, ensure_ascii=False),
    "escaped": lambda body: json.dumps(body, ensure_ascii=True),
    "last": lambda body: json.dumps(
        {
            **{k: v for k, v in body.items() if k != "model"},
            "metadata": {"model": body["model"]},
            "model": body["model"],
        }
    ),
}


def captured_calls() -> list[tuple[Entrance, str, Any]]:
    """Every call of a model that was captured from a real client: the model, the path and the body."""
    found: list[tuple[Entrance, str, Any]] = []
    for path in sorted((SHARED / "clients").glob("*/*.json")):
        captured = json.loads(path.read_text())
        entrance = find_entrance(captured["method"], captured["path"].partition("?")[0])
        if entrance is not None and entrance.door.kind == "generate":
            found.append((entrance, captured["path"], captured["body"]))
    return found


@needs_shared
@pytest.mark.parametrize("way", WRITTEN)
def test_bodies_of_real_clients_reach_the_provider_byte_for_byte(way: str, recorded: tuple[Served, Recorder]) -> None:
    running, upstream = recorded
    seen: set[str] = set()
    calls = captured_calls()
    assert len(calls) > 50
    for entrance, path, body in calls:
        name = entrance.door.dialect
        seen.add(name)
        upstream.asked.clear()
        if entrance.model is not None:  # nothing of the body is replaced
            sent = WRITTEN[way]({"model": "nowhere", **body}).encode()
            assert fetch(running.url, path.replace(entrance.model, f"{name}-x"), sent).status == 200
            assert upstream.asked[0].body == sent
            continue
        body = {**body, "model": f"{name}-é" if way == "escaped" else f"{name}-x"}
        sent = WRITTEN[way](body).encode()
        assert fetch(running.url, path, sent).status == 200
        model = json.dumps(body["model"], ensure_ascii=way == "escaped").encode()
        before, _, after = sent.rpartition(model) if way == "last" else sent.partition(model)
        assert upstream.asked[0].body == before + f'"{MODEL}"'.encode() + after
    assert seen == {CLAUDE, CHAT, RESPONSES, GEMINI}


def test_headers_of_the_vendor_go_on_and_credentials_do_not(recorded: tuple[Served, Recorder]) -> None:
    running, upstream = recorded
    upstream.asked.clear()
    sent = {"model": f"{CLAUDE}-x", "max_tokens": 1, "messages": []}
    headers = {
        "anthropic-beta": "a,b",
        "anthropic-version": "2023-01-01",
        "authorization": "Bearer mine",
        "x-api-key": "mine",
        "cookie": "a=b",
        "x-forwarded-for": "1.2.3.4",
        "x-claude-code-session-id": "s",
    }
    fetch(running.url, "/v1/messages?beta=true&key=mine", sent, **headers)
    path, headers, _ = upstream.asked[0]
    assert path == "/v1/messages?beta=true"
    assert headers["anthropic-beta"] == "a,b"
    assert headers["anthropic-version"] == "2023-01-01"
    assert headers["x-claude-code-session-id"] == "s"
    assert headers["x-api-key"] == "upstream-key-1234"
    assert not {"authorization", "cookie", "x-forwarded-for"} & set(headers)


def test_answers_and_errors_come_back_byte_for_byte(recorded: tuple[Served, Recorder]) -> None:
    running, upstream = recorded
    for status, headers, body in (
        (200, {"content-type": "application/json", "request-id": "r1"}, b'{ "odd":1,"type":"message" }'),
        (
            400,
            {"content-type": "application/json", "x-odd": "1"},
            b'{"type":"error","error":{"type":"x","message":"no"}}',
        ),
        (413, {"content-type": "text/plain"}, b"prompt is too long: 1 tokens > 0 maximum"),
        (200, {"content-type": "text/event-stream"}, b'event: ping\ndata: {"type": "ping"}\n\n'),
    ):
        upstream.status, upstream.headers, upstream.body = status, headers, body
        got = fetch(
            running.url,
            "/v1/messages",
            {"model": f"{CLAUDE}-x", "stream": headers["content-type"] != "application/json"},
        )
        assert (got.status, got.body) == (status, body)
        assert {name: got.headers[name] for name in headers} == headers
    upstream.status, upstream.headers, upstream.body = 200, {"content-type": "application/json"}, b"{}"


def test_a_body_whose_model_stands_twice_is_refused(recorded: tuple[Served, Recorder]) -> None:
    running, upstream = recorded
    upstream.asked.clear()
    got = fetch(running.url, "/v1/messages", f'{{"model":"a","messages":[],"model":"{CLAUDE}-x"}}'.encode())
    assert got.status == 400
    assert upstream.asked == []


@pytest.mark.parametrize("sent", ['{"messages":[], "n":1}', '\n { "messages" : [] }', "{}", "{ }"])
def test_a_body_without_a_model_goes_to_the_route_of_any_name(sent: str) -> None:
    with recorder() as upstream:
        manager: Any = manager_for(upstream)  # type: ignore[arg-type]
        snapshot = Snapshot(routes={"*": Route(f"{UPSTREAMS[CHAT]}:{MODEL}")})
        with gateway(State(snapshot, manager=manager)) as running:
            assert fetch(running.url, "/v1/chat/completions", sent.encode()).status == 200
        body = upstream.asked[0].body.decode()
        assert json.loads(body) == {"model": MODEL, **json.loads(sent)}
        assert body.replace(f'"model":"{MODEL}"', "").replace("{,", "{") == sent


# -------------------------------------------------------------------------------------------- other dialect: translated


@every_client
def test_a_translation_says_who_answered_and_keeps_a_receipt(client: str) -> None:
    other = CLAUDE if client != CLAUDE else CHAT
    with served(Script(CALLS, CALLS), dialect=other) as (running, _):
        got = fetch(running.url, *asking(client))
        assert judge(client, got.json())[0] == TEXT
        assert got.headers["x-interlingua-model"] == f"{UPSTREAMS[other]}:{MODEL}"
        id, _, losses = got.headers["x-interlingua-receipt"].partition("; losses=")
        receipt = fetch(running.url, f"/receipts/{id}").json()
        assert losses.isdecimal()
        assert (receipt["dialect"], receipt["asked"], receipt["served"]) == (
            client,
            "asked",
            f"{UPSTREAMS[other]}:{MODEL}",
        )
        assert receipt["usage"]["output_tokens"] > 0
        assert receipt["route"] == [{"model": f"{UPSTREAMS[other]}:{MODEL}", "outcome": "answered", "reason": None}]
        assert "1 + 2" not in json.dumps(receipt)
        metrics = fetch(running.url, "/metrics").body.decode()
        for weight in {loss["weight"] for loss in receipt["losses"]}:
            count = sum(loss["weight"] == weight for loss in receipt["losses"])
            assert f'interlingua_losses_total{{weight="{weight}"}} {count}\n' in metrics
        stream = fetch(running.url, *asking(client, stream=True))
        assert stream.headers["x-interlingua-receipt"].partition(";")[0] != id
        assert 'interlingua_requests_total{dialect="' in fetch(running.url, "/metrics").body.decode()


def test_a_strict_route_refuses_what_would_be_lost() -> None:
    snapshot = Snapshot(routes={"*": Route(f"openai-chat:{MODEL}", losses="strict")})
    with served(Script("hi"), snapshot=snapshot) as (running, upstream):
        path, body = asking(CLAUDE)
        got = fetch(running.url, path, {**body, "top_k": 5})
        assert got.status == 400
        assert "top_k" in got.json()["error"]["message"]
        assert fetch(running.url, path, {**body, "top_k": 5, "stream": True}).status == 400
        assert upstream.script.asked == 0
        assert fetch(running.url, path, body).status == 200


def test_the_other_policies_let_through_and_one_of_them_logs(caplog: pytest.LogCaptureFixture) -> None:
    path, body = asking(CLAUDE)
    for policy in ("allow", "warn"):
        snapshot = Snapshot(routes={"*": Route(f"openai-chat:{MODEL}", losses=policy)})
        caplog.clear()
        with served(Script("hi", "hi"), snapshot=snapshot) as (running, _), caplog.at_level("WARNING"):
            for stream in (False, True):
                got = fetch(running.url, path, {**body, "top_k": 5, "stream": stream})
                assert got.status == 200
                assert int(got.headers["x-interlingua-receipt"].partition("; losses=")[2]) > 0
        lines = [record.getMessage() for record in caplog.records if record.name == "interlingua.gateway"]
        assert [("losses to openai-chat" in line) for line in lines] == ([] if policy == "allow" else [True, True])
        assert not any("1 + 2" in line for line in lines)


@pytest.mark.parametrize("client", [CLAUDE, CHAT])
def test_the_log_says_whose_key_was_refused(client: str, caplog: pytest.LogCaptureFixture) -> None:
    """The client cannot tell the gateway's key at the provider from its own key."""
    step = Step(act="fail", status=401, message="invalid x-api-key")
    with served(step, dialect=CLAUDE) as (running, _), caplog.at_level("WARNING"):
        assert fetch(running.url, *asking(client)).status == 401
    [line] = [record.getMessage() for record in caplog.records if record.name == "interlingua.gateway"]
    assert "refused this gateway's key: invalid x-api-key" in line


@pytest.mark.parametrize("upstream", [CHAT, RESPONSES, GEMINI, OLLAMA, BEDROCK])
def test_a_conversation_that_is_too_long_is_told_in_the_word_that_claude_code_acts_on(upstream: str) -> None:
    """If the message is not Anthropic's own, Claude Code searches it for this word, and compacts the conversation."""
    with served(Step(act="overflow"), dialect=upstream) as (running, _):
        for stream in (False, True):
            got = fetch(running.url, *asking(CLAUDE, stream=stream))
            status = 413 if upstream in (GEMINI, OLLAMA) else 400  # the provider's own status
            assert (got.status, got.json()["error"]["type"]) == (status, TYPES[status])
            assert "context window" in got.json()["error"]["message"]
            assert "capability_rejected: prompt_too_long" in got.json()["error"]["message"]
            assert dialect(CLAUDE).decode_error(status, got.headers, got.body).error_class == "context_overflow"
            answer = fetch(running.url, *asking(CHAT, stream=stream))
            assert "capability_rejected" not in answer.body.decode()


STATUSES = (
    # upstream dialect and status, then the client's dialect, status and header
    (CLAUDE, 529, CHAT, 503, None),
    (CLAUDE, 529, RESPONSES, 503, None),
    (CLAUDE, 529, GEMINI, 503, None),
    (GEMINI, 503, CLAUDE, 529, None),
    (CHAT, 503, CLAUDE, 529, None),
    (CHAT, 429, CLAUDE, 429, "retry-after"),
    (CHAT, 429, RESPONSES, 429, "retry-after"),
    (CLAUDE, 429, GEMINI, 429, None),
    (CLAUDE, 401, CHAT, 401, None),
    (CHAT, 403, CLAUDE, 403, None),
    (CHAT, 404, CLAUDE, 404, None),
    (CLAUDE, 404, GEMINI, 404, None),
    (CLAUDE, 413, RESPONSES, 413, None),
    (CHAT, 413, CLAUDE, 413, None),
    (CHAT, 500, CLAUDE, 500, None),
)


@pytest.mark.parametrize(("upstream", "status", "client", "expected", "hint"), STATUSES)
def test_statuses_and_hints_keep_their_meaning(
    upstream: str, status: int, client: str, expected: int, hint: str | None
) -> None:
    step = Step(act="fail", status=status, message="Overloaded" if status in (529, 503) else "no", retry_after=0.001)
    with served(step, dialect=upstream) as (running, _):
        for stream in (False, True):
            got = fetch(running.url, *asking(client, stream=stream))
            assert got.status == expected
            assert hint is None or hint in got.headers
            error = dialect(client).decode_error(got.status, got.headers, got.body)
            assert error.provider_message


def broken_off(running: Served, path: str, body: Any) -> tuple[bytes, bool]:
    """The part of an answer that could be read, and whether its end came."""
    host, port = urlsplit(running.url).netloc.split(":")
    payload = json.dumps(body).encode()
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(payload)}\r\n\r\n"
        connection.sendall(head.encode() + payload)
        read = b""
        while not read.endswith(b"\r\n0\r\n\r\n") and (chunk := connection.recv(65536)):
            read += chunk
    return read, read.endswith(b"0\r\n\r\n")


@every_client
@pytest.mark.parametrize("upstream", [CLAUDE, CHAT, GEMINI])
def test_a_cut_upstream_is_never_a_clean_end(client: str, upstream: str) -> None:
    step = Step(content=(*CALLS, CALLS[1]), fault="cut", after={CLAUDE: 10, CHAT: 6, GEMINI: 4}[upstream])
    with served(step, dialect=upstream) as (running, _):
        read, ended = broken_off(running, *asking(client, stream=True))
        assert read.startswith(b"HTTP/1.1 200")
        assert not ended
        whole, ended = broken_off(running, *asking(client))
        assert not ended or not whole.startswith(b"HTTP/1.1 200")


# --------------------------------------------------------------------------------------------------- clients that leave


@every_client
@pytest.mark.parametrize("fault", ["stall", "stall_first"])
def test_a_client_that_leaves_closes_the_upstream(client: str, fault: Any) -> None:
    with served(Step(content=CALLS, fault=fault, after=5), dialect=CLAUDE) as (running, upstream):
        path, body = asking(client, stream=True)
        payload = json.dumps(body).encode()
        host, port = urlsplit(running.url).netloc.split(":")
        connection = socket.create_connection((host, int(port)), timeout=20)
        connection.sendall(
            f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(payload)}\r\n\r\n".encode() + payload
        )
        upstream.wait(upstream.asked)
        if fault == "stall" and client != GEMINI:
            connection.recv(1)
        connection.close()
        upstream.wait(upstream.gone)
        upstream.wait(upstream.idle)
        deadline = time.monotonic() + 10
        while running.state.open and time.monotonic() < deadline:
            time.sleep(0.01)
        assert running.state.open == 0
        assert all(state == "closed" for state in running.state.router.states().values())


def test_a_silent_stream_is_kept_alive() -> None:
    snapshot = Snapshot(settings=Settings(keep_alive_seconds=0.05), routes={"*": Route(f"anthropic:{MODEL}")})
    for client, pause in ((CLAUDE, b"event: ping"), (CHAT, b": keep-alive"), (GEMINI, b"\n\n\n\n")):
        with served(Step(content=CALLS, delay=0.3), dialect=CLAUDE, snapshot=snapshot) as (running, _):
            got = fetch(running.url, *asking(client, stream=True))
            assert (pause in got.body) is (client != CLAUDE)  # bytes of the same dialect begin with the provider's head
            assert got.status == 200
        if client == GEMINI:  # as Google's SDK for JavaScript reads a stream: what is left at the end is an error
            assert re.sub(rb"\s*data: .*\n\n", b"", got.body).strip() == b""


# ------------------------------------------------------------------------------------------------------ keys and limits

SNAPSHOT = Snapshot(
    routes={"*": Route(f"openai-chat:{MODEL}")},
    keys=(
        Key(name="me", sha256=hash_key("right")),
        Key(name="narrow", sha256=hash_key("narrow"), models=("gpt-*",)),
        Key(name="slow", sha256=hash_key("slow"), per_minute=2),
    ),
    settings=Settings(body_limit=10_000),
)


@pytest.fixture(scope="module")
def keyed() -> Iterator[Served]:
    with served(Script(Step()), snapshot=SNAPSHOT) as (found, _):
        yield found


@every_client
@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-goog-api-key", "api-key"])
def test_keys_travel_in_any_header(client: str, header: str, keyed: Served) -> None:
    path, body = asking(client)
    right = "Bearer right" if header == "authorization" else "right"
    assert fetch(keyed.url, path, body, **{header: right}).status == 200
    for wrong in ({}, {header: right.replace("right", "wrong")}):
        got = fetch(keyed.url, path, body, **wrong)
        assert got.status in (401, 403)
        error = dialect(client).decode_error(got.status, got.headers, got.body)
        assert "key" in error.message
        assert "wrong" not in got.body.decode()


def test_two_keys_at_once_are_one_too_many_but_enough(keyed: Served) -> None:
    path, body = asking(CLAUDE)
    assert fetch(keyed.url, path, body, authorization="Bearer stale", x_api_key="right").status == 200


def test_a_key_may_use_its_models_only(keyed: Served) -> None:
    path, body = asking(CHAT)
    assert fetch(keyed.url, path, body, x_api_key="narrow").status == 404
    for name in ("gpt-5", "claude--gpt-5"):  # as it is offered to clients that hide other names
        assert fetch(keyed.url, path, {**body, "model": name}, x_api_key="narrow").status == 200
    assert [fetch(keyed.url, f"/v1/models/{name}", x_api_key="narrow").status for name in ("gpt-5", "o5")] == [200, 404]


def test_a_rate_is_held_and_says_when_to_come_back(keyed: Served) -> None:
    path, body = asking(CLAUDE)
    answers = [fetch(keyed.url, path, body, x_api_key="slow") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert 0 < float(answers[-1].headers["retry-after"]) <= 30
    assert answers[-1].json()["error"]["type"] == "rate_limit_error"


@every_client
def test_a_body_over_the_limit_is_refused_in_the_dialect(client: str, keyed: Served) -> None:
    path, body = asking(client)
    large = json.dumps(body).encode() + b" " * 10_000
    for payload, headers in (
        (large, {}),
        (gzip.compress(large), {"content-encoding": "gzip"}),
        (zlib.compress(large), {"content-encoding": "deflate"}),
    ):
        got = fetch(keyed.url, path, payload, x_api_key="right", **headers)
        assert got.status == 413
        assert dialect(client).decode_error(got.status, got.headers, got.body).error_class == "context_overflow"


def test_bodies_may_be_packed(keyed: Served) -> None:
    path, body = asking(CHAT)
    payload = json.dumps(body).encode()
    zstandard, brotli = pytest.importorskip("zstandard"), pytest.importorskip("brotli")
    zstd = zstandard.ZstdCompressor()
    packers = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstd.compress, "br": brotli.compress}
    for encoding, packed in ((name, pack(payload)) for name, pack in packers.items()):
        assert fetch(keyed.url, path, packed, x_api_key="right", content_encoding=encoding).status == 200
    large = payload + b" " * 100_000
    for encoding, pack in packers.items():
        got = fetch(keyed.url, path, pack(large), x_api_key="right", content_encoding=encoding)
        assert (encoding, got.status) == (encoding, 413)
        got = fetch(keyed.url, path, payload, x_api_key="right", content_encoding=encoding)
        assert (encoding, got.status) == (encoding, 400)
    assert fetch(keyed.url, path, payload, x_api_key="right", content_encoding="odd").status == 415


def test_a_receipt_is_its_owners(keyed: Served) -> None:
    got = fetch(keyed.url, *asking(CLAUDE), x_api_key="right")
    id = got.headers["x-interlingua-receipt"].partition(";")[0]
    assert fetch(keyed.url, f"/receipts/{id}", x_api_key="right").status == 200
    assert fetch(keyed.url, f"/receipts/{id}", x_api_key="narrow").status == 404
    assert fetch(keyed.url, f"/receipts/{id}").status == 401


# -------------------------------------------------------------------------------------------------------- odd endpoints


@pytest.fixture(scope="module")
def plain() -> Iterator[Served]:
    with served(Script(Step()), dialect=CHAT) as (found, _):
        yield found


def test_what_clients_ask_before_they_begin(plain: Served) -> None:
    assert fetch(plain.url, "/", method="HEAD").status == 200
    assert fetch(plain.url, "/api/hello", method="HEAD").status == 200
    assert fetch(plain.url, "/healthz").json() == {"status": "ok"}
    assert fetch(plain.url, "/readyz").json() == {"status": "ready"}
    assert fetch(plain.url, "/api/version").json()["version"]
    assert fetch(plain.url, "/api/event_logging/batch", {"events": []}).status == 200
    upgrade = fetch(plain.url, "/v1/responses", upgrade="websocket", connection="Upgrade", sec_websocket_key="x")
    assert upgrade.status == 426
    assert fetch(plain.url, "/v1/models?client_version=0.166.0").json() == {"models": []}


def test_state_of_another_server_is_refused_across_dialects(plain: Served) -> None:
    path, body = asking(CLAUDE)
    got = fetch(plain.url, path, {**body, "thread": {"id": "t"}})
    assert (got.status, got.json()["error"]["details"]["error_code"]) == (400, "thread_unsupported_request")
    path, body = asking(RESPONSES)
    assert (
        fetch(plain.url, path, {**body, "previous_response_id": "r"}).json()["error"]["param"] == "previous_response_id"
    )


def test_tokens_are_counted_in_each_dialects_own_answer(plain: Served) -> None:
    body = {"model": "asked", "messages": [{"role": "user", "content": "word " * 50}]}
    counted = fetch(plain.url, "/v1/messages/count_tokens", body).json()["input_tokens"]
    assert 40 < counted < 120
    asked = {"model": "asked", "input": "word " * 50}
    assert abs(fetch(plain.url, "/v1/responses/input_tokens", asked).json()["input_tokens"] - counted) < 10
    contents = {"contents": [{"role": "user", "parts": [{"text": "word " * 50}]}]}
    assert abs(fetch(plain.url, "/v1beta/models/asked:countTokens", contents).json()["totalTokens"] - counted) < 10


def test_lists_of_models_have_the_shape_of_who_asks() -> None:
    snapshot = Snapshot(
        routes={"fast": Route("openai-chat:m"), "claude-x": Route("anthropic:m"), "gpt-*": Route("openai:m")}
    )
    with served(snapshot=snapshot) as (running, _):
        openai = fetch(running.url, "/v1/models").json()
        assert [model["id"] for model in openai["data"]] == ["fast", "claude-x"]
        claude = fetch(running.url, "/v1/models", anthropic_version="2023-06-01").json()
        assert [model["id"] for model in claude["data"]] == ["fast", "claude--fast", "claude-x"]
        gemini = fetch(running.url, "/v1beta/models").json()
        assert [model["name"] for model in gemini["models"]] == ["models/fast", "models/claude-x"]
        assert [model["name"] for model in fetch(running.url, "/api/tags").json()["models"]] == ["fast", "claude-x"]
        assert fetch(running.url, "/v1/models/fast").json()["id"] == "fast"
        assert fetch(running.url, "/v1/models/none").status == 404
        path, body = asking(CLAUDE)
        assert fetch(running.url, path, {**body, "model": "claude--fast"}).status == 200
        got = fetch(running.url, path, {**body, "model": "unknown"})
        assert (got.status, got.json()["error"]["type"]) == (404, "not_found_error")


@pytest.mark.parametrize(
    ("routes", "listed"),
    [
        ({"*": "embedded:"}, ["embedded:"]),  # serve --model
        ({"gpt-*": "openai:gpt-5", "claude-*": "openai:gpt-5-mini"}, ["gpt-5"]),  # no such route or model
        ({"fast": "openai:o1", "openai:*": "openai:o3", "*": "openai:o4-mini"}, ["fast", "openai:o3", "o4-mini"]),
    ],
)
def test_a_pattern_is_listed_by_the_model_that_it_leads_to(routes: dict[str, str], listed: list[str]) -> None:
    """Otherwise clients that let their users choose from the list would show none."""
    snapshot = Snapshot(routes={pattern: Route(name) for pattern, name in routes.items()})
    with served(snapshot=snapshot) as (running, _):
        assert [model["id"] for model in fetch(running.url, "/v1/models").json()["data"]] == listed
        for name in listed:
            assert fetch(running.url, f"/v1/models/{name}").json()["id"] == name


def test_gemini_streams_an_array_to_those_who_do_not_ask_for_events(plain: Served) -> None:
    _, body = asking(GEMINI)
    got = fetch(plain.url, "/v1beta/models/asked:streamGenerateContent", body)
    assert got.headers["content-type"].startswith("application/json")
    assert isinstance(got.json(), list)


# --------------------------------------------------------------------------------------------------- other models after


def test_another_model_answers_where_the_first_fails() -> None:
    routes = {"*": Route(("anthropic:first", f"openai-chat:{MODEL}"))}
    failed = Step(act="fail", status=500)
    script = Script(failed, failed, CALLS, failed, failed, CALLS)  # one attempt is reserved for the last model
    with served(script, snapshot=Snapshot(routes=routes)) as (running, _):
        for stream in (False, True):
            got = fetch(running.url, *asking(CLAUDE, stream=stream))
            assert got.status == 200
            assert got.headers["x-interlingua-model"] == f"openai-chat:{MODEL}"
            assert TEXT.split()[0] in got.body.decode()


@pytest.mark.parametrize("client", [CLAUDE, CHAT, RESPONSES])
def test_no_other_model_goes_on_where_one_broke_off(client: str) -> None:
    routes = {"*": Route((f"google:{MODEL}", f"anthropic:{MODEL}"))}
    with served(Script(Step(content=CALLS, fault="cut", after=2)), snapshot=Snapshot(routes=routes)) as (
        running,
        upstream,
    ):
        read, ended = broken_off(running, *asking(client, stream=True))
        assert read.startswith(b"HTTP/1.1 200")
        assert not ended
        assert upstream.script.asked == 1


@every_client
def test_a_failure_of_the_gateway_says_where_its_reason_is(
    client: str, plain: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("secret-1234 is not for clients")

    monkeypatch.setattr(plain.state.directs, "find", fail)
    got = fetch(plain.url, *asking(client))
    error = dialect(client).decode_error(got.status, got.headers, got.body)
    assert (got.status, error.error_class) == (500, "server_error")
    assert "secret" not in got.body.decode()
    id = error.message.rpartition(" ")[2]
    assert any(id in record.getMessage() for record in caplog.records)


def test_a_conversation_stays_with_its_model() -> None:
    weights = {f"openai-chat:{letter}": 1.0 for letter in "abcd"}
    with served(Script(Step()), snapshot=Snapshot(routes={"*": Route(weights)})) as (running, _):
        seen: dict[str, set[str]] = {}
        for turn in range(3):
            for number in range(8):
                body = {**body_of(CLAUDE, QUESTION), "model": "x", "system": f"You are {number}."}
                body["messages"] = [
                    *body["messages"],
                    *[{"role": "assistant", "content": "a"}, body["messages"][0]] * turn,
                ]
                got = fetch(running.url, "/v1/messages", body)
                seen.setdefault(str(number), set()).add(got.headers["x-interlingua-model"])
        assert all(len(models) == 1 for models in seen.values())
        assert len(set().union(*seen.values())) > 1


# ------------------------------------------------------------------------------------------------------ what is hostile


ODD_BODIES = (
    b"", b"{", b"[]", b"null", b'"x"', b"{}", b'{"model":1}', b'{"model":null,"messages":[]}', b"\xff\xfe", b"[" * 5000,
    b'{"model":"x","messages":"hi"}', b'{"model":"x","messages":[null,1,"a",{"role":7}],"tools":{"a":1}}',
    b'{"model":"x\\r\\nevil: 1","messages":[]}', b'{"model":"../../x","messages":[]}', b'{"model":"x","stream":"yes"}',
    b'{"model":"x","input":[{"type":"function_call"}],"contents":[{"parts":[[]]}],"messages":[{"content":{"a":1}}]}',
    b'{"model":"x","messages":' + b"[" * 900 + b"]" * 900 + b"}", b'{"messages":[],"model":"\\ud800"}',
)  # fmt: skip


@every_client
@pytest.mark.parametrize("upstream", [CHAT, GEMINI])
def test_odd_bodies_are_refused_and_never_fail(client: str, upstream: str) -> None:
    with served(Script(Step()), dialect=upstream) as (running, _):
        for body in ODD_BODIES:
            for path in PATHS[client]:
                got = fetch(running.url, path, body)
                assert got.status < 500, (body, got)
                assert "evil" not in got.headers


def test_odd_paths_and_methods_are_refused(plain: Served) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"):
        for path in (
            "/v1/messages",
            "/../etc/passwd",
            "/%2e%2e/%2e%2e",
            "/v1beta/models/..%2f..:generateContent",
            "/x" * 900,
        ):
            got = fetch(plain.url, path, b"{}" if method in ("POST", "PUT", "PATCH") else None, method=method)
            assert 400 <= got.status < 500 or got.status == 501


# ------------------------------------------------------------------------------------------------------- what it cost


@pytest.mark.parametrize("client", [CHAT, CLAUDE], ids=["passed", "translated"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_the_cost_is_told_in_the_receipt_and_counted_once(client: str, stream: bool) -> None:
    with served(Script(CALLS)) as (running, _):
        price = Price(input=1_000_000.0, output=0.0)
        running.state.pricing = Pricing({f"openai-chat:{MODEL}": price})
        path, body = asking(client, stream=stream)
        fetch(running.url, path, {**body, "stream_options": {"include_usage": True}} if client == CHAT else body)
        id = next(iter(running.state.receipts._newest))
        receipt = fetch(running.url, f"/receipts/{id}").json()
        assert receipt["cost_usd"] == receipt["usage"]["input_tokens"] > 0
        for _ in range(2):
            metrics = fetch(running.url, "/metrics").body.decode()
            assert f"interlingua_cost_usd_total {receipt['cost_usd']:.12g}\n" in metrics

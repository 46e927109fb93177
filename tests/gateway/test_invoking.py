"""Claude on Bedrock at its older endpoint: bodies of Messages in, binary frames out, on every other provider."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.asking import BEDROCK, CALLS, CHAT, CLAUDE, TEXT
from gateway.raw_http import fetch, recorder
from gateway.serving_gateway import MODEL, UPSTREAMS, Served, gateway, manager_for, served
from interlingua import DIALECTS, decode_stream, fold
from interlingua.client.embedded import Script, Step
from interlingua.codec.framing import EventStreamDecoder, encode_frame
from interlingua.gateway.admission import Key, hash_key
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.state import State
from shared_data import SHARED, needs_shared

botocore = pytest.importorskip("botocore.session")

VERSION = "bedrock-2023-05-31"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
BODY: dict[str, Any] = {
    "anthropic_version": VERSION,
    "anthropic_beta": ["context-1m-2025-08-07"],
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "What is 1 + 2?"}],
    "tools": [{"name": "add", "description": "Adds.", "input_schema": SCHEMA}],
}
WHOLE, STREAM = "/model/asked/invoke", "/model/asked/invoke-with-response-stream"


def client_for(base: str, service: str = "bedrock-runtime") -> Any:
    session: Any = botocore.Session()
    session.set_credentials("AKIDEXAMPLE", "secret")
    config = __import__("botocore.config").config.Config(retries={"max_attempts": 0}, proxies={})
    return session.create_client(service, region_name="us-east-1", endpoint_url=base, config=config)


def text_and_calls(message: Any) -> tuple[str, list[Any]]:
    text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
    return text, [(block["name"], block["input"]) for block in message["content"] if block["type"] == "tool_use"]


def events_of(frames: bytes) -> list[Any]:
    """The events of Messages in the frames."""
    found = EventStreamDecoder().feed(frames)
    assert {frame.headers[":event-type"] for frame in found} == {"chunk"}
    return [json.loads(base64.b64decode(json.loads(frame.payload)["bytes"])) for frame in found]


def as_sse(events: list[Any]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


@pytest.fixture(scope="module", params=[name for name in DIALECTS if name != BEDROCK])
def running(request: pytest.FixtureRequest) -> Iterator[Served]:
    with served(Script(CALLS, keep=1), dialect=request.param) as (found, _):
        yield found


def test_the_aws_sdk_reads_whole_answers_and_streams(running: Served) -> None:
    client = client_for(running.url)
    body = json.dumps(BODY).encode()
    whole = client.invoke_model(modelId="us.anthropic.claude-sonnet-4-5-v1:0", body=body)
    assert text_and_calls(json.loads(whole["body"].read())) == (TEXT, [("add", {"a": 1, "b": 2})])
    stream = client.invoke_model_with_response_stream(modelId="asked", body=body)
    events = [json.loads(event["chunk"]["bytes"]) for event in stream["body"]]
    stream["body"].close()
    client.close()
    assert events[0]["type"] == "message_start"
    assert events[-1]["type"] == "message_stop"
    answer = fold(decode_stream([as_sse(events)], dialect=CLAUDE))
    assert answer.text == TEXT
    assert [block.input for block in answer.tool_uses] == [{"a": 1, "b": 2}]


def test_the_anthropic_sdk_decodes_the_frames(running: Served) -> None:
    """Claude Code in Bedrock mode reads streams with it."""
    decoder = pytest.importorskip("anthropic.lib.bedrock._stream_decoder").AWSEventStreamDecoder()
    got = fetch(running.url, STREAM, BODY)
    read = [json.loads(event.data) for event in decoder.iter_bytes(iter([got.body[:99], got.body[99:]]))]
    assert read == events_of(got.body)


def test_errors_are_those_of_bedrock() -> None:
    failed = Step(act="fail", status=429, retryable=False)
    with served(Script(failed, failed), dialect=CLAUDE) as (running, _):
        client = client_for(running.url)
        for ask in (client.invoke_model, client.invoke_model_with_response_stream):
            with pytest.raises(client.exceptions.ThrottlingException) as caught:
                ask(modelId="asked", body=json.dumps(BODY).encode())
            assert "scripted failure" in str(caught.value)
        with pytest.raises(client.exceptions.ValidationException):
            client.invoke_model(modelId="asked", body=b'{"inputText": "Hi"}')
        client.close()


@pytest.mark.parametrize("upstream", [CLAUDE, CHAT])
def test_a_stream_that_breaks_ends_in_an_exception_and_no_last_word(upstream: str) -> None:
    step = Step(content=(*CALLS, CALLS[1]), fault="cut", after={CLAUDE: 10, CHAT: 6}[upstream])
    with served(step, dialect=upstream) as (running, _):
        client = client_for(running.url)
        stream = client.invoke_model_with_response_stream(modelId="asked", body=json.dumps(BODY).encode())
        seen: list[str] = []
        with pytest.raises(Exception, match=r"(?i)exception|read|broken|incomplete|closed|prematurely"):
            seen += [json.loads(event["chunk"]["bytes"])["type"] for event in stream["body"]]
        stream["body"].close()
        assert "message_stop" not in seen
        client.close()


def test_the_body_becomes_one_of_messages_with_its_betas_as_a_header() -> None:
    with recorder() as upstream:
        manager: Any = manager_for(upstream)  # type: ignore[arg-type]
        with gateway(State(Snapshot(routes={"*": Route(f"anthropic:{MODEL}")}), manager=manager)) as running:
            assert fetch(running.url, WHOLE, BODY, authorization="AWS4-HMAC-SHA256 Credential=x").status == 200
    path, headers, body = upstream.asked[0]
    assert (path, headers["anthropic-beta"]) == ("/v1/messages", "context-1m-2025-08-07")
    assert headers["x-api-key"] == "upstream-key-1234"
    rest = {key: value for key, value in BODY.items() if not key.startswith("anthropic_")}
    assert json.loads(body) == {**rest, "model": MODEL, "stream": False}


def test_bedrock_itself_gets_the_clients_bytes_whatever_they_are() -> None:
    chunk = encode_frame({":event-type": "chunk", ":message-type": "event"}, b'{"bytes":"e30="}')
    with recorder() as upstream:
        upstream.body = chunk
        upstream.headers = {"content-type": "application/vnd.amazon.eventstream"}
        manager: Any = manager_for(upstream)  # type: ignore[arg-type]
        with gateway(State(Snapshot(routes={"*": Route(f"{UPSTREAMS[BEDROCK]}:{MODEL}")}), manager=manager)) as running:
            for path in (WHOLE, STREAM):
                got = fetch(running.url, path, b'{ "inputText":"Hi" }', x_amzn_bedrock_trace="ENABLED")
                assert (got.status, got.body) == (200, chunk)
                assert upstream.asked[-1].path == path.replace("asked", MODEL)
                assert upstream.asked[-1].body == b'{ "inputText":"Hi" }'
                assert upstream.asked[-1].headers["x-amzn-bedrock-trace"] == "ENABLED"


def test_the_access_key_of_a_signature_is_the_key() -> None:
    """The AWS SDKs sign every request; nothing else of theirs could carry a key."""
    for name, status in (("AKIDEXAMPLE", 200), ("another", 403)):
        keys = (Key(name="me", sha256=hash_key(name)),)
        snapshot = Snapshot(routes={"*": Route(f"openai-chat:{MODEL}")}, keys=keys)
        with served(Script(Step()), snapshot=snapshot) as (running, _):
            client = client_for(running.url)
            try:
                found = client.invoke_model(modelId="asked", body=json.dumps(BODY).encode())["ResponseMetadata"]
            except client.exceptions.ClientError as error:
                found = error.response["ResponseMetadata"]
            client.close()
            assert found["HTTPStatusCode"] == status


@needs_shared
def test_recorded_bodies_are_answered() -> None:
    seen = 0
    with gzip.open(SHARED / "corpus/bedrock-invoke.jsonl.gz", "rt") as lines:
        recordings = [json.loads(line) for line in lines]
    with served(Script(Step()), dialect=CHAT) as (running, _):
        for recorded in recordings:
            body = recorded["request"]
            if not isinstance(body, dict) or "anthropic_version" not in body or recorded["status"] != 200:
                continue
            got = fetch(running.url, f"/model/asked/{recorded['url_path'].rpartition('/')[2]}", body)
            assert got.status == 200, (recorded["id"], got.body)
            seen += 1
    assert seen > 40


def test_profiles_are_listed_for_the_control_client() -> None:
    with served(snapshot=Snapshot(routes={"us.anthropic.claude": Route("openai-chat:m")})) as (running, _):
        client = client_for(running.url, "bedrock")
        found = client.list_inference_profiles(typeEquals="SYSTEM_DEFINED")["inferenceProfileSummaries"]
        assert [profile["inferenceProfileId"] for profile in found] == ["us.anthropic.claude"]
        profile = client.get_inference_profile(inferenceProfileIdentifier="us.anthropic.claude")
        client.close()
        assert profile["status"] == "ACTIVE"

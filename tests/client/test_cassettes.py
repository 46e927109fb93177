"""A replayed cassette gives the same answers, its file has no keys, and another request raises a clear error."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from client.recorded import CASSETTES, KEY, SCENES, play, play_async, tape
from client.support import CANARY, DIALECTS, PROVIDERS, WAYS, Outcome, ask, config, run
from interlingua import (
    AdapterError,
    ErrorClass,
    InvalidRequestError,
    NetworkError,
    RateLimitError,
    Response,
    StopReason,
    StreamGrammar,
    TextBlock,
    TextDelta,
    ToolUseBlock,
    ToolUseInputDelta,
    Unknown,
    dialect,
)
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import LoopbackServer, Script, Step, handler
from interlingua.client.http import HttpRequest
from interlingua.client.secrets import MASK
from interlingua.client.transport.base import Abort
from interlingua.client.transport.memory import Answer, AsyncMemoryTransport, Handler, MemoryTransport
from interlingua.testing.cassettes import Cassette, CassetteError, UnusedRecordings
from interlingua.testing.cassettes.recording import chunks_of


def call(way: str, provider: str, cassette: Cassette, request: Any, answers: Handler | None = None) -> Outcome:
    """One call through a cassette, in one of the four ways; ``answers`` is the network that is recorded."""
    outcome = Outcome()
    settings = config(extra_headers={"x-second": CANARY + "2"}, max_retries=1)
    common: dict[str, Any] = {"clock": outcome.clock, "chance": lambda: 1.0}
    client: Any
    try:
        if way.startswith("async"):
            network = cassette.async_transport(AsyncMemoryTransport(answers) if answers else None)
            client = AsyncClient(provider, settings, transport=network, sleep=outcome.clock.asleep, **common)
            run(WAYS[way](client, request, outcome))
        else:
            blocking = cassette.transport(MemoryTransport(answers) if answers else None)
            client = Client(provider, settings, transport=blocking, sleep=outcome.clock.sleep, **common)
            WAYS[way](client, request, outcome)
    except AdapterError as error:
        outcome.error = error
    return outcome


def timeless(outcome: Outcome) -> tuple[Any, ...]:
    """What must be the same in each replay: everything but latencies."""
    response = outcome.response and replace(outcome.response, latency_ms=None)
    partial = outcome.error and outcome.error.response and replace(outcome.error.response, latency_ms=None, error=None)
    return response, outcome.error, partial, [event.type for event in outcome.events]


STEPS: dict[str, tuple[Step, ...]] = {
    "answer": (Step(act="think"),),
    "tool": (Step(act="call"),),
    "retried": (Step(act="fail", error=ErrorClass.rate_limit, retry_after=3), Step(act="echo")),
    "refused": (Step(act="fail", error=ErrorClass.invalid_request),),
    "cut": (Step(act="echo", fault="cut", after=3),),
    "never answered": (Step(fault="no_answer"),),
    "not JSON": (Step(fault="malformed"),),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("story", STEPS)
def test_played_as_recorded(story: str, name: str, way: str, tmp_path: Path) -> None:
    request = ask(request_id="r1")
    with Cassette(tmp_path / "a.json") as made:
        recorded = call(way, PROVIDERS[name], made, request, handler(Script(*STEPS[story])))
    with Cassette(tmp_path / "a.json") as played:
        again = call(way, PROVIDERS[name], played, request)
    assert timeless(again) == timeless(recorded)
    assert again.clock.slept == recorded.clock.slept
    other = way.removeprefix("async-") if way.startswith("async") else f"async-{way}"
    with Cassette(tmp_path / "a.json", "none") as played:
        assert timeless(call(other, PROVIDERS[name], played, request)) == timeless(recorded)


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("name", DIALECTS)
def test_no_key_in_the_file(name: str, status: int, tmp_path: Path) -> None:
    """Not even if a server repeats it."""
    rude = json.dumps({"error": {"message": f"Bad key {CANARY}, {CANARY}2", CANARY: [CANARY]}}).encode()
    told = {"content-type": "application/json", "set-cookie": "session=abcdef", "x-account": "acme"}
    with Cassette(tmp_path / "a.json") as made:
        call("complete", PROVIDERS[name], made, ask(CANARY), lambda _: Answer(status, told, [rude]))
    text = (tmp_path / "a.json").read_text()
    assert CANARY not in text
    assert "abcdef" not in text
    assert "acme" not in text
    assert f"Bad key {MASK}, {MASK}" in text


REQUEST = HttpRequest("POST", "https://a.test/x", {"content-type": "application/json"}, b'{"a": 1}')


def send(cassette: Cassette, request: HttpRequest, answer: Answer | None = None) -> bytes:
    network = MemoryTransport(lambda _: answer) if answer else None
    reply = cassette.transport(network).send(request, Abort())
    return b"".join(reply.chunks())


SECRETS = {
    # how a key travels                                            what must not be seen
    "authorization": ("Bearer tok-12345678", ("tok-12345678",)),
    "Authorization": ("AWS4-HMAC-SHA256 Credential=AKIA12345/x, Signature=0123456789abcdef", ("AKIA12345", "9abcdef")),
    "x-goog-api-key": ("AIzaSomething1", ("AIzaSomething1",)),
    "cookie": ("s=0123456789", ("0123456789",)),
    "x-unheard-of": ("zz-9999-zz", ("zz-9999-zz",)),
}  # fmt: skip


@pytest.mark.parametrize("name", SECRETS)
def test_keys_by_where_they_are_sent(name: str, tmp_path: Path) -> None:
    value, secrets = SECRETS[name]
    request = HttpRequest("POST", "https://a.test/x", {name: value}, b"{}")
    body = f"data: {value}\n\ndata: {secrets[0]}\n\n".encode()
    with Cassette(tmp_path / "a.json") as made:
        assert send(made, request, Answer(200, {"content-type": "text/event-stream"}, [body])) == body
    text = (tmp_path / "a.json").read_text()
    assert not [secret for secret in secrets if secret in text]
    assert name.lower() in text, "that something was sent is no secret"


def test_keys_in_a_url_and_secrets_that_were_named(tmp_path: Path) -> None:
    request = replace(REQUEST, url="https://me:pw@a.test/x?key=k1&v=2&X-Amz-Signature=s3", body=b'{"who": "Jane Doe"}')
    with Cassette(tmp_path / "a.json", secrets=["Jane Doe"]) as made:
        send(made, request, Answer(200, {}, [b"{}"]))
    asked = json.loads((tmp_path / "a.json").read_text())["recordings"][0]["request"]
    assert asked["url"] == f"https://a.test/x?key={MASK}&v=2&X-Amz-Signature={MASK}"
    assert asked["json"] == {"who": MASK}
    again = replace(request, url=request.url.replace("k1", "k2"), headers={"authorization": "Bearer other-key-77"})
    with Cassette(tmp_path / "a.json", secrets=["Jane Doe"]) as played:
        assert send(played, again) == b"{}", "another key is the same request"


def test_unknown_header_values_are_not_masked_in_bodies(tmp_path: Path) -> None:
    """An unknown header is masked, but its value is not searched for in the bodies."""
    request = HttpRequest("POST", "https://a.test/x", {"x-title": "assistant"}, b'{"role": "assistant"}')
    with Cassette(tmp_path / "a.json") as made:
        send(made, request, Answer(200, {}, [b"assistant"]))
    recorded = json.loads((tmp_path / "a.json").read_text())["recordings"][0]
    assert recorded["request"]["headers"] == {"x-title": MASK}
    assert recorded["request"]["json"] == {"role": "assistant"}
    assert recorded["response"]["lines"] == ["assistant"]


def test_a_key_in_binary_frames_is_not_written(tmp_path: Path) -> None:
    request = replace(REQUEST, headers={"authorization": "Bearer tok-12345678"})
    with pytest.raises(CassetteError, match="repeats a key"), Cassette(tmp_path / "a.json") as made:
        send(made, request, Answer(200, {}, [b"\xff\x00", b"tok-12345678"]))
    assert not (tmp_path / "a.json").exists()


# ------------------------------------------------------------------------------------------------------ the file


@pytest.mark.parametrize(
    ("body", "kind", "kept"),
    [
        (b'{"b": 1, "a": [null]}', "application/json; charset=utf-8", {"json": {"b": 1, "a": [None]}}),
        (b'{"oops": ', "application/json", {"lines": ['{"oops": ']}),
        (b"null", "application/json", {"json": None}),
        (b"data: 1\r\n\r\ndata: 2\n", "text/event-stream", {"lines": ["data: 1\r", "\r", "data: 2", ""]}),
        (b'{"done": true}\n', "application/x-ndjson", {"lines": ['{"done": true}', ""]}),
        (b"\x00\xff", "application/vnd.amazon.eventstream", {"base64": ["AP8="]}),
        (b"", "text/plain", {}),
    ],
)
def test_bodies_are_kept_in_a_form_that_can_be_read(body: bytes, kind: str, kept: Any, tmp_path: Path) -> None:
    with Cassette(tmp_path / "deep" / "er" / "a.json") as made:
        send(made, REQUEST, Answer(200, {"content-type": kind}, [body]))
    text = (tmp_path / "deep" / "er" / "a.json").read_text()
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
    assert json.loads(text)["recordings"][0]["response"] == {"status": 200, "headers": {"content-type": kind}, **kept}
    with Cassette(tmp_path / "deep" / "er" / "a.json") as played:
        again = send(played, REQUEST)
    assert again == body or json.loads(again) == json.loads(body)


def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(CassetteError, match=r'no cassette .*a\.json; mode="once" would record one'):
        Cassette(path, "none")
    for mode, answer, heard in (("once", b"1", b"1"), ("once", b"2", b"1"), ("all", b"3", b"3"), ("none", b"4", b"3")):
        with Cassette(path, mode) as cassette:  # type: ignore[arg-type]
            assert send(cassette, REQUEST, Answer(200, {}, [answer])) == heard


@pytest.mark.parametrize(("text", "says"), [("[]", "no cassette"), ('{"cassette": 2, "recordings": []}', "format 2")])
def test_a_file_that_is_no_cassette_is_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(CassetteError, match=says):
        Cassette(tmp_path / "a.json")


def test_a_failing_test_leaves_no_cassette(tmp_path: Path) -> None:
    def test() -> None:
        with Cassette(tmp_path / "a.json") as made:
            send(made, REQUEST, Answer(200, {}, [b"1"]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        test()
    assert not (tmp_path / "a.json").exists()


# ------------------------------------------------------------------------------------------------------- matching


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Three recordings; the second and third are one request."""
    with Cassette(tmp_path / "a.json") as made:
        send(made, replace(REQUEST, body=b'{"a": [{"id": 1, "t": "hello"}], "z": 0}'), Answer(200, {}, [b"first"]))
        send(made, replace(REQUEST, body=b'{"a": 2}'), Answer(200, {}, [b"second"]))
        send(made, replace(REQUEST, body=b'{ "a":2 }'), Answer(200, {}, [b"third"]))
    return tmp_path / "a.json"


def test_each_recording_is_played_once_and_in_order(three: Path) -> None:
    cassette = Cassette(three)
    assert send(cassette, replace(REQUEST, body=b'{"a":2}')) == b"second"
    assert send(cassette, replace(REQUEST, body=b'{"a":2}')) == b"third"
    with pytest.raises(CassetteError, match="recording 2 of 3 fits, and was played already"):
        send(cassette, replace(REQUEST, body=b'{"a":2}'))
    assert [recording.request.json["z"] for recording in cassette.unused] == [0]


def test_a_mismatch_names_the_nearest_difference(three: Path) -> None:
    with pytest.raises(CassetteError) as caught:
        send(Cassette(three), replace(REQUEST, body=b'{"a": [{"id": 1, "t": "hullo"}], "y": true}'))
    assert str(caught.value).splitlines() == [
        f"POST https://a.test/x is not recorded in {three}. The nearest, recording 1 of 3, differs at",
        '  a/0/t: recorded "hello", sent "hullo"',
        "  z: recorded 0, sent nothing",
        "  y: recorded nothing, sent true",
        'If the change is meant, record anew with mode="all", or without the file.',
    ]
    with pytest.raises(CassetteError, match=r"url: recorded .*/x.*, sent .*/y"):
        send(Cassette(three), replace(REQUEST, url="https://a.test/y", body=b'{"a": 2}'))
    with pytest.raises(CassetteError, match="a: recorded 2, sent true"):
        send(Cassette(three), replace(REQUEST, body=b'{"a": true}'))
    with pytest.raises(CassetteError, match="and 2 more"):
        send(
            Cassette(three),
            replace(REQUEST, method="PUT", body=b'{"a": 2, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}'),
        )


def test_paths_that_do_not_count(three: Path) -> None:
    body = b'{"a": [{"id": 7, "t": "hello"}], "z": {"deep": 1}}'
    with pytest.raises(CassetteError):
        send(Cassette(three, ignore=["a/*/id"]), replace(REQUEST, body=body))
    assert send(Cassette(three, ignore=["a/*/id", "/z"]), replace(REQUEST, body=body)) == b"first"


def test_unused_recordings_are_reported(three: Path) -> None:
    with pytest.warns(UnusedRecordings, match="nobody asked for recordings 1, 3 of 3"), Cassette(three) as cassette:
        send(cassette, replace(REQUEST, body=b'{"a":2}'))
    with pytest.raises(ZeroDivisionError), Cassette(three):
        raise ZeroDivisionError  # and not a warning on top of it


def test_a_mismatch_is_not_taken_for_a_failure_of_the_provider(three: Path) -> None:
    """It is not retried, and it is not an ``AdapterError``, which a test may expect."""
    for way in WAYS:
        with pytest.raises(CassetteError):
            call(way, "openai", Cassette(three), ask())


# ------------------------------------------------------------------------------------------- over real connections


def test_loopback_aliases_and_a_reader_who_leaves(tmp_path: Path) -> None:
    path = tmp_path / "a.json"

    async def left_early(client: AsyncClient) -> None:
        async with client.stream(ask()) as stream:
            async for event in stream:
                if event.type == "text.delta":
                    break

    async def read(client: AsyncClient) -> None:
        async for _ in client.stream(ask()):
            pass

    async def record() -> None:
        async with LoopbackServer(Script(Step(act="echo", fault="stall", after=3))) as server:
            with Cassette(path, aliases={server.url: "http://scripted.test"}) as made:
                settings = AdapterConfig(base_url=server.url)
                async with AsyncClient("ollama", settings, transport=made.async_transport()) as client:
                    await left_early(client)

    async def replay(how: Any) -> None:
        with Cassette(path) as played:
            settings = AdapterConfig(base_url="http://scripted.test")
            await how(AsyncClient("ollama", settings, transport=played.async_transport()))

    run(record())
    assert "127.0.0.1" not in path.read_text()
    assert json.loads(path.read_text())["recordings"][0]["response"]["left"] is True
    run(replay(left_early))
    with pytest.raises(CassetteError, match="recorded only so far"):
        run(replay(read))


def test_a_caller_who_leaves_before_the_headers(tmp_path: Path) -> None:
    path = tmp_path / "a.json"

    async def record() -> None:
        async with LoopbackServer(Script(Step(fault="stall_first"))) as server:
            with Cassette(path, aliases={server.url: "http://scripted.test"}) as made:
                settings = AdapterConfig(base_url=server.url)
                async with AsyncClient("ollama", settings, transport=made.async_transport()) as client:
                    task = asyncio.create_task(client.complete(ask()))
                    await server.asked.wait()
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task

    run(record())
    with Cassette(path) as played, pytest.raises(CassetteError, match="recorded only so far"):
        Client("ollama", AdapterConfig(base_url="http://scripted.test"), transport=played.transport()).complete(ask())


def test_a_refused_connection_is_recorded(tmp_path: Path) -> None:
    settings = AdapterConfig(base_url="http://127.0.0.1:9", max_retries=0)
    errors: list[AdapterError] = []
    for _ in range(2):
        with (
            Cassette(tmp_path / "a.json") as cassette,
            Client("ollama", settings, transport=cassette.transport()) as it,
        ):
            with pytest.raises(NetworkError) as caught:
                it.complete(ask(request_id="r"))
            errors.append(caught.value)
    assert str(errors[0]) == str(errors[1])
    assert errors[0].retryable == errors[1].retryable


# ------------------------------------------------------------------------------------------------------- committed


@pytest.mark.parametrize("player", [play, play_async])
@pytest.mark.parametrize("name", SCENES)
def test_committed_cassettes(name: str, player: Any) -> None:
    """A tool round in streams, a whole answer and a refusal, as a real server sent them."""
    with tape(name, "none") as cassette:
        called, answered, whole, refused = player(SCENES[name], cassette)
        assert cassette.unused == []
    assert isinstance(called, Response)
    (made,) = called.content
    assert isinstance(made, ToolUseBlock)
    assert (called.stop_reason, made.name, set(made.input)) == (StopReason.tool_use, "add", {"a", "b"})
    for response in (answered, whole):
        assert isinstance(response, Response)
        assert response.stop_reason == StopReason.end_turn
        assert next(block.text for block in response.content if isinstance(block, TextBlock))
        assert response.usage is not None
        assert not response.usage.estimated
    assert isinstance(refused, InvalidRequestError | RateLimitError)
    assert refused.retry_after == (3 if isinstance(refused, RateLimitError) else None)


def test_committed_cassettes_hold_no_key_and_no_address() -> None:
    for path in CASSETTES.glob("*.json"):
        text = path.read_text()
        frames = [chunk for each in json.loads(text)["recordings"] for chunk in each["response"].get("base64", ())]
        for data in (text, *(b64decode(chunk).decode("latin-1") for chunk in frames)):
            assert KEY not in data
            assert "127.0.0.1" not in data
            assert "/tmp" not in data
    assert {path.stem for path in CASSETTES.glob("*.json")} == set(SCENES)


@pytest.mark.parametrize("name", SCENES)
def test_committed_streams_come_word_by_word(name: str) -> None:
    """Also those of llama.cpp: its Responses have no ``output_index``, its Messages begin calls without ``input``."""
    speaker = dialect(SCENES[name].provider.dialect, SCENES[name].provider.name)
    streams = [recording.response for recording in tape(name, "none").recordings if recording.response.json is UNSET]
    assert len(streams) == 2
    for told in streams:
        decoder, grammar = speaker.stream_decoder(), StreamGrammar()
        events = [event for chunk in chunks_of(told) for event in decoder.feed(chunk)]
        for event in (*events, *decoder.close()):
            grammar.check(event)
        assert not [event for event in events if isinstance(event, Unknown)]
        assert grammar.state == "done"
        pieces = [event for event in events if isinstance(event, TextDelta | ToolUseInputDelta)]
        assert len(pieces) > 1 or name.startswith("embedded")

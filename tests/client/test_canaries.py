"""Canary keys, set wherever a key can be configured, are seen nowhere but in the header that carries them.

The whole fault matrix is run with servers that quote the keys they get: in error bodies, under a good status, in
headers. Exceptions, notes, tracebacks, pickles, events, responses, the bus, logs, URLs and cassettes are searched.
"""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from msgspec.structs import replace

from client.support import DIALECTS, PROVIDERS, ask, run
from interlingua import AdapterError, NotConfigured
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import AsyncClient, Client, connect_sync
from interlingua.client.embedded import LoopbackServer, Step, deaf_url, handler
from interlingua.client.export import log_calls
from interlingua.client.http import HttpRequest
from interlingua.client.models_file import load_configuration
from interlingua.client.secrets import MASK, Secret
from interlingua.client.transport.aio import AioTransport
from interlingua.client.transport.blocking import BlockingTransport
from interlingua.client.transport.memory import Answer, Handler, MemoryTransport
from interlingua.models.providers import PROVIDERS as ROWS_OF_PROVIDERS
from interlingua.testing.cassettes import Cassette, CassetteError
from lab.faults import CELLS, ROWS, Row, in_memory, make_call
from lab.faults.ways import Call

# Where a key is configured, and the key.
KEYS = {
    "api_key": "sk-canary-of-the-key-1f2e",
    "extra_headers": "canary-of-a-header-9a8b",
    "authorization": "canary-of-authorization-5c6d",
    "options": "canary-of-an-option-77aa",
}
CONFIG = AdapterConfig(
    KEYS["api_key"],
    extra_headers={"x-second": KEYS["extra_headers"], "x-third": f"Bearer {KEYS['authorization']}"},
    options={"region": "eu-west-1", "api_token": KEYS["options"], "body": {"x_api_key": KEYS["options"]}},
)
REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid")
# Keys that are known to be visible, as (where the server quotes it, where it was configured), and what must change.
PENDING: dict[tuple[str, str], str] = {}


def quoted(place: str) -> str:
    """The sentence of a rude server that quotes the keys it was sent."""
    return " ".join(f"{place}:{key}" for key in KEYS.values())


def rude(answers: Handler) -> Handler:
    """The same answers, with the keys in request ids, in web pages and in what is not JSON."""

    def answer(request: Any) -> Answer:
        told = answers(request)
        headers = told.headers | dict.fromkeys(REQUEST_IDS, quoted("header"))
        return Answer(told.status, headers, [_rude(part) for part in told.parts], told.delay, told.instead)

    return answer


def _rude(part: Any) -> Any:
    if not isinstance(part, bytes):
        return part
    body = quoted("body").encode()
    return part.replace(b"Sign in", body).replace(b'{"id": "msg_embedded", "content"', b'{"%s": "x", "content"' % body)


def with_rude_words(row: Row) -> Row:
    steps = row.steps if isinstance(row.steps, tuple) else (row.steps,)
    place = {True: "200", False: "body"}
    return row._replace(
        steps=tuple(
            replace(step, message=f"{step.message} {quoted(place[step.fault == 'error_in_200'])}") for step in steps
        )
    )


# ------------------------------------------------------------------------------------------------- where one looks


def forms_of(error: BaseException) -> Iterator[str]:
    """Every form in which people see an exception."""
    yield from (str(error), repr(error), repr(error.__dict__), repr(getattr(error, "__notes__", "")))
    yield "".join(traceback.format_exception(error))
    yield pickle.dumps(error).decode("latin-1")


def forms(call: Call) -> Iterator[str]:
    yield from map(repr, (call.events, call.response, call.bus_events))
    yield pickle.dumps((call.events, call.response, call.bus_events)).decode("latin-1")
    if call.error is not None:
        yield from forms_of(call.error)


def shown(text: str) -> set[tuple[str, str]]:
    """Which keys a text shows, and which server quoted them; ``""`` if none did."""
    found: set[tuple[str, str]] = set()
    for where, key in KEYS.items():
        places = [place for place in ("body", "200", "header") if f"{place}:{key}" in text]
        found |= {(place, where) for place in places or [""] if key in text}
    return found


PLAYED = [row for row in ROWS.values() if not row.door and "MB" not in row.name]


def test_no_key_shows_over_the_whole_fault_matrix(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    leaks: dict[tuple[str, str], list[str]] = {}
    for row in map(with_rude_words, PLAYED):
        for dialect, way in CELLS:
            call = make_call(row, dialect, way, in_memory(row, rude), CONFIG, log_calls)
            text = "\n".join([*forms(call), caplog.text, repr([record.__dict__ for record in caplog.records])])
            caplog.clear()
            for leak in shown(text):
                leaks.setdefault(leak, []).append(f"{row.name}, {dialect}, {way}")
    assert {leak: places[:3] for leak, places in leaks.items() if leak not in PENDING} == {}
    assert leaks.keys() == PENDING.keys(), "a leak is stopped: strike it from PENDING"


def test_the_check_finds_a_visible_key() -> None:
    text = f"a {quoted('body')} b"
    assert shown(text) == {("body", where) for where in KEYS}
    assert shown(f"a {KEYS['options']}") == {("", "options")}
    assert shown("nothing") == set()
    call = Call()
    call.error = AdapterError("x", extras={"y": KEYS["api_key"]})
    call.error.add_note(KEYS["extra_headers"])
    assert shown("".join(forms(call))) == {("", "api_key"), ("", "extra_headers")}


CANARY = "sk-canary-3f9a-77c1"


def test_a_secret_reads_as_asterisks() -> None:
    secret = Secret(CANARY)
    forms = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", "%s" % secret, "a" + secret, secret.upper()]  # noqa: UP031
    forms += [json.dumps({"k": secret}), repr(KeyError(secret)), repr([secret])]
    forms += [pickle.dumps(secret).decode("latin-1"), repr(secret.encode())]
    assert not [form for form in forms if CANARY in form]
    assert secret.reveal() == CANARY
    assert secret == CANARY
    assert secret != Secret("other")
    assert {secret: 1}[Secret(CANARY)] == 1
    assert not Secret("")
    assert pickle.loads(pickle.dumps(secret)).reveal() == ""


def test_a_configuration_and_a_request_show_no_key() -> None:
    settings = AdapterConfig(CANARY, extra_headers={"x-other": CANARY}, options={"body": {"k": CANARY}})
    request = HttpRequest("POST", "https://a.b/c", {"authorization": f"Bearer {CANARY}"}, b"{}")
    clients = [AsyncClient("openai", settings), Client("openai", settings)]
    forms = [repr(settings), str(settings), repr(request), str(request), *map(repr, clients)]
    forms += [pickle.dumps(request).decode("latin-1"), repr(AdapterConfig(CANARY, options={"api": CANARY}))]
    forms += [pickle.dumps(AdapterConfig(CANARY, extra_headers={"x": CANARY})).decode("latin-1")]
    assert not [form for form in forms if CANARY in form]
    assert MASK in repr(settings)
    with pytest.raises(TypeError) as caught:  # msgspec knows no subclasses of str: it refuses, and shows nothing
        msgspec.json.encode(settings)
    assert CANARY not in str(caught.value)


# ------------------------------------------------------------------------------------------------ where keys are put


def no_canary(*texts: object) -> None:
    assert [text for text in map(str, texts) if CANARY in text] == []


def sent_by(client: Client, transport: MemoryTransport) -> Any:
    client.complete(ask())
    return transport.requests[-1]


@pytest.mark.parametrize("name", sorted(ROWS_OF_PROVIDERS))
def test_a_key_in_the_environment(name: str) -> None:
    """Sent in a header, or not at all; shown nowhere."""
    row = ROWS_OF_PROVIDERS[name]
    environment = dict.fromkeys(row.auth.keys, CANARY)
    options = {"region": "r", "project": "p", "resource": "r", "account": "a"}
    transport = MemoryTransport(handler(Step(act="echo")))
    client = connect_sync(f"{name}:m", AdapterConfig(options=options), transport=transport, environment=environment)
    no_canary(repr(client), repr(client.config), pickle.dumps(client.config).decode("latin-1"))
    if client.config.secret is not None:
        request = sent_by(client, transport)
        assert any(CANARY in value for value in request.headers.values())
        no_canary(request.url, repr(request), request.body.decode(), pickle.dumps(request).decode("latin-1"))


@pytest.mark.parametrize(
    "query", ["key=", "api_key=", "api-key=", "apikey=", "token=", "access_token=", "KEY=", "x=1&key="]
)
def test_a_key_in_the_query_of_the_base_url_is_refused(query: str) -> None:
    refuse_url(f"https://host/v1?{query}{CANARY}")


@pytest.mark.parametrize("user", [f"user:{CANARY}", CANARY, f":{CANARY}"])
def test_a_key_in_front_of_the_host_is_refused(user: str) -> None:
    refuse_url(f"https://{user}@host/v1")


def refuse_url(url: str) -> None:
    settings = AdapterConfig("sk-another-key", base_url=url)
    with pytest.raises(NotConfigured) as caught:
        Client("openai", settings, transport=MemoryTransport(handler())).complete(ask())
    assert "base_url" in str(caught.value)
    no_canary(*forms_of(caught.value))


@pytest.mark.parametrize("url", [f"https://user:{CANARY}@host/v1", f"https://host/v1?key={CANARY}"])
def test_a_configuration_does_not_show_the_key_in_its_url(url: str) -> None:
    settings = AdapterConfig(base_url=url)
    assert "host/v1" in repr(settings)
    no_canary(repr(settings), pickle.dumps(settings).decode("latin-1"))


def test_a_pickled_configuration_has_forgotten_its_keys() -> None:
    settings = AdapterConfig(CANARY, extra_headers={"x": CANARY}, options={"api_key": CANARY, "region": "eu"})
    saved = pickle.dumps(settings)
    no_canary(saved.decode("latin-1"))
    assert pickle.loads(saved).options["region"] == "eu"


# models.yaml, whole and broken near its key; `{key}` is the canary.
FILES = {
    "a literal key": "adapters:\n  work: {{type: openai, api_key: {key}}}\n",
    "a variable": "adapters:\n  work: {{type: openai, api_key_env: WORK_KEY}}\n",
    "headers": "adapters:\n  work: {{type: vllm, extra_headers: {{x-key: {key}}}}}\n",
    "options": "adapters:\n  work: {{type: vllm, options: {{api_key: {key}}}}}\n",
}
BROKEN = {
    "a list for a key": "adapters:\n  work: {{type: openai, api_key: [{key}]}}\n",
    "an unknown field": "adapters:\n  work: {{type: openai, apikey: {key}}}\n",
    "a key for a name": "adapters:\n  work: {{type: openai, api_key: {key}, max_retries: {key}}}\n",
    "no YAML": "adapters:\n  work: {{type: openai, api_key: {key}\n  b: ]{key}\n",
    "a tab": "adapters:\n  work:\n    api_key: {key}\n\t{key}: 1\n",
    "both": "adapters:\n  work: {{type: openai, api_key: {key}, api_key_env: {key}}}\n",
}


@pytest.mark.filterwarnings("ignore:.*contains a key")
@pytest.mark.parametrize("file", FILES)
def test_a_key_in_models_yaml(file: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "models.yaml"
    path.write_text(FILES[file].format(key=CANARY))
    transport = MemoryTransport(handler(Step(act="echo")))
    environment = {"INTERLINGUA_CONFIG": str(path), "WORK_KEY": CANARY}
    client = connect_sync("work:m", transport=transport, environment=environment)
    configuration = load_configuration(path, environ=environment)
    place = configuration.locate("work:m")
    no_canary(repr(client), repr(client.config), repr(configuration), repr(place), *configuration.warnings)
    request = sent_by(client, transport)
    no_canary(request.url, repr(request), caplog.text)


@pytest.mark.parametrize("file", BROKEN)
def test_a_broken_models_yaml_does_not_quote_its_key(file: str, tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(BROKEN[file].format(key=CANARY))
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any error: only its message matters
        load_configuration(path, environ={})
    no_canary(*forms_of(caught.value))


AWS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": CANARY, "AWS_SESSION_TOKEN": f"session-{CANARY}"}


def test_the_secret_of_a_signature(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The secret is nowhere, not even in a header; the session's token is in its header only."""
    pytest.importorskip("botocore")
    caplog.set_level(logging.DEBUG, "interlingua")
    for name, value in {**AWS, "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none"}.items():
        monkeypatch.setenv(name, value)
    transport = MemoryTransport(handler(Step(act="fail", status=403)))
    client = Client("bedrock", AdapterConfig(options={"region": "eu-west-1"}), transport=transport)
    with pytest.raises(AdapterError) as caught:
        client.complete(ask())
    request = transport.requests[0]
    assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    holders = [name for name, value in request.headers.items() if CANARY in value]
    assert holders == ["x-amz-security-token"]
    no_canary(request.url, repr(request), request.body, repr(client), repr(client.config), caplog.text)
    no_canary(*forms_of(caught.value))


# ---------------------------------------------------------------------------------------------------- real networks


@pytest.mark.parametrize("kind", ["aio", "blocking"])
def test_the_password_of_a_proxy(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    proxy = deaf_url().replace("//", f"//user:{CANARY}@")
    settings = AdapterConfig("sk-another-key", base_url="http://provider.invalid/v1", max_retries=0)

    async def ask_through() -> None:
        async with AsyncClient("openai", settings, transport=AioTransport(proxy=proxy)) as client:
            await client.complete(ask())

    def ask_blocking() -> None:
        with Client("openai", settings, transport=BlockingTransport(proxy=proxy)) as client:
            client.complete(ask())

    with pytest.raises(AdapterError) as caught:
        asyncio.run(ask_through()) if kind == "aio" else ask_blocking()
    no_canary(*forms_of(caught.value), caplog.text)


def test_the_librarys_own_error_is_not_chained() -> None:
    async def ask_there(url: str) -> None:
        async with AsyncClient("anthropic", AdapterConfig(CANARY, url, max_retries=0)) as client:
            await client.complete(ask())

    with LoopbackServer.in_thread(Step(fault="garbage")) as server, pytest.raises(AdapterError) as caught:
        run(ask_there(server.url))
    assert caught.value.__context__ is None


ENDS: dict[str, Step] = {
    "refused": Step(act="fail", status=401, message=f"Incorrect API key provided: {CANARY}."),
    "reset": Step(act="echo", fault="reset_first"),
    "no HTTP": Step(act="echo", fault="garbage"),
    "cut": Step(act="echo", fault="cut", after=0),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_real_sockets_show_no_key(dialect: str, end: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caught: list[AdapterError] = []

    async def ask_there(settings: AdapterConfig) -> None:
        async with AsyncClient(PROVIDERS[dialect], settings) as client:
            await client.complete(ask())

    def ask_blocking(settings: AdapterConfig) -> None:
        with Client(PROVIDERS[dialect], settings) as client:
            client.complete(ask())

    ways: list[Callable[[AdapterConfig], None]] = [lambda settings: run(ask_there(settings)), ask_blocking]
    with LoopbackServer.in_thread(ENDS[end]) as server:
        for way in ways:
            settings = AdapterConfig(CANARY, server.url, max_retries=0, options={"region": "r"})
            with pytest.raises(AdapterError) as failed:
                way(settings)
            caught.append(failed.value)
    for error in caught:
        no_canary(*forms_of(error))
    no_canary(caplog.text)


# ------------------------------------------------------------------------------------------------------- cassettes


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_key_in_a_cassette(dialect: str, tmp_path: Path) -> None:
    steps = (Step(act="fail", status=401, message=f"bad key {CANARY}"), Step(act="echo", fault="html"))
    for number, step in enumerate(steps):
        path = tmp_path / f"{number}.json"
        with Cassette(path, "all") as tape:
            network = tape.transport(MemoryTransport(handler(step)))
            settings = AdapterConfig(CANARY, extra_headers={"x-second": CANARY}, options={"region": "r"})
            with pytest.raises(AdapterError), Client(PROVIDERS[dialect], settings, transport=network) as client:
                client.complete(ask())
        no_canary(path.read_text())


def test_a_binary_answer_that_repeats_the_key_is_not_kept(tmp_path: Path) -> None:
    """Its frames have checksums: asterisks would break them."""
    path = tmp_path / "bedrock.json"
    step = Step(act="echo", fault="error_in_200", message=f"bad key {CANARY}")
    tape = Cassette(path, "all")
    network = tape.transport(MemoryTransport(handler(step)))
    settings = AdapterConfig(CANARY, options={"region": "r"})
    with pytest.raises(AdapterError), Client("bedrock", settings, transport=network) as client:
        list(client.stream(ask()))
    with pytest.raises(CassetteError) as caught:
        tape.save()
    assert not path.exists()
    no_canary(*forms_of(caught.value))


def test_every_url_is_free_of_keys() -> None:
    for dialect in DIALECTS:
        transport = MemoryTransport(handler(Step(act="echo")))
        client = Client(PROVIDERS[dialect], CONFIG, transport=transport)
        client.complete(ask())
        url = transport.requests[0].url
        assert shown(url) == set()
        assert not urlsplit(url).username

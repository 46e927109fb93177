"""What a new user does: five lines with a key, without a key, and the usual mistakes, whose errors say what to do."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from client.support import CANARY, DIALECTS, PROVIDERS, ask
from interlingua import (
    AdapterError,
    AuthError,
    CancelledError,
    InvalidRequestError,
    NetworkError,
    NotConfigured,
    ProviderManager,
    RequestTimeoutError,
    ServerError,
    Session,
    SyncSession,
    TextBlock,
)
from interlingua.client.addressing import Address
from interlingua.client.client_parts import PREFERRED, configuration_of, default_model
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import connect, connect_sync
from interlingua.client.embedded import Fault, LoopbackServer, Step, call, deaf_url
from interlingua.client.environment import base_url_variable
from interlingua.client.models_file import ConfigError
from interlingua.models.catalogue.tiers import TIERS
from interlingua.models.providers import PROVIDERS as ROWS

FIVE_LINES = """
import interlingua as il

with il.connect_sync() as client, client.stream(il.Request([il.Message("user", "Hello there!")])) as stream:
    for event in stream:
        print(event.text if event.type == "text.delta" else "", end="|")
"""
FIVE_LINES_THAT_AWAIT = """
import asyncio, interlingua as il

async def main():
    async with il.connect() as client, client.stream(il.Request([il.Message("user", "Hello there!")])) as stream:
        async for event in stream:
            print(event.text if event.type == "text.delta" else "", end="|")

asyncio.run(main())
"""


def run(code: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program of its own, in an environment with nothing of ours."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    told = {**kept, "HOME": str(home), "PYTHONWARNINGS": "error", **environment}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=told, check=False, timeout=60
    )


@pytest.mark.parametrize("code", [FIVE_LINES, FIVE_LINES_THAT_AWAIT], ids=["sync", "async"])
def test_one_key_and_five_lines(code: str, tmp_path: Path) -> None:
    with LoopbackServer.in_thread() as server:
        done = run(code, tmp_path, ANTHROPIC_API_KEY=CANARY, ANTHROPIC_BASE_URL=server.url)
        assert done.stderr == ""
        assert "You |said: |Hello |there!" in done.stdout
        (seen,) = server.script.seen
    assert seen.model == TIERS["anthropic"][1]
    assert seen.stream


def test_no_key_and_five_lines(tmp_path: Path) -> None:
    """No model answers, and the error says what to do: a scripted model must not call real tools."""
    done = run(FIVE_LINES, tmp_path)
    assert done.stdout == ""
    assert done.stderr.endswith(
        "NotConfigured: no provider has a key: set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY,"
        " or name a model; 'embedded:' is scripted and needs no key\n"
    )
    with pytest.raises(NotConfigured, match="no provider has a key"):
        Session(tools=[must_not_run], manager=ProviderManager(environment={}))


def must_not_run(path: str) -> str:
    """Delete a file."""
    raise AssertionError(f"a model that nobody named called a tool with {path!r}")


def test_the_embedded_model_without_a_script_only_echoes() -> None:
    with SyncSession("embedded:", tools=[must_not_run]) as session:
        assert session.run("Delete it all.").text == "You said: Delete it all."


def test_the_embedded_model_calls_only_what_its_script_names() -> None:
    ran: list[str] = []

    def weather(city: str) -> str:
        """The weather of a city."""
        ran.append(city)
        return "rain"

    script = [[TextBlock("Let me see."), call("weather", city="Oslo"), call("weather", city="Lima")], "It rains."]

    async def scene() -> None:
        async with Session("embedded:", tools=[weather, must_not_run], script=script) as session:
            assert (await session.run("How is the weather?")).text == "It rains."
            assert sorted(ran) == ["Lima", "Oslo"]
            assert (await session.run("And now?")).text == "You said: And now?"  # the script is over

    asyncio.run(scene())
    with SyncSession("embedded:gemini", tools=[weather], script=[call("weather", city="Rome")]) as session:
        session.run("Rome?")
    assert sorted(ran) == ["Lima", "Oslo", "Rome"]


def test_a_script_is_a_list_of_lines() -> None:
    with pytest.raises(TypeError, match="a list with a line for each answer"):
        connect_sync("embedded:", script="hello")
    with pytest.raises(TypeError, match="give it to ProviderManager"):
        Session("embedded:", manager=ProviderManager(), script=["hello"])


@pytest.mark.parametrize("provider", [*PREFERRED, "cerebras", "perplexity", "zai"])
def test_any_provider_with_a_key_serves(provider: str) -> None:
    with LoopbackServer.in_thread() as server:
        environment = {ROWS[provider].auth.keys[0]: CANARY, base_url_variable(provider): server.url}
        with connect_sync(environment=environment) as client:
            assert client.name == provider
            said = [event for event in client.stream(ask("Hello there!", model=None)) if event.type == "text.delta"]
        assert len(said) > 1
        assert server.script.seen[0].model == TIERS[provider][1]


# ------------------------------------------------------------------------------------------------------- who is chosen


def chosen(environment: dict[str, str], **more: Any) -> str:
    return default_model(configuration_of(environment, **more))


def test_keys_are_asked_for_in_a_fixed_order() -> None:
    keys = {name: ROWS[name].auth.keys[0] for name in PREFERRED}
    for place, name in enumerate(PREFERRED):
        later = {keys[other]: "k" for other in PREFERRED[place:]}
        assert chosen(dict(reversed(later.items()))) == f"{name}:{TIERS[name][1]}"
    assert chosen({"ZAI_API_KEY": "k", "CEREBRAS_API_KEY": "k"}) == f"cerebras:{TIERS['cerebras'][1]}"


def test_models_yaml_comes_before_keys(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(
        "adapters:\n  work: {type: openai, api_key_env: WORK_KEY}\n  gpu: {type: vllm, default_model: ours}\n"
        "models:\n  writer: {adapter: work}\n"
    )
    keys = {"ANTHROPIC_API_KEY": "k"}
    assert chosen({**keys, "WORK_KEY": "k"}, models=path) == "writer"
    assert chosen(keys, models=path) == "gpu:ours"


def test_a_key_without_a_default_model_raises() -> None:
    with pytest.raises(NotConfigured, match="huggingface has a key but no default model; name one, such as"):
        chosen({"HF_TOKEN": "k"})


# ------------------------------------------------------------------------------------------------- a wrong key or model


def failing(dialect: str, status: int, message: str) -> tuple[AdapterError, str]:
    """What a new user sees when the provider refuses in its own words: the error, and its message."""
    provider = PROVIDERS[dialect]
    with LoopbackServer.in_thread(Step(act="fail", status=status, message=message)) as server:
        key = ROWS[provider].auth.keys[0]
        environment = {key: CANARY, base_url_variable(provider): server.url, "AWS_REGION": "eu-west-1"}
        with connect_sync(f"{provider}:some-model", environment=environment) as client:
            with pytest.raises(AdapterError) as caught:
                client.complete(ask(model=None))
            return caught.value, str(caught.value)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_wrong_key(dialect: str) -> None:
    status = 403 if dialect == "bedrock-converse" else 401
    error, _ = failing(dialect, status, f"the key {CANARY} is not valid")
    assert isinstance(error, AuthError)
    assert not error.retryable
    assert (error.provider, error.provider_status, error.attempts) == (PROVIDERS[dialect], status, 1)
    assert "is not valid" in error.message
    assert CANARY not in repr(error)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_wrong_model(dialect: str) -> None:
    error, _ = failing(dialect, 404, "there is no model some-model")
    assert isinstance(error, InvalidRequestError)
    assert (error.provider_status, error.attempts) == (404, 1)
    assert "there is no model some-model" in error.message


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_wrong_key_says_where_it_came_from(dialect: str) -> None:
    _, shown = failing(dialect, 401, "no")
    assert ROWS[PROVIDERS[dialect]].auth.keys[0] in shown
    assert CANARY not in shown


def test_a_wrong_model_says_what_was_asked_for() -> None:
    _, shown = failing("anthropic-messages", 404, "model: some-model")
    assert (
        f"anthropic was asked for the model 'some-model', as written; anthropic:balanced is {TIERS['anthropic'][1]}"
        in shown
    )


URL = "https://host.example/v1/things"


def advice(
    provider: str, error: AdapterError, model: str | None = "m", config: AdapterConfig | None = None
) -> list[str]:
    """What the message says beyond the words and the place of the failure."""
    Address(ROWS[provider], config or AdapterConfig(CANARY)).explain(error, URL, model)
    assert error.args == (error.message,)
    _, mark, told = error.message.partition("; ")
    return [told] if mark else []


def test_advice() -> None:
    (key,) = advice("anthropic", AuthError("invalid x-api-key", provider_status=401))
    assert (
        key
        == "the key for anthropic comes from ANTHROPIC_API_KEY in the environment, or from AdapterConfig(api_key=...)"
    )
    (model,) = advice("openai", InvalidRequestError("no such model", provider_status=404))
    assert model == f"openai was asked for the model 'm', as written; openai:balanced is {TIERS['openai'][1]}"
    (unknown,) = advice("vllm", InvalidRequestError("no such model", provider_status=404))
    assert unknown == "vllm was asked for the model 'm', as written"
    (local,) = advice("ollama", NetworkError("refused"), config=AdapterConfig(base_url="http://box:1"))
    assert local == "is ollama running at http://box:1?"
    for error in (NotConfigured("no key"), NetworkError("reset"), InvalidRequestError("bad", provider_status=400)):
        assert advice("anthropic", error) == []


# fmt: off
PLACES = (
    # error                                         url                         said
    (ServerError("no", provider_status=500),        "https://a.example/x?k=1",  "no (HTTP 500 from https://a.example/x)"),
    (ServerError("HTTP 500", provider_status=500),  "http://a.example:81/x",    "HTTP 500 from http://a.example:81/x"),
    (NetworkError("reset"),                         "https://a.example/v1",     "reset, calling https://a.example:443/v1"),
    (NetworkError("reset"),                         "http://[::1]:81/v1",       "reset, calling http://[::1]:81/v1"),
    (NetworkError("reset"),                         "http://[::1]/v1",          "reset, calling http://[::1]:80/v1"),
    (RequestTimeoutError("too slow"),               "http://u:p@b:9/v1?sig=s",  "too slow, calling http://b:9/v1"),
    (CancelledError("the call was cancelled"),      "http://b:9/v1",            "the call was cancelled"),
)
# fmt: on


@pytest.mark.parametrize(("error", "url", "said"), PLACES)
def test_a_message_says_where_the_call_failed(error: AdapterError, url: str, said: str) -> None:
    """Status and URL of an answer, host and port of a connection; no query and no user name, which may be secrets."""
    address = Address(ROWS["anthropic"], AdapterConfig(CANARY))
    for _ in range(2):  # a second time adds nothing
        address.explain(error, url, None)
        assert str(error) == error.message == said


def test_nobody_listens() -> None:
    """The message names the port and asks whether the server runs."""
    url = deaf_url()
    client = connect_sync("ollama:llama3:8b", {"max_retries": 0}, environment={"OLLAMA_HOST": url})
    with client, pytest.raises(NetworkError) as caught:
        client.complete(ask(model=None))
    assert f"calling {url}/api/chat" in str(caught.value)
    assert f"is ollama running at {url}?" in str(caught.value)


def test_a_wrong_path_says_its_status_and_url() -> None:
    error, shown = failing("openai-chat", 404, "Not Found")
    assert "HTTP 404 from http://127.0.0.1:" in shown
    assert "/chat/completions" in shown
    assert error.provider_message == "Not Found"


def test_no_key_for_the_model_that_was_named() -> None:
    said = "no key for groq: set GROQ_API_KEY in the environment, or give AdapterConfig"
    with connect_sync("groq:llama", environment={}) as client, pytest.raises(NotConfigured, match=said):
        client.complete(ask(model=None))


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("antropic:claude-opus-5-5", "no adapter or provider is called 'antropic'; did you mean 'anthropic'?"),
        ("embedded:anthropic-mesages", "no dialect is called 'anthropic-mesages'; did you mean 'anthropic-messages'?"),
        ("opnai", "no model is called 'opnai'; did you mean 'openai'?"),
        ("gtp-4o", "no model is called 'gtp-4o'; write adapter:model (adapters: anthropic, azure"),
    ],
)
def test_a_typo_in_a_name(name: str, said: str) -> None:
    with pytest.raises(NotConfigured if ":" in name else InvalidRequestError, match=re.escape(said)):
        connect(name, environment={})


YAML = """adapters:
  work:
    type: openai
    api_key_env: WORK_KEY
    max_retires: 3
models:
  writer: {adapter: wrok}
"""


def test_a_typo_in_models_yaml(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(YAML)
    with pytest.raises(ConfigError) as caught:
        connect("writer", environment={"INTERLINGUA_CONFIG": str(path)})
    assert str(caught.value).split("\n") == [
        f"{path}:5: adapters.work: unknown key `max_retires`; did you mean `max_retries`?",
        f"{path}:7: models.writer: no adapter is called 'wrok'; did you mean `work`?",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "rejects: [temprature]",
            "models.m.overrides.rejects.0: unknown word `temprature`; did you mean `temperature`?",
        ),
        ("thinking_forms: [efort]", "unknown word `efort`; did you mean `effort`?"),
        ("thinking_forms: [x]", "unknown word `x`; known: adaptive, budget, effort, level, toggle"),
    ],
)
def test_a_typo_in_a_fact(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(f"models:\n  m:\n    adapter: openai\n    overrides: {{{text}}}\n")
    with pytest.raises(ConfigError, match=re.escape(f"{path}:4: ") + ".*" + re.escape(said)):
        connect("m", models=path, environment={})


def test_a_key_where_its_variable_should_be_named(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    for key in (CANARY, "AIzaSyB7canary3f9aB7canary3f9aB7canary"):
        path.write_text(f"adapters:\n  openai: {{api_key_env: {key}}}\n")
        with pytest.raises(
            ConfigError, match=r"yaml:2: adapters\.openai: `api_key_env` is the name of a variable"
        ) as caught:
            connect("openai", models=path, environment={})
        assert key not in str(caught.value)


def test_chained_model_maps_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text("adapters:\n  openai:\n    model_map:\n      a: b\n      b: c\n")
    with pytest.raises(ConfigError, match=r"yaml:4: .*`a` maps to `b`, which is mapped itself"):
        connect("openai:a", models=path, environment={})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    said = f"{tmp_path / 'no.yaml'}: there is no such file, but INTERLINGUA_CONFIG names it"
    with pytest.raises(ConfigError, match=re.escape(said)):
        connect(environment={"INTERLINGUA_CONFIG": str(tmp_path / "no.yaml")})


def test_without_pyyaml_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models.yaml").write_text("adapters: {}\n")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(
        ConfigError, match=r"models.yaml: reading YAML needs PyYAML: pip install 'interlingua\[config\]'"
    ):
        connect(models=tmp_path / "models.yaml", environment={})


def test_an_unknown_word_in_a_script() -> None:
    with pytest.raises(ValueError, match=r"Step.fault 'drop' is unknown; known: none, no_answer"):
        Step(fault="drop")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("cut", "the connection broke, calling the embedded model; nothing was sent over a network: it does what"),
        ("malformed", "(HTTP 200 from the embedded model)"),
    ],
)
def test_the_scripted_model_has_no_address(fault: Fault, says: str) -> None:
    script = [Step(fault=fault)]
    with connect_sync("embedded:", {"max_retries": 0}, script=script) as client, pytest.raises(AdapterError) as caught:
        client.complete(ask(model=None))
    assert says in str(caught.value)
    assert "embedded.invalid" not in str(caught.value)


def test_a_custom_address_that_cannot_be_reached_is_named() -> None:
    settings = {"api_key": "k", "base_url": "http://127.0.0.1:9", "max_retries": 0}
    with connect_sync("anthropic:m", settings) as client, pytest.raises(NetworkError) as caught:
        client.complete(ask(model=None))
    assert "AdapterConfig(base_url=...), models.yaml or the environment, instead of https://api" in str(caught.value)


def test_what_a_mistake_looks_like_on_the_terminal(tmp_path: Path) -> None:
    """The last line of the traceback is the sentence."""
    done = run("import interlingua as il; il.connect('antropic:x')", tmp_path)
    assert done.stderr.splitlines()[-1].startswith(
        "interlingua.errors.NotConfigured: no adapter or provider is called 'antropic'; did you mean 'anthropic'?"
    )


def test_with_on_an_async_client_says_async_with() -> None:
    with pytest.raises(TypeError, match="async with"), connect("embedded:"):  # type: ignore[misc]
        pass


@pytest.mark.parametrize("how", ["complete", "stream"])
def test_a_string_is_no_request(how: str) -> None:
    with (
        connect_sync("embedded:") as client,
        pytest.raises(TypeError, match=r"expected a Request, got str: write Request\("),
    ):
        getattr(client, how)("Hello")


@pytest.mark.parametrize("nothing", ["", [], (), [TextBlock("")]])
def test_an_empty_message_is_refused_and_changes_nothing(nothing: Any) -> None:
    with SyncSession("embedded:") as session:
        with pytest.raises(InvalidRequestError, match="the message is empty"):
            session.send(nothing)
        assert session.messages == ()
        assert session.send("hello").text == "You said: hello"


@pytest.mark.parametrize("wrong", [5, {"type": "text"}, b"hello", [{"type": "text"}], ["hi", 5]])
def test_a_wrong_message_is_refused_and_changes_nothing(wrong: Any) -> None:
    with SyncSession("embedded:") as session:
        with pytest.raises(TypeError, match=r"Message\.content"):
            session.send(wrong)
        assert session.messages == ()
        assert session.send("hello").text == "You said: hello"

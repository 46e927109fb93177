"""One manager for all providers: ids, names, settings, hot reload, requests for callers with a loop of their own."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from threading import Barrier, Thread
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
import pytest

from client.support import CANARY, DIALECTS, PROVIDERS, ask, run
from interlingua import (
    AdapterConfig,
    AuthError,
    Base64Source,
    Event,
    ImageBlock,
    InvalidRequestError,
    LossyTranslation,
    Message,
    NetworkError,
    NotConfigured,
    Request,
    Response,
    Retry,
    TextBlock,
    TextDelta,
    Thinking,
    ToolDefinition,
    unfold,
)
from interlingua.client.client_parts import PREFERRED
from interlingua.client.embedded import LoopbackServer, Script, Step, handler
from interlingua.client.environment import OPTIONS, base_url_variable
from interlingua.client.http import HttpRequest
from interlingua.client.manager import CHECK_SECONDS, ProviderManager
from interlingua.client.models_file import ConfigError
from interlingua.client.signing import signer_for
from interlingua.client.transport.memory import AsyncMemoryTransport, MemoryTransport
from interlingua.models.catalogue import capabilities_for
from interlingua.models.catalogue.tiers import TIERS
from interlingua.models.providers import PROVIDERS as ROWS, Provider, bearer
from interlingua.types.capabilities import AdapterCapabilities

NOTHING: dict[str, str] = {}
KEYS = {key: CANARY for row in ROWS.values() for key in row.auth.keys[:1]}
PLACES = {"AWS_REGION": "eu-west-1", "GOOGLE_CLOUD_PROJECT": "p1", "GOOGLE_CLOUD_LOCATION": "eu-west-1"}
ALL = {**KEYS, **PLACES, "AZURE_OPENAI_ENDPOINT": "https://res.openai.azure.com"}


def managing(environment: dict[str, str] | None = None, **more: Any) -> tuple[ProviderManager, MemoryTransport]:
    """A manager in a world of its own, whose clients reach the embedded provider in memory."""
    answers = handler(more.pop("script", None) or Script(Step(act="echo")))
    transport = MemoryTransport(answers)
    made = ProviderManager(
        environment=ALL if environment is None else environment,
        sync_transport=transport,
        transport=AsyncMemoryTransport(answers),
        **more,
    )
    return made, transport


def write(path: Path, text: str, tick: int) -> Path:
    path.write_text(text)
    os.utime(path, ns=(tick, tick))  # the clock of some file systems is coarse
    return path


def body_of(request: HttpRequest) -> Any:
    return msgspec.json.decode(request.body)


# --------------------------------------------------------------------------------------------------------- registering


@pytest.mark.parametrize(
    "partial",
    [
        {"timeout_seconds": 5, "options": {"organization": "mine"}, "extra_headers": {"x-b": "2"}, "retry": {"cap": 3}},
        AdapterConfig(
            timeout_seconds=5, options={"organization": "mine"}, extra_headers={"x-b": "2"}, retry=Retry(cap=3)
        ),
    ],
)
def test_a_partial_config_lies_over_the_built_in_one(tmp_path: Path, partial: Any) -> None:
    path = write(
        tmp_path / "models.yaml",
        "adapters:\n  openai: {max_retries: 7, options: {organization: theirs, project: p}, extra_headers: {x-a: '1'}}\n",
        1,
    )
    manager, _ = managing(models=path)
    manager.register("openai", config=partial)
    found = manager.get_config("openai")
    assert (found.timeout_seconds, found.max_retries, found.retry.cap, found.secret) == (5, 7, 3, CANARY)
    assert found.options == {"organization": "mine", "project": "p"}
    assert found.extra_headers == {"x-a": "1", "x-b": "2"}
    assert manager.get_client("openai").config == found


def test_a_mapping_can_say_what_a_config_leaves_open() -> None:
    manager, _ = managing()
    manager.register("slow", "openai", {"max_retries": 0})
    manager.register("same", "openai", {"max_retries": 2, "base_url": None})
    assert [manager.get_config(name).max_retries for name in ("slow", "same")] == [0, 2]


def test_a_setting_that_does_not_exist_names_those_that_do() -> None:
    manager, _ = managing()
    with pytest.raises(ValueError, match=r"no timeout; it has api_key, base_url, timeout_seconds"):
        manager.register("openai", config={"timeout": 5})


def test_a_second_account() -> None:
    manager, transport = managing()
    manager.register("work", "anthropic", {"api_key": "sk-other-key", "base_url": "https://proxy.example"})
    assert manager.get_client("work").complete(ask(model=None)).text
    assert manager.get_client("anthropic").complete(ask(model=None)).text
    mine, theirs = transport.requests
    assert (mine.url, mine.headers["x-api-key"]) == ("https://proxy.example/v1/messages", "sk-other-key")
    assert (theirs.url, theirs.headers["x-api-key"]) == ("https://api.anthropic.com/v1/messages", CANARY)
    assert body_of(mine)["model"] == body_of(theirs)["model"] == TIERS["anthropic"][1]


def test_a_server_of_ones_own() -> None:
    manager, transport = managing()
    row = Provider(name="acme", dialect="openai-chat", base_url="https://llm.acme.example/v1", auth=bearer("ACME_KEY"))
    manager.register("acme", row, {"api_key": CANARY})
    assert manager.locate("acme:big") == ("acme", "big")
    assert manager.get_client("acme").complete(ask(model="big")).text
    assert transport.requests[0].url == "https://llm.acme.example/v1/chat/completions"


def test_an_adapter_of_a_file_keeps_its_manners_when_registered_again(tmp_path: Path) -> None:
    path = write(
        tmp_path / "models.yaml",
        "adapters:\n  work: {type: openai, default_model: house, model_map: {house: gpt-4o}, defaults: {temperature: 0.5}}\n",
        1,
    )
    manager, transport = managing(models=path)
    manager.register("work", config={"timeout_seconds": 5})
    assert manager.get_client("work").complete(ask(model=None)).text
    sent = body_of(transport.requests[0])
    assert (sent["model"], sent["temperature"]) == ("gpt-4o", 0.5)


def test_registering_again_replaces() -> None:
    manager, _ = managing()
    before = manager.get_adapter("openai")
    manager.register("openai", config={"timeout_seconds": 5})
    assert manager.get_adapter("openai") is not before
    assert manager.get_adapter("openai") is manager.get_adapter("openai")


@pytest.mark.parametrize("id", ["", "a:b"])
def test_an_id_is_a_plain_word(id: str) -> None:
    with pytest.raises(ValueError, match="id:model"):
        managing()[0].register(id, "openai")


def test_many_threads_get_one_client() -> None:
    manager, _ = managing()
    start, found = Barrier(8), list[Any]()

    def get() -> None:
        start.wait()
        found.append(manager.get_client("openai"))

    threads = [Thread(target=get) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


# -------------------------------------------------------------------------------------------------- adapters of others


class Parrot:
    """An adapter that nobody here wrote: all that it shares with ours is what it looks like."""

    name = "parrot"
    capabilities = AdapterCapabilities(images=True)

    def __init__(self) -> None:
        self.closed = 0

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        return self.capabilities

    async def complete(self, request: Request) -> Response:
        return Response((TextBlock("polly"),), "end_turn")

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        for event in unfold(await self.complete(request)):
            yield event

    def estimate_input_tokens(self, messages: Sequence[Message], tools: Any = (), system: Any = None) -> int:
        return 1

    async def cancel(self, request_id: str) -> bool:
        return False

    async def close(self) -> None:
        self.closed += 1


def test_an_adapter_of_ones_own() -> None:
    manager, _ = managing()
    parrot = Parrot()
    manager.register("parrot", parrot, {"timeout_seconds": 5})
    assert manager.get_adapter("parrot") is parrot
    assert manager.get_config("parrot").timeout_seconds == 5
    assert manager.locate("parrot") == ("parrot", None)
    assert manager.locate("parrot:grey") == ("parrot", "grey")
    assert manager.capabilities_for("parrot").images
    assert run(parrot.complete(ask())).text == "polly"
    with pytest.raises(NotConfigured, match="async adapter"):
        manager.get_client("parrot")
    with pytest.raises(NotConfigured, match="only it knows"):
        manager.prepare_request("parrot", ask())


# ----------------------------------------------------------------------------------------------------------------- ids


@pytest.mark.parametrize("ask_for", ["get_adapter", "get_client", "get_config"])
def test_an_unknown_id_names_the_known(ask_for: str) -> None:
    manager, _ = managing()
    manager.register("mine", "openai")
    with pytest.raises(
        NotConfigured, match=r"registered as 'antropic'; did you mean 'anthropic'\? known: anthropic"
    ) as e:
        getattr(manager, ask_for)("antropic")
    assert all(id in e.value.message for id in (*ROWS, "mine", "embedded"))
    with pytest.raises(NotConfigured, match="registered as 'nobody'; known: "):
        manager.register("x", "nobody")


def test_ids() -> None:
    manager, _ = managing()
    manager.register("mine", "openai")
    assert manager.ids() == tuple(sorted({*ROWS, "mine", "embedded"}))
    for id in manager.ids():
        assert manager.get_adapter(id).name == ("openai" if id == "mine" else id)


def test_aliases() -> None:
    manager, _ = managing()
    manager.alias("claude", "anthropic")
    manager.alias("smart", "anthropic:opus")
    manager.alias("smartest", "smart")
    assert manager.get_adapter("claude") is manager.get_adapter("anthropic")
    assert manager.get_config("claude") == manager.get_config("anthropic")
    assert manager.locate("smartest") == manager.locate("smart") == ("anthropic", TIERS["anthropic"][0])
    assert manager.prepare_request("smart", ask(model=None)).body["model"] == TIERS["anthropic"][0]
    with pytest.raises(ValueError, match="itself"):
        manager.alias("smart", "smartest")


FILE = """
adapters:
  work: {type: openai, default_model: house, model_map: {house: gpt-4o, deepest: deep}}
  gpu: {type: vllm}
models:
  writer: {adapter: work, wire_name: gpt-6.1-sol, tier: deep, aliases: [w]}
  tuned: {adapter: gpu, wire_name: /models/ours-7b}
"""
# fmt: off
NAMES = (
    # name                         id                 model
    ("writer",                     "work",            "gpt-6.1-sol"),
    ("w",                          "work",            "gpt-6.1-sol"),
    ("tuned",                      "gpu",             "/models/ours-7b"),
    ("work",                       "work",            "gpt-4o"),
    ("work:",                      "work",            "gpt-4o"),
    ("work:house",                 "work",            "gpt-4o"),
    ("work:deep",                  "work",            "gpt-6.1-sol"),
    ("work:opus",                  "work",            "gpt-6.1-sol"),
    ("work:deepest",               "work",            "gpt-6.1-sol"),
    ("work:fast",                  "work",            TIERS["openai"][2]),
    ("work:tomorrow",              "work",            "tomorrow"),
    ("gpu",                        "gpu",             None),
    ("gpu:x:y",                    "gpu",             "x:y"),
    ("anthropic",                  "anthropic",       TIERS["anthropic"][1]),
    ("anthropic:haiku",            "anthropic",       TIERS["anthropic"][2]),
    ("anthropic:claude-opus-9",    "anthropic",       "claude-opus-9"),
    ("opus",                       "anthropic",       TIERS["anthropic"][0]),
    ("sonnet",                     "anthropic",       TIERS["anthropic"][1]),
    ("deep",                       "work",            "gpt-6.1-sol"),  # the first that could serve
    ("fast",                       "work",            TIERS["openai"][2]),
    ("gpt-5",                      "openai",          "gpt-5"),
    ("gemini-9-flash",             "google",          "gemini-9-flash"),
    ("ollama:llama3:8b",           "ollama",          "llama3:8b"),
    ("models/gemini-9-flash",      "google",          "models/gemini-9-flash"),
    # families, other names of providers, and the way of LiteLLM
    ("claude",                     "anthropic",       TIERS["anthropic"][1]),
    ("claude-opus",                "anthropic",       TIERS["anthropic"][0]),
    ("gemini",                     "google",          TIERS["google"][1]),
    ("gemini:",                    "google",          TIERS["google"][1]),
    ("gpt",                        "openai",          TIERS["openai"][1]),
    ("gemini:gemini-3-pro",        "google",          "gemini-3-pro"),
    ("google-gla:gemini-3-pro",    "google",          "gemini-3-pro"),
    ("openai/gpt-5",               "openai",          "gpt-5"),
    ("gemini/fast",                "google",          TIERS["google"][2]),
    ("ollama/llama3:8b",           "ollama",          "llama3:8b"),
    ("openrouter/openai/gpt-5",    "openrouter",      "openai/gpt-5"),
    ("openrouter:openai/gpt-5",    "openrouter",      "openai/gpt-5"),
    ("anthropic/claude-opus-9",    "anthropic",       "claude-opus-9"),
    ("vertex_ai/gemini-9",         "vertex",          "gemini-9"),
    ("work/house",                 "work",            "gpt-4o"),
    ("embedded",                   "embedded",        "scripted"),
    ("embedded:",                  "embedded",        "scripted"),
    ("embedded:parrot",            "embedded",        "parrot"),
    ("embedded:gemini",            "embedded:gemini", "scripted"),
    ("mine",                       "mine",            None),
    ("mine:opus",                  "mine",            "opus"),
    ("again",                      "work",            "gpt-6.1-sol"),
)
# fmt: on


@pytest.mark.parametrize(("name", "id", "model"), NAMES)
def test_what_every_kind_of_name_means(name: str, id: str, model: str | None, tmp_path: Path) -> None:
    manager, _ = managing(models=write(tmp_path / "models.yaml", FILE, 1))
    manager.register("mine", "google")
    manager.alias("again", "w")
    assert manager.locate(name) == (id, model)
    assert manager.get_adapter(id).name in (*ROWS, "embedded")
    if model is not None and id not in ("mine", "embedded:gemini"):
        assert manager.locate(f"{id}:{model}") == (id, model)  # what it leads to leads to itself


@pytest.mark.parametrize("name", DIALECTS)
def test_the_embedded_model_speaks_every_dialect(name: str) -> None:
    manager = ProviderManager(environment=NOTHING)
    id, _ = manager.locate(f"embedded:{name}")
    client = manager.get_client(id)
    assert client.dialect.name == name
    assert client.complete(ask("hello")).text == "You said: hello"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("antropic:x", "did you mean 'anthropic'"),
        ("opena", "did you mean 'openai'"),
        ("min:x", "did you mean 'mine'"),
        ("wittgenstein", r"write adapter:model \(adapters: anthropic"),
        ("llama3:8b", "no adapter or provider is called 'llama3'; did you mean 'ollama:llama3:8b'"),
        ("zzzzzz:x", "no adapter or provider is called 'zzzzzz'; known: "),
        ("sonett", "did you mean 'sonnet'"),
        ("llama3.3", "several providers serve llama models; write provider:model, such as 'ollama:llama3.3'"),
        ("meta-llama/Llama-3.3", "write provider:meta-llama/Llama-3.3, such as 'openrouter:meta-llama/Llama-3.3'"),
        ("anthropic/claude-x-5.5", "write 'anthropic:claude-x-5-5', or 'openrouter:anthropic/claude-x-5.5'"),
    ],
)
def test_an_unknown_name(name: str, said: str) -> None:
    """An unknown provider raises ``NotConfigured``, an unknown model ``InvalidRequestError``."""
    manager, _ = managing()
    manager.register("mine", "openai")
    with pytest.raises(NotConfigured if ":" in name else InvalidRequestError, match=said):
        manager.locate(name)


def test_without_a_name_or_with_a_tier_alone() -> None:
    manager, _ = managing({"GEMINI_API_KEY": "k"})
    assert manager.locate() == ("google", TIERS["google"][1])
    assert manager.locate("deep") == ("google", TIERS["google"][0])
    nobody, _ = managing(NOTHING)
    with pytest.raises(NotConfigured, match="no provider has a key"):
        nobody.locate()
    with pytest.raises(NotConfigured, match="set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY"):
        nobody.locate("deep")


# ------------------------------------------------------------------------------------------------------------- requests

TOOL = ToolDefinition("f", "A tool.", {"type": "object", "properties": {}})
PREPARED = (*PROVIDERS.values(), "azure", "vertex", "vertex-anthropic", "openrouter")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", PREPARED)
def test_what_is_prepared_is_what_a_client_sends(provider: str, stream: bool) -> None:
    manager, transport = managing(on_loss="allow")
    manager.register(
        provider,
        config={"options": {"title": "t", "betas": ["b1"], "body": {"x": 1}}, "extra_headers": {"x-mine": CANARY}},
    )
    request = ask(model=None, system="Be brief.", tools=(TOOL,), thinking=Thinking(budget=3000), stream=stream)
    prepared = manager.prepare_request(provider, request)
    client = manager.get_client(provider)
    if stream:
        list(client.stream(request))
    else:
        client.complete(request)
    (sent,) = transport.requests
    assert prepared.body == body_of(sent)
    assert prepared.body["x"] == 1
    secret = {name for name, value in sent.headers.items() if CANARY in value}
    assert prepared.headers == {name: value for name, value in sent.headers.items() if name not in secret}
    assert len(secret) == 2
    assert prepared.path is not None
    assert sent.url.endswith(re.sub(r"^/v\w+", "", prepared.path))
    assert CANARY not in repr(prepared)


def test_a_prepared_request_for_claude_behind_vertex() -> None:
    manager, _ = managing()
    prepared = manager.prepare_request("vertex-anthropic", ask(model="claude-opus-5-5"))
    assert prepared.path == "/v1/models/claude-opus-5-5:rawPredict"
    assert prepared.body["anthropic_version"] == "vertex-2023-10-16"
    assert "model" not in prepared.body


def test_nothing_need_be_configured_to_prepare() -> None:
    manager, _ = managing(NOTHING)
    for provider in PREPARED:
        assert manager.prepare_request(provider, ask(model="m")).body


def test_what_is_prepared_is_fitted_and_judged() -> None:
    manager, _ = managing()
    prepared = manager.prepare_request("openai-chat", ask(model="gpt-5", temperature=0.3))
    assert "temperature" not in prepared.body
    assert [loss.path for loss in prepared.losses] == ["temperature"]
    strict, _ = managing(on_loss="raise")
    with pytest.raises(LossyTranslation, match="temperature"):
        strict.prepare_request("openai-chat", ask(model="gpt-5", temperature=0.3))
    manager.register("acme", Provider(name="acme", dialect="gemini", base_url="https://acme.example", auth=bearer("K")))
    with pytest.raises(InvalidRequestError, match="names no model"):
        manager.prepare_request("acme", ask(model=None))


def test_names_and_defaults_of_the_file_are_prepared_too(tmp_path: Path) -> None:
    text = FILE.replace("wire_name: /models/ours-7b", "wire_name: /models/ours-7b, defaults: {temperature: 0.5}")
    manager, _ = managing(models=write(tmp_path / "models.yaml", text, 1))
    id, model = manager.locate("tuned")
    prepared = manager.prepare_request(id, ask(model=model))
    assert (prepared.body["model"], prepared.body["temperature"]) == ("/models/ours-7b", 0.5)


def test_pictures_for_a_model_that_cannot_see() -> None:
    manager, transport = managing()
    picture = Message("user", (ImageBlock(Base64Source("image/png", "aGk=")),))
    request = Request([picture], model="gpt-3.5-turbo")
    for attempt in (manager.get_client("openai-chat").complete, lambda r: manager.prepare_request("openai-chat", r)):
        with pytest.raises(InvalidRequestError, match=r"messages/0: gpt-3\.5-turbo takes no images"):
            attempt(request)
    assert transport.requests == []
    assert manager.capabilities_for("openai-chat:gpt-3.5-turbo") == capabilities_for("openai-chat", "gpt-3.5-turbo")


# ----------------------------------------------------------------------------------------------------- unknown options


@pytest.mark.parametrize("dialect", DIALECTS)
def test_options_that_nobody_knows_pass_through(dialect: str) -> None:
    """A request's own residue, and ``options["body"]``, which is merged into the body."""
    manager, transport = managing()
    provider = PROVIDERS[dialect]
    manager.register(provider, config={"options": {"body": {"of_tomorrow": {"b": 2}, "more": [1]}}})
    request = ask(model="m", extras={dialect: {"of_today": {"x": None}, "of_tomorrow": {"a": 1}}, "nobody": {"z": 1}})
    manager.get_client(provider).complete(request)
    sent = body_of(transport.requests[0])
    assert sent["of_today"] == {"x": None}
    assert sent["of_tomorrow"] == {"a": 1, "b": 2}
    assert sent["more"] == [1]
    assert "z" not in str(sent.get("nobody"))


# ------------------------------------------------------------------------------------------------------------ hot reload


def test_turns_that_begin_together_check_the_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("interlingua.client.manager.time", SimpleNamespace(monotonic=lambda: now[0]))
    path = write(tmp_path / "models.yaml", "adapters:\n  openai: {timeout_seconds: 1}\n", 1)
    manager, _ = managing(models=path)
    manager.refresh_if_due()
    write(path, "adapters:\n  openai: {timeout_seconds: 2}\n", 2)
    manager.refresh_if_due()
    assert manager.edition == 0
    now[0] += CHECK_SECONDS
    manager.refresh_if_due()
    assert manager.edition == 1
    assert manager.get_client("openai").config.timeout_seconds == 2


def test_a_changed_file_applies_to_the_next_client(tmp_path: Path) -> None:
    path = write(tmp_path / "models.yaml", "adapters:\n  openai: {timeout_seconds: 1}\n", 1)
    manager, _ = managing(models=path)
    old, other = manager.get_client("openai"), manager.get_client("anthropic")
    manager.register("mine", "openai", {"max_retries": 9})
    mine = manager.get_client("mine")
    assert not manager.refresh()
    write(path, "adapters:\n  openai: {timeout_seconds: 2}\n", 2)
    new = manager.get_client("openai")
    assert (old.config.timeout_seconds, new.config.timeout_seconds) == (1, 2)
    assert manager.get_client("anthropic") is other  # nobody spoke of it
    assert manager.get_client("mine") is not mine  # it lies over what changed
    assert (manager.get_config("mine").timeout_seconds, manager.get_config("mine").max_retries) == (2, 9)


async def test_a_call_in_flight_is_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    async with LoopbackServer(Step(text="one two three four five")) as server, LoopbackServer() as other:
        write(path, f"adapters:\n  openai: {{base_url: '{server.url}'}}\n", 1)
        async with ProviderManager(path, environment=ALL) as manager:
            client = manager.get_adapter("openai")
            stream = aiter(client.stream(ask(model="m")))
            said = [await anext(stream)]
            write(path, f"adapters:\n  openai: {{base_url: '{other.url}'}}\n", 2)
            fresh = manager.get_adapter("openai")
            assert fresh is not client
            assert (await fresh.complete(ask("hello", model="m"))).text == "You said: hello"
            said += [event async for event in stream]
            assert "".join(e.text for e in said if isinstance(e, TextDelta)) == "one two three four five"
            assert (server.script.asked, other.script.asked) == (1, 1)
        await asyncio.sleep(0.01)  # let the servers notice
        assert (server.open, other.open) == (0, 0)  # the retired client was closed, too


def test_a_broken_file_keeps_the_old_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "models.yaml", "adapters:\n  openai: {timeout_seconds: 1}\n", 1)
    manager, _ = managing(models=path)
    client = manager.get_client("openai")
    write(path, "adapters:\n  openai: {timeot_seconds: 2}\n", 2)
    assert manager.get_client("openai") is client
    assert manager.get_config("openai").timeout_seconds == 1
    assert "did you mean `timeout_seconds`?" in caplog.text
    write(path, "adapters:\n  openai: {timeout_seconds: 3}\n", 3)
    assert manager.get_client("openai").config.timeout_seconds == 3


def test_new_models_and_overrides_take_effect(tmp_path: Path) -> None:
    path = write(tmp_path / "models.yaml", "models:\n  a: {adapter: openai, wire_name: gpt-4o}\n", 1)
    manager, _ = managing(models=path)
    assert manager.capabilities_for("a").images
    write(
        path,
        "models:\n  a: {adapter: openai, wire_name: gpt-4o, overrides: {images: false}}\n  b: {adapter: google}\n",
        2,
    )
    assert not manager.capabilities_for("a").images
    assert manager.locate("b") == ("google", "b")


def test_a_file_that_is_broken_from_the_start_raises(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"models\.yaml:2: .*unknown key `tmeout`"):
        ProviderManager(write(tmp_path / "models.yaml", "adapters:\n  openai: {tmeout: 1}\n", 1), environment=NOTHING)


# ---------------------------------------------------------------------------------------------------------------- keys


def test_not_configured(tmp_path: Path) -> None:
    path = write(
        tmp_path / "models.yaml", "adapters:\n  work: {type: openai, api_key_env: WORK_KEY}\n  gpu: {type: vllm}\n", 1
    )
    manager, transport = managing({"OPENAI_API_KEY": CANARY}, models=path)
    for name, variable in (("work", "WORK_KEY"), ("anthropic", "ANTHROPIC_API_KEY")):
        with pytest.raises(NotConfigured, match=f"{name} has no key: set the environment variable {variable}"):
            manager.get_client(name).complete(ask(model="m"))
    assert transport.requests == []  # and above all not with the key of another
    assert manager.get_config("work").secret is None
    assert manager.get_client("openai").complete(ask(model="m")).text
    assert manager.get_client("gpu").complete(ask(model="m")).text


def test_a_key_may_be_given_later_or_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path / "models.yaml", "adapters:\n  work: {type: openai, api_key_env: WORK_KEY}\n", 1)
    environment: dict[str, str] = {}
    manager, transport = managing(environment, models=path)
    manager.register("by-hand", "work", {"api_key": "sk-by-hand"})
    manager.register("by-header", "work", {"extra_headers": {"Authorization": "Bearer sk-by-header"}})
    environment["WORK_KEY"] = "sk-later"
    for name in ("by-hand", "by-header", "work"):
        assert manager.get_client(name).complete(ask(model="m")).text
    sent = [request.headers["authorization"] for request in transport.requests]
    assert sent == ["Bearer sk-by-hand", "Bearer sk-by-header", "Bearer sk-later"]


def test_without_a_file_the_sentence_is_as_clear() -> None:
    manager, _ = managing(NOTHING)
    with pytest.raises(NotConfigured, match=r"no key for mistral: set MISTRAL_API_KEY in the environment"):
        manager.get_client("mistral").complete(ask(model="m"))


# ------------------------------------------------------------------------------------------------------------- the end


async def test_close_closes_every_adapter(tmp_path: Path) -> None:
    path = write(tmp_path / "models.yaml", "adapters:\n  openai: {timeout_seconds: 1}\n", 1)
    async with LoopbackServer() as server:
        environment = {**ALL, "OPENAI_BASE_URL": server.url, "ANTHROPIC_BASE_URL": server.url}
        manager = ProviderManager(path, environment=environment)
        first, twice = Parrot(), Parrot()
        manager.register("first", first)
        manager.register("first", twice)
        manager.register("second", twice)
        for name in ("openai", "anthropic"):
            await manager.get_adapter(name).complete(ask(model="m"))
        write(path, "adapters:\n  openai: {timeout_seconds: 2}\n", 2)
        await manager.get_adapter("openai").complete(ask(model="m"))
        assert server.open == 3
        await manager.close()
        await asyncio.sleep(0.01)
        assert server.open == 0
        assert (first.closed, twice.closed) == (1, 1)


def test_an_adapter_that_fails_to_close_does_not_keep_others_open() -> None:
    class Stubborn(Parrot):
        async def close(self) -> None:
            raise RuntimeError("no")

    manager, _ = managing()
    parrot = Parrot()
    manager.register("a", Stubborn())
    manager.register("b", parrot)
    with pytest.raises(ExceptionGroup, match="could not be closed"):
        run(manager.close())
    assert parrot.closed == 1


def test_clients_that_block_are_closed_together() -> None:
    with LoopbackServer.in_thread() as server:
        with ProviderManager(environment={**ALL, "OPENAI_BASE_URL": server.url}) as manager:
            assert manager.get_client("openai").complete(ask(model="m")).text
        assert manager.get_client("openai").complete(ask(model="m")).text  # a new one
        manager.close_sync()


# ------------------------------------------------------------------------------------------------- doors of their own


def test_openrouter_gets_referer_and_title() -> None:
    manager, transport = managing()
    manager.register("openrouter", config={"options": {"referer": "https://me.example", "title": "Mine"}})
    manager.get_client("openrouter").complete(ask(model="m"))
    headers = transport.requests[0].headers
    assert (headers["http-referer"], headers["x-title"]) == ("https://me.example", "Mine")
    assert headers["authorization"] == f"Bearer {CANARY}"


V1 = "https://res.openai.azure.com/openai/v1/chat/completions"
OLD = "https://res.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21"
AZURE_KEY = {"AZURE_OPENAI_API_KEY": CANARY}
HOST = {**AZURE_KEY, "AZURE_OPENAI_ENDPOINT": "https://res.openai.azure.com/"}
# fmt: off
AZURE = (
    # environment                                     settings                                                URL
    (HOST,                                            {},                                                     V1),
    ({**HOST, "OPENAI_API_VERSION": "2024-10-21"},    {},                                                     OLD),
    ({**HOST, "OPENAI_API_VERSION": "preview"},       {},                                                     f"{V1}?api-version=preview"),
    (AZURE_KEY,                                       {"options": {"resource": "res"}},                       V1),
    (AZURE_KEY,                                       {"options": {"resource": "res", "api_version": "2024-10-21"}}, OLD),
    (AZURE_KEY,                                       {"base_url": "https://res.openai.azure.com"},           V1),
    (AZURE_KEY,                                       {"base_url": "https://res.openai.azure.com/openai/v1"}, V1),
    (AZURE_KEY,                                       {"base_url": "https://res.openai.azure.com/openai/deployments/my%20gpt", "options": {"api_version": "2024-10-21"}}, OLD),
    ({**AZURE_KEY, "AZURE_OPENAI_ENDPOINT": "https://mine.example/gate"}, {},                                 "https://mine.example/gate/v1/chat/completions"),
)
# fmt: on


@pytest.mark.parametrize(("environment", "settings", "url"), AZURE)
def test_azure(environment: dict[str, str], settings: dict[str, Any], url: str) -> None:
    """The model's name is the deployment's: in the path of the dated API, in the body of the newer one."""
    manager, transport = managing(environment)
    manager.register("azure", config=settings)
    assert manager.get_client("azure").complete(ask(model="my gpt")).text
    (sent,) = transport.requests
    assert sent.url == url
    assert sent.headers["api-key"] == CANARY
    assert "authorization" not in sent.headers
    assert body_of(sent)["model"] == "my gpt"


# ruff: noqa: E501
def test_a_missing_part_of_a_url_names_its_variable() -> None:
    from interlingua.client.addressing import URL_VARIABLES

    for provider, holes in URL_VARIABLES.items():
        manager, _ = managing(KEYS)
        with pytest.raises(NotConfigured) as caught:
            manager.get_client(provider).complete(ask(model="m"))
        assert any(f"set {variable} in the environment" in caught.value.message for variable in holes.values())
        for option, variable in holes.items():
            assert variable == (OPTIONS[provider].get(option) or (base_url_variable(provider),))[0]
        assert set(holes) == set(re.findall(r"{(\w+)}", ROWS[provider].base_url))


def test_every_provider_can_be_pointed_elsewhere() -> None:
    for name, row in ROWS.items():
        manager, transport = managing({**ALL, base_url_variable(name): "http://127.0.0.1:9/gate"})
        assert manager.get_client(name).complete(ask(model="m")).text, name
        assert transport.requests[0].url.startswith("http://127.0.0.1:9/gate/"), (name, row)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("1.2.3.4", "http://1.2.3.4:11434/api/chat"),
        (":56789", "http://localhost:56789/api/chat"),
        ("0.0.0.0", "http://localhost:11434/api/chat"),
        ("box:80/", "http://box:80/api/chat"),
        ("[::1]", "http://[::1]:11434/api/chat"),
        ("https://box", "https://box/api/chat"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    manager, transport = managing({"OLLAMA_HOST": host})
    manager.get_client("ollama").complete(ask(model="m"))
    assert transport.requests[0].url == url


# ------------------------------------------------------------------------------------------------------- AWS signatures


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """No credentials but those that the test sets."""
    pytest.importorskip("botocore")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    return monkeypatch


REGION = {"options": {"region": "eu-west-1"}}


def signature(sent: HttpRequest, secret: str) -> str:
    """AWS's recipe, followed by hand: https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html"""
    url, when = urlsplit(sent.url), sent.headers["x-amz-date"]
    told = dict(part.split("=", 1) for part in sent.headers["authorization"].split(" ", 1)[1].split(", "))
    names = told["SignedHeaders"].split(";")
    headers = {**sent.headers, "host": url.netloc}
    canonical = "\n".join(
        [
            sent.method,
            quote(url.path),  # a second time: every service but S3
            url.query,
            *[f"{name}:{headers[name]}" for name in names],
            "",
            ";".join(names),
            hashlib.sha256(sent.body).hexdigest(),
        ]
    )
    scope = f"{when[:8]}/eu-west-1/bedrock/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", when, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in (*scope.split("/"), to_sign):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("token", [None, "session-token"])
def test_bedrock_is_signed_as_aws_says(aws: pytest.MonkeyPatch, token: str | None, stream: bool) -> None:
    aws.setenv("AWS_ACCESS_KEY_ID", "AKIACANARY")
    aws.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    if token:
        aws.setenv("AWS_SESSION_TOKEN", token)
    manager, transport = managing(NOTHING)
    manager.register("bedrock", config=REGION)
    client, request = manager.get_client("bedrock"), ask(model="us.anthropic.claude-opus-4-7-v1:0")
    list(client.stream(request)) if stream else client.complete(request)
    (sent,) = transport.requests
    assert sent.headers["authorization"].endswith(f"Signature={signature(sent, CANARY)}")
    assert "Credential=AKIACANARY/" in sent.headers["authorization"]
    assert sent.headers.get("x-amz-security-token") == token
    assert CANARY not in repr(sent.headers)


def test_a_signature_is_made_for_each_attempt(aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_ACCESS_KEY_ID", "AKIACANARY")
    aws.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    failing = Script(Step(act="fail", status=503, retry_after=0.0), Step(act="echo"))
    manager, transport = managing(NOTHING, script=failing)
    manager.register("bedrock", config=REGION)
    assert manager.get_client("bedrock").complete(ask(model="m")).attempts == 2
    assert all("authorization" in sent.headers for sent in transport.requests)


@pytest.mark.parametrize("way", ["async", "sync"])
def test_the_signed_path_is_sent_unchanged(aws: pytest.MonkeyPatch, way: str) -> None:
    """A transport that changes the path's escapes breaks the signature, so the test uses a real socket."""
    aws.setenv("AWS_ACCESS_KEY_ID", "AKIACANARY")
    aws.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    lines: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(await reader.readuntil(b"\r\n"))
        writer.write(b"HTTP/1.1 403 No\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def scene() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, ProviderManager(environment=NOTHING) as manager:
            manager.register("bedrock", config={**REGION, "base_url": url})
            request = ask(model="us.anthropic.claude-opus-4-7-v1:0")
            adapter, client = manager.get_adapter("bedrock"), manager.get_client("bedrock")
            with pytest.raises(AuthError):
                await (adapter.complete(request) if way == "async" else asyncio.to_thread(client.complete, request))

    asyncio.run(scene())
    assert lines == [b"POST /model/us.anthropic.claude-opus-4-7-v1%3A0/converse HTTP/1.1\r\n"]


def test_a_key_is_used_instead_of_a_signature(aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_ACCESS_KEY_ID", "AKIACANARY")
    aws.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    manager, transport = managing({"AWS_BEARER_TOKEN_BEDROCK": "token", "AWS_REGION": "eu-west-1"})
    manager.get_client("bedrock").complete(ask(model="m"))
    assert transport.requests[0].headers["authorization"] == "Bearer token"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (REGION, "no AWS credentials for bedrock: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID"),
        ({"options": {"region": "r", "profile": "nobody"}}, r"no AWS credentials \(ProfileNotFound\) for bedrock"),
        ({"base_url": "http://127.0.0.1:9"}, "no region for bedrock: set AWS_REGION"),
    ],
)
def test_missing_aws_settings_are_named(aws: pytest.MonkeyPatch, settings: dict[str, Any], said: str) -> None:
    manager, transport = managing(NOTHING)
    manager.register("bedrock", config=settings)
    with pytest.raises(NotConfigured, match=said):
        manager.get_client("bedrock").complete(ask(model="m"))
    assert transport.requests == []


def test_a_profile_is_found(aws: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(f"[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = {CANARY}\n")
    manager, transport = managing(NOTHING)
    manager.register("bedrock", config={"options": {"region": "eu-west-1", "profile": "work"}})
    manager.get_client("bedrock").complete(ask(model="m"))
    assert "Credential=AKIAWORK/" in transport.requests[0].headers["authorization"]


def test_a_role_that_cannot_be_reached_may_be_tried_again(aws: pytest.MonkeyPatch) -> None:
    import botocore.exceptions
    import botocore.session

    def unreachable(*_: Any, **__: Any) -> Any:
        raise botocore.exceptions.EndpointConnectionError(endpoint_url=f"https://sts.example/{CANARY}")

    aws.setattr(botocore.session.Session, "get_credentials", unreachable)
    sign = signer_for(ROWS["bedrock"], AdapterConfig(options={"region": "r"}))
    assert sign is not None
    with pytest.raises(NetworkError, match="EndpointConnectionError") as caught:
        sign(HttpRequest("POST", "https://x.y/z"))
    assert caught.value.retryable
    assert CANARY not in repr(caught.value)


# ------------------------------------------------------------------------------------------------------------ the page

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "providers.md").read_text()


def test_the_page_lists_every_provider() -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| `[\w-]+` \| `[\w-]+` \| .* \| `https?://", line)]
    assert rows == [
        f"| `{row.name}` | `{row.dialect}` | {' or '.join(f'`{key}`' for key in row.auth.keys) or 'none'}"
        f" | `{row.base_url}` | `{base_url_variable(row.name)}` |"
        for row in ROWS.values()
    ]


def test_the_page_says_who_is_asked_first() -> None:
    assert ", ".join(f"`{name}`" for name in PREFERRED) in " ".join(PAGE.split())


def test_the_page_names_every_option() -> None:
    from interlingua.client.addressing import OPTION_HEADERS

    known = {option for table in (*OPTIONS.values(), *OPTION_HEADERS.values()) for option in table}
    assert all(f"`{option}`" in PAGE for option in known)

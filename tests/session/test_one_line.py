"""A session configured in one line: the words of ``connect``, a client of the caller's, names as people write them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client.support import CANARY, ask
from interlingua import (
    InvalidRequestError,
    LossyTranslation,
    Message,
    NotConfigured,
    ProviderManager,
    Request,
    Router,
    Session,
    SyncSession,
    ToolDefinition,
    connect,
    connect_sync,
)
from interlingua.client.embedded import LoopbackServer, Script
from interlingua.models.catalogue.tiers import TIERS


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer.in_thread() as found:
        yield found


WORDS: tuple[dict[str, Any], ...] = (
    {"base_url": "{url}", "api_key": CANARY},
    {"config": {"base_url": "{url}", "api_key": CANARY}},
    {"config": {"base_url": "http://127.0.0.1:9"}, "base_url": "{url}", "api_key": CANARY},  # the word wins
)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("model", ["openai-chat:m", "openai:m", "anthropic/m", "gemini:m", "ollama:mistral:7b"])
def test_a_server_of_ones_own(model: str, words: dict[str, Any], server: LoopbackServer) -> None:
    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: filled(inner) for name, inner in value.items()}
        return value.format(url=server.url)

    told = {name: filled(value) for name, value in words.items()}
    with SyncSession(model, **told) as session:
        assert session.send("hello").text == "You said: hello"
    with connect_sync(model, **told) as client:
        assert client.complete(ask("hello", model=None)).text == "You said: hello"

    async def scene() -> None:
        async with Session(model, **told) as session, connect(model, **told) as client:
            assert (await session.send("hello")).text == "You said: hello"
            assert (await client.complete(ask("hello", model=None))).text == "You said: hello"

    asyncio.run(scene())
    assert {seen.model for seen in server.script.seen} == {"mistral:7b" if "ollama" in model else "m"}


def test_a_models_file_for_one_session(tmp_path: Path, server: LoopbackServer) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(
        f"adapters:\n  work: {{type: openai-chat, base_url: '{server.url}', api_key_env: WORK_KEY}}\n"
        "models:\n  writer: {adapter: work, wire_name: big}\n"
    )
    with SyncSession("writer", models=path, api_key=CANARY) as session:
        assert session.send("hello").text
        assert session.manager.get_config("work").secret == CANARY
    assert server.script.seen[0].model == "big"


def test_losses_are_refused_by_one_word() -> None:
    strict = ToolDefinition("f", "A tool.", {"type": "object", "properties": {}}, strict=True)
    with SyncSession("embedded:gemini", tools=[strict], on_loss="raise") as session, pytest.raises(LossyTranslation):
        session.send("hello")


# ------------------------------------------------------------------------------------------------------ a given client


def test_a_client_of_the_callers(server: LoopbackServer) -> None:
    client = connect_sync("openai-chat:m", base_url=server.url, api_key=CANARY)
    with SyncSession(client=client) as session:
        assert session.model == "openai-chat:m"
        assert session.send("hello").text == "You said: hello"
        assert session.plan_swap("openai-chat:m").legal
    with SyncSession("other", client=client) as session:
        session.send("again")
    assert client.complete(ask("hello", model=None)).text  # the session did not close it
    assert [seen.model for seen in server.script.seen] == ["m", "other", "m"]
    server.wait(server.asked)
    assert server.open == 1
    client.close()
    server.wait(server.idle)


async def test_an_async_client_of_the_callers(server: LoopbackServer) -> None:
    async with connect("anthropic:m", base_url=server.url, api_key=CANARY) as client:
        async with Session(client=client) as session:
            assert (await session.send("hello")).text == "You said: hello"
        assert (await client.complete(ask(model=None))).text
        with pytest.raises(NotConfigured, match="no synchronous client"):
            SyncSession(client=client).send("hello")


def test_a_client_that_blocks_cannot_be_awaited() -> None:
    session = Session(client=connect_sync("embedded:"))
    with pytest.raises(NotConfigured, match="was registered as a synchronous client; it cannot be awaited"):
        asyncio.run(session.send("hello"))


# ------------------------------------------------------------------------------------------------------ contradictions

# fmt: off
REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"manager": ProviderManager(environment={}), "api_key": "k"}, "a session with a manager takes no api_key"),
    ({"manager": ProviderManager(environment={}), "script": ["x"]}, "a session with a manager takes no script"),
    ({"model": Router("embedded:"), "on_loss": "raise"}, "a session with a router takes no on_loss"),
    ({"model": ["openai:a", "google:b"], "api_key": "k"}, "for one provider, and the models are of google, openai"),
    ({"model": "embedded:", "api_kye": "k"}, "a session has no api_kye"),
    ({"model": "embedded:", "on_loss": "rasie"}, "on_loss must be 'warn' or 'allow' or 'raise', not str \\('rasie'"),
    ({"model": "embedded:", "unsupported": "omit"}, "unsupported must be 'drop' or 'describe' or 'refuse' or None"),
    ({"model": "embedded:", "limiter": 5}, "limiter must be a Limiter or None"),
    ({"model": "embedded:", "cache": "on"}, "cache must be 'off' or 'auto'"),
    ({"model": "embedded:", "approve": True}, "approve must be a function or None"),
    ({"model": "embedded:", "max_steps": "9"}, "max_steps must be an integer"),
    ({"model": "embedded:", "messages": [5]}, "messages\\[0\\] must be a Message"),
    ({"model": "embedded:", "system": 5}, "system must be a string or a list of blocks"),
)
# fmt: on


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_words_that_contradict_each_other_or_mean_nothing(words: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        SyncSession(**words)


@pytest.mark.parametrize("make", [connect, connect_sync, ProviderManager])
@pytest.mark.parametrize("word", ["on_loss", "unsupported"])
def test_a_misspelt_word_is_not_taken_for_the_default(make: Any, word: str) -> None:
    with pytest.raises(TypeError, match=f"{word} must be"):
        make(*(() if make is ProviderManager else ("embedded:",)), **{word: "rasie"})


def test_a_client_has_its_own_settings() -> None:
    with (
        connect_sync("embedded:") as client,
        pytest.raises(TypeError, match="a session with a client takes no base_url"),
    ):
        SyncSession(client=client, base_url="http://x")


@pytest.mark.parametrize("base", ["localhost:8080/v1", "127.0.0.1:8080", "proxy.local/anthropic", "//x.y"])
def test_a_base_url_without_a_scheme_is_refused_before_any_call(base: str, tmp_path: Path) -> None:
    says = r"base_url '.*' does not begin with http:// or https://; write one of them before it"
    for make in (SyncSession, Session, connect, connect_sync):
        with pytest.raises(NotConfigured, match=says):
            make("openai-chat:m", base_url=base)  # type: ignore[operator]
    with pytest.raises(NotConfigured, match=says):
        ProviderManager().register("work", "openai-chat", base_url=base)
    with pytest.raises(NotConfigured, match=says):
        connect_sync("openai:m", environment={"OPENAI_BASE_URL": base})


@pytest.mark.parametrize("make", [SyncSession, Session, connect, connect_sync])
def test_a_bare_name_at_a_server_of_ones_own(make: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"no model is called 'ours'.*'openai-chat:NAME' serves most"):
        make("ours", base_url="http://127.0.0.1:9")


# ----------------------------------------------------------------------------------------------- names in requests


def test_a_request_may_name_the_provider(server: LoopbackServer) -> None:
    with connect_sync("openai-chat:m", base_url=server.url, api_key=CANARY) as client:
        client.complete(ask(model="openai-chat:other"))
        client.complete(ask(model="mistral:7b"))  # at an address of one's own, names are as they are
    assert [seen.model for seen in server.script.seen] == ["other", "mistral:7b"]


def test_a_model_of_another_provider_is_refused() -> None:
    client = connect_sync("openai:m", api_key=CANARY, environment={})
    for name in ("anthropic:opus", "claude:opus"):
        with pytest.raises(
            InvalidRequestError, match=f"'{name}' is a model of anthropic, and this client calls openai"
        ):
            client.complete(ask(model=name))
    assert client.estimate(ask(model="openai:gpt-5")) > 0


@pytest.mark.parametrize(
    ("provider", "named", "model"),
    [
        ("openai", "openai:gpt-5", "gpt-5"),
        ("openai", "openai:fast", TIERS["openai"][2]),
        ("openai:gpt-5", None, "gpt-5"),
        ("openai/gpt-5", None, "gpt-5"),
        ("openai:gpt-5", "gpt-6", "gpt-6"),
        ("work", "work:gpt-5", "gpt-5"),
        ("work", "best", "gpt-5"),
        ("ollama", "mistral:7b", "mistral:7b"),
    ],
)
def test_a_prepared_request_may_name_the_provider(provider: str, named: str | None, model: str) -> None:
    manager = ProviderManager(environment={})
    manager.register("work", "openai")
    manager.alias("best", "work:gpt-5")
    prepared = manager.prepare_request(provider, Request([Message("user", "hello")], named))
    assert prepared.body["model"] == model


def test_a_prepared_request_for_another_provider_is_refused() -> None:
    manager = ProviderManager(environment={})
    manager.alias("best", "anthropic:opus")
    for name in ("anthropic:opus", "best"):
        with pytest.raises(InvalidRequestError, match="a model of anthropic, and"):
            manager.prepare_request("openai", Request([Message("user", "hello")], name))


def test_a_router_calls_the_model_that_the_request_names(server: LoopbackServer) -> None:
    manager = ProviderManager(environment={})
    for id in ("one", "two"):
        manager.register(id, "openai-chat", base_url=server.url, api_key=CANARY)
    with manager:
        router = Router(["one:a", "two:b"], manager)
        for name in (None, "two:b", "two:c"):
            router.complete_sync(ask(model=name, request_id=str(name)))
        assert [choice.model for choice in router.record("two:c")] == ["two:c"]
        with pytest.raises(NotConfigured, match="no adapter or provider is called 'nobody'"):
            router.complete_sync(ask(model="nobody:c"))
    assert [seen.model for seen in server.script.seen] == ["a", "b", "c"]


def test_fields_that_only_one_dialect_has_are_of_a_session_or_of_one_turn() -> None:
    script = Script(*["fine"] * 3)
    mine, once = {"anthropic-messages": {"container": "c"}}, {"anthropic-messages": {"inference_geo": "eu"}}
    with SyncSession("embedded:", script=script, extras=mine) as session:
        session.send("one")
        session.send("two", extras=once)
        session.fork().send("three")
    assert [request.extras for request in script.seen] == [mine, once, mine]

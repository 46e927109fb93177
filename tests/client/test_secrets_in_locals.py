"""No key in a traceback that shows local variables, in a copy that loses it, or in a cassette."""

from __future__ import annotations

import asyncio
import copy
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from client.support import ask
from interlingua import (
    AdapterConfig,
    AdapterError,
    AsyncClient,
    Client,
    SyncSession,
    connect_sync,
    map_requests_sync,
)
from interlingua.client.embedded import LoopbackServer
from interlingua.client.http import HttpRequest
from interlingua.client.secrets import MASK, MaskedHeaders, shown_url
from interlingua.client.transport.aio import AioTransport
from interlingua.client.transport.blocking import BlockingTransport
from interlingua.testing.cassettes import Cassette

CLOSED = "http://127.0.0.1:9/v1"
SECRET = "-".join(("sk", "canary", "3f9a77"))  # never written out in a line that a traceback quotes

SETTINGS: dict[str, Callable[[], AdapterConfig]] = {
    "nobody answers": lambda: AdapterConfig(SECRET, CLOSED, max_retries=0),
    "a key with a line break": lambda: AdapterConfig(f"{SECRET}\r\nX: y", CLOSED, max_retries=0),
    "a key that is not ASCII": lambda: AdapterConfig(f"{SECRET}é", CLOSED, max_retries=0),
    "a header with a line break": lambda: AdapterConfig("k", CLOSED, extra_headers={"x-key": f"{SECRET}\n"}),
    "a signature in the URL": lambda: AdapterConfig("k", f"{CLOSED}?sig={SECRET}", max_retries=0),
    "a user in the URL": lambda: AdapterConfig("k", f"http://user:{SECRET}@127.0.0.1:9/v1", max_retries=0),
    "a URL without a scheme": lambda: AdapterConfig("k", f"user:{SECRET}@127.0.0.1:9/v1", max_retries=0),
}


def blocked(config: AdapterConfig, transport: Any) -> None:
    Client("openai-chat", config, model="m", transport=transport).complete(ask())


def awaited(config: AdapterConfig, transport: Any) -> None:
    async def scene() -> None:
        async with AsyncClient("openai-chat", config, model="m", transport=transport) as client:
            await client.complete(ask())

    asyncio.run(scene())


WAYS = {"blocked": (blocked, BlockingTransport), "awaited": (awaited, AioTransport)}


def shown(error: BaseException) -> str:
    """Everything that a traceback with local variables prints, but for those of this file."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    seen: list[str] = []
    while True:
        for frame in told.stack:
            if Path(frame.filename).name != Path(__file__).name:
                seen += [f"{frame.name}: {name} = {value}" for name, value in (frame.locals or {}).items()]
        seen.extend(told.format_exception_only())
        following = told.__cause__ or (None if told.__suppress_context__ else told.__context__)
        if following is None:
            return "\n".join(seen)
        told = following


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", SETTINGS)
def test_no_local_variable_shows_a_key(case: str, way: str) -> None:
    call, _ = WAYS[way]
    with pytest.raises(AdapterError) as caught:
        call(SETTINGS[case](), None)
    assert SECRET not in shown(caught.value)


@pytest.mark.parametrize("way", WAYS)
def test_no_local_variable_shows_the_password_of_a_proxy(way: str) -> None:
    call, kind = WAYS[way]
    with pytest.raises(AdapterError) as caught:
        call(AdapterConfig("k", "http://example.test/v1", max_retries=0), kind(proxy=f"http://u:{SECRET}@127.0.0.1:9"))
    assert SECRET not in shown(caught.value)


def test_the_check_finds_a_visible_key() -> None:
    def fails(key: str) -> None:
        raise ValueError("no")

    code = compile("def leak(key):\n    raise ValueError('no')\n", "elsewhere.py", "exec")
    space: dict[str, Any] = {}
    exec(code, space)
    with pytest.raises(ValueError, match="no") as caught:
        space["leak"](SECRET)
    assert SECRET in shown(caught.value)
    with pytest.raises(ValueError, match="no"):
        fails("")


def test_a_copy_keeps_the_key_and_a_pickle_forgets_it() -> None:
    config = AdapterConfig(SECRET, CLOSED, extra_headers={"x": SECRET}, options={"body": {"a": [1]}})
    for same in (copy.copy(config), copy.deepcopy(config), copy.deepcopy({"held": [config]})["held"][0]):
        assert same.secret == SECRET
        assert same == config
        assert SECRET not in repr(same)
    deep = copy.deepcopy(config)
    deep.options["body"]["a"].append(2)
    assert config.options["body"]["a"] == [1]
    assert SECRET.encode() not in pickle.dumps(config)


def test_masked_urls_and_headers() -> None:
    assert shown_url(f"https://u:{SECRET}@h/v1?sig={SECRET}&v=1#x") == f"https://{MASK}@h/v1?sig={MASK}&v={MASK}#x"
    assert shown_url("https://h/v1/chat") == "https://h/v1/chat"
    assert SECRET not in repr(HttpRequest("POST", f"https://h/v1?sig={SECRET}"))
    assert repr(MaskedHeaders({"authorization": SECRET})) == "<headers: authorization>"


def test_a_key_that_options_put_into_the_body_is_not_in_a_cassette(tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    body = {"api_key": SECRET, "nested": [{"client_secret": SECRET}], "prompt_cache_key": "not-a-secret-1"}
    with LoopbackServer.in_thread() as server, Cassette(path) as tape:
        config = AdapterConfig("k" * 20, server.url, options={"body": body})
        with Client("openai-chat", config, model="m", transport=tape.transport()) as client:
            client.complete(ask())
    kept = path.read_text()
    assert SECRET not in kept
    assert MASK in kept
    assert "not-a-secret-1" in kept


REFUSED: dict[str, Callable[[], object]] = {
    "a base URL": lambda: connect_sync("openai:m", api_key=SECRET, base_url="nowhere"),
    "a setting": lambda: connect_sync("openai:m", api_key=SECRET, on_loss="rasie"),  # type: ignore[arg-type]
    "a number": lambda: AdapterConfig(SECRET, CLOSED, timeout_seconds="x"),  # type: ignore[arg-type]
    "a header": lambda: AdapterConfig(extra_headers={"x": SECRET, "y": 5}),  # type: ignore[dict-item]
    "a session's word": lambda: SyncSession("openai:m", api_key=SECRET, cache="on"),  # type: ignore[arg-type]
    "a map's word": lambda: map_requests_sync(["x"], "openai:m", api_key=SECRET, on_error="x"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_no_local_variable_shows_a_key_if_a_setting_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError, AdapterError)) as raised:
        make()
    assert SECRET not in str(raised.value)
    assert SECRET not in shown(raised.value)

"""``local:``: llama.cpp in this process; the tiny model always, SmolLM2 where the package index is reached."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cli.support import command
from interlingua import (
    AdapterConfig,
    InvalidRequestError,
    Message,
    NetworkError,
    NotConfigured,
    Request,
    Session,
    SyncSession,
    TextBlock,
    TextDelta,
    ToolChoice,
    ToolResultBlock,
    ToolUseBlock,
    connect_sync,
)
from interlingua.cli.failures import CommandError
from interlingua.cli.fetching import MODELS, Wheel, fetch
from interlingua.client.local import Ability, find_model, loaded, local_models, servers
from live.tiny_model import ANSWER, write_model

SENTENCE = "".join(ANSWER)
needs_llama = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="no xllamacpp here: llama.cpp was not asked")
ONE_THREAD = {"options": {"threads": 1, "context": 65536}}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("local") / "recites.gguf")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without models."""
    for name in ("XDG_CACHE_HOME", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


# ------------------------------------------------------------------------------------------------------------- running


@needs_llama
@pytest.mark.parametrize("provider", ["local", "local-responses", "local-anthropic"])
def test_a_file_answers_in_each_protocol(provider: str, tiny: Path) -> None:
    with SyncSession(f"{provider}:{tiny}", [add], config=ONE_THREAD) as session:
        with session.run_stream("What is 2 + 3?") as events:
            words = [event.text for event in events if isinstance(event, TextDelta)]
        assert "".join(words) == SENTENCE
        assert len(words) > 1
        assert isinstance(result := session.messages[2].content[0], ToolResultBlock)
        assert result.content == (TextBlock("5"),)
        assert session.cost_usd == 0.0
    assert servers._servers == {}  # the last user has gone


@needs_llama
def test_a_loaded_model_says_what_room_it_has_and_whether_it_knows_tools(tiny: Path) -> None:
    with loaded(str(tiny), {"threads": 1, "context": 512}, {}) as ability:
        assert ability == Ability(512, tools=True)
        assert servers._servers
    assert servers._servers == {}


START_AND_END = """
import sys
from pathlib import Path
from interlingua.client.local.servers import release, url_of
for turn in range(40):
    url_of(Path(sys.argv[1]), sys, {"threads": 1, "context": 512})
    release(sys)
"""


@needs_llama
def test_a_server_that_nobody_asked_anything_ends(tiny: Path) -> None:
    subprocess.run([sys.executable, "-c", START_AND_END, str(tiny)], check=True, timeout=120)


@needs_llama
def test_an_async_session_and_a_client_share_the_server(tiny: Path) -> None:
    async def talk() -> None:
        async with Session(f"local:{tiny}", config=ONE_THREAD) as session:
            assert (await session.send("Who speaks?")).text == SENTENCE
            with connect_sync(f"local:{tiny}", ONE_THREAD) as client:
                assert client.complete(Request([Message("user", "Who speaks?")])).text == SENTENCE
                assert len(servers._servers) == 1
            assert (await session.send("Again?")).text == SENTENCE

    asyncio.run(talk())
    assert servers._servers == {}


@needs_llama
def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF but not really")
    with (
        SyncSession(f"local:{tmp_path / 'bad.gguf'}") as session,
        pytest.raises(InvalidRequestError, match="is no model"),
    ):
        session.send("hello")


@needs_llama
def test_the_command_asks_it(
    tiny: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = command(capsysbinary, monkeypatch, "ask", "-m", f"local:{tiny}", "Who speaks?")
    assert (done.code, done.out.decode(), done.err) == (0, f"{SENTENCE}\n", "")


def test_without_the_extra(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with (
        SyncSession(f"local:{tiny}") as session,
        pytest.raises(NotConfigured, match=r"pip install 'interlingua\[local\]'"),
    ):
        session.send("hello")


def test_a_server_elsewhere_is_used_if_it_is_named() -> None:
    elsewhere = AdapterConfig(base_url="http://127.0.0.1:9/v1", max_retries=0)
    with connect_sync("local:m", elsewhere) as client, pytest.raises(NetworkError, match="no connection"):
        client.complete(Request([Message("user", "hi")]))


# ------------------------------------------------------------------------------------------------------------- finding


def put(path: Path, data: bytes = b"GGUF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_models_are_found_where_others_put_them(home: Path) -> None:
    ours = put(home / ".cache/interlingua/models/smollm2.gguf")
    studio = put(home / ".lmstudio/models/maker/repo/Qwen3-4B-Q4_K_M.gguf")
    put(home / ".lmstudio/models/maker/repo/mmproj-model.gguf")
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:aa"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:bb"},
    ]
    manifests = home / ".ollama/models/manifests/registry.ollama.ai"
    blob = put(home / ".ollama/models/blobs/sha256-bb")
    put(manifests / "library/llama3.2/1b", json.dumps({"layers": layers}).encode())
    put(manifests / "library/phi4/latest", json.dumps({"layers": layers}).encode())
    put(manifests / "somebody/model/latest", json.dumps({"layers": layers}).encode())
    put(manifests / "library/broken/latest", b"{")
    found = {model.name: (model.path, model.owner) for model in local_models(os.environ)}
    assert found == {
        "smollm2": (ours, "interlingua"),
        "Qwen3-4B-Q4_K_M": (studio, "lmstudio"),
        "llama3.2:1b": (blob, "ollama"),
        "phi4": (blob, "ollama"),
        "somebody/model": (blob, "ollama"),
    }
    assert find_model("qwen3-4b-q4_k_m", os.environ) == studio
    assert find_model("llama3.2:1b", os.environ) == blob


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("smolm2", "did you mean 'smollm2'?"),
        ("other", "no local model is called 'other'; write local:path/to/model.gguf"),
        ("nowhere/x.gguf", "there is no such file"),
        (None, "name a model, local:NAME"),
    ],
)
def test_what_is_not_found_says_what_to_do(name: str | None, says: str, home: Path) -> None:
    put(home / ".cache/interlingua/models/smollm2.gguf")
    with pytest.raises(InvalidRequestError, match=says):
        find_model(name, os.environ)


def test_the_command_lists_them(
    home: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert b"`interlingua local get smollm2`" in command(capsysbinary, monkeypatch, "local").out
    path = put(home / ".cache/interlingua/models/smollm2.gguf")
    (row,) = json.loads(command(capsysbinary, monkeypatch, "local", "--json").out)
    assert row == {"name": "local:smollm2", "path": str(path), "owner": "interlingua"}


# ------------------------------------------------------------------------------------------------------------ fetching


def test_only_known_models_are_fetched(home: Path) -> None:
    with pytest.raises(CommandError, match="did you mean 'smollm2'"):
        fetch("smolm2")


def test_a_wheel_with_another_hash_is_not_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from interlingua.cli import fetching

    def downloaded(wheel: Wheel, folder: Path) -> Path:
        return put(folder / "x.whl", b"PK")

    monkeypatch.setattr(fetching, "_download", downloaded)
    with pytest.raises(CommandError, match="is not the wheel that was expected"):
        fetch("smollm2")
    assert list(local_models(os.environ)) == []
    assert list((home / ".cache/interlingua/models").iterdir()) == []


def test_an_environment_without_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """As uv makes them."""
    from interlingua.cli import fetching

    monkeypatch.setattr(fetching, "find_spec", lambda _: None)
    monkeypatch.setattr(fetching, "which", lambda _: "/bin/uv")
    assert fetching._pip() == ["/bin/uv", "tool", "run", "pip"]
    monkeypatch.setattr(fetching, "which", lambda _: None)
    with pytest.raises(CommandError, match="uv pip install pip"):
        fetching._pip()


@pytest.fixture(scope="session")
def smollm2(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[pytest.MonkeyPatch], None]:
    """SmolLM2 in the cache of pytest, if it has one (``-p no:cacheprovider``), fetched once by the command itself."""
    kept = getattr(request.config, "cache", None)
    cache = tmp_path_factory.mktemp("models") if kept is None else kept.mkdir("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        try:
            assert fetch("smollm2").stat().st_size > 90_000_000
        except CommandError as error:
            pytest.skip(f"SmolLM2 was not asked: {error}")
    return lambda patch: patch.setenv("XDG_CACHE_HOME", str(cache))


FEW: Any = {"temperature": 0.0, "seed": 1}
SMALL = {"options": {"threads": 1, "context": 2048}}


@needs_llama
def test_smollm2_answers_a_streamed_question(smollm2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    smollm2(monkeypatch)
    with SyncSession("local:smollm2", config=SMALL, max_output_tokens=12, **FEW) as session:
        with session.stream("What is the capital of France?") as events:
            words = [event.text for event in events if isinstance(event, TextDelta)]
        assert len(words) > 2
        assert events.response is not None
        assert events.response.text == "".join(words)
        assert session.usage.output_tokens >= len(words)


SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Lyon"]}, "big": {"type": "boolean"}},
    "required": ["city", "big"],
    "additionalProperties": False,
}


@needs_llama
def test_smollm2_keeps_to_a_schema(smollm2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By grammar: nobody pretends that it is clever."""
    smollm2(monkeypatch)
    with SyncSession("local:smollm2", config=SMALL, max_output_tokens=60, **FEW) as session:
        answer = json.loads(session.send("The capital of France?", output_schema=SCHEMA).text)
    assert answer.keys() == {"city", "big"}
    assert answer["city"] in ("Paris", "Lyon")


@needs_llama
@pytest.mark.parametrize("provider", ["local", "local-responses", "local-anthropic"])
def test_smollm2_calls_a_tool_that_is_forced(provider: str, smollm2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its template has no tools, so llama.cpp would not tell it of any."""
    smollm2(monkeypatch)
    with SyncSession(f"{provider}:smollm2", [add], config=SMALL, max_output_tokens=60) as session:
        whole = session.send("Add 2 and 3.", tool_choice=ToolChoice.any())
        with session.stream("Again.", tool_choice=ToolChoice.specific("add")) as events:
            kinds = [event.type for event in events]
        assert events.response is not None
        for answer in (whole, events.response):
            (made,) = answer.content
            assert isinstance(made, ToolUseBlock)
            assert (made.name, {*made.input}) == ("add", {"a", "b"})
            assert {type(value) for value in made.input.values()} == {int}
            assert answer.stop_reason == "tool_use"
        assert "tool.use_end" in kinds


@needs_llama
def test_a_forced_call_that_is_cut_off_is_none(smollm2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    smollm2(monkeypatch)
    with SyncSession("local:smollm2", [add], config=SMALL, max_output_tokens=4) as session:
        answer = session.run("Add 2 and 3.", tool_choice=ToolChoice.any())
    assert (answer.content, answer.stop_reason) == ((), "max_tokens")


def test_what_can_be_fetched_is_pinned() -> None:
    for wheel in MODELS.values():
        assert "==" in wheel.requirement
        assert len(wheel.sha256) == len(wheel.member_sha256) == 64
        assert wheel.licence == "Apache-2.0"

"""``interlingua serve``: what it needs, what it prints, what its file may contain, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import fields

from gateway.asking import CLAUDE, body_of, judge
from gateway.raw_http import fetch
from interlingua import ConfigError, InvalidRequestError, ProviderManager, Request
from interlingua.cli.app import main
from interlingua.client.adapter import Adapter
from interlingua.gateway import serve
from interlingua.gateway.admission import Key, hash_key
from interlingua.gateway.choose import find_route
from interlingua.gateway.config import Route, Settings, Snapshot, StartError, read_settings
from interlingua.gateway.state import State
from interlingua.models.providers import PROVIDERS

FILE = """\
settings:
  port: 0
  not_ready_seconds: 0
  stream_seconds: 1
routes:
  claude-*: anthropic:sonnet
  fast: [openai:gpt-5-mini, anthropic:haiku]
  spread: {to: {"openai:a": 1, "openai:b": 3}, losses: strict}
  "*": embedded:openai-chat
keys:
  - name: me
    sha256: SUM
    models: ["*"]
    per_minute: 60
""".replace("SUM", hash_key("right"))


def test_the_file_is_read_whole() -> None:
    found = read_settings(FILE)
    assert found.route("claude-opus-9") == Route("anthropic:sonnet")
    assert found.route("claude--fast") == found.route("fast") == Route(("openai:gpt-5-mini", "anthropic:haiku"))
    spread = found.route("spread")
    assert spread is not None
    assert (spread.weights, spread.losses) == ({"openai:a": 1, "openai:b": 3}, "strict")
    assert found.route(None) == found.route("whatever") == Route("embedded:openai-chat")
    assert found.keys[0].per_minute == 60
    assert read_settings("") == Snapshot(source="gateway.yaml")


MISTAKES = (
    ("routs:\n  a: b\n", 1, "did you mean `routes`"),
    ("settings:\n  host: x\n  prot: 1\n", 3, "did you mean `port`"),
    ("settings:\n  port: high\n", 2, "expected `int`"),
    ("routes:\n  a: 7\n", 2, "routes.a"),
    ("routes:\n  a: []\n", 2, "at least one model"),
    ("routes:\n  a: {to: {m: 0}}\n", 2, "above 0"),
    ("routes:\n  a: {to: m, losses: some}\n", 2, "losses"),
    ("keys:\n  - name: me\n    sha256: right\n", 2, "64 hexadecimal"),
    ("keys:\n  me: x\n", 1, "must be a list"),
    ("- a\n", 1, "must be a mapping"),
)


@pytest.mark.parametrize(("text", "line", "message"), MISTAKES)
def test_a_mistake_is_told_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(text)
    assert [problem.line for problem in caught.value.problems] == [line]
    assert message in str(caught.value)


def state_for(environment: dict[str, str], **fields: Any) -> State:
    return State(Snapshot(**fields), manager=ProviderManager(environment=environment, on_loss="allow"))


def test_without_any_key_of_a_provider_it_names_the_variables() -> None:
    with pytest.raises(StartError, match=r"ANTHROPIC_API_KEY.*embedded:"):
        serve.prepare(state_for({}))
    with pytest.raises(StartError, match=r"'openai:gpt-5'.*has no key"):
        serve.prepare(state_for({}, routes={"*": Route("openai:gpt-5")}))


def test_with_a_key_of_a_provider_it_serves_that_providers_models() -> None:
    state = state_for({"OPENAI_API_KEY": "sk-1"})
    made = serve.prepare(state)
    assert made is not None
    for _ in range(2):  # the key outlives a file that has none
        assert state.admission.find([made]) is not None
        state.replace(Snapshot())
    assert [model.name for model in state.list_models(None)][:1][0].startswith("openai:")


def test_it_is_warm_before_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[tuple[str, str | None]] = []
    real = Adapter.exchange

    def noted(self: Adapter, request: Request, *, stream: bool) -> Any:
        warmed.append((self.name, request.model))
        return real(self, request, stream=stream)

    monkeypatch.setattr(Adapter, "exchange", noted)
    routes = {
        "a": Route(("openai:gpt-5", "openai:gpt-5-mini")),
        "b": Route("anthropic:claude-x"),
        "c": Route("nobody:m"),
    }
    keys = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"}
    state_for(keys, routes=routes).warm_up()
    assert warmed == [("openai", "gpt-5"), ("anthropic", "claude-x")]
    state_for({}, routes=routes).warm_up()  # without their keys, the calls themselves say what is missing


def test_other_machines_are_let_in_with_keys_only() -> None:
    open_to_all = Settings(host="0.0.0.0")
    routes = {"*": Route("embedded:")}
    with pytest.raises(StartError, match="other machines"):
        serve.prepare(state_for({}, routes=routes, settings=open_to_all))
    _, entry = serve.new_key("me")
    state = state_for({}, routes=routes, settings=open_to_all, keys=(entry,))
    assert serve.prepare(state) is None
    with pytest.raises(StartError, match="other machines"):
        state.replace(Snapshot(routes=routes, settings=open_to_all))


def test_the_table_points_every_client_here() -> None:
    shown = serve.instructions("http://127.0.0.1:4000", "il-key")
    assert shown.count("il-key") > 5
    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:4000" in shown
    assert "{" not in shown


@contextmanager
def running(*arguments: str) -> Generator[tuple[subprocess.Popen[str], str, str | None]]:
    """The command, its URL and the key that it made."""
    command = [sys.executable, "-m", "interlingua", "serve", "--port", "0", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # background jobs ignore it, and so would the child
    try:
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        signal.signal(signal.SIGINT, before)
    with started as process:
        try:
            assert process.stdout is not None
            lines: list[str] = []
            while not lines or not lines[-1].startswith("or: "):
                lines.append(process.stdout.readline())
                assert lines[-1], process.stderr and process.stderr.read()
            text = "".join(lines)
            key = re.search(r"^key: (\S+)", text, re.MULTILINE)
            yield process, re.findall(r"gateway at (\S+)", text)[0], key[1] if key else None
        finally:
            process.kill()


def test_two_words_start_a_gateway_and_a_signal_ends_it() -> None:
    with running("--model", "embedded:") as (process, base, key):
        assert key is not None
        got = fetch(base, "/v1/messages", {**body_of(CLAUDE), "model": "claude-x"}, x_api_key=key)
        assert "1 + 2" in judge(CLAUDE, got.json())[0]
        assert fetch(base, "/v1/messages", body_of(CLAUDE)).status == 401
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in (130, -signal.SIGINT)


def test_a_file_is_read_again_and_a_stop_is_gentle(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(re.sub(r"(?ms)^  claude.*?^  \"", '  "', FILE))
    with running("--config", str(path)) as (process, base, key):
        assert key is None
        asked = {**body_of(CLAUDE), "model": "claude-x"}
        assert fetch(base, "/v1/messages", asked, x_api_key="right").status == 200
        path.write_text("routes: 7\n")
        process.send_signal(signal.SIGHUP)
        assert fetch(base, "/v1/messages", asked, x_api_key="right").status == 200
        path.write_text(path.read_text().replace("routes: 7", f"keys:\n  - {{name: other, sha256: {hash_key('new')}}}"))
        process.send_signal(signal.SIGHUP)
        for _ in range(200):
            if fetch(base, "/v1/models", x_api_key="new").status == 200:
                break
        assert fetch(base, "/v1/messages", asked, x_api_key="right").status == 401
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)


WRONG_STARTS: dict[str, tuple[str, dict[str, str], int, str]] = {
    # the words, the environment, the exit code, a part of the message
    "no key": ("", {}, 3, "no provider has a key: set one of ANTHROPIC_API_KEY"),
    "no key for this one": ("--model mistral:fast", {}, 3, "mistral has no key: set the environment variable MISTRAL"),
    "misspelt provider": ("--model antropic:sonnet", {}, 3, "did you mean 'anthropic'?"),
    "the way of LiteLLM": (
        "--model mistral/mistral-large-latest",
        {},
        3,
        "set the environment variable MISTRAL_API_KEY",
    ),
    "malformed file": ("--config bad.yaml", {}, 2, "bad.yaml:1: `routes` must be a mapping"),
    "no such file": ("--config nowhere.yaml", {}, 2, "nowhere.yaml: there is no such file"),
    "no scheme": ("", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "llm.example"}, 3, "does not begin with http://"),
    "no scheme, one model": (
        "--model openai:m",
        {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "x"},
        3,
        "http:// or https",
    ),
    "no such local model": ("--model local:nope.gguf", {}, 3, "nope.gguf: there is no such file"),
    "no number": ("--model embedded: --port high", {}, 2, "--port: not a whole number: 'high'"),
    "no such port": ("--model embedded: --port 99999", {}, 2, "--port 99999: expected `int` <= 65535"),
}


@pytest.mark.parametrize("mistake", WRONG_STARTS)
def test_a_mistake_at_the_start_is_one_line(
    mistake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words, environment, code, says = WRONG_STARTS[mistake]
    for name in {key for row in PROVIDERS.values() for key in row.auth.keys}:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text("routes: 7\n")
    assert main(["serve", *words.split()]) == code
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert main(["serve", *words.split(), "--json"]) == code
    assert says in json.loads(capsys.readouterr().err)["error"]["message"]


def test_without_the_extra_serve_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "interlingua.gateway.server", None)
    assert main(["serve", "--model", "embedded:"]) == 3
    assert "pip install 'interlingua[gateway]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("openai:gpt-5", "openai has no key: set the environment"),
        ("antropic:x", "did you mean"),
        ("", "GET /v1/models"),
    ],
)
def test_a_name_that_no_provider_has_is_told_why(name: str, says: str) -> None:
    state = state_for({"ANTHROPIC_API_KEY": "k"})
    with pytest.raises(InvalidRequestError, match="this gateway has no model called") as caught:
        find_route(name, state.snapshot, state.manager)
    assert says in str(caught.value)
    with pytest.raises(InvalidRequestError, match="GET /v1/models lists"):  # the error does not reveal the routes
        find_route(name, Snapshot(routes={"mine": Route("embedded:")}), state.manager)


def test_the_page_tells_every_setting_and_its_default() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "gateway.md").read_text()
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| (\S+) \|", page, re.MULTILINE)
    on_page = {(section, name): default for section, name, default in rows}
    meant: dict[tuple[str, str], str] = {}
    for section, kind in (("settings", Settings), ("routes", Route), ("keys", Key)):
        for field in fields(kind):
            default = msgspec.json.encode(field.default).decode().strip('"') if not field.required else "required"
            meant[section, field.name] = default if field.required else f"`{default}`"
    assert on_page == meant


def test_the_file_on_the_page_is_sound() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "gateway.md").read_text()
    text = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    assert len(read_settings(text).routes) == 4

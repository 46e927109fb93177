"""``interlingua serve``: what it needs, what it prints, what its file may say, and how it ends."""

from __future__ import annotations

import argparse
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

from gateway.asking import CLAUDE, JUDGES, body_of
from gateway.raw_http import fetch
from interlingua import ConfigError, ProviderManager
from interlingua.gateway import serve
from interlingua.gateway.admission import Key, hash_key
from interlingua.gateway.config import Route, Settings, Snapshot, StartError, read_settings
from interlingua.gateway.state import State

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


@pytest.mark.parametrize(("text", "line", "told"), MISTAKES)
def test_a_mistake_is_told_with_its_line(text: str, line: int, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(text)
    assert [problem.line for problem in caught.value.problems] == [line]
    assert told in str(caught.value)


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
    assert [model.name for model in state.listed(None)][:1][0].startswith("openai:")


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
    shown = serve.table("http://127.0.0.1:4000", "il-key")
    assert shown.count("il-key") > 5
    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:4000" in shown
    assert "{" not in shown


@contextmanager
def running(*arguments: str) -> Generator[tuple[subprocess.Popen[str], str, str | None]]:
    """The command, its URL and the key that it made."""
    command = [sys.executable, "-m", "interlingua", "serve", "--port", "0", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it, their own too
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
        assert "1 + 2" in JUDGES[CLAUDE](got.json())[0]
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


def test_a_mistake_on_the_command_line_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    (tmp_path / "bad.yaml").write_text("routes: 7\n")
    assert serve.run(parser.parse_args(["--config", str(tmp_path / "bad.yaml")])) == 2
    assert "bad.yaml:1: `routes` must be a mapping" in capsys.readouterr().err


def test_the_page_tells_every_setting_and_its_default() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "gateway.md").read_text()
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| (\S+) \|", page, re.MULTILINE)
    told = {(section, name): default for section, name, default in rows}
    meant: dict[tuple[str, str], str] = {}
    for section, kind in (("settings", Settings), ("routes", Route), ("keys", Key)):
        for field in fields(kind):
            default = msgspec.json.encode(field.default).decode().strip('"') if not field.required else "required"
            meant[section, field.name] = default if field.required else f"`{default}`"
    assert told == meant


def test_the_file_on_the_page_is_sound() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "gateway.md").read_text()
    text = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    assert len(read_settings(text).routes) == 4

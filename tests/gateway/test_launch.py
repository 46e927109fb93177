"""``interlingua launch``: a stand-in for a client records what it was started with, and calls the model."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from interlingua.cli.app import main
from interlingua.client.local import Ability
from interlingua.gateway import launch
from interlingua.gateway.clients import CLIENTS
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.pointing import environment_of, shortcomings, small_variables, trust_variables
from interlingua.gateway.receipts import Receipt
from interlingua.gateway.serve import fill
from interlingua.gateway.state import State
from interlingua.gateway.used import Used, count_calls
from interlingua.types.loss import Loss
from interlingua.types.usage import TokenUsage

pytest.importorskip("uvicorn", reason="the gateway is an extra: pip install interlingua[gateway]")

STAND_IN = """\
#!{python}
import json, os, sys, urllib.request
base, key = os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_AUTH_TOKEN"]
body = {{"model": "claude-x", "max_tokens": 9, "messages": [{{"role": "user", "content": "hello"}}]}}
headers = {{"authorization": "Bearer " + key, "content-type": "application/json"}}
asked = urllib.request.Request(base + "/v1/messages", json.dumps(body).encode(), headers)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
answer = json.loads(opener.open(asked).read())
files = sorted(os.listdir(os.environ["CLAUDE_CONFIG_DIR"]))
with open({record!r}, "w") as out:
    json.dump([sys.argv[1:], answer["content"], dict(os.environ), files], out)
sys.exit(7)
"""


def test_a_client_is_pointed_here_and_its_exit_code_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "told.json"
    program = tmp_path / "claude"
    program.write_text(STAND_IN.format(python=sys.executable, record=str(record)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-users-own")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["launch", "claude", "--model", "embedded:openai-chat", "--", "-p", "hi"]) == 7
    words, content, environment, files = json.loads(record.read_text())
    assert words[0] == "--settings"
    assert words[2:] == ["-p", "hi"]
    assert content == [{"type": "text", "text": "You said: hello"}]
    assert "ANTHROPIC_API_KEY" not in environment
    assert files == [".claude.json", "launched.json"]
    folder = Path(environment["CLAUDE_CONFIG_DIR"])
    assert folder.parent == tmp_path / "cache" / "interlingua"
    assert not folder.exists()
    assert "1 request; " in capsys.readouterr().err


def test_a_client_that_is_missing_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["launch", "codex", "--model", "embedded:"]) == 127
    assert "npm install -g @openai/codex" in capsys.readouterr().err


def test_a_model_without_a_key_is_told_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch.shutil, "which", lambda _: "/bin/true")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["launch", "claude", "--model", "openai:gpt-5"]) == 3
    assert "OPENAI_API_KEY" in capsys.readouterr().err


@pytest.mark.parametrize("name", CLIENTS)
def test_every_row_is_filled_without_a_rest(name: str) -> None:
    client = CLIENTS[name]
    made = environment_of(client, {"HOME": "/h"}, "http://b", "k", "p:m", "/f")
    assert made["HOME"] == "/h"
    everything = json.dumps([made, client.arguments, client.files])
    for text in client.files.values():
        everything = fill(everything, "http://b", "k", "p:m", "/f")
        if text.startswith("{"):
            json.loads(fill(text, "http://b", "k", "p:m", "/f"))
    assert "http://b" in everything
    assert not [mark for mark in ("{base}", "{key}", "{folder}") if mark in json.dumps(made)]


def test_the_sums_tell_requests_tokens_cost_and_losses() -> None:
    lost: Any = (
        Loss("top_k", "dropped", "no word for it"),
        Loss("x", "moved", "form", "form"),
        Loss("y", "added", "y"),
    )
    used = Used()
    used.add(Receipt("1", "openai-chat", usage=TokenUsage(1000, output_tokens=20), cost_usd=0.01, losses=lost))
    used.add(Receipt("2", "openai-chat", status="server_error"))
    assert used.summary() == "2 requests, 1 failed; 1,000 tokens in, 20 out; $0.0100\n  lost: no word for it\n"
    used.add(Receipt("3", "openai-chat", passed=True))
    assert "$0.0100, without 1 whose usage is not known" in used.summary()
    used.add(Receipt("4", "ollama", usage=TokenUsage(1)))
    assert used.totals()["cost_usd"] is None


def test_calls_are_counted_that_happened_more_than_an_hour_ago() -> None:
    now = 0.0
    state = State(Snapshot(routes={"*": Route("embedded:")}), clock=lambda: now)
    total = count_calls(state)
    for _ in range(3):
        now += 4000
        state.note(Receipt(str(now), "openai-chat", usage=TokenUsage(5), billed=("embedded", "x")), None)
    assert total().totals()["input_tokens"] == 15


def test_a_proxy_is_not_asked_for_the_gateway() -> None:
    made = environment_of(CLIENTS["llm"], {"https_proxy": "http://p", "NO_PROXY": "intern"}, "b", "k", "m", "/f")
    assert made["NO_PROXY"] == made["no_proxy"] == "intern,127.0.0.1,localhost"
    assert "NO_PROXY" not in environment_of(CLIENTS["llm"], {}, "b", "k", "m", "/f")


def test_a_folder_is_trusted_that_has_nothing_that_trust_would_let_act(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "project" / "part"
    folder.mkdir(parents=True)
    (tmp_path / "home" / ".gemini").mkdir()  # the user's home is never searched
    gemini = CLIENTS["gemini"]
    assert trust_variables(gemini, folder, tmp_path / "home") == {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    (folder.parent / ".env").touch()
    assert trust_variables(gemini, folder, tmp_path / "home") == {}
    assert trust_variables(CLIENTS["claude"], folder, tmp_path / "home") == {}


def test_a_client_that_does_not_fit_begins_with_less_and_what_is_not_to_be_expected_is_told() -> None:
    small, large = Ability(8192, tools=False), Ability(65_536, tools=True)
    claude = CLIENTS["claude"]
    assert small_variables(claude, small) == {"CLAUDE_CODE_SIMPLE": "1"}
    assert small_variables(claude, large) == small_variables(claude, None) == {}
    room, tools = shortcomings(claude, "local:x", small)
    assert room.startswith("local:x has room for 8,192 tokens; Claude Code begins with about 20,000, so it is started")
    assert tools.startswith("local:x was not made to call tools")
    assert not list(shortcomings(claude, "m", large)) + list(shortcomings(claude, "m", None))
    assert "may not fit" in next(shortcomings(CLIENTS["codex"], "local:x", small))

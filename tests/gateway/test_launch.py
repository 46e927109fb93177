"""``interlingua launch``: a stand-in for a client says what it was given, and asks the model that it was pointed at."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from interlingua.cli.app import main
from interlingua.gateway import launch
from interlingua.gateway.clients import CLIENTS
from interlingua.gateway.receipts import Receipt
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
with open({told!r}, "w") as out:
    json.dump([sys.argv[1:], answer["content"], dict(os.environ), files], out)
sys.exit(7)
"""


def test_a_client_is_pointed_here_and_its_exit_code_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = tmp_path / "told.json"
    program = tmp_path / "claude"
    program.write_text(STAND_IN.format(python=sys.executable, told=str(told)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-users-own")
    assert main(["launch", "claude", "--model", "embedded:openai-chat", "--", "-p", "hi"]) == 7
    words, content, environment, files = json.loads(told.read_text())
    assert words == ["-p", "hi"]
    assert content == [{"type": "text", "text": "You said: hello"}]
    assert "ANTHROPIC_API_KEY" not in environment
    assert files == [".claude.json"]
    assert not Path(environment["CLAUDE_CONFIG_DIR"]).exists()
    assert "1 requests; " in capsys.readouterr().err


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
    made = launch.environment_of(client, {"HOME": "/h"}, "http://b", "k", "p:m", "/f")
    assert made["HOME"] == "/h"
    everything = json.dumps([made, client.arguments, client.files])
    for text in client.files.values():
        everything = launch.filled(everything, "http://b", "k", "p:m", "/f")
        if text.startswith("{"):
            json.loads(launch.filled(text, "http://b", "k", "p:m", "/f"))
    assert "http://b" in everything
    assert not [mark for mark in ("{base}", "{key}", "{folder}") if mark in json.dumps(made)]


def test_the_sums_tell_requests_tokens_cost_and_losses() -> None:
    lost: Any = (Loss("top_k", "dropped", "no word for it"), Loss("x", "moved", "only form", "form"))
    one = Receipt("1", "openai-chat", usage=TokenUsage(1000, output_tokens=20), cost_usd=0.01, losses=lost)
    other = Receipt("2", "openai-chat", status="server_error")
    assert launch.summary([one, other]) == (
        "2 requests, 1 failed; 1,000 tokens in, 20 out; $0.0100\n  lost: no word for it\n"
    )
    assert launch.totals([Receipt("1", "ollama", usage=TokenUsage(1))])["cost_usd"] is None

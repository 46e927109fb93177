"""``interlingua sessions``, ``record`` and ``replay``, and ``completion``."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from interlingua import SqliteStore, SyncSession
from interlingua.cli.app import available
from interlingua.cli.completion import options, script
from interlingua.embedded import LoopbackServer, call


def talk(store: Path, *questions: str) -> str:
    """A stored conversation. Returns its id."""

    def look(city: str) -> str:
        """The weather of a city."""
        return f"{city}: rain"

    lines = [call("look", city="Oslo"), "It rains."]
    with SyncSession("embedded:", [look], script=lines, store=store) as session:
        for question in questions:
            session.run(question)
    return session.id


def test_conversations_are_listed_and_shown(here: Any, tmp_path: Path) -> None:
    store = tmp_path / "talks.db"
    first, second = talk(store, "How is Oslo?"), talk(store, "And Lima?", "Thanks")
    rows = json.loads(here("sessions", "--store", str(store), "--json").out)
    assert [(row["id"], row["messages"], row["first"]) for row in rows] == [
        (first, 4, "How is Oslo?"),
        (second, 6, "And Lima?"),
    ]
    assert first in here("sessions", "--store", str(store)).out.decode()
    shown = here("sessions", "show", first[-10:], "--store", str(store)).out.decode()
    assert "How is Oslo?" in shown
    assert '→ look {"city":"Oslo"}' in shown
    assert "← Oslo: rain" in shown
    assert "It rains." in shown
    assert "Thanks" in here("sessions", "show", "last", "--store", str(store)).out.decode()


def test_a_conversation_is_exported(here: Any, tmp_path: Path) -> None:
    store = tmp_path / "talks.db"
    id = talk(store, "How is Oslo?")
    whole = here("sessions", "export", "last", "--store", str(store)).out
    (tmp_path / "talk.json").write_bytes(whole)
    again = SyncSession.load(tmp_path / "talk.json")
    assert (again.id, again.messages) == (id, SqliteStore(store).load(id).messages)
    body = json.loads(here("sessions", "export", "last", "--to", "openai-chat", "--store", str(store)).out)
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "assistant"]


def test_what_was_taken_back_is_shown_and_not_sent(here: Any, tmp_path: Path) -> None:
    store = tmp_path / "talks.db"
    with SyncSession("embedded:", store=store) as session:
        session.send("one")
        session.send("two")
        session.pop()
    shown = here("sessions", "show", "last", "--store", str(store)).out.decode()
    assert shown.count("(taken back)") == 2
    body = json.loads(here("sessions", "export", "last", "--to", "openai-chat", "--store", str(store)).out)
    assert [message["content"] for message in body["messages"]] == ["one", "You said: one"]


def test_a_conversation_gets_new_prices(here: Any, tmp_path: Path) -> None:
    store = tmp_path / "talks.db"
    talk(store, "How is Oslo?")
    with (
        LoopbackServer.in_thread() as server,
        SyncSession("ollama:scripted", base_url=server.url, store=store) as session,
    ):
        session.send("hello")
    (tmp_path / "m.yaml").write_text(
        "models: {own: {adapter: ollama, wire_name: scripted, price: {input: 1000000, output: 1000000}}}\n"
    )
    words = ("sessions", "reprice", "last", "--store", str(store), "--config", str(tmp_path / "m.yaml"), "--json")
    (row,) = json.loads(here(*words).out)
    assert (row["cost_usd"], row["new_cost_usd"]) == (0.0, float(session.usage.total_tokens))
    here(*words, "--write")
    (row,) = json.loads(here(*words).out)
    assert row["cost_usd"] == row["new_cost_usd"] == float(session.usage.total_tokens)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show",), "which conversation?"),
        (("show", "zzz"), "no conversation ends in 'zzz'"),
        (("shw",), "did you mean 'show'?"),
        (("--store", "nowhere.db"), "nowhere.db: No such file"),
    ],
)
def test_what_is_not_there(words: tuple[str, ...], says: str, here: Any, tmp_path: Path) -> None:
    done = here("sessions", *words)
    assert done.code == 2
    assert says in done.err


def test_nothing_is_kept_yet(here: Any) -> None:
    assert b"No conversation is kept in" in here("sessions").out
    assert not list(Path.home().glob("**/chats.db"))


def test_a_command_is_recorded_and_replayed(here: Any, tmp_path: Path) -> None:
    tape = str(tmp_path / "tape.json")
    words = (tape, "ask", "-m", "anthropic:m", "--json", "Hello!")
    with LoopbackServer.in_thread() as server:
        first = here("record", *words, ANTHROPIC_API_KEY="sk-canary-123456", ANTHROPIC_BASE_URL=server.url)
    assert first.code == 0
    assert "canary" not in Path(tape).read_text()
    second = here("replay", *words, ANTHROPIC_API_KEY="")
    assert (second.code, second.out) == (0, first.out)
    other = here("replay", tape, "ask", "-m", "anthropic:m", "Something else")
    assert other.code == 1
    assert "is not recorded" in other.err
    assert here("inspect", tape).code == 0


def test_a_cassette_that_is_not_there(here: Any) -> None:
    done = here("replay", "nowhere.json", "ask", "hi")
    assert done.code == 2
    assert "`interlingua record` makes one" in done.err


# ---------------------------------------------------------------------------------------------------------- completion


def completed(*words: str) -> list[str]:
    """The completions that bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in words)
    line = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _interlingua"
    code = f"{script('bash')}\n{line}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on this machine")
def test_bash_completes_commands_and_options() -> None:
    assert completed("interlingua", "tr") == ["translate"]
    assert completed("interlingua", "ask", "--sch") == ["--schema"]
    assert completed("interlingua", "check", "--l") == ["--live", "--limit"]
    assert completed("interlingua", "inspect", "file") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_can_read_their_script(shell: str) -> None:
    text = script(shell)
    for name in available():
        assert name in text
    assert text.count("'") % 2 == 0
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_every_option_is_offered(here: Any) -> None:
    words = json.loads(here("completion", "bash", "--json").out)
    assert set(words) == set(available())
    assert {"--to", "--strict", "--json"} <= set(words["translate"])
    assert [words for words, value, _ in options("translate") if "--strict" in words and not value]

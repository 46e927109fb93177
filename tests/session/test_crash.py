"""A process that dies without a word: what was complete is in the store, and the store loads and goes on.

A child holds a conversation, says where it is, and waits; then it is killed with SIGKILL, which nothing can catch.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from interlingua import ParseError, StoreError, validate_tool_results
from interlingua.agent.session import SyncSession
from interlingua.agent.session.session_writer import open_store
from interlingua.client.embedded import Script
from lab.integration import transcript
from session.dying import SCRIPT
from session.scenes import DIALECTS, scripted

TESTS = Path(__file__).resolve().parents[1]
STORES = ("talk.json", "talk.db")

CHILD = r"""
import sys
sys.path.insert(0, sys.argv[1])
from session.dying import hold
hold(sys.argv[2], sys.argv[3])
"""


@contextmanager
def child(path: Path, stop: str = "nowhere") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", CHILD, str(TESTS), str(path), stop]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def die_at(path: Path, stop: str) -> None:
    """Let a child come as far as that, and kill it there."""
    with child(path, stop) as process:
        assert process.stdout is not None
        assert stop in (line.strip() for line in process.stdout), "the child ended by itself"
        process.kill()
        process.wait()


FIRST = [
    "user: question 1",
    'assistant (tool_use): Let me see. + count{"n":1}',
    "tool: count gave counted 1",
    "assistant (end_turn): one two three",
]
SECOND = ["user: question 2", *FIRST[1:]]


class Death(NamedTuple):
    """Where the child dies, and how much of the second turn must be there."""

    place: str
    lines: int


DEATHS = {
    "between two turns": Death("1 done", 0),
    "while the model is asked": Death("2 asked", 1),
    "while a tool runs": Death("2 tool", 2),
    "while the model reads the result": Death("2 told", 3),
    "in the middle of an answer": Death("2 words", 3),
}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", DEATHS)
def test_what_was_complete_is_there(name: str, store: str, tmp_path: Path) -> None:
    death = DEATHS[name]
    die_at(tmp_path / store, death.place)
    calls: list[int] = []

    def count(n: int) -> str:
        """Count."""
        calls.append(n)
        return f"counted {n}"

    found = SyncSession.load(
        tmp_path / store, tools=[count], manager=scripted(Script(SCRIPT[1])), store=tmp_path / store
    )
    assert transcript(found.messages) == [*FIRST, *SECOND[: death.lines]]
    if death.lines:
        found.run()  # goes on where the other died
        assert transcript(found.messages)[-1] == FIRST[-1]
        assert calls == [], "a call that was started is not run again"
        if name == "while a tool runs":
            told = "The call was started; its outcome is unknown: the program ended before the call did."
            assert transcript(found.messages)[6].endswith(told)
    found.model = "google:m"  # and what was rescued can move
    found.send("and then?")
    for dialect in DIALECTS:
        assert validate_tool_results(found.messages, dialect=dialect) == []
    assert SyncSession.load(tmp_path / store, manager=scripted()).messages == found.messages


@pytest.mark.parametrize("store", STORES)
def test_killed_at_any_moment_nothing_that_was_told_is_lost(store: str, tmp_path: Path) -> None:
    """Every turn that the child said was done is there, whole, and what follows it is a legal beginning of the next."""
    chance = random.Random(7)
    for attempt in range(4):
        path = tmp_path / f"{attempt}-{store}"
        with child(path) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "1 asked\n"
            time.sleep(chance.uniform(0.0, 0.15))
            process.kill()
            told = [line.split() for line in process.stdout.read().splitlines()]
            process.wait()
        done = max([int(words[0]) for words in told if words[1:] == ["done"]], default=0)
        found = SyncSession.load(path, manager=scripted())
        lines = transcript(found.messages)
        whole = [line for turn in range(1, done + 2) for line in (f"user: question {turn}", *FIRST[1:])]
        assert lines[: 4 * done] == whole[: 4 * done]
        assert lines[4 * done :] == whole[4 * done : len(lines)]
        assert len(validate_tool_results(found.messages, dialect="anthropic-messages")) == (len(lines) % 4 == 2)
        found.send("go on")
        assert validate_tool_results(found.messages, dialect="anthropic-messages") == []


# ----------------------------------------------------------------------------------------- the stores, hit harder still


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the victims are forked")
@pytest.mark.parametrize("store", STORES)
def test_stored_sessions_survive_kills_two_writers_and_a_full_disk(store: str, tmp_path: Path) -> None:
    """After every kill the file loads, with all that was acknowledged. Nothing that one of two writers was told is
    stored is lost. A full disk loses nothing that is there, and no answer. What is done and checked: ``killing.py``."""
    command = [sys.executable, "-m", "session.killing", str(tmp_path), store, "1"]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A stored session of either kind, as bytes."""
    found: dict[str, bytes] = {}
    for store in STORES:
        path = tmp_path_factory.mktemp("whole") / store
        with SyncSession("anthropic:m", manager=scripted(), store=path) as session:
            session.send("one")
            session.send("two")
        found[store] = path.read_bytes()
    return found


def loads_or_says_why(path: Path, data: bytes) -> bool:
    """Whether it loads, or one of our own errors names the file."""
    path.write_bytes(data)
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()
    try:
        with open_store(path) as found:
            found.load()
    except (ParseError, StoreError) as error:
        return path.name in str(error)
    return True


@pytest.mark.parametrize("store", STORES)
def test_a_file_that_is_cut_anywhere(store: str, whole: dict[str, bytes], tmp_path: Path) -> None:
    data = whole[store]
    for length in range(0, len(data), 50):
        assert loads_or_says_why(tmp_path / store, data[:length])


@pytest.mark.parametrize("store", STORES)
def test_a_file_with_flipped_bits(store: str, whole: dict[str, bytes], tmp_path: Path) -> None:
    chance = random.Random(12)
    for _ in range(300):
        data = bytearray(whole[store])
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        assert loads_or_says_why(tmp_path / store, bytes(data))

"""Stores: a save is whole or does not happen, two holders never overwrite each other, failures lose no answer."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlingua import AdapterError, ErrorClass, Message, ParseError, SqliteStore, StoreError, TextBlock, ToolUseBlock
from interlingua.agent.session import JsonStore, Session, SyncSession, sqlite, stores
from interlingua.agent.session.saved import Saved
from interlingua.client.embedded import Script, Step
from session.scenes import scripted

HERE = Path(__file__).parent
STORES = ("talk.json", "talk.db")


def new(path: Any, script: Script | None = None, **settings: Any) -> SyncSession:
    return SyncSession("anthropic:m", manager=scripted(script), store=path, **settings)


def load(path: Any, **settings: Any) -> SyncSession:
    return SyncSession.load(path, manager=scripted(), **settings)


def said(session: SyncSession | Session) -> list[str]:
    return [message.text for message in session.messages]


def left_over(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".new"))


class Failing:
    """A store that cannot write, as long as it is told so."""

    def __init__(self, inner: Any, error: Exception) -> None:
        self.inner, self.error, self.broken, self.saves = inner, error, False, 0

    def save(self, saved: Saved, since: int = 0) -> None:
        if self.broken:
            raise self.error
        self.saves += 1
        self.inner.save(saved, since)

    def load(self, id: str | None = None) -> Saved:
        found: Saved = self.inner.load(id)
        return found


# ------------------------------------------------------------------------------------------------------ whole or not


def test_the_file_is_encoded_before_anything_is_opened(tmp_path: Path) -> None:
    session = new(tmp_path / "talk.json")
    session.send("one")
    before = (tmp_path / "talk.json").read_bytes()
    session.metadata["odd"] = object()
    with pytest.raises(StoreError, match="metadata cannot be saved as JSON"):
        session.persist()
    assert (tmp_path / "talk.json").read_bytes() == before
    assert os.listdir(tmp_path) == ["talk.json"]
    del session.metadata["odd"]
    session.send("two")
    assert said(load(tmp_path / "talk.json")) == said(session)


@pytest.mark.parametrize("name", ["write", "fsync", "replace"])
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new(tmp_path / "talk.json")
    session.send("one")
    before = (tmp_path / "talk.json").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if name == "write":
        monkeypatch.setattr(stores, "_write", full)
    else:
        monkeypatch.setattr(os, name, full)
    with pytest.raises(StoreError, match="the disk is full") as caught:
        session.send("two")
    assert caught.value.retryable
    monkeypatch.undo()
    assert (tmp_path / "talk.json").read_bytes() == before
    assert left_over(tmp_path) == []


def test_saves_of_many_threads_leave_one_whole_file(tmp_path: Path) -> None:
    """All of one session: it is saved again and again while other threads save it, too."""
    session = new(None, messages=[Message("user", "x" * 10_000)])
    store, failures = JsonStore(tmp_path / "talk.json"), list[BaseException]()

    def save() -> None:
        try:
            for _ in range(10):
                session.save(store)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=save) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert said(load(tmp_path / "talk.json")) == ["x" * 10_000]
    assert os.listdir(tmp_path) == ["talk.json"]


def test_a_cancelled_save_is_over_before_the_next_begins(tmp_path: Path) -> None:
    """The task is cancelled while its save runs in a thread: the save ends, and only then the task does."""
    running, most = 0, 0
    inner = JsonStore(tmp_path / "talk.json")
    loop: Any = None
    begun: Any = None

    class Slow(Failing):
        def save(self, saved: Saved, since: int = 0) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            loop.call_soon_threadsafe(begun.set)
            time.sleep(0.02)
            inner.save(saved, since)
            running -= 1

    async def scene() -> None:
        nonlocal loop, begun
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        session = Session("anthropic:m", manager=scripted(), store=Slow(inner, OSError()))
        for turn in range(5):
            begun.clear()
            task = asyncio.create_task(session.send(f"question {turn}"))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert running == 0
        await session.send("the last")
        assert said(load(inner)) == said(session)
        await session.close()

    asyncio.run(scene())
    assert most == 1


def test_a_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "talk.json", tmp_path / "talk.json"
    session = new(link)
    link.symlink_to(real)
    session.send("one")
    assert link.is_symlink()
    real.chmod(0o600)
    session.send("two")
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert said(load(real)) == said(session)


def test_what_a_killed_save_left_behind_is_removed_in_time(tmp_path: Path) -> None:
    old, fresh, other = (tmp_path / name for name in (".talk.json.1.new", ".talk.json.2.new", ".chat.json.1.new"))
    for path in (old, fresh, other):
        path.touch()
    for path in (old, other):
        os.utime(path, (1, 1))
    new(tmp_path / "talk.json").send("one")
    assert left_over(tmp_path) == [other.name, fresh.name]


def test_metadata_that_changes_deep_inside_is_saved(tmp_path: Path) -> None:
    session = new(tmp_path / "talk.json", metadata={"notes": {"a": [1]}})
    session.send("one")
    session.metadata["notes"]["a"].append(2)
    session.persist()
    assert load(tmp_path / "talk.json").metadata == {"notes": {"a": [1, 2]}}


def test_sqlite_writes_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    encode = sqlite.encode
    monkeypatch.setattr(sqlite, "encode", lambda value: (written.append(value), encode(value))[1])
    session = new(tmp_path / "talk.db", messages=[Message("user", str(n)) for n in range(50)])
    session.send("one")
    written.clear()
    session.send("two")
    messages = [value for value in written if isinstance(value, Message)]
    assert messages == list(session.messages[-2:])


# -------------------------------------------------------------------------------------------------------- two holders


@pytest.mark.parametrize("name", STORES)
def test_the_second_of_two_holders_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    new(path).send("one")
    first, second = load(path, store=path), load(path, store=path)
    first.send("first")
    with pytest.raises(StoreError, match=r"changed by somebody else.*Load it again, or fork\(\)") as caught:
        second.send("second")
    assert not caught.value.retryable
    with pytest.raises(StoreError, match="changed by somebody else"):
        second.save(path)
    assert said(load(path)) == said(first), "nothing of the second was written"
    assert "second" not in said(second), "and what it could not store it has not asked"
    first.send("and on")
    second.save(path, overwrite=True)
    assert said(load(path)) == said(second)


@pytest.mark.parametrize("name", STORES)
def test_the_first_holder_is_refused_too_once_the_second_has_written(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    first = new(path)
    first.send("one")
    load(path, store=path).send("two")
    with pytest.raises(StoreError):
        first.send("three")
    branch = first.fork(store=tmp_path / f"branch-{name}")  # as the error says
    branch.send("three")
    assert said(load(tmp_path / f"branch-{name}"))[-2] == "three"


HOLDER = r"""
import sys
sys.path.insert(0, sys.argv[1])
from interlingua import StoreError
from interlingua import SyncSession
from session.scenes import scripted
session = SyncSession.load(sys.argv[2], manager=scripted(), store=sys.argv[2])
print("loaded", flush=True)
sys.stdin.readline()
try:
    session.send("from another process")
    print("written")
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("name", STORES)
def test_a_holder_in_another_process_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    session = new(path)
    session.send("one")
    command = [sys.executable, "-c", HOLDER, str(HERE.parent), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "loaded\n"
        session.send("two")
        told, _ = other.communicate("\n")
    assert "changed by somebody else" in told
    assert said(load(path)) == said(session)


def test_a_session_that_was_only_read_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    first = new(path)
    first.send("one")
    before = path.read_bytes()

    async def scene() -> None:
        async with Session.load(path, manager=scripted(), store=path) as reader:
            assert reader.messages == first.messages

    asyncio.run(scene())
    assert path.read_bytes() == before
    first.send("two")


async def test_a_refused_session_can_be_closed(tmp_path: Path) -> None:
    """What it could not store it has taken back: nothing is left to be written."""
    path = tmp_path / "talk.db"
    new(path).send("one")

    async with Session.load(path, manager=scripted(), store=path) as second:
        load(path, store=path).send("two")
        with pytest.raises(StoreError):
            await second.send("three")
        second.add(Message("user", "noted, but never stored"))
        with pytest.raises(StoreError, match="changed by somebody else"):
            await second.close()
        second.restore_state()


def test_a_file_that_holds_something_else_is_not_overwritten(tmp_path: Path) -> None:
    path, other = tmp_path / "talk.json", new(None)
    new(path).send("one")
    with pytest.raises(StoreError, match="holds another session"):
        other.save(path)
    with pytest.raises(StoreError, match="holds another session"):
        new(path).send("two")
    (tmp_path / "notes.json").write_text('{"a": 1}')
    with pytest.raises(StoreError, match="no saved session"):
        other.save(tmp_path / "notes.json")
    (tmp_path / "empty.json").touch()
    other.save(tmp_path / "empty.json")
    other.save(path, overwrite=True)
    assert load(path).id == other.id


@pytest.mark.parametrize("name", STORES)
def test_a_fork_never_overwrites_what_it_came_from(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    session = new(path)
    session.send("one")
    fork = session.fork()
    fork.send("two")
    if name == "talk.json":
        with pytest.raises(StoreError, match="holds another session"):
            fork.save(path)
    else:
        fork.save(path)
    session.send("three")
    assert said(load(path, id=session.id)) == said(session)


@pytest.mark.parametrize("name", STORES)
def test_a_session_saves_again_and_again_where_it_likes(name: str, tmp_path: Path) -> None:
    session = new(None)
    for turn in range(3):
        session.send(f"question {turn}")
        session.save(tmp_path / name)
        session.save(tmp_path / f"copy-{name}")
    loaded = load(tmp_path / name)
    loaded.send("and on")
    loaded.save(tmp_path / name)
    (tmp_path / f"copy-{name}").unlink()
    session.save(tmp_path / f"copy-{name}")  # what was removed is written anew, whole
    assert said(load(tmp_path / f"copy-{name}")) == said(session)


V1_TABLES = """
CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, head TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    session TEXT NOT NULL REFERENCES sessions (id), place INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session, place)
) WITHOUT ROWID;
"""


def put_first_version(path: Path) -> None:
    """The same session as a file of the first version, and as rows of it."""
    data = (HERE / "saved-v1.json").read_bytes()
    if path.suffix == ".json":
        path.write_bytes(data)
        return
    head = json.loads(data)
    messages = head.pop("messages")
    with sqlite3.connect(path) as open_:
        open_.executescript(f"PRAGMA journal_mode=WAL; {V1_TABLES}")
        open_.execute("INSERT INTO sessions VALUES (?, ?)", (head["id"], json.dumps(head)))
        rows = [(head["id"], place, json.dumps(message)) for place, message in enumerate(messages)]
        open_.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
    open_.close()


@pytest.mark.parametrize("name", STORES)
def test_a_file_of_the_first_version_is_kept_where_it_was(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    put_first_version(path)
    assert said(load(path)) == said(load(HERE / "saved-v1.json"))
    first, second = load(path, store=path), load(path, store=path)
    first.send("go on")
    with pytest.raises(StoreError, match="changed by somebody else"):
        second.send("go on")


# --------------------------------------------------------------------------------------------------- failing to write


def test_an_answer_that_could_not_be_stored_comes_with_the_error(tmp_path: Path) -> None:
    """The disk is full after the answer has come: it is in the error and in the history, and the next save has it."""
    store = Failing(SqliteStore(tmp_path / "talk.db"), OSError(errno.ENOSPC, "No space left on device"))

    def answer(request: object) -> Step:
        store.broken = True
        return Step(content=(TextBlock("forty-two"),))

    session = new(store, Script(answer, Step(act="echo")))
    with pytest.raises(StoreError, match="No space left") as caught:
        session.send("what is it?")
    assert caught.value.response is not None
    assert caught.value.response.text == "forty-two"
    assert said(session) == ["what is it?", "forty-two"]
    store.broken = False
    session.send("go on")
    assert said(load(store)) == said(session) == ["what is it?", "forty-two", "go on", "You said: go on"]


@pytest.mark.parametrize("blocking", [True, False])
def test_a_call_whose_start_cannot_be_stored_is_not_run(blocking: bool, tmp_path: Path) -> None:
    """The answer with the call is stored, then the disk is full: the error has the answer, and the tool did nothing."""
    ran: list[int] = []

    class Full(Failing):
        def save(self, saved: Saved, since: int = 0) -> None:
            self.broken = "started" in str(saved.messages[-1].metadata.get("calls"))
            super().save(saved, since)

    def pay(euro: int) -> str:
        """Pay."""
        ran.append(euro)
        return "paid"

    store = Full(JsonStore(tmp_path / "talk.json"), OSError(errno.ENOSPC, "No space left on device"))
    script = Script(Step(content=(ToolUseBlock("c1", "pay", input={"euro": 5}),)), Step(act="echo"))
    kind: Any = SyncSession if blocking else Session

    async def scene() -> StoreError:
        session = kind("anthropic:m", [pay], manager=scripted(script), store=store)
        with pytest.raises(StoreError) as caught:
            session.run("pay five") if blocking else await session.run("pay five")
        assert [str(message.role) for message in session.messages] == ["user", "assistant", "tool"]
        return caught.value

    error = asyncio.run(scene())
    assert ran == []
    assert error.response is not None
    assert [call.name for call in error.response.tool_uses] == ["pay"]


@pytest.mark.parametrize("blocking", [True, False])
def test_a_question_that_could_not_be_stored_is_not_asked_and_not_doubled(blocking: bool, tmp_path: Path) -> None:
    script = Script(Step(act="echo"))
    store = Failing(JsonStore(tmp_path / "talk.json"), OSError(errno.ENOSPC, "No space left on device"))
    store.broken = True
    kind: Any = SyncSession if blocking else Session

    async def scene() -> list[str]:
        session = kind("anthropic:m", manager=scripted(script), store=store)
        for _ in range(3):
            with pytest.raises(StoreError):
                session.send("hello") if blocking else await session.send("hello")
        assert not script.seen
        store.broken = False
        session.send("hello") if blocking else await session.send("hello")
        return said(session)

    assert asyncio.run(scene()) == ["hello", "You said: hello"] == said(load(store))


def test_what_is_added_and_could_not_be_stored_is_not_doubled(tmp_path: Path) -> None:
    store = Failing(JsonStore(tmp_path / "talk.json"), OSError(errno.EIO, "Input/output error"))
    session = new(store)
    store.broken = True
    for _ in range(2):
        with pytest.raises(StoreError):
            session.add(Message("user", "once"))
    store.broken = False
    session.add(Message("user", "once"))
    assert said(session) == ["once"] == said(load(store))


@pytest.mark.parametrize("stream", [False, True])
def test_a_turn_that_fails_raises_its_own_error_though_it_cannot_be_stored(stream: bool, tmp_path: Path) -> None:
    store = Failing(JsonStore(tmp_path / "talk.json"), OSError(errno.EIO, "Input/output error"))

    def fails(request: object) -> Step:
        store.broken = True
        return Step(act="echo", fault="cut", after=6)

    session = new(store, Script(fails))
    turn = (lambda: list(session.stream("one two three"))) if stream else (lambda: session.send("one two three"))
    with pytest.raises(AdapterError) as caught:
        turn()
    assert not isinstance(caught.value, StoreError)
    if caught.value.response is not None and caught.value.response.content:
        assert "could not be stored" in "".join(caught.value.__notes__)
    store.broken = False
    session.persist()
    assert said(load(store)) == said(session)


def test_held_back_events_are_told_also_with_a_store(tmp_path: Path) -> None:
    session = new(tmp_path / "talk.json", Script(Step(act="fail", error=ErrorClass.server_error)))
    without = new(None, Script(Step(act="fail", error=ErrorClass.server_error)))
    found: list[list[str]] = []
    for one in (session, without):
        found.append([])
        with pytest.raises(AdapterError):
            found[-1].extend(event.type for event in one.stream("hello"))
    assert found[0] == found[1]


async def test_a_locked_database_blocks_nobody_and_gives_up_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program holds the database. The loop goes on meanwhile; then there is an error of ours."""
    monkeypatch.setattr(sqlite, "WAIT", 0.2)
    path = tmp_path / "talk.db"

    session = Session("anthropic:m", manager=scripted(), store=path)
    await session.send("one")
    ticks, done = 0, False

    async def tick() -> None:
        nonlocal ticks
        while not done:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    with sqlite3.connect(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked") as caught:
            await session.send("two")
    other.close()
    done = True
    await ticking
    assert caught.value.retryable
    assert ticks > 100, "the loop went on while the database was waited for"
    await session.send("two")
    assert said(session) == ["one", "You said: one", "two", "You said: two"] == said(load(path))
    await session.close()


def test_no_store_is_used_on_the_loop(tmp_path: Path) -> None:
    """Whatever a session that awaits does in a turn, its store is used in other threads."""
    loop_thread = threading.get_ident()
    used: list[str] = []

    class Watched(Failing):
        def save(self, saved: Saved, since: int = 0) -> None:
            used.append("loop" if threading.get_ident() == loop_thread else "thread")
            super().save(saved, since)

    async def scene() -> None:
        store = Watched(JsonStore(tmp_path / "talk.json"), OSError())
        cut = Step(act="echo", fault="cut", after=6)
        session = Session("anthropic:m", manager=scripted(Script(Step(act="echo"), cut, cut, cut)), store=store)
        await session.send("one")
        session.add(Message("user", "noted"))
        with pytest.raises(AdapterError):
            await session.send("one two three four")
        with pytest.raises(AdapterError):
            async for _ in session.stream("one two three four"):
                pass
        async with session.stream("one two three four") as stream:
            async for event in stream:
                if event.type == "text.delta":
                    break
        unread = session.stream("nobody reads this")
        await unread.aclose()
        session.add(Message("user", "also noted"))
        await session.close()
        assert said(load(store)) == said(session)

    asyncio.run(scene())
    assert used
    assert "loop" not in used


# ---------------------------------------------------------------------------------------------------- damaged, missing


@pytest.mark.parametrize("name", STORES)
def test_a_load_creates_nothing(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No saved session here") as caught:
        load(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_store_without_a_file_holds_no_session(tmp_path: Path) -> None:
    assert SqliteStore(tmp_path / "talk.db").ids() == ()
    assert os.listdir(tmp_path) == []


def test_a_load_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    with sqlite3.connect(path) as open_:
        open_.execute("CREATE TABLE birds (name TEXT)")
    open_.close()
    before = path.read_bytes()
    with pytest.raises(ParseError, match="without saved sessions"):
        load(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["talk.db"]


def truncated(path: Path) -> None:
    with new(path) as session:
        session.send("one")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def table_without_columns(path: Path) -> None:
    with sqlite3.connect(path) as open_:
        open_.execute("CREATE TABLE sessions (id TEXT)")
        open_.execute("INSERT INTO sessions VALUES ('ses_1')")
    open_.close()


def row_without_head(path: Path) -> None:
    new(path).send("one")
    with sqlite3.connect(path) as open_:
        open_.execute("UPDATE sessions SET head = 'nothing'")
    open_.close()


# fmt: off
DAMAGED: dict[str, tuple[str, Any, str]] = {
    # what is wrong               file         its content, or who makes it           what is said
    "empty JSON":                ("a.json",    b"",                                   "is empty"),
    "truncated JSON":            ("a.json",    truncated,                             "is not JSON: .*backup"),
    "not UTF-8":                 ("a.json",    b'{"format": "\xff"}',                 "is not JSON: .*utf-8.*backup"),
    "a list":                    ("a.json",    b"[]",                                 "is no saved session"),
    "a number":                  ("a.json",    b"7",                                  "is no saved session"),
    "another object":            ("a.json",    b"{}",                                 "is no saved session"),
    "no version":                ("a.json",    b'{"format": "interlingua.session"}',  "its version is None"),
    "a version that is none":    ("a.json",    b'{"format": "interlingua.session", "version": [1]}', "its version is"),
    "deep nesting":              ("a.json",    b"[" * 100_000,                        "nested too deeply"),
    "an empty database":         ("a.db",      b"",                                   "without saved sessions"),
    "not a database":            ("a.db",      b"words, words, words" * 300,          "no SQLite database.*backup"),
    "a database cut short":      ("a.db",      truncated,                             "damaged|could not be used"),
    "other tables":              ("a.db",      table_without_columns,                 "without saved sessions"),
    "a row without a session":   ("a.db",      row_without_head,                      "is not JSON"),
    "a folder":                  ("a.json",    Path.mkdir,                            "is a directory"),
    "a folder for a database":   ("a.db",      Path.mkdir,                            "is a directory"),
}
# fmt: on


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_file_gives_one_clear_error(what: str, tmp_path: Path) -> None:
    name, content, told = DAMAGED[what]
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
    with pytest.raises((ParseError, StoreError), match=told) as caught:
        load(path)
    assert str(path) in str(caught.value), "the file is named"


@pytest.mark.parametrize("what", ["truncated JSON", "not a database", "other tables", "deep nesting", "a folder"])
def test_a_damaged_file_is_not_overwritten(what: str, tmp_path: Path) -> None:
    name, content, _ = DAMAGED[what]
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError):
        new(path).send("one")
    assert (path.read_bytes() if path.is_file() else None) == before


def test_what_is_nested_too_deeply_is_not_saved(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(1_000_000):  # newer Pythons go deeper than older ones
        deep = [deep]
    session = new(tmp_path / "talk.json")
    session.send("one")
    session.metadata["deep"] = deep
    with pytest.raises(StoreError, match="cannot be saved as JSON"):
        session.persist()
    assert said(load(tmp_path / "talk.json")) == said(session)


def directory(path: Path) -> None:
    path.mkdir()


def device(path: Path) -> None:
    path.symlink_to("/dev/full")


def opened_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def identity(path: Path) -> tuple[int, ...]:
    """Which file it is, and when it changed. When it was last read tells nothing: a link is read as it is followed."""
    found = path.lstat()
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such files")
@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize(
    ("make", "kind"),
    [(directory, "a directory"), (device, "a device"), (os.mkfifo, "a pipe"), (opened_socket, "a socket")],
)
def test_what_is_no_file_is_neither_read_nor_replaced(
    make: Callable[[Path], None], kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device may have no end, and a pipe may never say anything: ``/dev/full`` was read until memory was full."""
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    path = Path(name)
    make(path)
    before = identity(path)
    session = new(None)
    for use in (lambda: session.save(path), lambda: session.save(path, overwrite=True), lambda: load(path)):
        with pytest.raises(StoreError, match=f"{name} is {kind}, not a file; nothing was read or written") as caught:
            use()
        assert not caught.value.retryable
    assert identity(path) == before
    assert os.listdir(tmp_path) == [name]

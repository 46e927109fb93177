"""Processes that are killed while they save, that save one file at the same time, or whose disk is full.

Run as ``python -m session.killing FOLDER NAME SEED``. One process imports the library and forks the victims.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from interlingua import Message, ParseError, StoreError, TextBlock
from interlingua.agent.session import SqliteStore, SyncSession, stores
from interlingua.client.embedded import Script, Step
from session.scenes import scripted

KILLS, WRITES = 20, 25
PADDING = "x" * 3000


def opened(path: Path, script: Script | None = None) -> SyncSession:
    """The session stored at this path, or a new one."""
    manager = scripted(script)
    try:
        return SyncSession.load(path, manager=manager, store=path)
    except FileNotFoundError:
        pass
    except ParseError as error:
        if "without saved sessions" not in str(error):  # killed before there was one
            raise
    return SyncSession("anthropic:m", manager=manager, store=path)


def texts(path: Path) -> list[str]:
    """What is stored."""
    with opened(path) as session:
        return [message.text for message in session.messages]


def refused(turn: Callable[[], object]) -> StoreError:
    """The error of a turn that could not be stored."""
    try:
        turn()
    except StoreError as error:
        return error
    raise AssertionError("it was stored")


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """A child process that does the work, and the end of a pipe on which it reports what is done."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(writing)
        except BaseException as error:  # noqa: BLE001
            print(f"child: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    os.close(writing)
    return child, reading


def told(reading: int) -> list[str]:
    """All that a child has reported."""
    with os.fdopen(reading) as pipe:
        return pipe.read().split()


def line(n: int) -> str:
    return f"{n} {PADDING}"


def save_for_ever(path: Path, writing: int) -> None:
    """Add one message after the other, and report each after it was stored."""
    session = opened(path)
    os.write(writing, f"{len(session.messages)}\n".encode())
    for n in count(len(session.messages)):
        session.add(Message("user", line(n)))
        os.write(writing, f"{n + 1}\n".encode())


def checked(path: Path, before: int, acknowledged: list[str], died: int) -> int:
    """How many messages are stored: all that were reported, and at most the one that was being written."""
    assert os.WIFSIGNALED(died), "the child ended by itself"
    known = int(acknowledged[-1]) if acknowledged else before
    found = texts(path)
    assert found == [line(n) for n in range(len(found))], "what is stored is a state that was once complete"
    assert known <= len(found) <= known + 1, (known, len(found))
    return len(found)


def random_kills(path: Path, seed: int) -> None:
    """SIGKILL from outside, at any moment after some saves."""
    chance, stored = random.Random(seed), 0
    for _ in range(KILLS):
        child, reading = forked(lambda writing: save_for_ever(path, writing))
        before = b""
        for _ in range(1 + chance.randrange(3)):
            before += os.read(reading, 100)
        time.sleep(chance.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        _, died = os.waitpid(child, 0)
        stored = checked(path, stored, [*before.decode().split(), *told(reading)], died)
    print(f"{KILLS} kills, {stored} messages")


def die_at(step: int) -> Callable[[Any], Any]:
    """Wrap functions so that they count together how often they are entered and left; the ``step``-th time kills."""
    steps = count()

    def tick() -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrap(function: Any) -> Any:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            tick()
            result = function(*arguments, **named)
            tick()
            return result

        return wrapped

    return wrap


def steps_json(path: Path, _: int) -> None:
    """SIGKILL before and after every system call that a save makes, and in the middle of the writing."""
    stored, died_in_save = 0, 0
    for step in range(40):

        def work(writing: int, step: int = step) -> None:
            session = opened(path)
            wrap, write = die_at(step), stores._write

            def halved(beside: Path, data: bytes, mode: int | None) -> None:
                wrap(write)(beside, data[: len(data) // 2], mode)
                beside.unlink()
                write(beside, data, mode)

            stores._write = halved  # type: ignore[assignment]
            for name in ("open", "fsync", "replace", "close"):
                setattr(os, name, wrap(getattr(os, name)))
            session.add(Message("user", line(len(session.messages))))
            os.write(writing, f"{len(session.messages)}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

        child, reading = forked(work)
        _, died = os.waitpid(child, 0)
        acknowledged = told(reading)
        died_in_save += not acknowledged
        stored = checked(path, stored, acknowledged, died)
    print(f"{died_in_save} of 40 died in their save")
    assert 10 < died_in_save < 40, "every step was met, and the last ones were beyond the save"


def steps_sqlite(path: Path, seed: int) -> None:
    """SIGKILL after a number of instructions of SQLite's own machine."""
    chance, stored, died_in_save = random.Random(seed), 0, 0
    with opened(path) as session:
        session.add(Message("user", line(0)))
    stored = 1
    for _ in range(30):
        last = chance.randrange(1, 120)

        def work(writing: int, last: int = last) -> None:
            session = opened(path)
            store, left = session.store, iter(range(last))
            assert isinstance(store, SqliteStore)

            def tick() -> int:
                if next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                return 0

            store._open(writes=True).set_progress_handler(tick, 1)
            session.add(Message("user", line(len(session.messages))))
            os.write(writing, f"{len(session.messages)}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

        child, reading = forked(work)
        _, died = os.waitpid(child, 0)
        acknowledged = told(reading)
        died_in_save += not acknowledged
        stored = checked(path, stored, acknowledged, died)
    print(f"{died_in_save} of 30 died in their save")
    assert died_in_save > 5


def two_writers(path: Path, _: int) -> None:
    """Both add their lines and load again whenever they are refused: no line that was acknowledged is lost."""
    with opened(path) as session:
        session.add(Message("user", "begin"))

    def work(writing: int) -> None:
        me, met, session = os.getpid(), 0, opened(path)
        for n in range(WRITES):
            while True:
                try:
                    session.add(Message("user", f"{me}:{n}"))
                    break
                except StoreError as error:
                    if "changed by somebody else" not in str(error):
                        raise
                    met += 1
                    session.close()
                    session = opened(path)
            os.write(writing, f"{me}:{n}\n".encode())
        os.write(writing, f"refused={met}\n".encode())

    children = [forked(work) for _ in range(2)]
    said = [told(reading) for _, reading in children]
    for child, _ in children:
        assert os.waitpid(child, 0)[1] == 0
    met = [int(words[-1].partition("=")[2]) for words in said]
    found = texts(path)
    assert sorted(found[1:]) == sorted(word for words in said for word in words[:-1])
    for words in said:
        assert [text for text in found if text in words] == words[:-1], "each in its own order"
    print(f"refused: {met}")


def full_disk(path: Path, _: int) -> None:
    """No file may grow any further, so that writing fails as on a full disk (RLIMIT_FSIZE)."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    long = Step(content=(TextBlock("y" * 2_000_000),))
    session = opened(path, Script(long, Step(act="echo"), Step(act="echo")))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    error = refused(lambda: session.send("a long answer, please"))
    print(error)
    assert error.retryable
    assert error.response is not None
    assert len(error.response.text) == 2_000_000, "the answer comes with the error"
    assert [len(message.text) for message in session.messages] == [21, 2_000_000]
    assert texts(path) == ["a long answer, please"], "what was stored before is whole"
    assert [name for name in os.listdir(path.parent) if name.endswith(".new")] == []
    assert refused(lambda: session.send("again")).response is None
    assert len(session.messages) == 2, "what could not be stored was not asked"
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    session.send("again")
    assert texts(path) == [message.text for message in session.messages]
    assert len(session.messages) == 4


def play(folder: Path, name: str, seed: int) -> None:
    """All scenes, each with a file of its own."""
    steps = steps_json if name.endswith(".json") else steps_sqlite
    for scene in (random_kills, steps, two_writers, full_disk):
        print(scene.__name__, file=sys.stderr)
        (folder / scene.__name__).mkdir()
        scene(folder / scene.__name__ / name, seed)


if __name__ == "__main__":
    play(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

"""What the processes of one gateway share: receipts, state of answers and sums, in one SQLite file.

One thread of each process writes, all waiting rows in one transaction; the event loop waits for it only in ``written``.
Reading is one lookup by primary key, which in SQLite's WAL mode no writer can delay.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Shared", "create"]

SCHEMA = """
CREATE TABLE kept (kind TEXT, owner TEXT, name TEXT, at REAL, value BLOB,
    PRIMARY KEY (kind, owner, name)) WITHOUT ROWID;
CREATE INDEX kept_at ON kept (kind, at);
CREATE INDEX kept_owner ON kept (kind, owner, at);
CREATE TABLE sums (process INTEGER PRIMARY KEY, value BLOB) WITHOUT ROWID;
"""
PUT = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?)"
GET = "SELECT at, value FROM kept WHERE kind = ? AND owner = ? AND name = ?"
PUT_SUMS = "INSERT OR REPLACE INTO sums VALUES (?, ?)"
GET_SUMS = "SELECT process, value FROM sums"
FORGET = "DELETE FROM kept WHERE at < ?"
TOO_MANY = """
DELETE FROM kept WHERE (kind, owner, name) IN
    (SELECT kind, owner, name FROM kept WHERE kind = ? ORDER BY at DESC LIMIT -1 OFFSET ?)
"""
TOO_MANY_OF_ONE = """
DELETE FROM kept WHERE (kind, owner, name) IN (SELECT kind, owner, name FROM
    (SELECT kind, owner, name, row_number() OVER (PARTITION BY owner ORDER BY at DESC) AS place
     FROM kept WHERE kind = ?)
    WHERE place > ?)
"""
LARGEST = 1024 * 1024
"""The size in bytes above which a value is not kept."""
MOST_WAITING = 10_000
SWEEP = 500
"""After so many rows, those that are too old or too many are removed."""
BUSY_SECONDS = 5.0

Statement = tuple[str, tuple[Any, ...]]
Limits = Mapping[str, tuple[int, int]]


def create(path: str) -> None:
    """Create the file, readable only for the user who runs the gateway."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(SCHEMA)
    connection.close()


class Shared:
    """One process's access to the file. ``process`` is its number.

    ``limits`` say for each kind of value how many are kept in all and how many of one owner.
    """

    def __init__(
        self, path: str, process: int, clock: Callable[[], float], *, limits: Limits, seconds: float = 3600.0
    ) -> None:
        self._path, self.process = path, process
        self._clock, self._limits, self._seconds = clock, limits, seconds
        self._waiting: queue.Queue[Statement | Callable[[], object] | None] = queue.Queue()
        self._written = 0
        self.dropped = 0
        """How many values were not written, because too many were waiting or the file could not be written."""
        self._reading = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0.05, check_same_thread=False)
        self._thread = threading.Thread(target=self._write, name="interlingua-shared", daemon=True)
        self._thread.start()

    # ---------------------------------------------------------------------------------------------------- for the loop

    def put(self, kind: str, owner: str | None, name: str, value: bytes) -> None:
        """Keep a value; the thread writes it later."""
        if len(value) > LARGEST or self._waiting.qsize() > MOST_WAITING:
            self.dropped += 1
            return
        self._waiting.put((PUT, (kind, _owner(owner), name, self._clock(), value)))

    def get(self, kind: str, owner: str | None, name: str) -> bytes | None:
        """A value that any process kept; None if there is none or it is too old."""
        for at, value in self._read(GET, (kind, _owner(owner), name)):
            return value if at > self._clock() - self._seconds else None
        return None

    def put_sums(self, value: bytes) -> None:
        """Replace the sums of this process."""
        self._waiting.put((PUT_SUMS, (self.process, value)))

    def sums(self) -> dict[int, bytes]:
        """The sums of all processes."""
        return dict(self._read(GET_SUMS, ()))

    async def written(self) -> None:
        """Wait until every process can read all that this one has kept so far."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        self._waiting.put(lambda: loop.call_soon_threadsafe(done.set))
        await done.wait()

    def close(self) -> None:
        """Write the waiting values, and close the file."""
        self._waiting.put(None)
        self._thread.join()
        self._reading.close()

    def _read(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            return self._reading.execute(statement, values).fetchall()
        except sqlite3.Error:  # what cannot be read counts as forgotten
            return []

    # -------------------------------------------------------------------------------------------------- for the thread

    def _write(self) -> None:
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")  # the file need not survive a crash of the machine
        goes_on = True
        while goes_on:
            batch = [self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            goes_on = None not in batch
            statements = [each for each in batch if each is not None and not callable(each)]
            try:
                self._transact(connection, statements)
            except sqlite3.Error:
                self.dropped += len(statements)
            for each in batch:
                if callable(each):
                    each()
        connection.close()

    def _transact(self, connection: sqlite3.Connection, statements: list[Statement]) -> None:
        if not statements:
            return
        self._written += len(statements)
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement, values in statements:
                connection.execute(statement, values)
            if self._written >= SWEEP:
                self._written = 0
                self._sweep(connection)
        except sqlite3.Error:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _sweep(self, connection: sqlite3.Connection) -> None:
        connection.execute(FORGET, (self._clock() - self._seconds,))
        for kind, (most, of_one) in self._limits.items():
            connection.execute(TOO_MANY, (kind, most))
            if of_one < most:
                connection.execute(TOO_MANY_OF_ONE, (kind, of_one))


def _owner(owner: str | None) -> str:
    """The owner as a column value. SQLite treats two NULLs in a key as different; no key has the empty name."""
    return owner or ""

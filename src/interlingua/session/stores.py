"""Where sessions are kept: one JSON file, or a SQLite file with many. What is complete is written before the next step.

A JSON file is written beside the old one and then put in its place, so that a crash leaves the one or the other whole.
In SQLite only what is new is written, in one transaction.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import msgspec

from ..errors import ParseError
from ..types.messages import Message
from .saved import Head, Saved, read_head, read_saved

__all__ = ["JsonStore", "Place", "SqliteStore", "Store", "store_at", "visited"]

_encode = msgspec.json.Encoder().encode

SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, head TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    session TEXT NOT NULL REFERENCES sessions (id), place INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session, place)
) WITHOUT ROWID;
"""


class Store(Protocol):
    """Keeps sessions. ``since``: the place of the first message that is new or changed."""

    def save(self, saved: Saved, since: int = 0) -> None: ...

    def load(self, id: str | None = None) -> Saved: ...


Place = Store | str | os.PathLike[str]
"""A store, or the path of one."""


@contextmanager
def visited(place: Place) -> Generator[Store, None, None]:
    """The store that is meant. One that is opened for this visit is closed after it."""
    if not isinstance(place, str | os.PathLike):
        yield place
        return
    store = store_at(place)
    try:
        yield store
    finally:
        if isinstance(store, SqliteStore):
            store.close()


def store_at(path: str | os.PathLike[str]) -> Store:
    """The store that a path means: SQLite for ``.db``, ``.sqlite`` and ``.sqlite3``, JSON for anything else."""
    found = Path(path)
    return SqliteStore(found) if found.suffix in (".db", ".sqlite", ".sqlite3") else JsonStore(found)


class JsonStore:
    """One session in one file that a person can read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def save(self, saved: Saved, since: int = 0) -> None:
        """Write it all."""
        told = msgspec.to_builtins(saved.head) | {"messages": saved.messages}
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        with beside.open("wb") as file:
            file.write(msgspec.json.format(_encode(told), indent=1) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)

    def load(self, id: str | None = None) -> Saved:
        """The session; ``id``, if given, must be its own."""
        saved = read_saved(self.path.read_bytes(), str(self.path))
        if id not in (None, saved.head.id):
            raise ParseError(f"{self.path} holds the session {saved.head.id}, not {id}")
        return saved


class SqliteStore:
    """Many sessions in one file, several processes may share it. Closed, it opens again when it is needed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._lock = Path(path), Lock()
        self._connection: Any = None

    def _open(self) -> Any:
        if self._connection is None:
            made = import_module("sqlite3").connect(self.path, check_same_thread=False, timeout=30)
            made.executescript(f"PRAGMA journal_mode=WAL; {SCHEMA}")
            self._connection = made
        return self._connection

    def save(self, saved: Saved, since: int = 0) -> None:
        """Write the head, and the messages from ``since`` on."""
        id, rows = saved.head.id, saved.messages[since:]
        with self._lock, self._open() as open_:
            open_.execute(
                "INSERT INTO sessions VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET head = excluded.head",
                (id, _encode(saved.head).decode()),
            )
            open_.execute("DELETE FROM messages WHERE session = ? AND place >= ?", (id, since))
            open_.executemany(
                "INSERT INTO messages VALUES (?, ?, ?)",
                [(id, place, _encode(message).decode()) for place, message in enumerate(rows, since)],
            )

    def load(self, id: str | None = None) -> Saved:
        """The session of that id; the only one, if there is but one."""
        known = self.ids()
        if id is None and len(known) != 1:
            raise ParseError(f"{self.path} holds {len(known)} sessions; say which: {', '.join(known) or 'none'}")
        id = id or known[0]
        if id not in known:
            raise ParseError(f"{self.path} holds no session {id}; it has {', '.join(known) or 'none'}")
        with self._lock, closing(self._open().cursor()) as cursor:
            (told,) = cursor.execute("SELECT head FROM sessions WHERE id = ?", (id,)).fetchone()
            rows = cursor.execute("SELECT body FROM messages WHERE session = ? ORDER BY place", (id,)).fetchall()
        head: Head = read_head(told, str(self.path))
        return Saved(head, tuple(msgspec.json.decode(body, type=Message) for (body,) in rows))

    def ids(self) -> tuple[str, ...]:
        """The sessions that are kept here, the oldest first."""
        with self._lock, closing(self._open().cursor()) as cursor:
            return tuple(id for (id,) in cursor.execute("SELECT id FROM sessions ORDER BY rowid"))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __del__(self) -> None:
        if self._connection is not None:
            self._connection.close()

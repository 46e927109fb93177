"""Many sessions in one SQLite file. Only what is new is written, in one transaction."""

from __future__ import annotations

import base64
import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from ...errors import AdapterError, ParseError, StoreError
from ...types.base import Json
from .saved import Mark, Saved, may_replace, parse, read_mark, read_parts
from .stores import WAIT, check_is_file, encode, missing, refusal

__all__ = ["SqliteStore"]

SCHEMA = (
    "BEGIN IMMEDIATE",
    "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, head TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS messages (
    session TEXT NOT NULL REFERENCES sessions (id), place INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session, place)
) WITHOUT ROWID""",
    "SELECT id, head FROM sessions LIMIT 0",  # tables of these names may be somebody else's
    "SELECT session, place, body FROM messages LIMIT 0",
    "COMMIT",
)
_PUT_HEAD = "INSERT INTO sessions (id, head) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET head = excluded.head"

# What SQLite's result codes mean to whoever saves or loads: what happened, and whether it may succeed later.
_FAILURES: dict[int, tuple[str, bool]] = {
    sqlite3.SQLITE_BUSY: (f"another program has locked it for more than {WAIT:g} seconds", True),
    sqlite3.SQLITE_LOCKED: (f"another program has locked it for more than {WAIT:g} seconds", True),
    sqlite3.SQLITE_FULL: ("the disk is full", True),
    sqlite3.SQLITE_IOERR: ("it could not be read or written; the disk may be full or broken", True),
    sqlite3.SQLITE_READONLY: ("it may only be read", False),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", True),
}
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT)


class SqliteStore:
    """Many sessions in one file, several processes may share it. Closed, it opens again when it is needed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._lock = Path(path), Lock()
        self._connection: sqlite3.Connection | None = None
        self._writes = False
        self._written: dict[str, Mark] = {}

    def save(self, saved: Saved, since: int = 0) -> None:
        """Write the head, and the messages from ``since`` on; all of them where the last save here was another's."""
        id, head = saved.head.id, encode(saved.head)
        with self._visit(writes=True) as open_, _whole(open_):
            open_.execute("BEGIN IMMEDIATE")
            found = self._found(open_, id)
            if not may_replace(saved, found):
                raise refusal(str(self.path), saved, found)
            start = since if found is not None and found == self._written.get(id) else 0
            open_.execute(_PUT_HEAD, (id, head.decode()))
            open_.execute("DELETE FROM messages WHERE session = ? AND place >= ?", (id, start))
            rows = ((id, n, encode(m).decode()) for n, m in enumerate(saved.messages[start:], start))
            open_.executemany("INSERT INTO messages (session, place, body) VALUES (?, ?, ?)", rows)
            open_.execute("COMMIT")
            self._written[id] = read_mark(head, str(self.path))

    def _found(self, open_: sqlite3.Connection, id: str) -> Mark | None:
        rows = open_.execute("SELECT head FROM sessions WHERE id = ?", (id,)).fetchall()
        return read_mark(_bytes(rows[0][0]), str(self.path)) if rows else None

    def load(self, id: str | None = None) -> Saved:
        """The session of that id; the only one, if there is but one."""
        known = self.ids()
        if not known and not self.path.exists():
            raise missing(self.path)
        if not known:
            raise ParseError(f"{self.path} is a SQLite database without saved sessions")
        first, *others = known
        if id is None and others:
            raise ParseError(f"{self.path} holds {len(known)} sessions; say which: {', '.join(known)}")
        id = id or first
        if id not in known:
            raise ParseError(f"{self.path} holds no session {id}; it has {', '.join(known)}")
        with self._visit() as open_:
            open_.execute("BEGIN")  # head and messages of one moment
            try:
                row = open_.execute("SELECT head FROM sessions WHERE id = ?", (id,)).fetchone()
                rows = open_.execute("SELECT body FROM messages WHERE session = ? ORDER BY place", (id,)).fetchall()
            finally:
                open_.execute("COMMIT")
        source = f"{self.path}, session {id}"
        if row is None:
            raise ParseError(f"{source}: the database is damaged. Restore it from a backup.")
        return read_parts(parse(_bytes(row[0]), source), [_row(body) for (body,) in rows], source)

    def ids(self) -> tuple[str, ...]:
        """The sessions that are kept here, the oldest first; none, if there is no file yet."""
        if self._connection is None and not self.path.exists():
            return ()
        with self._visit() as open_:
            rows = open_.execute("SELECT id FROM sessions ORDER BY rowid").fetchall()
        return tuple(_bytes(id).decode(errors="replace") for (id,) in rows)

    # -------------------------------------------------------------------------------------------------- the connection

    @contextmanager
    def _visit(self, *, writes: bool = False) -> Generator[sqlite3.Connection, None, None]:
        """The connection, for one thread at a time. What SQLite raises becomes an error of ours."""
        if not self._lock.acquire(timeout=2 * WAIT):
            raise StoreError(f"{self.path}: another thread has used the store for {2 * WAIT:g} seconds", retryable=True)
        try:
            yield self._open(writes)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # names of columns that are no UTF-8
            raise _explained(self.path, error) from error
        finally:
            self._lock.release()

    def _open(self, writes: bool) -> sqlite3.Connection:
        """Only a save creates the file and its tables."""
        if self._connection is None:
            check_is_file(self.path)
            where = f"file:{quote(str(self.path.absolute()))}?mode={'rwc' if writes else 'rw'}"
            made = sqlite3.connect(where, uri=True, check_same_thread=False, timeout=WAIT, isolation_level=None)
            made.text_factory = bytes  # text that is no UTF-8 is salvaged like anything else
            self._connection, self._writes = made, False
        if writes and not self._writes:
            with _whole(self._connection):
                for step in SCHEMA:
                    self._connection.execute(step)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._writes = True
        return self._connection

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self.__del__()

    def __del__(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


@contextmanager
def _whole(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """All of what is done within, or nothing."""
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _explained(path: Path, error: Exception) -> AdapterError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the rest of the bits is detail
    if code in _DAMAGED or isinstance(error, UnicodeDecodeError):
        return ParseError(f"{path} is damaged, or no SQLite database: {error}. Restore it from a backup.")
    if code == sqlite3.SQLITE_ERROR and "no such" in str(error):
        return ParseError(f"{path} is a SQLite database without saved sessions: {error}")
    why, later = _FAILURES.get(code, (str(error), True))
    return StoreError(f"{path} could not be used: {why}. The session in memory is unchanged.", retryable=later)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


def _row(body: Any) -> Json:
    """The JSON value of a row; whatever else it holds is kept so that nothing of it is lost."""
    try:
        return parse(_bytes(body), "row")
    except ParseError:
        if not isinstance(body, bytes):
            return body
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}

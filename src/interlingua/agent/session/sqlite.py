"""Many sessions in one SQLite file. A save writes only what is new, in one transaction."""

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
from .saved import Revision, Saved, may_replace, parse, read_parts, read_revision
from .stores import WAIT, check_is_file, encode, missing_file, refusal

__all__ = ["SqliteStore"]

SCHEMA = (
    "BEGIN IMMEDIATE",
    "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, head TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS messages (
    session TEXT NOT NULL REFERENCES sessions (id), place INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session, place)
) WITHOUT ROWID""",
    "SELECT id, head FROM sessions LIMIT 0",  # fails if another program has made tables of the same names
    "SELECT session, place, body FROM messages LIMIT 0",
    "COMMIT",
)
_PUT_HEAD = "INSERT INTO sessions (id, head) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET head = excluded.head"

# SQLite's result codes: what happened, and whether the same save or load may succeed later.
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
    """Many sessions in one file, which several processes may share. After ``close`` it opens again when it is used."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._lock = Path(path), Lock()
        self._connection: sqlite3.Connection | None = None
        self._writes = False
        self._written: dict[str, Revision] = {}

    def save(self, saved: Saved, since: int = 0) -> None:
        """Write the head and the messages from ``since`` on; all messages, if another writer made the last save."""
        id, head = saved.head.id, encode(saved.head)
        with self._connected(writes=True) as connection, _rollback_on_error(connection):
            connection.execute("BEGIN IMMEDIATE")
            found = self._stored_revision(connection, id)
            if not may_replace(saved, found):
                raise refusal(str(self.path), saved, found)
            start = since if found is not None and found == self._written.get(id) else 0
            connection.execute(_PUT_HEAD, (id, head.decode()))
            connection.execute("DELETE FROM messages WHERE session = ? AND place >= ?", (id, start))
            rows = ((id, n, encode(m).decode()) for n, m in enumerate(saved.messages[start:], start))
            connection.executemany("INSERT INTO messages (session, place, body) VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")
            self._written[id] = read_revision(head, str(self.path))

    def _stored_revision(self, connection: sqlite3.Connection, id: str) -> Revision | None:
        rows = connection.execute("SELECT head FROM sessions WHERE id = ?", (id,)).fetchall()
        return read_revision(_bytes(rows[0][0]), str(self.path)) if rows else None

    def load(self, id: str | None = None) -> Saved:
        """The session of this id; without an id, the only session in the file."""
        known = self.ids()
        if not known and not self.path.exists():
            raise missing_file(self.path)
        if not known:
            raise ParseError(f"{self.path} is a SQLite database without saved sessions")
        first, *others = known
        if id is None and others:
            raise ParseError(f"{self.path} holds {len(known)} sessions; say which: {', '.join(known)}")
        id = id or first
        if id not in known:
            raise ParseError(f"{self.path} holds no session {id}; it has {', '.join(known)}")
        with self._connected() as connection:
            connection.execute("BEGIN")  # so that head and messages are of the same moment
            try:
                row = connection.execute("SELECT head FROM sessions WHERE id = ?", (id,)).fetchone()
                rows = connection.execute(
                    "SELECT body FROM messages WHERE session = ? ORDER BY place", (id,)
                ).fetchall()
            finally:
                connection.execute("COMMIT")
        source = f"{self.path}, session {id}"
        if row is None:
            raise ParseError(f"{source}: the database is damaged. Restore it from a backup.")
        return read_parts(parse(_bytes(row[0]), source), [_row(body) for (body,) in rows], source)

    def ids(self) -> tuple[str, ...]:
        """The ids of the stored sessions, the oldest first; none if there is no file yet."""
        if self._connection is None and not self.path.exists():
            return ()
        with self._connected() as connection:
            rows = connection.execute("SELECT id FROM sessions ORDER BY rowid").fetchall()
        return tuple(_bytes(id).decode(errors="replace") for (id,) in rows)

    # -------------------------------------------------------------------------------------------------- the connection

    @contextmanager
    def _connected(self, *, writes: bool = False) -> Generator[sqlite3.Connection, None, None]:
        """The connection, for one thread at a time. Errors of SQLite are raised as ``StoreError`` or ``ParseError``."""
        if not self._lock.acquire(timeout=2 * WAIT):
            raise StoreError(f"{self.path}: another thread has used the store for {2 * WAIT:g} seconds", retryable=True)
        try:
            yield self._open(writes)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # UnicodeDecodeError: names of columns that are not UTF-8
            raise _adapter_error(self.path, error) from error
        finally:
            self._lock.release()

    def _open(self, writes: bool) -> sqlite3.Connection:
        """Open the connection if it is closed. Only a save (``writes``) creates the file and its tables."""
        if self._connection is None:
            check_is_file(self.path)
            where = f"file:{quote(str(self.path.absolute()))}?mode={'rwc' if writes else 'rw'}"
            made = sqlite3.connect(where, uri=True, check_same_thread=False, timeout=WAIT, isolation_level=None)
            made.text_factory = bytes  # so that text that is not UTF-8 can be read, and kept
            self._connection, self._writes = made, False
        if writes and not self._writes:
            with _rollback_on_error(self._connection):
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
def _rollback_on_error(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Roll the open transaction back if the body raises."""
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _adapter_error(path: Path, error: Exception) -> AdapterError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the other bits hold details
    if code in _DAMAGED or isinstance(error, UnicodeDecodeError):
        return ParseError(f"{path} is damaged, or no SQLite database: {error}. Restore it from a backup.")
    if code == sqlite3.SQLITE_ERROR and "no such" in str(error):
        return ParseError(f"{path} is a SQLite database without saved sessions: {error}")
    why, later = _FAILURES.get(code, (str(error), True))
    return StoreError(f"{path} could not be used: {why}. The session in memory is unchanged.", retryable=later)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


def _row(body: Any) -> Json:
    """The JSON value of a row. A row that holds no JSON is returned as it is, so that nothing is lost."""
    try:
        return parse(_bytes(body), "row")
    except ParseError:
        if not isinstance(body, bytes):
            return body
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}

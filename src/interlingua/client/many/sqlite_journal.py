"""The journal of a map in an SQLite file: the same facts as in ``journal.py``, in a table that programs can query.

Every answer is a transaction of its own. SQLite's own lock lets only one map at a time use the file.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from ...codec.saving import to_json
from ...errors import AdapterError, StoreError
from ...types.response import Response
from .journal import VERSION, Journal, read_saved, why_refused

__all__ = ["SqliteJournal", "journal_at"]

SUFFIXES = (".db", ".sqlite", ".sqlite3")
IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
SCHEMA = (
    "PRAGMA locking_mode = EXCLUSIVE",  # kept until the connection is closed
    "PRAGMA synchronous = OFF",  # a killed process loses nothing; a power failure may
    "BEGIN EXCLUSIVE",
    "CREATE TABLE IF NOT EXISTS map (version INTEGER NOT NULL, model TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS answers
    (place INTEGER PRIMARY KEY, key TEXT NOT NULL, response TEXT, error TEXT)""",
    "SELECT place, key, response, error FROM answers LIMIT 0",  # fails if another program made a table of this name
)


def journal_at(path: str | os.PathLike[str], model: str) -> Journal | SqliteJournal:
    """The journal at a path: SQLite if its suffix is one of SQLite's, else JSON lines."""
    return (SqliteJournal if Path(path).suffix in SUFFIXES else Journal)(path, model)


class SqliteJournal:
    """An open journal in an SQLite file, with the methods of ``Journal``."""

    def __init__(self, path: str | os.PathLike[str], model: str) -> None:
        self.path = Path(path)
        try:
            self._open = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._problem(f"cannot be opened: {error}") from None
        try:
            self._begin(model)
        except BaseException as error:
            self._open.close()
            if isinstance(error, sqlite3.Error):
                raise self._problem(_why(error)) from None
            raise

    def _problem(self, what: str) -> StoreError:
        return StoreError(f"the journal {self.path} {what}", retryable=False)

    def _begin(self, model: str) -> None:
        for statement in SCHEMA:
            self._open.execute(statement)
        head: tuple[int, str] | None = self._open.execute("SELECT version, model FROM map").fetchone()
        if head is None:
            self._open.execute("INSERT INTO map VALUES (?, ?)", (VERSION, model))
        elif (why := why_refused(head[0], head[1], model)) is not None:
            raise self._problem(why)
        self._open.execute("COMMIT")

    def find(self, index: int, key: str) -> Response | None:
        """The answer to this request, if there is one. Raises if the journal is of other requests."""
        try:
            row = self._open.execute("SELECT key, response FROM answers WHERE place = ?", (index,)).fetchone()
        except sqlite3.Error as error:
            raise self._problem(_why(error)) from None
        return None if row is None else read_saved(self._problem, index, key, row[0], row[1])

    def add(self, index: int, key: str, response: Response | None, error: AdapterError | None) -> None:
        """Write the answer or the error of a request. If writing fails, the raised error has the answer."""
        answer = None if response is None else to_json(response).decode()
        failed = None if error is None else f"{type(error).__name__}: {error}"
        try:
            self._open.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", (index, key, answer, failed))
        except sqlite3.Error as failure:
            problem = self._problem(f"cannot be written: {failure}")
            problem.response = response
            raise problem from None

    def close(self) -> None:
        """Write it to the disk, and close it."""
        self._open.close()
        with suppress(OSError):
            file = os.open(self.path, os.O_RDWR)
            try:
                os.fsync(file)
            finally:
                os.close(file)


def _why(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code in IN_USE:
        return "is in use by another map"
    kind = isinstance(error, sqlite3.DatabaseError) and code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    return "is a file of another kind" if kind else f"cannot be used: {error}"

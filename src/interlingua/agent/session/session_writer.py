"""Writing a session to its store: one write at a time, and never over a state that it has not read or written."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec.structs import replace

from ...client.adapter import new_ulid
from ...errors import AdapterError, StoreError
from .history import History
from .saved import Head, Saved
from .stores import JsonStore, Store, encode

__all__ = ["Place", "Writer", "close_store", "open_store", "store_at"]

Place = Store | str | os.PathLike[str]
"""A store, or the path of one."""


def store_at(path: str | os.PathLike[str]) -> Store:
    """The store at a path: SQLite for ``.db``, ``.sqlite`` and ``.sqlite3``, JSON for anything else."""
    if Path(path).suffix not in (".db", ".sqlite", ".sqlite3"):
        return JsonStore(path)
    made: Store = import_module(".sqlite", __package__).SqliteStore(path)
    return made


@contextmanager
def open_store(place: Place) -> Generator[Store, None, None]:
    """The store itself, or the store at a path, which is closed afterwards."""
    if not isinstance(place, str | os.PathLike):
        yield place
        return
    store = store_at(place)
    try:
        yield store
    finally:
        close_store(store)


def close_store(store: Any) -> None:
    """Close a store, if it has a method ``close``."""
    close = getattr(store, "close", None)
    if close is not None:
        close()


class Writer:
    """Writes one session. It replaces only states that this session has read or written itself."""

    def __init__(self) -> None:
        self.id, self.revision = new_ulid(), 0
        self._seen: dict[str, int] = {}
        self._lock = Lock()
        self._stored: tuple[Store, bytes, int] | None = None

    def note_loaded(self, head: Head) -> None:
        """Note the state that the session was loaded from, so that a save may replace it."""
        self._seen[head.writer] = head.revision

    def save(self, store: Store, saved: Saved, *, overwrite: bool = False) -> None:
        """Write the whole session."""
        with self._lock:
            self._write(store, saved, 0, overwrite=overwrite)

    def persist(self, store: Store, history: History, snapshot: Callable[[], Saved]) -> None:
        """Write what is new since the last call. Changes made during the write are written by the next call."""
        with self._lock:
            since, history.saved = history.saved, len(history.messages)
            try:
                saved = snapshot()
                state = store, encode(saved.head), len(saved.messages)
                if self._stored == state and since >= len(saved.messages):
                    return
                same = self._stored is not None and self._stored[0] is store
                self._write(store, saved, since if same else 0)
            except BaseException:
                history.saved = min(history.saved, since)
                raise
            self._stored = state

    def _write(self, store: Store, saved: Saved, since: int, *, overwrite: bool = False) -> None:
        self.revision += 1
        self._seen[self.id] = self.revision  # even if it fails: the store may have written it before the error
        head = replace(saved.head, writer=self.id, revision=self.revision)
        try:
            store.save(Saved(head, saved.messages, None if overwrite else self._seen), since)
        except StoreError:
            raise
        except Exception as error:
            may_heal = not isinstance(error, AdapterError)  # an AdapterError: what is stored there cannot be read
            raise StoreError(f"the session could not be stored: {error}", retryable=may_heal) from error

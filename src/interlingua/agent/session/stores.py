"""Where sessions are kept: one JSON file, or a SQLite file with many. A save writes everything or nothing.

A save never replaces a state that its session has not read or written itself: if somebody else has changed the stored
session meanwhile, in this process or in another, it raises ``StoreError`` and writes nothing. Both stores block; an
async session uses them in a thread.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import msgspec

from ...client.adapter import new_ulid
from ...errors import ParseError, StoreError
from .saved import Revision, Saved, may_replace, read_revision, read_saved

if sys.platform != "win32":  # on Windows, two processes that write a file at the same moment can overwrite each other
    import fcntl

__all__ = ["WAIT", "JsonStore", "Store", "check_is_file", "encode", "refusal"]

WAIT = 5.0
"""How many seconds a save waits for the save of another program."""

STALE = 3600.0
"""After how many seconds a temporary file counts as left behind by a process that was killed."""

_KINDS = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REPLACING = Lock()
_encode = msgspec.json.Encoder().encode


class Store(Protocol):
    """Keeps sessions. ``since``: the place of the first message that is new or changed."""

    def save(self, saved: Saved, since: int = 0) -> None:
        """Write a session completely, or raise and change nothing."""
        ...

    def load(self, id: str | None = None) -> Saved:
        """The session of this id; without an id, the only stored session."""
        ...


class JsonStore:
    """One session in one file that a person can read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._swept = False

    def save(self, saved: Saved, since: int = 0) -> None:
        """Write a new file beside the old one, then rename it: a crash leaves either the old file or the new one."""
        data = encode(saved.head)[:-1] + b',"messages":[' + b",".join(map(encode, saved.messages)) + b"]}"
        data = msgspec.json.format(data, indent=1) + b"\n"
        check_is_file(self.path)
        path = Path(os.path.realpath(self.path))
        beside = path.with_name(f".{path.name[:40]}.{new_ulid()}.new")
        with _as_store_errors(self.path):
            if not self._swept:
                _sweep(path)
                self._swept = True
            try:
                _write(beside, data, _mode(path))
                with _REPLACING, _locked(path.parent):
                    found = self._stored_revision(path) if saved.seen is not None else None
                    if not may_replace(saved, found):
                        raise refusal(str(self.path), saved, found)
                    beside.replace(path)
            finally:
                with suppress(OSError):
                    beside.unlink()
            _sync_folder(path.parent)

    def _stored_revision(self, path: Path) -> Revision | None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return read_revision(data, str(self.path)) if data else None
        except ParseError as error:
            raise StoreError(f"{error.message}. Nothing was written: choose another file.") from None

    def load(self, id: str | None = None) -> Saved:
        """The session in the file. Raises if ``id`` is given and is not the id of this session."""
        check_is_file(self.path)
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            raise missing_file(self.path) from None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror}", retryable=True) from error
        saved = read_saved(data, str(self.path))
        if id not in (None, saved.head.id):
            raise ParseError(f"{self.path} holds the session {saved.head.id}, not {id}")
        return saved


def encode(value: Any) -> bytes:
    """The JSON of a message or a head. The error names the message that cannot be written."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        who = f"message {value.id}" if hasattr(value, "role") else "the session's settings or metadata"
        raise StoreError(f"{who} cannot be saved as JSON: {error}. Change or remove that value.") from error


def check_is_file(path: Path) -> None:
    """Raise if the path is not a regular file: reading a device may never end, and a pipe may block."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # nothing is there, or opening it will raise a clear error
        return
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
        raise StoreError(f"{path} is {kind}, not a file; nothing was read or written. Choose another path.")


def missing_file(path: Path) -> FileNotFoundError:
    """The error that a load raises where there is no file."""
    return FileNotFoundError(errno.ENOENT, "No saved session here; nothing was created", str(path))


def refusal(source: str, saved: Saved, found: Revision | None) -> StoreError:
    """The error that says why a save does not replace what is stored."""
    if found is not None and found.id != saved.head.id:
        return StoreError(
            f"{source} holds another session, {found.id}; nothing was written."
            " Choose another file, or replace it with session.save(path, overwrite=True)."
        )
    return StoreError(
        f"{source}: the stored session {saved.head.id} was changed by somebody else since this one was loaded or saved;"
        " nothing was written. Load it again, or fork() this session and save the fork, to keep both."
    )


# ---------------------------------------------------------------------------------------------------------- the file


@contextmanager
def _as_store_errors(path: Path) -> Generator[None, None, None]:
    """Raise errors of the file system as ``StoreError``."""
    try:
        yield
    except OSError as error:
        why = "the disk is full" if error.errno in _FULL else error.strerror or str(error)
        raise StoreError(f"{path} could not be written: {why}. The session is unchanged.", retryable=True) from error


def _sweep(path: Path) -> None:
    """Remove temporary files of this path that are older than an hour: their processes were killed during a save."""
    with suppress(FileNotFoundError):
        for entry in path.parent.iterdir():
            if entry.name.startswith(f".{path.name[:40]}.") and entry.name.endswith(".new"):
                old = time.time() - entry.stat().st_mtime > STALE
                entry.unlink() if old else None


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes, mode: int | None) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _locked(folder: Path) -> Generator[None, None, None]:
    """Let only one process at a time compare and replace a file in this folder. A lock ends with its process."""
    if sys.platform == "win32":
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        until = time.monotonic() + WAIT
        while not _lock(opened):
            if time.monotonic() > until:
                raise OSError(errno.EWOULDBLOCK, f"another program held the folder for {WAIT:g} seconds")
            time.sleep(0.005)
        yield
    finally:
        os.close(opened)


def _lock(opened: int) -> bool:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        return True
    return True


def _sync_folder(folder: Path) -> None:
    """Make the new name of the file survive a crash. On Windows folders cannot be opened, and the system does it."""
    if sys.platform == "win32":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

"""Configuration files that are read again when they have changed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from .yaml_lines import ConfigError, Problem

__all__ = ["WatchedFile", "read_text", "stamp_of"]

log = logging.getLogger("interlingua")

T = TypeVar("T")


UNREADABLE: dict[type[Exception], str] = {
    FileNotFoundError: "there is no such file",
    IsADirectoryError: "is a folder, not a file",
    PermissionError: "cannot be read: permission denied",
    UnicodeDecodeError: "is not UTF-8 text",
}


def read_text(path: str | Path) -> str:
    """The text of a file, or ``ConfigError``."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = UNREADABLE.get(type(error), f"cannot be read: {type(error).__name__}")
        raise ConfigError(str(path), [Problem(0, why)]) from None


def stamp_of(path: str | None) -> tuple[int, int, int] | None:
    """Time, size and inode of a file; None if there is none."""
    if path is None:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class WatchedFile(Generic[T]):
    """The value that ``read`` makes of a file, now and whenever the file changes.

    ``refresh`` compares the file's stamp (one ``stat``) and reads the file again if it is new; values that were read
    before stay valid. A file with mistakes changes nothing: ``error`` says what is wrong, and it is logged once.
    """

    def __init__(self, path: Path | None, read: Callable[[], T]) -> None:
        self._path = None if path is None else str(path)
        self._read = read
        self._stamp = stamp_of(self._path)
        self.current = read()
        self.error: ConfigError | None = None

    def refresh(self) -> bool:
        """Read the file again if it changed. Returns whether there is a new value."""
        stamp = stamp_of(self._path)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self.current, self.error = self._read(), None
        except ConfigError as error:
            self.error = error
            log.warning("%s changed but has errors; the old configuration stays in use: %s", self._path, error)
            return False
        return True

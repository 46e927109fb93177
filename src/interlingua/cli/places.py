"""The folders in which the command keeps conversations, the history of input, and fetched models."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .failures import NOT_CONFIGURED, CommandError

__all__ = ["cache_folder", "chats_file", "data_folder"]


def data_folder() -> Path:
    """Interlingua's data folder: below ``XDG_DATA_HOME``, ``~/.local/share`` or ``%LOCALAPPDATA%``."""
    return _folder("XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    """Interlingua's folder for fetched files: below ``XDG_CACHE_HOME``, ``~/.cache`` or ``%LOCALAPPDATA%``."""
    return _folder("XDG_CACHE_HOME", ".cache")


def chats_file() -> Path:
    """The SQLite file with the conversations of ``interlingua chat``."""
    return data_folder() / "chats.db"


def _folder(variable: str, below_home: str) -> Path:
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else variable)
    if named:
        return Path(named) / "interlingua"
    home = os.environ.get("HOME")
    if not home:
        raise CommandError(f"there is no place for files: set {variable} or HOME", NOT_CONFIGURED)
    return Path(home) / below_home / "interlingua"

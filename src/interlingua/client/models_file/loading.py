"""Finding and reading ``models.yaml``, and reading it again when it changed."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from ...models.catalogue.layers import Layer
from .configuration import Configuration
from .models_yaml import parse_models
from .yaml_lines import ConfigError, Problem

__all__ = ["VARIABLE", "LiveConfiguration", "find_models_file", "load_configuration"]

VARIABLE = "INTERLINGUA_CONFIG"
FILE = "models.yaml"
log = logging.getLogger("interlingua.catalogue")

Stamp = tuple[int, int, int]


def find_models_file(path: str | Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read: the argument, then ``INTERLINGUA_CONFIG``, then the user's configuration folder, or None.

    A file that is named by the argument or the variable must exist.
    """
    found = _place(path, environ)
    if found is None or found.is_file():
        return found
    why = "the argument" if path is not None else VARIABLE
    if path is not None or environ.get(VARIABLE):
        raise ConfigError(str(found), [Problem(0, f"there is no such file, but {why} names it")])
    return None


def _place(path: str | Path | None, environ: Mapping[str, str]) -> Path | None:
    """Where the file is, or would be."""
    named = path if path is not None else environ.get(VARIABLE) or None
    if named is not None:
        return Path(named).expanduser()
    folder = _folder(environ)
    return None if folder is None else folder / "interlingua" / FILE


def _folder(environ: Mapping[str, str]) -> Path | None:
    if sys.platform == "win32":
        return Path(environ["APPDATA"]) if environ.get("APPDATA") else None
    if environ.get("XDG_CONFIG_HOME"):
        return Path(environ["XDG_CONFIG_HOME"])
    return Path(environ["HOME"]) / ".config" if environ.get("HOME") else None


def load_configuration(
    path: str | Path | None = None, *, environ: Mapping[str, str], layers: tuple[Layer, ...] | None = None
) -> Configuration:
    """One snapshot. Without a file it has only the built-in providers. Keys in the file cause a warning."""
    found = find_models_file(path, environ)
    if found is None:
        return Configuration(environ=environ, layers=layers)
    file, _ = parse_models(_text(found), str(found))
    made = Configuration(file, environ=environ, source=str(found), layers=layers)
    for message in made.warnings:
        warnings.warn(message, UserWarning, stacklevel=2)
    return made


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [Problem(0, f"cannot be read: {type(error).__name__}")]) from None


class LiveConfiguration:
    """The newest usable snapshot.

    ``refresh`` checks whether the file changed (one ``stat``), and then replaces the snapshot; calls that use the old
    one keep it. If the changed file has errors, the last good snapshot stays, ``error`` says what is wrong, and it is
    logged once.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        environ: Mapping[str, str],
        layers: tuple[Layer, ...] | None = None,
    ) -> None:
        self._path, self._environ, self._layers = path, environ, layers
        place = _place(path, environ)
        self._place = None if place is None else str(place)
        self._stamp = self._read_stamp()
        self.current = load_configuration(path, environ=environ, layers=layers)
        self.error: ConfigError | None = None

    def refresh(self) -> bool:
        """Whether there is a new snapshot."""
        stamp = self._read_stamp()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            loaded = load_configuration(self._path, environ=self._environ, layers=self._layers)
        except ConfigError as error:
            self.error = error
            log.warning("the configuration file changed but has errors; the old configuration stays in use: %s", error)
            return False
        self.current, self.error = loaded, None
        return True

    def _read_stamp(self) -> Stamp | None:
        """Time, size and inode of the file. Called at every turn, so it is only one ``stat``."""
        if self._place is None:
            return None
        try:
            found = os.stat(self._place)
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size, found.st_ino)

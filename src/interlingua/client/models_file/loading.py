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

    One that was named must exist; the one in the folder need not.
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
    """One snapshot. Without any file the built-in providers serve. Keys in the file are accepted with a warning."""
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

    ``refresh`` looks whether the file changed (one ``stat``) and then puts a new snapshot in the place of the old;
    whoever holds the old one is not disturbed. A file that is broken while it is being edited changes nothing: the
    last good snapshot stays, ``error`` says what is wrong, and it is logged once.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        environ: Mapping[str, str],
        layers: tuple[Layer, ...] | None = None,
    ) -> None:
        self._asked, self._environ, self._layers = path, environ, layers
        place = _place(path, environ)
        self._place = None if place is None else str(place)
        self._stamp = self._look()
        self.current = load_configuration(path, environ=environ, layers=layers)
        self.error: ConfigError | None = None

    def refresh(self) -> bool:
        """Whether there is a new snapshot."""
        stamp = self._look()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            fresh = load_configuration(self._asked, environ=self._environ, layers=self._layers)
        except ConfigError as error:
            self.error = error
            log.warning("the configuration was changed but cannot be used; the old one stays: %s", error)
            return False
        self.current, self.error = fresh, None
        return True

    def _look(self) -> Stamp | None:
        """Every turn looks: no more than a ``stat`` of the place that was found when the configuration was made."""
        if self._place is None:
            return None
        try:
            seen = os.stat(self._place)
        except OSError:
            return None
        return (seen.st_mtime_ns, seen.st_size, seen.st_ino)

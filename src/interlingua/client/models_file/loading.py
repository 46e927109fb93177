"""Finding and reading ``models.yaml``, and reading it again when it changed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from ...models.catalogue.layers import Layer
from .configuration import Configuration
from .models_yaml import parse_models
from .watching import WatchedFile, read_text
from .yaml_lines import ConfigError, Problem

__all__ = ["VARIABLE", "find_models_file", "load_configuration", "watch_configuration"]

VARIABLE = "INTERLINGUA_CONFIG"
FILE = "models.yaml"


def find_models_file(path: str | Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read: the argument, then ``INTERLINGUA_CONFIG``, then the user's configuration folder, or None.

    A file that is named by the argument or the variable must exist.
    """
    found = _place(path, environ)
    if found is None or found.is_file():
        return found
    if path is not None or environ.get(VARIABLE):
        why = "is a folder, not a file" if found.is_dir() else "there is no such file"
        named = "" if path is not None else f", but {VARIABLE} names it"
        raise ConfigError(str(found), [Problem(0, why + named)])
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
    """Read one snapshot. Without a file it has only the built-in providers. Keys in the file cause a warning."""
    found = find_models_file(path, environ)
    if found is None:
        return Configuration(environ=environ, layers=layers)
    file, _ = parse_models(read_text(found), str(found))
    made = Configuration(file, environ=environ, source=str(found), layers=layers)
    for message in made.warnings:
        warnings.warn(message, UserWarning, stacklevel=2)
    return made


def watch_configuration(
    path: str | Path | None = None, *, environ: Mapping[str, str], layers: tuple[Layer, ...] | None = None
) -> WatchedFile[Configuration]:
    """The configuration as a watched file, whose ``current`` is the newest usable snapshot."""
    return WatchedFile(_place(path, environ), lambda: load_configuration(path, environ=environ, layers=layers))

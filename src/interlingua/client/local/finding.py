"""Finds the models on this machine: in our own folder, and in those of Ollama and LM Studio."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

import msgspec
from msgspec import Struct

from ...errors import InvalidRequestError

__all__ = ["LocalModel", "find_model", "local_models", "models_folder"]

SUFFIX = ".gguf"
PROJECTOR = "mmproj"
"""The beginning of the names of files that hold only a part of a model."""
OLLAMA_LAYER = "application/vnd.ollama.image.model"
"""Ollama's media type for the layer that is the GGUF file."""


class LocalModel(Struct, frozen=True):
    """A model, and who put it there: ``interlingua``, ``ollama`` or ``lmstudio``."""

    name: str
    path: Path
    owner: str


class Layer(Struct):
    """One file of a model of Ollama."""

    media_type: str = msgspec.field(default="", name="mediaType")
    digest: str = ""


class Manifest(Struct):
    """What Ollama writes about a model."""

    layers: tuple[Layer, ...] = ()


def models_folder(environ: Mapping[str, str]) -> Path | None:
    """Our own folder: in ``XDG_CACHE_HOME``, ``~/.cache``, or ``%LOCALAPPDATA%``."""
    named = environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    home = environ.get("HOME")
    if not named and not home:
        return None
    return (Path(named) if named else Path(home or "") / ".cache") / "interlingua" / "models"


def find_model(name: str | None, environ: Mapping[str, str]) -> Path:
    """The file of a model: a path, or the name of a model that lies in one of the folders."""
    path = Path(name or "").expanduser()
    if name and (path.is_file() or path.suffix == SUFFIX):
        if not path.is_file():
            raise InvalidRequestError(f"{path}: there is no such file")
        return path.resolve()
    known = {model.name: model.path for model in local_models(environ)}
    found = known.get(name or "") or {key.lower(): path for key, path in known.items()}.get((name or "").lower())
    if found is None:
        raise InvalidRequestError(_not_found(name, list(known)))
    return found


def _not_found(name: str | None, known: list[str]) -> str:
    get = "`interlingua local get smollm2` fetches a small one"
    names = f"there are {', '.join(known)}" if known else f"there is none; {get}"
    if not name:
        return f"name a model, local:NAME or local:path/to/model.gguf; {names}"
    if not known:
        return f"no local model is called {name!r}, and there is no other; {get}, local:path/to/model.gguf is any file"
    near = get_close_matches(name, known, n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"write local:path/to/model.gguf, or one of its names: {names}"
    return f"no local model is called {name!r}; {advice}"


def local_models(environ: Mapping[str, str]) -> Iterator[LocalModel]:
    """The models in all folders."""
    own_folder, home = models_folder(environ), Path(environ.get("HOME") or environ.get("USERPROFILE") or "/nowhere")
    if own_folder is not None:
        yield from _files(own_folder, "interlingua")
    for folder in (home / ".lmstudio" / "models", home / ".cache" / "lm-studio" / "models"):
        yield from _files(folder, "lmstudio")
    yield from _ollama(Path(environ.get("OLLAMA_MODELS") or home / ".ollama" / "models"))


def _files(folder: Path, owner: str) -> Iterator[LocalModel]:
    for path in sorted(folder.rglob(f"*{SUFFIX}")) if folder.is_dir() else ():
        if not path.name.startswith(PROJECTOR):
            yield LocalModel(path.stem, path, owner)


def _ollama(folder: Path) -> Iterator[LocalModel]:
    """The models of Ollama. Its manifests contain the names of the files, which are digests of their content."""
    manifests = folder / "manifests"
    for path in sorted(manifests.rglob("*")) if manifests.is_dir() else ():
        file = _model_of(path, folder / "blobs") if path.is_file() else None
        if file is not None:
            *_, space, model, tag = path.relative_to(manifests).parts
            name = model if space == "library" else f"{space}/{model}"
            yield LocalModel(name if tag == "latest" else f"{name}:{tag}", file, "ollama")


def _model_of(manifest: Path, blobs: Path) -> Path | None:
    try:
        read = msgspec.json.decode(manifest.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None
    digest = next((layer.digest for layer in read.layers if layer.media_type == OLLAMA_LAYER), None)
    path = blobs / digest.replace(":", "-") if digest else None
    return path if path is not None and path.is_file() else None

"""Brings the agents from npm and PyPI into a folder of their own. What cannot be installed is said, and left out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .rows import PACKAGES, Package

__all__ = ["install", "version_of"]

SECONDS = 600


def install(place: Path) -> dict[str, Path]:
    """The program of each package that is there, or could be brought."""
    found: dict[str, Path] = {}
    for name, package in PACKAGES.items():
        program = place / name / package.program
        if not program.exists():
            print(f"installing {package.name}", flush=True)
            told = WAYS[package.registry](package, place / name)
            if not program.exists():
                print(f"could not install {package.name}: {told}", file=sys.stderr, flush=True)
                continue
        found[name] = program
    return found


def _run(command: list[str], folder: Path) -> str:
    """Why a command failed, in its own last words."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return " ".join((done.stderr or done.stdout).strip().splitlines()[-3:])


def _npm(package: Package, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    return _run(["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", package.name], folder)


def _pip(package: Package, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-m", "venv", str(folder)], folder)
    return _run([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *package.name.split()], folder)


WAYS = {"npm": _npm, "pip": _pip}


def version_of(name: str, place: Path) -> str:
    """The installed version."""
    package = PACKAGES[name]
    if package.registry == "npm":
        told: str = json.loads((place / name / "node_modules" / package.name / "package.json").read_text())["version"]
        return told
    first = package.name.split()[0].replace("-", "_")
    found = next((place / name).glob(f"lib/python*/site-packages/{first}-*.dist-info"))
    return found.name.removeprefix(f"{first}-").removesuffix(".dist-info")

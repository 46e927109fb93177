"""Brings the agents from npm and PyPI into a folder of their own. What cannot be installed is said, and left out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .rows import PACKAGES, Package

__all__ = ["install", "version_of"]

SECONDS = 600
NPM = "lib/node_modules/npm/bin/npm-cli.js"


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


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    """Why a command failed, in its own last words."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return " ".join((done.stderr or done.stdout).strip().splitlines()[-3:])


def _npm(package: Package, folder: Path) -> str:
    """With a Node of its own, if it could be brought: npm chooses the newest version that runs with the Node it has."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    node = folder.parent / "node" / PACKAGES["node"].program
    npm = [str(node), str(node.parents[1] / NPM)] if node.exists() else ["npm"]
    environment = {**os.environ, "PATH": f"{node.parent}:{os.environ['PATH']}"}
    command = [*npm, "install", "--no-audit", "--no-fund", "--no-update-notifier", package.name]
    return _run(command, folder, environment)


def _pip(package: Package, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-m", "venv", str(folder)], folder)
    return _run([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *package.name.split()], folder)


WAYS = {"npm": _npm, "pip": _pip}


def version_of(program: Path, node: Path | None) -> str:
    """What a program says that it is."""
    path = ":".join(str(place) for place in (program.parent, node and node.parent, "/usr/bin", "/bin") if place)
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": path}
        told = subprocess.run(
            [str(program), "--version"], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    found = re.search(r"\d+(\.\d+)+", told.stdout)
    return found[0] if found else "unknown"

"""Installs the agents from npm and PyPI into a folder of their own. One that cannot be installed is reported only."""

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
    """The program of each package that is installed already, or could be installed."""
    found: dict[str, Path] = {}
    for name, package in PACKAGES.items():
        program = place / name / package.program
        if not program.exists():
            print(f"installing {package.name}", flush=True)
            problem = WAYS[package.registry](package, place / name)
            if not program.exists():
                print(f"could not install {package.name}: {problem}", file=sys.stderr, flush=True)
                continue
        found[name] = program
    return found


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    """Run a command, and return the last lines that it printed, for the case that it failed."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return " ".join((done.stderr or done.stdout).strip().splitlines()[-3:])


def _npm(package: Package, folder: Path) -> str:
    """Use the Node that was installed here, if any: npm chooses the newest version that runs with the Node it has."""
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
    """The version that a program prints."""
    path = ":".join(str(place) for place in (program.parent, node and node.parent, "/usr/bin", "/bin") if place)
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": path}
        done = subprocess.run(
            [str(program), "--version"], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    return found[0] if found else "unknown"

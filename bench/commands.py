"""How long the command ``interlingua`` takes to start."""

from __future__ import annotations

import compileall
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Row, best

import interlingua

REQUEST = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'


def start_up() -> Iterator[Row]:
    """Wall time of the command line, against an empty interpreter."""

    def wall(*words: str) -> float:
        with tempfile.NamedTemporaryFile() as stdin:
            stdin.write(REQUEST)
            stdin.flush()
            return best(lambda: _run(words, stdin.name), seconds=1.0, rounds=9)

    compileall.compile_dir(Path(interlingua.__file__).parent, quiet=1)  # as pip does when it installs a package
    empty = wall("-c", "pass")
    yield Row("interlingua --help", wall("-m", "interlingua", "--help") / empty, 4.0)
    yield Row("interlingua translate --help", wall("-m", "interlingua", "translate", "--help") / empty, 4.0)
    work = wall("-m", "interlingua", "translate", "--quiet", "--to", "anthropic-messages")
    yield Row("interlingua translate, one small request", work / empty, 4.0, "loads two dialects")


def _run(words: tuple[str, ...], stdin: str) -> None:
    with open(stdin, "rb") as source:
        subprocess.run([sys.executable, *words], check=True, stdin=source, stdout=subprocess.DEVNULL)

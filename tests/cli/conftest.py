"""Fixtures for the tests of the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.support import Done, command
from interlingua.models.providers import PROVIDERS


@pytest.fixture
def here(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Done]:
    """Runs the command on a machine where only what the test sets is configured."""
    keys = {key for row in PROVIDERS.values() for key in row.auth.keys} | {"INTERLINGUA_CONFIG"}
    for key in keys:
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, stdin: bytes | None = None, **environment: str) -> Done:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return command(capsysbinary, monkeypatch, *words, stdin=stdin)

    return run

"""Fixtures for every test, and how hypothesis is run."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Coroutine
from pathlib import Path

import hypothesis
import pytest

from shared_data import ABSENT, CORPUS, SHARED

# No deadline: a timed test fails on a busy machine and says nothing. In CI the examples are the same in each run.
hypothesis.settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=2_000)
hypothesis.settings.load_profile("house")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data, or a skip that says why."""
    if not CORPUS.is_dir():
        pytest.skip(ABSENT)
    return SHARED


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine function runs in a loop of its own, and leaves no task behind."""
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    asyncio.run(watched(test(**{name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters})))
    return True


async def watched(coroutine: Coroutine[None, None, None]) -> None:
    await coroutine
    await asyncio.sleep(0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks left behind: {left}"

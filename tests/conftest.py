"""Fixtures for every test, and how hypothesis is run."""

from __future__ import annotations

import os
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

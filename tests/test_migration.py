"""The code that readers have before they change: it is Python, and that of the SDKs we have runs on loopback.

What takes its place is in Python blocks, which tests/test_readme.py runs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlingua import Block, Request
from interlingua.embedded import LoopbackServer, call

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "migrate"
BEFORE = re.compile(r"```py\n(.*?)```", re.DOTALL)
RUN = ("openai", "anthropic")
BLOCKS = [(page.stem, code) for page in sorted(FOLDER.glob("*.md")) for code in BEFORE.findall(page.read_text())]


def answer(request: Request) -> str | Block:
    """One call of a tool, where there is one, and then a text."""
    if request.tools and request.messages[-1].role != "tool":
        return call("weather", city="Oslo")
    return "It rains in Lima."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    with LoopbackServer.in_thread([answer] * 9) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")
        yield running


def test_every_library_has_a_page_and_both_sides() -> None:
    assert {page for page, _ in BLOCKS} == {"openai", "anthropic", "litellm", "langchain", "pydantic_ai"}
    for page in FOLDER.glob("*.md"):
        text = page.read_text()
        assert text.count("```py\n") == text.count("```python\n"), page.name


@pytest.mark.parametrize(("page", "code"), BLOCKS, ids=[f"{page}-{place}" for place, (page, _) in enumerate(BLOCKS)])
def test_the_old_code_is_python(page: str, code: str) -> None:
    compile(code, page, "exec")


OURS = [(page, code) for page, code in BLOCKS if page in RUN]


@pytest.mark.parametrize(("page", "code"), OURS, ids=[f"{page}-{place}" for place, (page, _) in enumerate(OURS)])
def test_the_old_code_of_an_sdk_runs(
    page: str, code: str, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of an SDK, about the name of a model
        shown: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(code, page, "exec"), shown)
    shown["client"].close()  # else a socket that is still open is a warning in a later test
    assert "It rains" in capsys.readouterr().out

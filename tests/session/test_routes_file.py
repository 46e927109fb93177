"""``routing.yaml``: what it may say, mistakes with their lines, and a file that changes."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from interlingua import ConfigError, Router
from interlingua.agent.routing.routes_file import read_routes
from interlingua.gateway.config import read_settings

FILE = """\
routes:
  fast: [embedded:openai-chat, embedded:gemini]
  spread: {to: {"embedded:gemini": 3, "embedded:ollama": 1}}
  claude-*: embedded:anthropic-messages
  "*": embedded:openai-chat
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "routing.yaml"
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))
    return path


def test_a_router_has_the_route_of_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    assert Router.from_file(path, "fast").models == ("embedded:openai-chat", "embedded:gemini")
    assert Router.from_file(path, "spread").weights == {"embedded:gemini": 3, "embedded:ollama": 1}
    assert Router.from_file(path, "claude-opus").models == ("embedded:anthropic-messages",)
    assert Router.from_file(path).models == ("embedded:openai-chat",)


def test_the_gateway_reads_the_same_routes() -> None:
    assert read_settings(FILE).routes == read_routes(FILE)


MISTAKES = (
    ("routs: {}\n", 1, "did you mean `routes`"),
    ("routes:\n  a: 7\n", 2, "routes.a"),
    ("routes:\n  a: x\n  b: {to: {m: 0}}\n", 3, "above 0"),
    ("routes:\n  a: {to: m, losses: strict}\n", 2, "only the gateway reads it"),
    ("settings: {}\nroutes: {a: x}\n", 1, "unknown key `settings`"),
    ("- a\n", 1, "must be a mapping"),
)


@pytest.mark.parametrize(("text", "line", "told"), MISTAKES)
def test_a_mistake_is_told_with_its_line(text: str, line: int, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Router.from_file(written(tmp_path, text), "a")
    assert [problem.line for problem in caught.value.problems] == [line]
    assert told in str(caught.value)


def test_a_missing_route_or_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no route is called 'b'; there are a"):
        Router.from_file(written(tmp_path, "routes: {a: x}\n"), "b")
    with pytest.raises(ConfigError, match="there is no such file"):
        Router.from_file(tmp_path / "none.yaml")


def test_a_file_that_changes_is_read_before_the_next_turn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, FILE)
    router = Router.from_file(path, "fast")
    begun = router.route()
    written(tmp_path, FILE.replace("fast: [", "fast: [embedded:ollama, "))
    assert router.route().candidates[0].id == "embedded:ollama"
    assert len(begun.candidates) == 2
    with caplog.at_level(logging.WARNING):
        for bad in ("routes: 7\n", "routes: {slow: x}\n"):
            written(tmp_path, bad)
            assert len(router.route().candidates) == 3
    assert "routing.yaml:1: `routes` must be a mapping" in caplog.text
    assert "no route is called 'fast'" in caplog.text
    written(tmp_path, FILE.replace("[embedded:openai-chat, embedded:gemini]", "embedded:gemini"))
    assert len(router.route().candidates) == 1

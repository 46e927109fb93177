"""Every example runs, on the scripted model, and says what it should."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
SAID = {
    # example       what it is given   what it must say
    "chat.py": ("Hello there\n\n", ["Hello there", "tokens"]),
    "agent.py": ("", ["asks before delete_file", "buy milk", "3 steps", "left: ['notes.txt']"]),
    "move.py": ("", ["It rains in Oslo.", "gemini: legal True", "weather({'city': 'Oslo'})", "tu_"]),
    "typed.py": ("", ["Review(mood=<Mood.good: 'good'>, stars=5, names=['Ada'])"]),
    "batch.py": ("", ["200 done, 0 failed, 0 from", "200 from the journal"]),
    "provider.py": ("", ["Hello from Acme. · acme"]),
}
ELSEWHERE = {"server.py", "test_with_cassettes.py", "notebook.ipynb"}  # with a test of their own below


def test_every_example_is_tested() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} == {*SAID, *ELSEWHERE}


def run(*command: str, given: str = "") -> str:
    env = {**os.environ, "PYTHONPATH": str(FOLDER.parent / "src")}
    done = subprocess.run(
        (sys.executable, *command), input=given, capture_output=True, text=True, check=False, env=env, timeout=120
    )
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SAID)
def test_an_example_says_what_it_should(name: str) -> None:
    given, words = SAID[name]
    said = run("-W", "error", str(FOLDER / name), given=given)
    assert [word for word in words if word not in said] == [], said


def test_the_tests_with_cassettes_pass() -> None:
    assert "1 passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(FOLDER / "test_with_cassettes.py"))


def test_the_endpoint_streams() -> None:
    from starlette.testclient import TestClient

    spec = importlib.util.spec_from_file_location("example_server", FOLDER / "server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with TestClient(module.app) as web, web.stream("POST", "/ask", json={"question": "Hello you there"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    texts = [json.loads(line.removeprefix("data: "))["text"] for line in lines if '"text"' in line]
    assert len(texts) > 1
    assert "Hello you there" in "".join(texts)
    assert lines[-2] == "event: done"


def test_the_notebook_runs_and_says_what_it_shows() -> None:
    """Cell by cell in one namespace; what is printed is what the notebook shows."""
    cells = json.loads((FOLDER / "notebook.ipynb").read_text())["cells"]
    namespace: dict[str, object] = {"__name__": "__main__"}
    for place, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), f"cell {place}", "exec"), namespace)
        shown = "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")
        assert printed.getvalue() == shown

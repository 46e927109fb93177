"""The judge of runs with real agents tells good from bad, and the plan leaves nothing out. `make agents` runs them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlingua.gateway.clients import CLIENTS
from lab.agents import rows, run as running
from lab.agents.faults import FAULTS, Cell, plan
from lab.agents.page import rewrite
from lab.agents.results import Result, append, read
from lab.agents.run import Seen
from lab.agents.scripted import FINAL
from lab.agents.verdict import verdict

DONE = Seen(exit=0, output=f"…{FINAL}", ran=1, requests=2, whole=0, results=1, seconds=1.0)


def judged(fault: str, *, agent: str = "claude", upstream: str = "chat", **seen: Any) -> tuple[bool, str]:
    return verdict(Cell(agent, fault, upstream), msgspec.structs.replace(DONE, **seen))


def test_every_agent_meets_every_fault_once_and_every_upstream_without_one() -> None:
    cells = list(plan())
    assert cells == list(plan())
    assert len({cell.label for cell in cells}) == len(cells)
    full = [agent for agent in rows.AGENTS.values() if not agent.once]
    for agent in full:
        met = Counter(cell.fault for cell in cells if cell.agent == agent.name)
        assert met.pop("none") == 5
        assert met.pop("danger", 0) <= 1
        assert met == dict.fromkeys(set(FAULTS) - {"none", "danger"}, 1)
    over = Counter(cell.upstream for cell in cells if cell.fault == "cut in call")
    assert sorted(over.values()) == [3, 3, 3, 4]
    assert {agent.client for agent in rows.AGENTS.values()} == set(CLIENTS)


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in ("parallel", "cut in text")])
def test_a_task_is_finished_when_it_was_done_and_told(fault: str) -> None:
    assert judged(fault, whole=1 if FAULTS[fault].unfinished else 0) == (True, "finished")


def test_what_was_told_and_not_done_is_no_success() -> None:
    assert judged("none", ran=0) == (False, "said that all is done, with 0 commands run of 1")
    assert judged("parallel", ran=1) == (False, "said that all is done, with 1 commands run of 2")
    assert judged("none", upstream="llama.cpp", results=0)[0] is False


def test_a_fault_may_end_a_run_if_the_agent_says_so() -> None:
    assert judged("500", exit=1, output="", ran=0) == (True, "gave up")
    assert judged("none", exit=1, output="", ran=0) == (False, "gave up")
    assert judged("overflow", exit=None, output="", ran=0) == (True, "still trying")
    assert judged("429", exit=None, output="", ran=0) == (False, "still trying")
    assert judged("500", agent="goose, chat", output="Ran into this error: no", ran=0) == (True, "gave up")


def test_a_cut_taken_for_success_fails_and_so_does_a_call_that_was_not_finished() -> None:
    assert judged("cut in text", output="All done: c", ran=0) == (False, "ended as if all were well")
    assert judged("cut in call", exit=1, ran=1) == (False, "ran a call that was never finished")
    assert judged("cut in call", ran=1, whole=1) == (True, "finished")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"messages": [{"role": "tool", "content": "x"}]}, True),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}, True),
        ({"input": [{"type": "custom_tool_call_output"}]}, True),
        ({"contents": [{"parts": [{"functionResponse": {}}]}]}, True),
        ({"messages": [{"role": "assistant", "tool_calls": [{"type": "function"}]}]}, False),
    ],
)
def test_the_result_of_a_call_is_found_in_every_protocol(tmp_path: Path, body: Any, found: bool) -> None:
    (tmp_path / "001.json").write_bytes(msgspec.json.encode(body))
    assert [has for _, has in running.answer_requests(tmp_path)] == [found]


def test_an_agent_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '60'])"]
    assert running.finish(command, {}, tmp_path, tmp_path / "said", 0.5) is None


def test_the_last_result_of_a_run_counts_and_stands_in_the_page(tmp_path: Path) -> None:
    file, page = tmp_path / "results.jsonl", tmp_path / "page.md"
    cell = Cell("claude", "cut in call", "gemini")
    for passed, what in ((False, "ran a call that was never finished"), (True, "gave up")):
        append(file, Result(cell, passed, what, "2.1", DONE))
    page.write_text((Path(__file__).parents[2] / "docs" / "agents.md").read_text())
    text = rewrite(page, read(file))
    assert "1 of 1 runs pass. claude 2.1." in text
    assert "gave up, 1 s (gemini)" in text
    page.write_text(text)
    assert rewrite(page, read(file)) == text

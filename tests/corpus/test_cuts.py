"""Recorded streams, cut: a block that the bytes do not finish is not finished in our events or in what we write.

A small seeded part of ``make cuts``.
"""

from __future__ import annotations

import pytest

from interlingua.dialects import DIALECTS
from lab.cuts.cli import as_text, main
from lab.cuts.run import Options, Report, measure
from shared_data import CORPUS, needs_shared

pytestmark = needs_shared

PART = Options(CORPUS, places=6, seed=10, sample=16, workers=1)


@pytest.fixture(scope="module")
def report() -> Report:
    return measure(PART)


def test_nothing_unfinished_looks_finished(report: Report) -> None:
    assert [" | ".join(fault) for fault in report.faults] == []


def test_streams_of_every_dialect_were_cut_and_some_calls_were_finished(report: Report) -> None:
    for name in DIALECTS:
        assert report.counts[name, "states"] > report.counts[name, "streams"] > 0
    assert sum(report.counts[name, "calls"] for name in DIALECTS) > 50


def test_the_table_names_every_source(report: Report) -> None:
    assert all(name in as_text(report) for name in DIALECTS)


def test_the_command_answers_with_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(CORPUS), "--only", "ollama", "--places", "2", "--sample", "9", "--workers", "1"]
    assert main(words) == 0
    assert "0 faults" in capsys.readouterr().out


def test_a_dialect_that_nobody_speaks_is_refused() -> None:
    with pytest.raises(SystemExit) as refused:
        main([str(CORPUS), "--only", "klingon"])
    assert refused.value.code == 2

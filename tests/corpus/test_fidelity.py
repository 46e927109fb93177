"""The fidelity report on a small sample of the recordings: it runs, it holds its strict bars, it can be printed."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest

from interlingua.dialects import DIALECTS
from lab.fidelity import Options, Report, measure, verdicts
from lab.fidelity.bars import DIALECT_BARS, PAIR_BARS
from lab.fidelity.cli import main
from lab.fidelity.console import as_json, as_text
from lab.fidelity.markdown import as_markdown
from lab.fidelity.reasons import reason_for
from shared_data import CORPUS, needs_shared

PER_FILE = 24

pytestmark = needs_shared


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some records of each file, evenly spread, half of the files gzip'd and half not, and one line that is no JSON."""
    folder = tmp_path_factory.mktemp("sample")
    for number, path in enumerate(sorted(CORPUS.glob("*.jsonl.gz"))):
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        chosen = b"".join(lines[:: max(1, len(lines) // PER_FILE)])
        if number % 2:
            (folder / path.name).write_bytes(gzip.compress(chosen))
        else:
            (folder / path.name.removesuffix(".gz")).write_bytes(chosen)
    (folder / "odd.jsonl").write_bytes(b"not JSON\n")
    return folder


@pytest.fixture(scope="module")
def report(sample: Path) -> Report:
    return measure(Options(sample, workers=1))


def test_every_dialect_and_pair_was_measured(report: Report) -> None:
    assert set(report.dialects) == set(DIALECTS)
    for name in report.dialects:
        assert report.tally.get(name, "requests exact") > 0
        assert report.tally.get(name, "grammar") > 0
    assert all(report.tally.get(f"{one} -> {other}", "translated") > 0 for one, other in report.pairs)
    assert len(report.pairs) == len(DIALECTS) * (len(DIALECTS) - 1)


def test_an_odd_record_is_reported_and_the_rest_is_read(report: Report) -> None:
    assert report.tally.score("corpus", "records read").failed == 1
    assert "cohere" in report.tally.names("corpus", "not covered ")


def test_what_the_bars_count_holds_or_is_explained(report: Report) -> None:
    measures = {bar.measure for bar in (*DIALECT_BARS, *PAIR_BARS)}
    open_cases = [
        " | ".join(failure)
        for failure in report.tally.failures
        if failure.measure in measures and reason_for(failure) is None
    ]
    assert open_cases == []


def test_the_report_can_be_printed(report: Report) -> None:
    found = verdicts(report)
    text, page = as_text(report, found), as_markdown(report, found)
    for name in report.dialects:
        assert name in text
        assert name in page
    decoded = msgspec.json.decode(msgspec.json.encode(as_json(report, found)))
    assert set(decoded["dialects"]) == set(report.dialects)
    assert len(decoded["pairs"]) == len(report.pairs)


def test_the_command_answers_with_a_code_and_a_page(
    sample: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "fidelity.md"
    words = [str(sample), "--dialects", "anthropic-messages", "--no-pairs", "--workers", "1", "--out", str(page)]
    code = main(words)
    out, err = capfd.readouterr()
    assert code == int("BAR MISSED" in out)
    assert "anthropic-messages" in page.read_text(encoding="utf-8")
    assert "odd.jsonl: 1 of 1" in err


def test_two_processes_find_what_one_finds(sample: Path, report: Report) -> None:
    again = measure(Options(sample, ("ollama",), pairs=False, workers=2))
    name = "requests exact"
    assert again.tally.score("ollama", name) == report.tally.score("ollama", name)


def test_a_directory_without_recordings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as refused:
        main([str(tmp_path)])
    assert refused.value.code == 2

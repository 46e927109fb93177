"""The integration matrix: the same conversations in six dialects, four ways, over HTTP on loopback, to one outcome.

The table is ``lab.integration.rows``. ``pytest -s`` prints it with what was seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import DIALECTS, Loss, Message, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.client.embedded import LoopbackServer, Step
from lab.integration import CELLS, ROWS, WAYS, Readers, Row, Seen, play, play_all, promised, rewrite, table, transcript
from lab.integration.losses import LOSSES, amiss
from lab.integration.rows import SIMPLE, STRICT, WRITE

SDKS = ("anthropic", "openai", "google.genai", "ollama", "botocore")
for name in SDKS:
    pytest.importorskip(name, reason="the oracles are the official clients: pip install 'interlingua[dev]'")
eventstream = pytest.importorskip("botocore.eventstream")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integration.md"


def test_every_conversation_in_every_dialect_every_way() -> None:
    seen, wrong = play_all(ROWS)
    print("\n" + "\n".join(table(seen)))
    assert wrong == []
    assert seen == {(row.name, dialect): promised(row) for row in ROWS for dialect in DIALECTS}


def test_the_matrix_has_every_dialect_and_every_way() -> None:
    assert {dialect for dialect, _ in CELLS} == set(DIALECTS) == set(LOSSES)
    assert len(CELLS) == len(DIALECTS) * len(WAYS) == 6 * 4
    assert len({row.name for row in ROWS}) == len(ROWS) == 11


def test_the_page_is_up_to_date() -> None:
    """``python -m lab.integration docs/integration.md`` writes it anew."""
    assert PAGE.read_text(encoding="utf-8") == rewrite(PAGE)


# ------------------------------------------------------------------------------------------------------ strict schemas


@pytest.fixture(scope="module")
def stage() -> Iterator[tuple[LoopbackServer, Readers]]:
    with LoopbackServer.in_thread() as server, Readers() as readers:
        yield server, readers


@pytest.mark.parametrize("dialect", DIALECTS)
def test_in_strict_mode_the_model_did_say_null(dialect: str, stage: tuple[LoopbackServer, Readers]) -> None:
    """The row would prove nothing if no null were sent. Where strict mode allows optional members, none are."""
    seen = play(STRICT, dialect, "SyncSession.run", *stage)
    nulls = seen.meant[0].count("null")
    assert seen.problems == ()
    assert nulls == {"openai-chat": 7, "openai-responses": 7}.get(dialect, 3)


# ------------------------------------------------------------------------------------------- the checks can see: guilty


# fmt: off
GUILTY: dict[str, tuple[Row, str]] = {
    # what is wrong           with the row                                      what is said of it
    "another outcome":        (replace(WRITE, outcome=WRITE.outcome[:-1]),      "line 3: 'assistant (end_turn): wrote"),
    "another file":           (replace(WRITE, files={"poems/rose.md": "red"}),  "the files are {'poems/rose.md': "),
    "other tools":            (replace(WRITE, tool_count=4),                    "3 tools arrived, and not 4"),
    "more requests":          (replace(WRITE, bodies=3),                        "2 requests, and not 3"),
    "it failed":              (replace(WRITE, steps=(Step(act="fail"),)),       "'A poem, please, in poems/rose.md"),
    "nothing was left out":   (replace(WRITE, shortened=2),                     "0 messages were left out, and not 2"),
    "the tools saw nothing":  (replace(STRICT, noted=()),                       "the tools saw ['{\"comfort\":"),
}
# fmt: on


@pytest.mark.parametrize("name", GUILTY)
def test_a_row_that_is_not_kept_is_seen(name: str, stage: tuple[LoopbackServer, Readers]) -> None:
    row, told = GUILTY[name]
    seen = play(row, "anthropic-messages", "SyncSession.run", *stage)
    assert any(line.startswith(told) for line in seen.problems), seen.problems


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_that_says_something_else_is_seen(
    dialect: str, streamed: bool, stage: tuple[LoopbackServer, Readers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One letter of the bytes is changed before the vendor's client reads them."""
    server, readers = stage
    read = Readers.read

    def misread(self: Readers, dialect: str, exchange: Any, *, streamed: bool) -> Any:
        changed = type(exchange)(exchange.request)
        changed.status, changed.headers = exchange.status, exchange.headers
        changed.chunks = [exchange.body.replace(b"rose", b"lily")]
        return read(self, dialect, changed, streamed=streamed)

    monkeypatch.setattr(Readers, "read", misread)
    if dialect == "bedrock-converse" and streamed:  # its frames have checksums
        with pytest.raises(eventstream.ChecksumMismatch):
            play(WRITE, dialect, "SyncSession.run_stream", server, readers)
        return
    seen = play(WRITE, dialect, "SyncSession.run_stream" if streamed else "SyncSession.run", server, readers)
    assert [line[:14] for line in seen.problems] == ["the SDK reads "] * 2


def test_a_body_that_the_vendor_would_refuse_is_seen(
    stage: tuple[LoopbackServer, Readers], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lab.integration import stage as module

    real = module.faults_of
    monkeypatch.setattr(module, "faults_of", lambda body, dialect: real({**body, "new": 1}, dialect))
    for dialect in DIALECTS:
        seen: Seen = play(WRITE, dialect, "SyncSession.run", *stage)
        assert [line.partition(":")[0] for line in seen.problems] == ["body 0", "body 1"], dialect


@pytest.mark.parametrize("dialect", DIALECTS)
def test_losses_other_than_in_the_table_are_seen(dialect: str) -> None:
    """One that it does not name, one that it names for another row, and one that it names and that is not there."""
    content = Loss("messages/0/content/0", "dropped", "no word for it")
    named = [Loss(known.path.replace("N", "0"), known.kind, known.why) for known in LOSSES[dialect]]
    due = [name for name in told(SIMPLE, dialect, ()) if name.startswith("not lost: ")]
    assert told(SIMPLE, dialect, [*named, content])[-1].startswith("lost: ")
    assert len(told(SIMPLE, dialect, [*named, content])) == 1 + len(named) - len(due)
    assert len(told(STRICT, dialect, ())) > 0


def told(row: Row, dialect: str, losses: Iterable[Loss]) -> list[str]:
    return list(amiss(row, dialect, losses, streamed=True))


def test_a_transcript_tells_all_that_matters() -> None:
    messages = [
        Message("user", "hi"),
        Message("assistant", [TextBlock("so"), ToolUseBlock("c1", "add", input={"b": 1, "a": [None]})]),
        Message("tool", [ToolResultBlock("c1", "no", is_error=True)]),
        Message("assistant", "bye", metadata={"stop_reason": "end_turn"}),
    ]
    assert transcript(messages) == [
        "user: hi",
        'assistant: so + add{"a":[null],"b":1}',
        "tool: add failed no",
        "assistant (end_turn): bye",
    ]
    assert json.loads(transcript(messages)[1].partition("add")[2]) == {"a": [None], "b": 1}

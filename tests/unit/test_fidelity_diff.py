"""Every check of the fidelity report can fail: small guilty cases, each beside its innocent twin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interlingua.types import (
    BlockComplete,
    BlockStart,
    Encoded,
    Event,
    Loss,
    LossKind,
    Message,
    MessageComplete,
    MessageStart,
    Request,
    Response,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolUseBlock,
)
from lab.fidelity import bars, reasons, same, streams
from lab.fidelity.align import align
from lab.fidelity.edits import Edit, editable, put
from lab.fidelity.losses import Comparison
from lab.fidelity.pairs import oracle_faults
from lab.fidelity.records import Record, model_and_stream, read_record
from lab.fidelity.run import Work, measure_work
from lab.fidelity.shows import show_faults
from lab.fidelity.tally import Failure, Fault, Tally
from lab.fidelity.trees import count_leaves, pattern, plain
from lab.fidelity.usages import usage_faults, wire_usage

# ------------------------------------------------------------------------------------------------ the generic diff


def turn(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def compared(before: dict[str, Any], after: dict[str, Any], *losses: tuple[str, LossKind]) -> Comparison:
    return Comparison(before, after, [Loss(path, kind, "because") for path, kind in losses])


def kinds(faults: Sequence[Fault]) -> list[str]:
    return [fault.kind for fault in faults]


COMPARED = [
    json.loads(line)
    for line in Path(__file__).with_name("fidelity_diff.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("line", COMPARED, ids=lambda line: line["case"])
def test_what_is_not_declared_and_what_is_declared_for_nothing_is_found(line: Any) -> None:
    found = compared(line["before"], line["after"], *line["losses"])
    assert kinds(found.undeclared()) == line["undeclared"]
    assert kinds(found.additions()) == line["additions"]
    assert kinds(found.over_declared()) == line["over_declared"]


def test_align_gives_up_what_a_loss_declares() -> None:
    assert align(["x", "x"], ["x"], {0}) == [(0, None), (1, 0)]
    assert align(["x", "x"], ["x"], {1}) == [(0, 0), (1, None)]
    assert align([turn("user", "a")], [turn("assistant", "b"), turn("user", "a")]) == [(None, 0), (0, 1)]


def test_plain_leaves_out_what_is_on_no_wire() -> None:
    call = ToolUseBlock(id="c", name="f", native_ids={"x": "y"}, forms={"d": 1})
    message = Message(role="assistant", content=(call,), id="1", metadata={"a": 1})
    assert plain(message) == {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f"}]}


# ------------------------------------------------------------------------------------------------- round trips


def test_a_body_that_is_not_exact_is_found() -> None:
    tally = Tally()
    assert same.exactness(tally, "d", {"a": 1, "b": None}, {"b": None, "a": 1.0}) == []
    assert kinds(same.exactness(tally, "d", {"a": [{"b": True}]}, {"a": [{"b": 1}]})) == ["changed a/*/b"]
    assert kinds(same.exactness(tally, "d", {"a": None}, {})) == ["lost a"]
    assert kinds(same.exactness(tally, "d", {}, {"a": []})) == ["added a"]


def test_a_normalisation_is_applied_when_needed_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally()
    drop = reasons.Normalisation("no nulls", "", lambda _, wire: {k: v for k, v in wire.items() if v is not None})
    monkeypatch.setattr(same, "NORMALISATIONS", (drop,))
    assert same.exactness(tally, "d", {"a": 1, "b": None}, {"a": 1}) == []
    assert same.exactness(tally, "d", {"a": 1}, {"a": 1}) == []
    assert tally.get("d", "normalised no nulls") == 1


def test_an_exception_is_a_failure_and_not_the_end() -> None:
    tally = Tally()
    assert tally.attempt("d", "requests decoded", "r#0", lambda: list[int]().pop()) is None
    assert tally.score("d", "requests decoded") == (0, 1)
    assert tally.failures[0].kind.startswith("IndexError")


def test_odd_records_are_reported() -> None:
    lines = [b"{", b"[]", b'{"dialect": "cohere"}', b'{"dialect": "openai-chat", "status": "odd", "response": {}}']
    _, tally = measure_work(Work("openai-chat.jsonl", 0, lines, ("openai-chat",), 1))
    assert tally.score("corpus", "records read") == (1, 4)
    assert tally.names("corpus", "not covered ") == {"cohere": 1}
    assert [failure.record for failure in tally.failures] == [f"openai-chat.jsonl:{n}" for n in (1, 2, 4)]


# ------------------------------------------------------------------------------------------------------- edits

TEXT = Edit(("system", 0, "text"), "text", "old", "old edited")


@pytest.mark.parametrize(
    ("edit", "before", "after", "kind"),
    [
        (TEXT, {"s": "old"}, {"s": "old"}, "system/text does not show"),
        (TEXT, {"s": "old", "t": 1}, {"s": "old edited", "t": 2}, "system/text changes body/t"),
        (TEXT, {"s": "old"}, {"s": "other"}, "system/text changes body/s"),
        (
            TEXT,
            {"a": {"s": "old"}, "b": ["old"]},
            {"a": {"s": "old edited"}, "b": ["old edited"]},
            "system/text changes 2",
        ),
        (Edit(("seed",), "number", 1, 2), {"seed": 1}, {"seed": 3}, "seed changes body/seed"),
        (Edit(("stream",), "flag", True, False), {"stream": True, "n": 1}, {"stream": False, "n": 2}, "stream changes"),
    ],
)
def test_an_edit_that_shows_badly_is_found(edit: Edit, before: Any, after: Any, kind: str) -> None:
    faults = show_faults(edit, Encoded(before), Encoded(after))
    assert len(faults) == 1
    assert faults[0].kind.startswith(kind)


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (TEXT, {"s": ["old"]}, {"s": ["old edited"]}),
        (TEXT, {"s": {"one": "old", "two": "old"}}, {"s": {"one": "old edited", "two": "old edited"}}),
        (Edit(("content", 0, "input", "a"), "number", 1, 2), {"args": '{"a": 1}'}, {"args": '{"a":2}'}),
        (Edit(("usage", "input_tokens"), "number", 5, 6), {"p": 5, "total": 9}, {"p": 6, "total": 10}),
        (Edit(("stream",), "flag", True, False), {"stream": True, "stream_options": {"x": True}}, {"stream": False}),
    ],
)
def test_an_edit_that_shows_well_passes(edit: Edit, before: Any, after: Any) -> None:
    assert show_faults(edit, Encoded(before), Encoded(after)) == []


def test_a_place_without_a_word_must_be_declared() -> None:
    lossy = Encoded({}, losses=(Loss("system/0", "dropped", "no word"),))
    assert show_faults(TEXT, Encoded({}), lossy) == []


def test_edits_are_of_leaves_that_mean_something_alone() -> None:
    call = ToolUseBlock(id="c", name="f", input={"a": 1}, input_text='{"a": 1}')
    request = Request(messages=(Message(role="assistant", content=(call,)),), temperature=0.5, extras={"d": {"x": 1}})
    places = {edit.place for edit in editable(request)}
    assert places == {"temperature", *(f"messages/0/content/0/{leaf}" for leaf in ("id", "name", "input/a"))}
    edited = put(request, ("messages", 0, "content", 0, "input", "a"), 2)
    assert edited.messages[0].content[0].input == {"a": 2}
    assert call.input == {"a": 1}


# ----------------------------------------------------------------------------------------------------- streams

TEXT_STREAM: list[Event] = [
    MessageStart(),
    BlockStart(0, TextBlock(text="")),
    TextDelta(0, "hi"),
    BlockComplete(0, TextBlock(text="hi")),
    MessageComplete(Response(content=(TextBlock(text="hi"),))),
]


def test_a_grammar_violation_is_found() -> None:
    assert streams.grammar_faults(TEXT_STREAM) == []
    assert kinds(streams.grammar_faults(TEXT_STREAM[1:])) == ["block.start may not come"]
    assert kinds(streams.grammar_faults(TEXT_STREAM[:-1])) == ["no message.complete at the end"]
    assert kinds(streams.grammar_faults([])) == ["no message.complete at the end"]


def test_a_decoder_that_minds_the_split_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "decode", lambda name, chunks: (TEXT_STREAM, None))
    assert streams.split_faults("d", "r#0", b"some bytes", TEXT_STREAM) == []
    monkeypatch.setattr(streams, "decode", lambda name, chunks: (TEXT_STREAM[: len(chunks)], None))
    assert kinds(streams.split_faults("d", "r#0", b"some bytes", TEXT_STREAM)) == ["random cuts"]


def test_cuts_keep_the_bytes() -> None:
    wire = bytes(range(200))
    assert all(b"".join(chunks) == wire for chunks in streams.cuts("r#0", wire))
    assert list(streams.cuts("r#0", wire)) == list(streams.cuts("r#0", wire))


def test_answers_that_differ_are_told_apart() -> None:
    one, other = Response(content=(TextBlock(text="a"),), id="1"), Response(content=(TextBlock(text="b"),), id="2")
    assert kinds(list(same.unlike(one, other))) == ["content/*/text", "id"]
    assert kinds(list(same.unlike(one, other, [Loss("content/0", "dropped", "")]))) == ["id"]
    assert list(same.unlike(one, one)) == []


# --------------------------------------------------------------------------------------- usage, oracle, records


@pytest.mark.parametrize(
    ("usage", "kind"),
    [
        (TokenUsage(input_tokens=10), "prompt total"),
        (TokenUsage(input_tokens=-1, cached_input_tokens=8), "negative input_tokens"),
        (TokenUsage(input_tokens=7, output_tokens=1, reasoning_tokens=2), "more reasoning than output"),
        (None, "usage is lost"),
    ],
)
def test_usage_that_does_not_add_up_is_found(usage: TokenUsage | None, kind: str) -> None:
    counted = wire_usage("openai-chat", [{"usage": {"prompt_tokens": 7, "total_tokens": None}}])
    assert kinds(usage_faults("openai-chat", Response(usage=usage), counted)) == [kind]


def test_usage_that_adds_up_passes() -> None:
    wire = {"usage": {"input_tokens": 3, "cache_read_input_tokens": 4}}
    usage = TokenUsage(input_tokens=3, cached_input_tokens=4)
    assert usage_faults("anthropic-messages", Response(usage=usage), wire_usage("anthropic-messages", [wire])) == []


def test_the_oracle_is_asked() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "no_such_key": 1}
    faults, warnings = oracle_faults(body, "openai-chat")
    assert [fault.detail.split(":")[0] for fault in faults] == ["no_such_key"]
    assert warnings == []


def test_an_answer_is_read_as_what_it_is() -> None:
    def answer(**wire: Any) -> Record:
        record = read_record({"id": "r#0", "url_path": "/v1/chat/completions", **wire}, "openai-chat")
        assert record is not None
        return record

    assert answer(status=200, response={"id": "1"}).whole == {"id": "1"}
    assert answer(response_text='{"id": "1"}').whole == {"id": "1"}
    assert answer(response_text="data: {}\n\n", stream=True).stream == b"data: {}\n\n"
    assert answer(status=429, response={"error": 1}).error == (429, b'{"error":1}')
    assert not answer(url_path="/v1/models").generation


def test_the_model_is_read_from_the_url() -> None:
    assert model_and_stream("gemini", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse") == (
        "gemini-2.5-pro",
        True,
    )
    assert model_and_stream("bedrock-converse", "/model/a.b-v1%3A0/converse") == ("a.b-v1:0", False)
    assert model_and_stream("openai-chat", "/v1/chat/completions") == (None, None)


def test_leaves_are_scalars() -> None:
    assert count_leaves({"a": [1, None, {}], "b": {"c": "x", "d": []}}) == (3, 2)


def test_patterns_have_no_positions() -> None:
    assert pattern("messages/12/content/0/text") == "messages/*/content/*/text"


# -------------------------------------------------------------------------------------------------------- bars


def test_a_reason_excuses_a_law_but_no_bar_of_an_issue(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally()
    tally.check("d", "usage", "r#0", [Fault("prompt total", "")])
    law, issue = bars.Bar("usage", "usage", excusable=True), bars.Bar("usage", "usage")
    assert not bars.verdict(tally, "d", law).reached
    monkeypatch.setattr(reasons, "REASONS", (reasons.Reason("edited by hand", measure="usage", record="r#"),))
    assert reasons.reason_for(Failure("d", "usage", "prompt total", "r#0", "")) == "edited by hand"
    assert bars.verdict(tally, "d", law).reached
    assert not bars.verdict(tally, "d", issue).reached

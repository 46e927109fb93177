"""The laws over arbitrary conversations: any block, any field, any split of the bytes, any interleaving of blocks."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from conformance.matrix import SPOKEN
from interlingua import AdapterError, Event, Request, Response, StreamGrammar, dialect, fold, unfold
from interlingua.testing import conformance, strategies
from lab.oracles import WARNING, problems

# Known failures: a property that sometimes fails for a dialect, and why. Remove the row when it is fixed.
OPEN: dict[str, dict[str, str]] = {}

# The same examples in every run; `pytest --hypothesis-profile=thorough` looks for more.
THOROUGH = settings.get_current_profile_name() == "thorough"
odd = settings(suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example))
modest = odd if THOROUGH else settings(odd, max_examples=80, derandomize=True)
few = odd if THOROUGH else settings(odd, max_examples=30, derandomize=True)


def over(prop: str) -> pytest.MarkDecorator:
    """Every dialect except those where the property is known to fail."""
    known = {name: OPEN.get(name, {}).get(prop) for name in SPOKEN}
    marked = [
        pytest.param(name, marks=[pytest.mark.xfail(reason=why, run=False)] if why else [])
        for name, why in known.items()
    ]
    return pytest.mark.parametrize("name", marked)


@over("request")
@modest
@given(data=st.data())
def test_law_1_requests_come_back_or_tell_why(name: str, data: st.DataObject) -> None:
    conformance.check_request(name, data.draw(strategies.requests(name)))


@over("response")
@modest
@given(data=st.data())
def test_law_1_answers_come_back_or_tell_why(name: str, data: st.DataObject) -> None:
    conformance.check_response(name, data.draw(strategies.responses(name)))


@over("error")
@modest
@given(error=strategies.errors())
def test_law_1_errors_keep_their_class(name: str, error: AdapterError) -> None:
    conformance.check_error(name, error)


@over("whole")
@modest
@given(data=st.data())
def test_law_3_a_stream_is_its_whole(name: str, data: st.DataObject) -> None:
    conformance.check_stream_is_whole(name, data.draw(strategies.responses(name)))


@over("split")
@modest
@given(data=st.data())
def test_law_4_any_split_gives_the_same_events(name: str, data: st.DataObject) -> None:
    said, _ = conformance.encode_events(name, data.draw(strategies.event_streams(name)))
    conformance.check_any_split(name, said, data.draw(strategies.splits(said)))


@modest
@given(response=strategies.responses("anthropic-messages"))
def test_law_5_fold_undoes_unfold(response: Response) -> None:
    conformance.check_fold(response)


@modest
@given(events=strategies.event_streams())
def test_law_5_any_interleaving_is_grammatical_and_folds(events: list[Event]) -> None:
    grammar = StreamGrammar()
    for event in events:
        grammar.check(event)
    assert fold(events) == events[-1].response  # type: ignore[union-attr]


@over("events")
@modest
@given(data=st.data())
def test_law_5_any_interleaving_comes_through_the_bytes(name: str, data: st.DataObject) -> None:
    conformance.check_events(name, data.draw(strategies.event_streams(name)))


@over("cut")
@few
@given(data=st.data())
def test_law_7_a_cut_stream_never_looks_finished(name: str, data: st.DataObject) -> None:
    response = data.draw(strategies.responses(name))
    said, _ = conformance.encode_events(name, unfold(response))
    cuts = data.draw(st.lists(st.integers(0, max(0, len(said) - 1)), max_size=8))
    conformance.check_cut_stream(name, response, cuts)


LIMITS = ("[few-breakpoints]", "[few-media]")  # the caller is responsible for the number of cache marks and of images


@over("valid")
@modest
@given(request=strategies.requests())
def test_law_8_official_types_take_what_we_say(name: str, request: Request) -> None:
    body = dialect(name).encode_request(replace(request, model="m")).body
    faults = [line for line in problems(body, name) if not line.startswith(WARNING) and not line.endswith(LIMITS)]
    assert faults == []


@over("edits")
@few
@given(data=st.data())
def test_law_10_edits_show(name: str, data: st.DataObject) -> None:
    conformance.check_edits(name, data.draw(strategies.requests(name, turns=2)))


@modest
@given(request=strategies.requests("openai-chat"))
def test_histories_are_legal(request: Request) -> None:
    from interlingua import ToolResultBlock, ToolUseBlock, validate_tool_results

    assert validate_tool_results(request.messages, dialect="openai-chat") == []
    for before, message in zip(request.messages, request.messages[1:], strict=False):
        if message.role == "tool":
            calls = [block.id for block in before.content if isinstance(block, ToolUseBlock)]
            assert calls == [block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)]

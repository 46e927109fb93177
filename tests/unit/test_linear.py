"""Work that grows with the input and not with its square, counted in lines of Python that run, not in time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from interlingua import Loss, Message, OpaqueBlock, Request, dialect, fold
from interlingua.agent.session.history import History
from interlingua.codec.ledger import Ledger
from interlingua.codec.typed.checking import complaints


def events_run(work: Callable[[], object]) -> int:
    """How many lines of Python a piece of work runs: the same on every machine."""
    count = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def grows(work: Callable[[int], object], small: int) -> float:
    """How much more work four times as much input is."""
    work(small)  # imports and caches
    return events_run(lambda: work(4 * small)) / events_run(lambda: work(small))


def chat_calls(count: int) -> None:
    decoder = dialect("openai-chat").stream_decoder()
    events = []
    for index in range(count):
        call = {"index": index, "id": f"c{index}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        chunk = {"id": "1", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}
        events += decoder.feed(f"data: {json.dumps(chunk)}\n\n".encode())
    events += decoder.feed(
        b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
    )
    assert len(fold(events).tool_uses) == count


def rearranged(count: int) -> None:
    history = History(Message("user" if n % 2 else "assistant", "x") for n in range(count))
    shown = [*history.messages[: count // 2], Message("user", "a summary"), *history.messages[count // 2 :]]
    assert history.send_only(shown) == 0
    assert history.messages[count // 2].text == "a summary"


@pytest.mark.parametrize("work", [chat_calls, rearranged])
def test_four_times_as_much_is_not_sixteen_times_the_work(work: Callable[[int], object]) -> None:
    assert grows(work, 60) < 6


def test_sound_is_joined_once() -> None:
    """Each piece used to be appended to all before it: 10,000 pieces were copied 10,000 times."""
    decoder = dialect("openai-chat").stream_decoder()
    for _ in range(100):
        decoder.feed(b'data: {"choices":[{"index":0,"delta":{"audio":{"id":"a","data":"AAAA"}}}]}\n\n')
    held: Any = decoder
    assert held.answer.audio["data"] == ["AAAA"] * 100
    events = decoder.feed(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    (block,) = events[-1].response.content  # type: ignore[union-attr]
    assert block.source.data == "AAAA" * 100  # type: ignore[union-attr]


class Compared(Loss, frozen=True):
    """A loss that counts how often it is compared."""

    count: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return super().__eq__(other)

    __hash__ = Loss.__hash__


def test_a_loss_is_not_compared_with_every_other() -> None:
    """A history of 8,000 pictures for a protocol without pictures took 8,000 times 4,000 comparisons."""
    ledger = Ledger()
    ledger.losses.extend(Compared(f"messages/{place}", "dropped", "why") for place in range(1000))
    for place in range(1000, 1100):
        ledger.lose("dropped", "why", "messages", place)
    ledger.lose("dropped", "why", "messages", 1050)
    assert len(ledger.losses) == 1100
    assert Compared.count < 1100


def test_a_loss_is_told_once_however_it_was_told() -> None:
    ledger = Ledger()
    ledger.lose("dropped", "why", "a")
    ledger.losses.append(Loss("b", "dropped", "why"))
    ledger.lose("dropped", "why", "b")
    ledger.lose("dropped", "why", "c")
    assert [loss.path for loss in ledger.losses] == ["a", "b", "c"]
    del ledger.losses[1:]
    ledger.losses += [Loss("d", "dropped", "why"), Loss("e", "dropped", "why")]
    for path in "edcba":
        ledger.lose("dropped", "why", path)
    assert [loss.path for loss in ledger.losses] == ["a", "d", "e", "c", "b"]


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
def test_references_that_fan_out_are_followed_once(word: str) -> None:
    """Forty levels, each of which names the next one twice: 2**40 ways to the one complaint."""
    levels = {f"l{n}": {word: [{"$ref": f"#/$defs/l{n + 1}"}, {"$ref": f"#/$defs/l{n + 1}"}]} for n in range(40)}
    schema = {"$ref": "#/$defs/l0", "$defs": {**levels, "l40": {"type": "string"}}}
    found = complaints(5, schema)
    assert found
    assert all("expected string, got integer" in one or "fits none" in one for one in found)
    assert sum(map(len, found)) < 50_000


def test_a_reason_quotes_only_the_beginning_of_a_name() -> None:
    """A wire may have a whole document as the type of a block, which must not fill the log."""
    block = OpaqueBlock("openai-chat", {"type": "secret " * 10_000, "x": 1})
    request = Request([Message("user", [block, "hello"])])
    for loss in dialect("anthropic-messages").encode_request(request).losses:
        assert len(loss.reason) < 300

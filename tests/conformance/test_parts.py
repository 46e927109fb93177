"""The parts of a request, each encoded alone: losses are declared as in the whole request."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.matrix import SPOKEN
from interlingua import Encoded, Message, Request, ToolChoice, dialect
from interlingua.testing import samples
from interlingua.testing.differences import plain, unexplained
from interlingua.testing.samples import Sample

# the path of each part in a request; None: the dialect has no key for it
PLACES: dict[str, dict[str, tuple[str, ...] | None]] = {
    "anthropic-messages": {"messages": ("messages",), "system": ("system",), "tool_choice": ("tool_choice",)},
    "openai-chat": {"messages": ("messages",), "system": ("messages",), "tool_choice": ("tool_choice",)},
    "openai-responses": {"messages": ("input",), "system": ("instructions",), "tool_choice": ("tool_choice",)},
    "gemini": {"messages": ("contents",), "system": ("systemInstruction",), "tool_choice": ("toolConfig",)},
    "ollama": {"messages": ("messages",), "system": ("messages",), "tool_choice": None},
    "bedrock-converse": {"messages": ("messages",), "system": ("system",), "tool_choice": ("toolConfig", "toolChoice")},
}
TOOLS = {"bedrock-converse": ("toolConfig", "tools")}


def part_alone(name: str, part: str, value: Any) -> Encoded:
    encoded: Encoded = getattr(dialect(name), f"encode_{part}")(value)
    return encoded


def read_alone(name: str, part: str, said: Any) -> Any:
    """What the dialect reads from a request that has only this part."""
    place = TOOLS.get(name, ("tools",)) if part == "tools" else PLACES[name][part]
    if part == "system" and name == "openai-responses" and isinstance(said, list):
        place = ("input",)
    body: Any = {}
    if place is not None and said not in (None, []):
        body = said
        for key in reversed(place):
            body = {key: body}
    read = dialect(name).decode_request(body)
    if part == "messages" and read.system:  # leading system text, which is the same
        return (Message("system", read.system), *read.messages)
    return getattr(read, part) or (ToolChoice() if part == "tool_choice" else ())


def faults(name: str, part: str, value: Any) -> list[str]:
    encoded = part_alone(name, part, value)
    found = read_alone(name, part, encoded.body)
    return unexplained({part: plain(value)}, {part: plain(found)}, encoded.losses)


@pytest.mark.parametrize("name", SPOKEN)
def test_a_part_declares_what_it_cannot_say(name: str) -> None:
    found: list[str] = []
    for sample in samples.requests(name):
        request: Request = sample.value
        for part in ("messages", "system", "tools", "tool_choice"):
            if value := getattr(request, part):
                found += [f"{sample.concept}: {fault}" for fault in faults(name, part, value)]
    assert found == []


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("choice", [ToolChoice(parallel=False), ToolChoice("auto", parallel=False), ToolChoice.any()])
def test_whether_calls_may_be_parallel_is_said_or_declared(name: str, choice: ToolChoice) -> None:
    # encode_tool_choice(parallel=False) of Responses lost it in silence
    assert faults(name, "tool_choice", choice) == []


def test_a_silent_part_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "part_alone", lambda *_: Encoded(None))
    assert faults("openai-chat", "tool_choice", ToolChoice(parallel=False))
    sample = next(sample for sample in samples.requests("openai-chat") if isinstance(sample, Sample))
    assert faults("openai-chat", "messages", sample.value.messages)

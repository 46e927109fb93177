"""The tasks of the comparison: what the local server answers, and how a program's report is judged.

A program is a file ``<task>/with_<library>.py`` (or ``.mjs``). It gets the server's URL in ``BASE``, does the task as
its library's documentation teaches, and prints a report: one line of JSON with its results. A judge names what is
missing in the report, or in the requests that the server got.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from interlingua import (
    Request,
    StopReason,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolResultBlock,
    ToolUseBlock,
    to_json,
)
from interlingua.embedded import Script, Step, call

Report = dict[str, Any]


class Task(NamedTuple):
    """A task: its description, a function that makes a new script of the server, and the judge of a report."""

    name: str
    about: str
    script: Callable[[], Script]
    judge: Callable[[Report, Script], Iterator[str]]


WORDS = "The quick brown fox jumps over the lazy dog. " * 20


# --------------------------------------------------------------------------------------------------------------- stream


def _stream() -> Script:
    content = (ThinkingBlock("Foxes and dogs."), TextBlock(WORDS))
    return Script(Step(content=content, stop=StopReason.max_tokens, usage=TokenUsage(30, 70, output_tokens=190)))


def _judge_stream(report: Report, script: Script) -> Iterator[str]:
    if report.get("text") != WORDS:
        yield "text"
    if report.get("pieces", 0) < 50:
        yield "pieces as they come"
    if report.get("thinking") != "Foxes and dogs.":
        yield "reasoning"
    if report.get("stop") not in ("max_tokens", "length"):
        yield "why it stopped"
    if (report.get("input"), report.get("cached"), report.get("output")) != (100, 70, 190):
        yield "usage"


# ------------------------------------------------------------------------------------------------------------------ cut


def _cut() -> Script:
    return Script(Step(content=(TextBlock(WORDS),), fault="cut", after=40))


def _judge_cut(report: Report, script: Script) -> Iterator[str]:
    if not report.get("error"):
        yield "that the answer broke off"
    if not WORDS.startswith(report.get("text") or "-"):
        yield "what had come"


# ---------------------------------------------------------------------------------------------------------------- tools


def _tools() -> Script:
    return Script(
        [call("weather", city="Oslo"), call("delete_file", path="/etc/hosts")], "It rains; nothing was deleted."
    )


def _judge_tools(report: Report, script: Script) -> Iterator[str]:
    if report.get("ran") != ["weather"]:
        yield f"approval: ran {report.get('ran')}"
    if report.get("text") != "It rains; nothing was deleted.":
        yield "the answer"
    messages = script.seen[-1].messages if script.seen else ()
    if sum(type(block) is ToolResultBlock for message in messages for block in message.content) != 2:
        yield "a result for each call"


# ---------------------------------------------------------------------------------------------------------------- typed

VERDICT = {"score": 7, "reason": "clear, but long"}


def _verdict(answers: list[dict[str, Any]]) -> Callable[[Request], Step]:
    """Answer in the way that the request wants: as JSON, or as a call of the tool that takes the result."""

    def answer(request: Request) -> Step:
        values = answers.pop(0) if len(answers) > 1 else answers[0]
        tool = next((tool for tool in request.tools if tool.extras is not None), None)
        if request.output_schema is None and tool is not None:
            return Step(content=(ToolUseBlock("", getattr(tool, "name", ""), input=values),))
        return Step(text=json.dumps(values))

    return answer


def _typed() -> Script:
    return Script(_verdict([{"score": "high", "reason": "clear", "tags": None}, {**VERDICT, "tags": None}]))


def _judge_typed(report: Report, script: Script) -> Iterator[str]:
    if {key: report.get(key) for key in VERDICT} != VERDICT:
        yield "a valid result" + (f" ({report['error']})" if report.get("error") else "")
    elif len(script.seen) < 2:
        yield "the second try"


# ----------------------------------------------------------------------------------------------------------------- many

CALLS, AT_ONCE, TOKENS_EACH = 500, 20, 12
COST = CALLS * (10 * 0.15 + 2 * 0.60) / 1e6  # gpt-4o-mini


class Counting(Script):
    """A script that refuses every 25th request, and records how many requests came at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.most = 0
        self._times: list[float] = []

    def next(self, request: Request) -> Step:
        with self.lock:
            self.asked += 1
            self._times = [at for at in self._times if at > time.monotonic() - 0.02] + [time.monotonic()]
            self.most = max(self.most, len(self._times))
            refused = self.asked % 25 == 0
        if refused:
            return Step(act="fail", status=429, retry_after=0.05, message="slow down")
        text = request.messages[-1].text
        return Step(text=text.upper(), usage=TokenUsage(10, output_tokens=2), delay=0.02)


def _judge_many(report: Report, script: Script) -> Iterator[str]:
    if report.get("done") != CALLS:
        yield f"{CALLS - (report.get('done') or 0)} answers"
    if not report.get("in_order"):
        yield "the order"
    if report.get("tokens") != CALLS * TOKENS_EACH:
        yield "usage of all"
    if abs((report.get("cost") or 0) - COST) > 1e-6:
        yield "cost of all"


# ---------------------------------------------------------------------------------------------------------------- moved


PROOF = "EqQBCkYIBxgCKkAx"  # the signature of a thought


def _moved() -> Script:
    thought = ThinkingBlock("Both keys, then.", signature=PROOF)
    first = Step(content=(thought, TextBlock("Let me look."), call("lookup", key="a"), call("lookup", key="b")))
    return Script(first, "Found both.", "Still both.", "Home again.")


def _judge_moved(report: Report, script: Script) -> Iterator[str]:
    if report.get("text") != "Home again." or len(script.seen) != 4:
        yield "the move" + (f" ({report['error']})" if report.get("error") else "")
        return
    away, home = ([b for message in request.messages for b in message.content] for request in script.seen[2:])
    for blocks, place in ((away, "in Chat"), (home, "back in Messages")):
        texts = " ".join(block.text for block in blocks if type(block) is TextBlock)
        calls = {block.id: block.input for block in blocks if type(block) is ToolUseBlock}
        results = {block.tool_use_id for block in blocks if type(block) is ToolResultBlock}
        if not all(part in texts for part in ("Let me look.", "Found both.", "And now?")):
            yield f"texts {place}"
        if [*calls.values()] != [{"key": "a"}, {"key": "b"}] or results != set(calls):
            yield f"calls and results {place}"
        if "Both keys" in texts:
            yield f"reasoning {place} became text"
    if any(type(block) is ThinkingBlock for block in away) or PROOF in to_json(script.seen[2]).decode():
        yield "reasoning was sent to another issuer"
    if PROOF not in [block.signature for block in home if type(block) is ThinkingBlock]:
        yield "signed reasoning back in Messages"


TASKS = (
    Task("stream", "stream an answer; say its text, reasoning, stop reason and usage", _stream, _judge_stream),
    Task("cut", "stream an answer whose connection breaks", _cut, _judge_cut),
    Task("tools", "two tools, one of them only after approval, which is refused", _tools, _judge_tools),
    Task("typed", "a typed result; the first answer is invalid", _typed, _judge_typed),
    Task("many", "500 calls, 20 at once, some refused with 429", Counting, _judge_many),
    Task(
        "moved",
        "from Anthropic Messages, with signed reasoning and tool calls, to OpenAI Chat and back",
        _moved,
        _judge_moved,
    ),
)

"""The tests of ``interlingua check --live``. Their tools work in memory and touch nothing on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from ..agent.session import SyncSession
from ..client.manager import ProviderManager
from ..errors import AdapterError
from ..models.pricing import Pricing
from ..types.blocks import ToolUseBlock
from ..types.usage import TokenUsage
from .calling import manager_of
from .failures import CommandError, explain
from .parsing import suggest

__all__ = ["Outcome", "Test", "choose_tests", "try_model"]

OUTPUT = 2_000
"""The most tokens of one answer. It leaves room for the thinking of models that think."""
STEPS = 8
GUESS = TokenUsage(input_tokens=1_500, output_tokens=600)
"""About how many tokens a test uses; the limit of cost is checked with it."""


class Outcome(Struct, frozen=True, omit_defaults=True):
    """One test of one model. ``passed`` is None if it was not run."""

    model: str
    test: str
    passed: bool | None
    why: str = ""
    seconds: float = 0.0
    cost_usd: float | None = None


Verdict = Callable[[SyncSession], str]
"""Returns what is wrong with a conversation; an empty text if it went well."""


class Test(NamedTuple):
    """A question, and a function that makes its tools and the verdict on the conversation."""

    name: str
    question: str
    prepare: Callable[[], tuple[Sequence[Any], Verdict]]
    options: dict[str, Any] = {}


# --------------------------------------------------------------------------------------------------------------- tests


def _contains(word: str) -> Verdict:
    def judge(session: SyncSession) -> str:
        text = session.messages[-1].text
        return "" if word.lower() in text.lower() else f"the answer is without {word!r}: {text[:80]!r}"

    return judge


def _plain() -> tuple[Sequence[Any], Verdict]:
    return (), _contains("pong")


def _one() -> tuple[Sequence[Any], Verdict]:
    seen: list[tuple[int, int]] = []

    def multiply(a: int, b: int) -> int:
        """Multiply two integers."""
        seen.append((a, b))
        return a * b

    def judge(session: SyncSession) -> str:
        if sorted(map(sorted, seen)) != [[6, 7]]:
            return f"multiply was called with {seen}, and not once with 6 and 7"
        return _contains("42")(session)

    return (multiply,), judge


def _parallel() -> tuple[Sequence[Any], Verdict]:
    def temperature(city: str) -> str:
        """The temperature in one city."""
        return f"{city}: {len(city)} °C"

    def judge(session: SyncSession) -> str:
        most = max(sum(isinstance(block, ToolUseBlock) for block in message.content) for message in session.messages)
        return "" if most >= 2 else f"at most {most} calls came in one answer"

    return (temperature,), judge


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "kind": {"enum": ["planet", "star", "moon"]},
        "moons": {"type": "array", "items": {"type": "string"}},
        "remark": {"type": "string"},
    },
    "required": ["name", "kind", "moons"],
    "additionalProperties": False,
}


class Body(Struct, forbid_unknown_fields=True):
    """An answer that ``SCHEMA`` allows."""

    name: str
    kind: Literal["planet", "star", "moon"]
    moons: list[str]
    remark: str | None = None


def _schema() -> tuple[Sequence[Any], Verdict]:
    def judge(session: SyncSession) -> str:
        try:
            msgspec.json.decode(session.messages[-1].text, type=Body)
        except msgspec.DecodeError as error:
            return f"the answer does not keep to the schema: {error}"
        return ""

    return (), judge


@dataclass
class Todo:
    """One thing to do."""

    text: str
    status: Literal["pending", "in_progress", "completed"]


def _todo() -> tuple[Sequence[Any], Verdict]:
    lists: list[list[Todo]] = []

    def todo_write(items: list[Todo]) -> str:
        """Replace the whole to-do list."""
        lists.append(items)
        return f"{len(items)} items, {sum(item.status == 'completed' for item in items)} completed"

    def judge(session: SyncSession) -> str:
        if not lists or len(lists[0]) < 3:
            return f"the first list has {len(lists[0]) if lists else 'not come'} and not three items"
        return "" if all(item.status == "completed" for item in lists[-1]) else "the last list is not all completed"

    return (todo_write,), judge


def _edit() -> tuple[Sequence[Any], Verdict]:
    files = {"notes.txt": "milk\nbread\n"}
    read: list[str] = []

    def read_file(path: str) -> str:
        """Read a text file."""
        read.append(path)
        return files[path]

    def edit_file(path: str, old: str, new: str) -> str:
        """Replace a piece of text in a file. The file must have been read before."""
        if path not in read:
            raise ValueError(f"{path} was not read: read it before you edit it")
        if old not in files[path]:
            raise ValueError(f"{path} does not hold {old!r}")
        files[path] = files[path].replace(old, new)
        return "done"

    def judge(session: SyncSession) -> str:
        return "" if files["notes.txt"].split() == ["milk", "butter"] else f"the file holds {files['notes.txt']!r}"

    return (read_file, edit_file), judge


TESTS = (
    Test("question", "Answer with the single word: pong", _plain),
    Test("one", "Call the tool `multiply` once for 6 and 7, then tell me the product.", _one),
    Test("parallel", "Call `temperature` for Oslo and for Lima, both calls in one answer, then compare.", _parallel),
    Test("schema", "Describe the planet Mars.", _schema, {"output_schema": SCHEMA, "output_name": "body"}),
    Test(
        "todo",
        "Write a to-do list of three steps for making tea with `todo_write`, all pending. Then call it again with all"
        " three completed, and say done.",
        _todo,
    ),
    Test("edit", "Replace bread by butter in notes.txt. Read the file first.", _edit),
)


def choose_tests(names: str | None) -> tuple[Test, ...]:
    """The tests of these names, separated by commas; all of them for None."""
    known = {test.name: test for test in TESTS}
    if names is None:
        return TESTS
    for name in names.split(","):
        if name not in known:
            raise CommandError(f"no test is called {name!r}; {suggest(name, known)}")
    return tuple(known[name] for name in names.split(","))


# ------------------------------------------------------------------------------------------------------------- running


def try_model(model: str, tests: Sequence[Test], limit: float | None, config: str | None) -> list[Outcome]:
    """Run the tests until ``limit`` dollars are spent. If the first test fails, the others are not run."""
    outcomes: list[Outcome] = []
    with manager_of(config) as manager:
        for test in tests:
            spent = sum(outcome.cost_usd or 0 for outcome in outcomes)
            why = "" if limit is None else _too_expensive(manager, model, limit - spent)
            if outcomes and outcomes[0].passed is False and outcomes[0].cost_usd is None:
                why = "the first test failed"
            outcomes.append(Outcome(model, test.name, None, why) if why else _try(test, model, manager))
    return outcomes


def _too_expensive(manager: ProviderManager, model: str, left: float) -> str:
    """Why the next test might exceed the limit; empty if it will not."""
    try:
        id, wire = manager.locate(model)
        provider = manager.get_adapter(id).name
    except (AdapterError, ValueError):
        return ""  # the test itself says what is wrong
    cost = Pricing(manager.configuration.prices).cost(GUESS, provider, wire or "").cost_usd
    if cost is None:
        return "its price is not known, so no limit can be kept; --limit none asks it all the same"
    return "" if cost <= left else f"the limit is reached: ${max(left, 0):.5f} is left"


def _try(test: Test, model: str, manager: ProviderManager) -> Outcome:
    tools, judge = test.prepare()
    start, cost = time.monotonic(), None
    try:
        with SyncSession(model, tools, manager=manager, max_output_tokens=OUTPUT, max_steps=STEPS) as session:
            session.run(test.question, **test.options)
            cost = session.cost_usd
            wrong = judge(session)
    except (AdapterError, ValueError) as error:
        failure = explain(error)
        why = failure.sentence if failure else str(error)
        return Outcome(model, test.name, False, why, time.monotonic() - start)
    return Outcome(model, test.name, not wrong, wrong, time.monotonic() - start, cost)

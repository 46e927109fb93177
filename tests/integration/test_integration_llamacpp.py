"""The conversations that a real server can hold: llama.cpp, whose model recites, in its three protocols, four ways.

The rows are in ``docs/integration.md`` too, and a test holds the page to them. Every body is judged as in the matrix.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from interlingua import Message
from interlingua.config import Retry
from interlingua.manager import ProviderManager
from interlingua.providers.table import provider
from interlingua.testing.integration import WAYS, Scene, Turn, transcript
from interlingua.testing.integration.tape import Tape
from interlingua.testing.oracles import problems
from live.llama import NotImportable, running
from live.tiny_model import ANSWER, TICKS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integration.md"
SENTENCE, TICK = "".join(ANSWER), TICKS[0]
SPOKEN = ("openai-chat", "openai-responses", "anthropic-messages")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def many() -> list[Callable[..., Any]]:
    from interlingua.tools import tool

    others = [tool(lambda: "", name=f"tool_{number:02}", description="Does nothing.") for number in range(29)]
    return [*others, add]


def failing() -> list[Callable[..., Any]]:
    def add(a: int, b: int) -> int:
        raise ValueError("the machine is out of order")

    return [add]


class Row(NamedTuple):
    """One conversation with the model that recites."""

    turns: tuple[Turn, ...]
    outcome: tuple[str, ...]
    bodies: int
    tools: Callable[[], list[Callable[..., Any]]] = list
    history: tuple[Message, ...] = ()
    whole: tuple[str, ...] | None = None
    shortened: int = 0


SAID = f"assistant (end_turn): {SENTENCE}"
CALLED = 'assistant (tool_use): add{"a":2,"b":3}'
EARLIER = (
    Message("user", "a" * 70_000),  # a token each, and more than the server reads
    Message("assistant", "so many"),
    Message("user", "fewer now"),
    Message("assistant", "good"),
)

ROWS = {
    "simple chat": Row(
        (Turn("Who speaks?"), Turn("Who else?")), ("user: Who speaks?", SAID, "user: Who else?", SAID), bodies=2
    ),
    "single tool": Row(
        (Turn("2 + 3?"),), ("user: 2 + 3?", CALLED, "tool: add gave 5", SAID), bodies=2, tools=lambda: [add]
    ),
    "tool error": Row(
        (Turn("2 + 3?"),),
        ("user: 2 + 3?", CALLED, "tool: add failed ValueError: the machine is out of order", SAID),
        bodies=2,
        tools=failing,
    ),
    "30 tools": Row((Turn("2 + 3?"),), ("user: 2 + 3?", CALLED, "tool: add gave 5", SAID), bodies=2, tools=many),
    "stream interrupted": Row(
        (Turn("Talk for ever.", "cancelled", TICK), Turn("Who speaks?")),
        ("user: Talk for ever.", f"assistant (cancelled): {TICK}…", "user: Who speaks?", SAID),
        bodies=2,
        whole=("user: Talk for ever.", "user: Who speaks?", SAID),
    ),
    "context overflow": Row(
        (Turn("Who speaks?"),),
        (*(f"{message.role}: {message.text}" for message in EARLIER), "user: Who speaks?", SAID),
        bodies=2,
        history=EARLIER,
        shortened=2,
    ),
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if find_spec("xllamacpp") is None:
        pytest.skip("no xllamacpp here: llama.cpp was not asked")
    try:
        with running(tmp_path_factory.mktemp("llama")) as found:
            yield found
    except NotImportable as error:
        pytest.skip(f"xllamacpp cannot be imported here: {error}")


class Started:
    """In place of the embedded server: whether it was asked since, as far as the tape has heard."""

    def __init__(self, tape: Tape) -> None:
        self.script = self
        self._tape = tape

    @property
    def asked(self) -> int:
        return len(self._tape.heard)


# What is not so yet, and what must change.
PENDING = {
    ("context overflow", "openai-responses"): "an assistant's text is written without `type`, which llama.cpp refuses",
}
CELLS = [
    pytest.param(
        name, dialect, marks=[pytest.mark.xfail(reason=PENDING[name, dialect])] if (name, dialect) in PENDING else []
    )
    for name in ROWS
    for dialect in SPOKEN
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "dialect"), CELLS)
def test_a_conversation(url: str, name: str, dialect: str, way: str) -> None:
    row, tape = ROWS[name], Tape()
    manager = ProviderManager(environment={}, transport=tape.awaiting, sync_transport=tape.blocking, on_loss="allow")
    door = replace(provider("llamacpp"), name=f"llamacpp-{dialect}", dialect=dialect)
    manager.register("here", door, {"base_url": url, "retry": Retry(base=0.01), "timeout_seconds": 60})

    def make(kind: type[Any]) -> Any:
        return kind(
            "here:recites", row.tools(), "Be brief.", manager=manager, messages=row.history, max_output_tokens=2_000
        )

    scene = Scene(make, Started(tape), row.turns)  # type: ignore[arg-type]
    WAYS[way](scene)
    expected = row.outcome if way.endswith("stream") or row.whole is None else row.whole
    assert (scene.problems, shown(scene)) == ([], list(expected))
    assert scene.session.report.shortened == row.shortened
    bodies = heard(tape)
    assert len(bodies) == row.bodies
    assert [faults(body, dialect) for body in bodies] == [[]] * row.bodies


def heard(tape: Tape) -> list[Any]:
    """What the server has read. It offers to keep a connection and closes it after a stream: then the next request on
    it is not read, and sent again."""
    bodies = [json.loads(heard.request.body) for heard in tape.heard]
    return [body for body, after in zip(bodies, [*bodies[1:], None], strict=True) if body != after]


def faults(body: Any, dialect: str) -> list[str]:
    """What is wrong with a body, but for what this server itself leaves out of its texts and is given back."""
    return [line for line in problems(body, dialect) if ".annotations: missing" not in line]


def shown(scene: Scene) -> list[str]:
    """The transcript; how much of an endless answer has come depends on who was quicker."""
    lines = transcript(scene.session.messages)
    begun = f"assistant (cancelled): {TICK}"
    return [f"{begun}…" if line.startswith(begun) else line for line in lines]


def test_the_page_tells_of_these_rows() -> None:
    rows = PAGE.read_text(encoding="utf-8").partition("## A real server")[2]
    for name, row in ROWS.items():
        assert f"| {name} |" + f" ok · {len(WAYS) * row.bodies} |" * len(SPOKEN) in rows
    assert rows.count("\n| ") == 1 + len(ROWS)

"""The conversations that a real server can hold: llama.cpp, whose model recites, in its three protocols, four ways.

Nothing at the other end is ours. Every body is judged as in the matrix, and every answer is read by the vendor's own
client too, which must find in the server's bytes what we found. The rows are in ``docs/integration.md``, and a test
holds the page to them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from interlingua import Message, TokenUsage, ToolUseBlock
from interlingua.client.config import Retry
from interlingua.client.manager import ProviderManager
from interlingua.models.providers import provider
from lab.integration import ROWS as MATRIX, WAYS, Readers, Scene, Turn, transcript
from lab.integration.reading import STOPS, Answer, read_last_event
from lab.integration.tape import Tape
from lab.integration.transcript import described
from lab.oracles import problems
from live.llama import NotImportable, running
from live.tiny_model import ANSWER, TICKS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integration.md"
SENTENCE, TICK = "".join(ANSWER), TICKS[0]
SPOKEN = ("openai-chat", "openai-responses", "anthropic-messages")
for name in ("anthropic", "openai"):
    pytest.importorskip(name, reason="the oracles are the official clients: pip install 'interlingua[dev]'")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def many() -> list[Callable[..., Any]]:
    from interlingua.agent.tools import tool

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
    answers: int = 2
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
        answers=1,
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


# What the model cannot show, since what it says is fixed, and what the server does not do.
NOT_RUN = {
    "parallel tools": "the model makes one call at a time",
    "tool error": "recovery: after a result the model says its sentence",
    "TodoWrite in a task of several steps": "the model knows one tool, `add`",
    "a file through Write": "the model knows one tool, `add`",
    "nested calls to a final text": "after a result the model says its sentence",
    "stream interrupted": "a broken connection: the server breaks none",
    "strict schemas": "the model says no null",
}


@pytest.fixture(scope="module")
def readers() -> Iterator[Readers]:
    with Readers() as found:
        yield found


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
    """In place of the embedded server: whether it was asked since, as far as the tape has exchange."""

    def __init__(self, tape: Tape) -> None:
        self.script = self
        self._tape = tape

    @property
    def asked(self) -> int:
        return len(self._tape.exchanges)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("name", ROWS)
def test_a_conversation(url: str, readers: Readers, name: str, dialect: str, way: str) -> None:
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
    bodies = exchange(tape)
    assert len(bodies) == row.bodies
    assert [faults(body, dialect) for body in bodies] == [[]] * row.bodies
    assert {(loss.kind, loss.path) for loss in scene.losses} == set(
        lost(row, dialect, cut=name == "stream interrupted" and way.endswith("stream"))
    )
    read = list(read_by_the_client(tape, dialect, readers, streamed=way.endswith("stream")))
    assert read == answers(scene.session.messages, tape, dialect)
    assert len(read) == row.answers


def exchange(tape: Tape) -> list[Any]:
    """What the server has read. It offers to keep a connection and closes it after a stream: then the next request on
    it is not read, and sent again."""
    bodies = [json.loads(exchange.request.body) for exchange in tape.exchanges]
    return [body for body, after in zip(bodies, [*bodies[1:], None], strict=True) if body != after]


def lost(row: Row, dialect: str, *, cut: bool) -> Iterator[tuple[str, str]]:
    """What is described otherwise than meant."""
    if cut:  # no protocol says that a text was cut off
        yield ("dropped", "messages/1/content/0/incomplete")
    if dialect == "openai-responses":  # left out, it would mean strict
        yield from (("added", f"tools/{place}/strict") for place in range(len(row.tools())))
    if row.tools is failing and dialect != "anthropic-messages":  # no error flag: the text begins with `Error: `
        yield from (("approximated", f"messages/2/content/0/{place}") for place in ("is_error", ERRORS[dialect]))


ERRORS = {"openai-chat": "content/0", "openai-responses": "content/0/text"}


def read_by_the_client(tape: Tape, dialect: str, readers: Readers, *, streamed: bool) -> Iterator[Answer]:
    """Every answer that came to its end. The events of a Responses stream do not say here to which item they belong,
    which the client's accumulator asks for; the last one has the whole answer."""
    by = read_last_event if streamed and dialect == "openai-responses" else None
    for exchange in tape.exchanges:
        if exchange.status >= 400:
            yield readers.read(dialect, exchange, streamed=False)
        elif exchange.whole:
            yield readers.read(dialect, exchange, streamed=streamed, by=by)


def answers(messages: Sequence[Message], tape: Tape, dialect: str) -> list[Answer]:
    """What we found in the same bytes: refusals, then what was described."""
    found = [Answer(status=exchange.status) for exchange in tape.exchanges if exchange.status >= 400]
    for message in messages:
        if message.origin is not None and message.metadata["stop_reason"] != "cancelled":
            usage = msgspec.convert(message.metadata["usage"], TokenUsage)
            # OpenAI's count has what was cached in it, Anthropic's has not.
            read = usage.input_tokens if dialect == "anthropic-messages" else usage.total_input_tokens
            stop = STOPS[dialect][any(isinstance(block, ToolUseBlock) for block in message.content)]
            found.append(Answer(tuple(described(message.content)), stop, (read, usage.output_tokens)))
    return found


def faults(body: Any, dialect: str) -> list[str]:
    """What is wrong with a body, but for a text that this server did not finish: it begins one without annotations, and
    gets it back as it came."""
    begun = [place for place, item in enumerate(body.get("input", ())) if item.get("status") == "in_progress"]
    missing = [
        f"input[{place}].content[0].annotations: missing, ResponseOutputTextParam requires it" for place in begun
    ]
    return [line for line in problems(body, dialect) if line not in missing]


def shown(scene: Scene) -> list[str]:
    """The transcript; how much of an endless answer has come depends on who was quicker."""
    lines = transcript(scene.session.messages)
    begun = f"assistant (cancelled): {TICK}"
    return [f"{begun}…" if line.startswith(begun) else line for line in lines]


def test_the_page_tells_of_these_rows() -> None:
    written = PAGE.read_text(encoding="utf-8").partition("## A real server")[2]
    assert [line for line in written.splitlines() if line.startswith("| ")] == list(rows_of_the_page())


def test_every_conversation_of_the_matrix_is_run_or_has_a_reason() -> None:
    names = {"tool error": "tool error and recovery"}
    assert {names.get(name, name) for name in (*ROWS, *NOT_RUN)} == {row.name for row in MATRIX}


def rows_of_the_page() -> Iterator[str]:
    yield f"| conversation | {' | '.join(SPOKEN)} | what is not run, and why |"
    for row in MATRIX:
        name = row.name.removesuffix(" and recovery")
        counts = f"ok · {len(WAYS) * ROWS[name].bodies} + {len(WAYS) * ROWS[name].answers}" if name in ROWS else "–"
        yield f"| {row.name} |" + f" {counts} |" * len(SPOKEN) + f" {NOT_RUN.get(name, '')} |"

"""The rows of the matrix: what the user says, what the model does, and the outcome, which is the same in every dialect.

The outcome is written here by hand, line by line, and not taken from a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from interlingua.agent.tools import ToolSource
from interlingua.client.embedded import Step
from interlingua.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.types.messages import Message

from .parts import (
    BOOKED,
    JOURNEY,
    Choice,
    add_what_was_read,
    book_strictly,
    call,
    calls,
    count_texts,
    count_tools,
    mend,
    read_what_was_found,
    say,
    sum_up,
)
from .workbench import MANY, Workbench

__all__ = ["ROWS", "Row", "Turn"]

End = Literal["done", "broken", "cancelled"]


class Turn(Struct, frozen=True):
    """What the user says, and how the turn ends: the model is done, the connection breaks, or the user cancels.

    ``last``: the last word that arrives before the end.
    """

    text: str
    end: End = "done"
    last: str = ""


class Row(Struct, frozen=True, kw_only=True):
    """One conversation. ``bodies`` is the number of requests that it takes; ``noted`` is what the tools noted.

    ``whole`` is the outcome without streaming, if it is another one. ``sent`` is the beginning of the first message in
    the last request, if not all messages are sent.
    """

    name: str
    checks: str
    turns: tuple[Turn, ...]
    steps: tuple[Choice, ...]
    outcome: tuple[str, ...]
    whole: tuple[str, ...] | None = None
    bodies: int
    tools: Callable[[Workbench], list[ToolSource]] = lambda bench: []
    tool_count: int = 0
    noted: tuple[str, ...] = ()
    files: dict[str, str] = {}
    history: tuple[Message, ...] = ()
    shortened: int = 0
    sent: str | None = None


# ------------------------------------------------------------------------------------------------------------ the rows

POEM = 'Roses are "red",\n\tviolets – bleu 🌹\\n\n'
PLAN = ("look", "write", "check")


def todos(*states: str) -> list[dict[str, str]]:
    return [{"content": content, "status": state} for content, state in zip(PLAN, states, strict=True)]


def call_line(name: str, **arguments: Any) -> str:
    """A call in the form of the transcripts."""
    return f"{name}{msgspec.json.encode(arguments, order='deterministic').decode()}"


EARLIER = tuple(
    message
    for number in range(1, 7)
    for message in (
        Message("user", f"question {number} " + "word " * 200),
        Message("assistant", [ToolUseBlock(f"t{number}", "add", input={"a": number, "b": 1})]),
        Message("tool", [ToolResultBlock(f"t{number}", str(number + 1))]),
        Message("assistant", f"answer {number} " + "word " * 200),
    )
)
LONG = "one two three four five six"

SIMPLE = Row(
    name="simple chat",
    checks="two turns; the system prompt and the whole history arrive",
    turns=(Turn("Grüß Gott 👋"), Turn("Once more")),
    steps=(count_texts,),
    outcome=(
        "user: Grüß Gott 👋",
        "assistant (end_turn): Be brief. 1 texts: Grüß Gott 👋",
        "user: Once more",
        "assistant (end_turn): Be brief. 3 texts: Grüß Gott 👋 / Be brief. 1 texts: Grüß Gott 👋 / Once more",
    ),
    bodies=2,
)
SINGLE = Row(
    name="single tool",
    checks="one call, its result, an answer that quotes it",
    tools=Workbench.adding,
    tool_count=1,
    turns=(Turn("1 + 2?"),),
    steps=(calls(call("add", a=1, b=2)), sum_up),
    outcome=(
        "user: 1 + 2?",
        'assistant (tool_use): add{"a":1,"b":2}',
        "tool: add gave 3",
        "assistant (end_turn): 3",
    ),
    bodies=2,
)
PARALLEL = Row(
    name="parallel tools",
    checks="three calls beside a text; they run at the same time, the results keep the order of the calls",
    tools=Workbench.asking,
    tool_count=1,
    turns=(Turn("How warm is it?"),),
    steps=(
        calls(TextBlock("I ask."), *(call("station", n, city=c) for n, c in enumerate(("Oslo", "Lima", "Ur")))),
        sum_up,
    ),
    outcome=(
        "user: How warm is it?",
        'assistant (tool_use): I ask. + station{"city":"Oslo"} + station{"city":"Lima"} + station{"city":"Ur"}',
        "tool: station gave Oslo: 4 °C + station gave Lima: 4 °C + station gave Ur: 2 °C",
        "assistant (end_turn): Oslo: 4 °C | Lima: 4 °C | Ur: 2 °C",
    ),
    bodies=2,
)
MENDED = Row(
    name="tool error and recovery",
    checks="the error is told to the model, which calls again and succeeds",
    tools=Workbench.dividing,
    tool_count=1,
    turns=(Turn("6 / 0?"),),
    steps=(calls(call("divide", a=6, b=0)), mend, sum_up),
    outcome=(
        "user: 6 / 0?",
        'assistant (tool_use): divide{"a":6,"b":0}',
        "tool: divide failed ZeroDivisionError: float division by zero",
        'assistant (tool_use): divide{"a":6,"b":4}',
        "tool: divide gave 1.5",
        "assistant (end_turn): 1.5",
    ),
    bodies=3,
)
TODO = Row(
    name="TodoWrite in a task of several steps",
    checks="a list is put down, kept current beside other calls, and finished; the tool gets typed values",
    tools=Workbench.working,
    tool_count=3,
    turns=(Turn("Write a note in three steps."),),
    steps=(
        calls(TextBlock("First a plan."), call("TodoWrite", 1, todos=todos("in_progress", "pending", "pending"))),
        calls(
            call("TodoWrite", 2, todos=todos("completed", "in_progress", "pending")),
            call("Write", 3, path="note.txt", content="done"),
        ),
        calls(call("Read", 4, path="note.txt")),
        calls(call("TodoWrite", 5, todos=todos("completed", "completed", "completed"))),
        say("All three steps are done."),
    ),
    outcome=(
        "user: Write a note in three steps.",
        "assistant (tool_use): First a plan. + "
        + call_line("TodoWrite", todos=todos("in_progress", "pending", "pending")),
        "tool: TodoWrite gave 3 steps",
        "assistant (tool_use): "
        + call_line("TodoWrite", todos=todos("completed", "in_progress", "pending"))
        + " + "
        + call_line("Write", path="note.txt", content="done"),
        "tool: TodoWrite gave 3 steps + Write gave wrote note.txt",
        'assistant (tool_use): Read{"path":"note.txt"}',
        "tool: Read gave done",
        "assistant (tool_use): " + call_line("TodoWrite", todos=todos("completed", "completed", "completed")),
        "tool: TodoWrite gave 3 steps",
        "assistant (end_turn): All three steps are done.",
    ),
    noted=(
        '["in_progress","pending","pending"]',
        '["completed","in_progress","pending"]',
        '["completed","completed","completed"]',
    ),
    files={"note.txt": "done"},
    bodies=5,
)
WRITE = Row(
    name="a file through Write",
    checks="the file on disk holds, byte for byte, what the model wrote: quotes, a tab, line ends, a backslash, emoji",
    tools=Workbench.working,
    tool_count=3,
    turns=(Turn("A poem, please, in poems/rose.md."),),
    steps=(calls(call("Write", path="poems/rose.md", content=POEM)), sum_up),
    outcome=(
        "user: A poem, please, in poems/rose.md.",
        "assistant (tool_use): " + call_line("Write", path="poems/rose.md", content=POEM),
        "tool: Write gave wrote poems/rose.md",
        "assistant (end_turn): wrote poems/rose.md",
    ),
    files={"poems/rose.md": POEM},
    bodies=2,
)
NESTED = Row(
    name="nested calls to a final text",
    checks="find → read → add → text: each call is made of the result before it",
    tools=Workbench.searching,
    tool_count=5,
    turns=(Turn("Note two numbers."), Turn("Now add them.")),
    steps=(
        calls(call("Write", 0, path="numbers.txt", content="they are 20 and 22 today")),
        say("Noted."),
        calls(call("find", 1, word="today")),
        read_what_was_found,
        add_what_was_read,
        sum_up,
    ),
    outcome=(
        "user: Note two numbers.",
        'assistant (tool_use): Write{"content":"they are 20 and 22 today","path":"numbers.txt"}',
        "tool: Write gave wrote numbers.txt",
        "assistant (end_turn): Noted.",
        "user: Now add them.",
        'assistant (tool_use): find{"word":"today"}',
        'tool: find gave ["numbers.txt"]',
        'assistant (tool_use): Read{"path":"numbers.txt"}',
        "tool: Read gave they are 20 and 22 today",
        'assistant (tool_use): add{"a":20,"b":22}',
        "tool: add gave 42",
        "assistant (end_turn): 42",
    ),
    files={"numbers.txt": "they are 20 and 22 today"},
    bodies=6,
)
CROWD = Row(
    name=f"{MANY} tools",
    checks=f"all {MANY} definitions arrive, and the 28th is called",
    tools=Workbench.many,
    tool_count=MANY,
    turns=(Turn("Call number 27."),),
    steps=(count_tools, sum_up),
    outcome=(
        "user: Call number 27.",
        f'assistant (tool_use): tool_27{{"text":"one of {MANY}","times":2}}',
        f"tool: tool_27 gave 27: one of {MANY} one of {MANY}",
        f"assistant (end_turn): 27: one of {MANY} one of {MANY}",
    ),
    bodies=2,
)
CUT = Row(
    name="stream interrupted",
    checks="the connection breaks after two words, the next answer is cancelled after three: both partial answers are"
    " kept, told back to the model, and the conversation goes on (not streamed: no answer is kept)",
    turns=(Turn("Count.", "broken", "two "), Turn("Go on.", "cancelled", "three "), Turn("And?")),
    steps=(say(LONG), say(LONG), count_texts),
    outcome=(
        "user: Count.",
        "assistant (error): one two ",
        "user: Go on.",
        "assistant (cancelled): one two three ",
        "user: And?",
        "assistant (end_turn): Be brief. 5 texts: Count. / one two  / Go on. / one two three  / And?",
    ),
    whole=(  # a question that fails before any answer is removed; one that is cancelled stays
        "user: Go on.",
        "user: And?",
        "assistant (end_turn): Be brief. 2 texts: Go on. / And?",
    ),
    bodies=3,
)
OVERFLOW = Row(
    name="context overflow",
    checks="the oldest turns go, calls and results together; system prompt and last question stay; asked once more",
    tools=Workbench.adding,
    tool_count=1,
    turns=(Turn("And the last?"),),
    steps=(Step(act="overflow"), say("It fits.")),
    history=EARLIER,
    outcome=(
        *(
            line
            for n in range(1, 7)
            for line in (
                f"user: question {n} " + "word " * 200,
                f'assistant: add{{"a":{n},"b":1}}',
                f"tool: add gave {n + 1}",
                f"assistant: answer {n} " + "word " * 200,
            )
        ),
        "user: And the last?",
        "assistant (end_turn): It fits.",
    ),
    shortened=16,
    sent="question 5 ",
    bodies=2,
)
STRICT = Row(
    name="strict schemas",
    checks="optional, nested, arrays of objects, an enum, nullable by its author: the model says null for all that it"
    " would leave out, the tool sees what its author declared",
    tools=Workbench.booking,
    tool_count=1,
    turns=(Turn("Book it."),),
    steps=(book_strictly, sum_up),
    outcome=(
        "user: Book it.",
        "assistant (tool_use): " + call_line("book", **JOURNEY),
        "tool: book gave booked",
        "assistant (end_turn): booked",
    ),
    noted=(BOOKED,),
    bodies=2,
)

ROWS: Sequence[Row] = (SIMPLE, SINGLE, PARALLEL, MENDED, TODO, WRITE, NESTED, CROWD, CUT, OVERFLOW, STRICT)

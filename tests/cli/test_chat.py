"""``interlingua chat`` in a pseudo-terminal, with the embedded model behind real HTTP."""

from __future__ import annotations

import io
import re
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from interlingua import Base64Source, ImageBlock, Request, SqliteStore, SyncSession, ThinkingBlock
from interlingua.cli.chat.display import Display
from interlingua.embedded import LoopbackServer, Step, call

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals on Windows", allow_module_level=True)

from cli.terminal import CTRL_C, CTRL_D, Terminal

KEYS = {"ANTHROPIC_API_KEY": "key", "OPENAI_API_KEY": "key"}


@contextmanager
def chatting(home: Path, *words: str, script: Any = None) -> Iterator[tuple[Terminal, LoopbackServer]]:
    with LoopbackServer.in_thread(script) as server:
        bases = {"ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": server.url}
        with Terminal("chat", *words, home=home, environment=KEYS | bases) as terminal:
            yield terminal, server


def leave(terminal: Terminal) -> None:
    terminal.press(CTRL_D)
    assert terminal.ended() == 0


def stored(home: Path) -> SyncSession:
    store = SqliteStore(home / ".local" / "share" / "interlingua" / "chats.db")
    return SyncSession.load(store, store.ids()[-1], model="embedded:")


def test_markdown_streams_and_thoughts_are_shown(tmp_path: Path) -> None:
    answer = "# Title\n\nSome **bold** words.\n\n- one\n- two\n\n```python\nprint(1)\n```\n"
    with chatting(tmp_path, "anthropic:m", script=[[ThinkingBlock("Let me think."), answer]]) as (terminal, server):
        terminal.expect("/help lists the commands")
        terminal.enter("Hello there!")
        terminal.expect("Let me think.")
        terminal.expect("Some bold words.")
        terminal.expect("• two")
        terminal.expect("print(1)")
        leave(terminal)
        assert server.script.seen[0].messages[0].text == "Hello there!"
    assert [m.role for m in stored(tmp_path).messages] == ["user", "assistant"]


def test_a_conversation_is_moved_after_its_plan_was_shown(tmp_path: Path) -> None:
    with chatting(tmp_path, "anthropic:m") as (terminal, server):
        terminal.enter("one")
        terminal.expect("You said: one")
        terminal.enter("/model openai:gpt-5")
        terminal.expect("Moving to openai:gpt-5: about")
        terminal.expect("the prompt cache is lost")
        terminal.expect("Move? [Y/n]")
        terminal.enter("n")
        terminal.expect("It stays with anthropic:m")
        terminal.enter("/model openai:gpt-5")
        terminal.expect("Move? [Y/n]")
        terminal.enter("")
        terminal.expect("openai:gpt-5 answers from now on")
        terminal.enter("two")
        terminal.expect("You said: two")
        terminal.enter("/wire openai-chat")
        terminal.expect('"messages"')
        terminal.expect('"content": "two"')
        terminal.enter("/model nowhere:x")
        terminal.expect("nowhere")
        leave(terminal)
        assert [request.model for request in server.script.seen] == ["m", "gpt-5"]


def test_a_tool_runs_only_if_the_user_says_so(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    script = [
        call("write_file", path="a.txt", text="one"),
        "Refused, then.",
        call("write_file", path="a.txt", text="two"),
        "Written.",
        call("shell", command="cat a.txt"),
        "Shown.",
        call("write_file", path="../outside.txt", text="three"),
        "Not allowed.",
    ]
    words = ("anthropic:m", "--tools", "files,shell", "--folder", "work")
    with chatting(tmp_path, *words, script=script) as (terminal, _):
        terminal.enter("Write a file")
        terminal.expect("The model wants to run write_file")
        terminal.expect("Run it?")
        terminal.enter("not now")
        terminal.expect("not now")
        terminal.expect("Refused, then.")
        assert not (tmp_path / "work" / "a.txt").exists()
        terminal.enter("Do it")
        terminal.expect("Run it?")
        terminal.enter("a")
        terminal.expect("3 characters written to a.txt")
        terminal.expect("Written.")
        assert (tmp_path / "work" / "a.txt").read_text() == "two"
        terminal.enter("Show it")
        terminal.expect("wants to run shell")
        terminal.enter("y")
        terminal.expect("← two")
        terminal.expect("Shown.")
        terminal.enter("Outside")
        terminal.expect("is outside of the folder")  # always approved, and refused by the tool itself
        terminal.expect("Not allowed.")
        leave(terminal)
    assert not (tmp_path / "outside.txt").exists()


def test_ctrl_c_keeps_the_partial_answer_and_twice_leaves(tmp_path: Path) -> None:
    stalls = Step(text="These words come, and then there are no more.", fault="stall", after=6)
    with chatting(tmp_path, "anthropic:m", script=[stalls, "Going on."]) as (terminal, server):
        terminal.enter("Tell me")
        terminal.expect("These words")
        terminal.type(CTRL_C)
        terminal.expect("what came of the answer is kept")
        terminal.enter("Go on")
        terminal.expect("Going on.")
        assert server.script.seen[1].messages[1].text.startswith("These words")
        terminal.press(CTRL_C)
        terminal.expect("once more leaves")
        terminal.press(CTRL_C)
        assert terminal.ended() == 0


def test_undo_retry_and_fork(tmp_path: Path) -> None:
    def count(request: Request) -> Step:
        return Step(text=f"answer {len(server.script.seen)} to {request.messages[-1].text}")

    with chatting(tmp_path, "anthropic:m", script=count) as (terminal, server):
        terminal.enter("one")
        terminal.expect("answer 1 to one")
        terminal.enter("two")
        terminal.expect("answer 2 to two")
        terminal.enter("/undo")
        terminal.expect("Taken back: two")
        terminal.enter("/retry")
        terminal.expect("answer 3 to one")
        assert [m.text for m in server.script.seen[-1].messages] == ["one"]
        terminal.enter("/fork")
        terminal.expect("This is a fork now")
        terminal.enter("three")
        terminal.expect("answer 4 to three")
        assert [m.text for m in server.script.seen[-1].messages] == ["one", "answer 3 to one", "three"]
        leave(terminal)


def test_a_conversation_is_continued(tmp_path: Path) -> None:
    with chatting(tmp_path, "anthropic:m") as (terminal, _):
        terminal.enter("My name is Ada.")
        terminal.expect("You said: My name is Ada.")
        leave(terminal)
    with chatting(tmp_path, "--continue") as (terminal, server):
        terminal.expect("anthropic:m")
        terminal.enter("What is my name?")
        terminal.expect("You said: What is my name?")
        assert server.script.seen[0].messages[0].text == "My name is Ada."
        leave(terminal)
    assert len(stored(tmp_path).messages) == 4


def test_saving_loading_and_looking_at_things(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("a secret word")
    with chatting(tmp_path, "anthropic:claude-sonnet-5-5") as (terminal, server):
        terminal.enter("Look at @note.md please")
        terminal.expect("a secret word Look at @note.md please")
        assert "a secret word" in server.script.seen[0].messages[0].text
        terminal.enter("/cost")
        terminal.expect("tokens in")
        terminal.enter("/losses")
        terminal.expect("max_tokens")
        terminal.enter("/save talk.json")
        terminal.expect("Saved in talk.json")
        terminal.enter("/load talk.json")
        terminal.expect("2 messages, anthropic:claude-sonnet-5-5")
        terminal.enter("/help")
        terminal.expect("/wire [DIALECT]")
        terminal.enter("/lod")
        terminal.expect("did you mean '/load'?")
        leave(terminal)


def test_a_long_answer_is_drawn_on_the_rows_that_there_are() -> None:
    """Rows that have scrolled away are not redrawn, because nothing could erase them."""
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80, height=24)
    display = Display(terminal)
    for line in ("```python\n", *(f"print({number})\n" for number in range(100, 160)), "```\n"):
        display.text(line)
    display.finish()
    drawn: str = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert max(len(run) // 8 for run in re.findall(r"(?:\x1b\[1A\x1b\[2K)+", drawn)) in range(2, 24)
    assert [drawn.rpartition("\x1b[2K")[2].count(f"{number}\x1b") for number in (100, 130, 159)] == [1, 1, 1]


def test_what_ctrl_c_echoes_stays_on_its_line(tmp_path: Path) -> None:
    stalls = Step(text="Half an answer, and then there are no more.", fault="stall", after=6)
    with chatting(tmp_path, "anthropic:m", script=[stalls]) as (terminal, _):
        terminal.enter("Tell me")
        terminal.expect("Half an")
        terminal.type(CTRL_C)
        terminal.expect("is kept")
        row = terminal.shown.partition("^C")[0].rpartition("\x1b[2K")[2]
        assert len(row) + len("^C") < 100  # the terminal's width
        leave(terminal)


SERVER = """
from mcp.server import MCPServer
server = MCPServer("calculator")
@server.tool()
def add(a: int, b: int) -> int:
    "Adds."
    return a + b
server.run()
"""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


def test_a_server_of_tools_a_picture_and_a_conversation_by_its_id(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "pixel.png").write_bytes(b64decode(PIXEL))
    script = [call("add", a=20, b=22), "It is 42.", "A pixel.", "Here again."]
    words = ("anthropic:m", "--mcp", f"{sys.executable} server.py")
    with chatting(tmp_path, *words, script=script) as (terminal, server):
        terminal.enter("Add 20 and 22")
        terminal.expect("wants to run add")
        terminal.enter("y")
        terminal.expect("← 42")
        terminal.expect("It is 42.")
        terminal.enter("What is @pixel.png ?")
        terminal.expect("A pixel.")
        picture = server.script.seen[-1].messages[-1].content[0]
        assert isinstance(picture, ImageBlock)
        assert picture.source == Base64Source("image/png", PIXEL)
        id = stored(tmp_path).id
        terminal.enter("/fork")
        terminal.expect("This is a fork now")
        terminal.enter("/undo")
        terminal.expect("Taken back: What is")
        terminal.enter(f"/load {id}")
        terminal.expect("6 messages, anthropic:m")
        terminal.enter("And now?")
        terminal.expect("Here again.")
        assert len(server.script.seen[-1].messages) == 7
        leave(terminal)


def test_an_error_is_one_line_and_the_chat_goes_on(tmp_path: Path) -> None:
    script = [Step(act="fail", status=401, message="invalid x-api-key"), "Here I am."]
    with chatting(tmp_path, "anthropic:m", script=script) as (terminal, _):
        terminal.enter("Hello?")
        terminal.expect("answered 401")
        terminal.enter("Hello again?")
        terminal.expect("Here I am.")
        leave(terminal)
        assert "Traceback" not in terminal.shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no provider has a key"),
        (("--continue",), "there is no conversation to go on with"),
        (("--tools", "flies"), "did you mean 'files'?"),
    ],
)
def test_what_keeps_a_chat_from_beginning(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    with Terminal("chat", *words, home=tmp_path, environment={}) as terminal:
        assert "Traceback" not in terminal.expect(says)
        assert terminal.ended() in (2, 3)


def test_a_pipe_is_no_terminal(here: Any) -> None:
    done = here("chat", "embedded:", stdin=b"hello")
    assert done.code == 2
    assert "chat needs a terminal" in done.err

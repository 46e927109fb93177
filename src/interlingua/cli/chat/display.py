"""Writes to the terminal of the chat: Markdown while it streams, thinking dimmed, a line for each call of a tool."""

from __future__ import annotations

import msgspec
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text

from ...types.blocks import ToolResultBlock, ToolUseBlock

__all__ = ["Display"]

FENCES = ("```", "~~~")
SHORT = 200


class Display:
    """The terminal. ``text`` and ``thinking`` take an answer piece by piece; ``finish`` ends the piece in progress."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self._pending = ""
        self._live: Live | None = None
        self._thinking = False

    # ------------------------------------------------------------------------------------------------------- an answer

    def text(self, text: str) -> None:
        """Show more of the answer. Finished paragraphs are printed once; the last one is redrawn as it grows."""
        if self._thinking:
            self.finish()
        self._pending += text
        done, self._pending = split_finished(self._pending)
        if done.strip():
            self._stop()
            self.console.print(Markdown(done))
        if self._pending.strip():
            self._draw()

    def thinking(self, text: str) -> None:
        """Show more of the model's thinking."""
        if not self._thinking:
            self.finish()
            self._thinking = True
        self.console.print(Text(text, style="dim italic"), end="")

    def finish(self) -> None:
        """Print what is still being redrawn, and begin a new line after thinking."""
        if self._thinking:
            self.console.print()
            self._thinking = False
        self._stop()
        if self._pending.strip():
            self.console.print(Markdown(self._pending))
        self._pending = ""

    def _draw(self) -> None:
        if self._live is None:
            self._live = Live(console=self.console, transient=True, auto_refresh=False, vertical_overflow="visible")
            self._live.start()
        self._live.update(_Tail(self._pending), refresh=True)

    def _stop(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    # ----------------------------------------------------------------------------------------------------------- lines

    def call(self, call: ToolUseBlock) -> None:
        """Show a call of a tool."""
        self.finish()
        self.console.print(Text(f"→ {describe_call(call)}", style="cyan"))

    def result(self, result: ToolResultBlock, *, failed: bool) -> None:
        """Show the result of a tool."""
        self.finish()
        text = " ".join(str(getattr(block, "text", "…")) for block in result.content)
        self.console.print(Text(f"← {shorten(text)}", style="red" if failed else "dim"))

    def note(self, text: str, style: str = "dim") -> None:
        """Show a line of the chat itself."""
        self.finish()
        self.console.print(Text(text, style=style))


class _Tail:
    """The end of a Markdown text, as much as fits on the terminal: what has scrolled away cannot be redrawn.

    Three columns at the right stay free for the ``^C`` that a terminal echoes.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = max(1, console.height - 2)
        narrower = options.update(width=max(1, options.max_width - 3))
        for line in console.render_lines(Markdown(last_lines(self.text, rows)), narrower, pad=False)[-rows:]:
            yield from line
            yield Segment.line()


def last_lines(text: str, rows: int) -> str:
    """The last lines of a text. If it begins with a code block, the line that opens the block is kept too."""
    lines = text.splitlines(keepends=True)
    kept = lines[-rows:]
    return "".join(kept if lines == kept or not lines[0].lstrip().startswith(FENCES) else [lines[0], *kept])


def split_finished(text: str) -> tuple[str, str]:
    """Split a text into its complete paragraphs and code blocks, and the rest."""
    lines = text.splitlines(keepends=True)
    end = 0
    fenced = False
    for place, line in enumerate(lines, 1):
        if line.lstrip().startswith(FENCES):
            fenced = not fenced
        if not fenced and not line.strip() and line.endswith("\n"):
            end = place
    return "".join(lines[:end]), "".join(lines[end:])


def describe_call(call: ToolUseBlock) -> str:
    """A call and its input in one line."""
    given = call.input_text if call.kind == "text" else msgspec.json.encode(call.input).decode()
    return f"{call.name} {shorten(given or '')}"


def shorten(text: str) -> str:
    """A text in one line, cut after 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[:SHORT]}…"

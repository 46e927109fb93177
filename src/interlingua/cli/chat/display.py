"""What the chat writes: Markdown as it streams, thoughts dimmed, tools in a line each."""

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
    """The terminal. ``text`` and ``thinking`` take an answer piece by piece; ``settle`` ends what is open."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self._pending = ""
        self._live: Live | None = None
        self._thinking = False

    # ------------------------------------------------------------------------------------------------------- an answer

    def text(self, text: str) -> None:
        """More of the answer. What is a finished paragraph stays; the last one is drawn anew as it grows."""
        if self._thinking:
            self.settle()
        self._pending += text
        done, self._pending = finished(self._pending)
        if done.strip():
            self._stop()
            self.console.print(Markdown(done))
        if self._pending.strip():
            self._draw()

    def thinking(self, text: str) -> None:
        """More of a thought."""
        if not self._thinking:
            self.settle()
            self._thinking = True
        self.console.print(Text(text, style="dim italic"), end="")

    def settle(self) -> None:
        """What is open ends here."""
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
        """A tool is run."""
        self.settle()
        self.console.print(Text(f"→ {described(call)}", style="cyan"))

    def result(self, result: ToolResultBlock, *, failed: bool) -> None:
        """What a tool returned."""
        self.settle()
        text = " ".join(str(getattr(block, "text", "…")) for block in result.content)
        self.console.print(Text(f"← {shortened(text)}", style="red" if failed else "dim"))

    def note(self, text: str, style: str = "dim") -> None:
        """A line that nobody said."""
        self.settle()
        self.console.print(Text(text, style=style))


class _Tail:
    """The end of a Markdown text, as much as fits on the terminal: what has scrolled away cannot be drawn anew.

    At the right there is room for the ``^C`` that a terminal echoes.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = max(1, console.height - 2)
        narrower = options.update(width=max(1, options.max_width - 3))
        for line in console.render_lines(Markdown(ending(self.text, rows)), narrower, pad=False)[-rows:]:
            yield from line
            yield Segment.line()


def ending(text: str, rows: int) -> str:
    """The last lines of a text; of a code block, below the line that opens it."""
    lines = text.splitlines(keepends=True)
    kept = lines[-rows:]
    return "".join(kept if lines == kept or not lines[0].lstrip().startswith(FENCES) else [lines[0], *kept])


def finished(text: str) -> tuple[str, str]:
    """The paragraphs and code blocks that are complete, and the rest."""
    lines = text.splitlines(keepends=True)
    end = 0
    fenced = False
    for place, line in enumerate(lines, 1):
        if line.lstrip().startswith(FENCES):
            fenced = not fenced
        if not fenced and not line.strip() and line.endswith("\n"):
            end = place
    return "".join(lines[:end]), "".join(lines[end:])


def described(call: ToolUseBlock) -> str:
    """A call in a line."""
    given = call.input_text if call.kind == "text" else msgspec.json.encode(call.input).decode()
    return f"{call.name} {shortened(given or '')}"


def shortened(text: str) -> str:
    """A text in a line."""
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[:SHORT]}…"

"""A program in a pseudo-terminal: tests read what it shows and type for the user."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import subprocess
import sys
import time
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

from cli.support import SOURCE

__all__ = ["CTRL_C", "CTRL_D", "Terminal"]

CTRL_C, CTRL_D = "\x03", "\x04"
ANSI = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])|\x07")
PATIENCE = 30.0
PROMPTING, PROMPTED = "\x1b[?2004h", "\x1b[?2004l"
"""A line editor begins and ends by switching bracketed paste on and off."""

# The terminal must be the controlling one, so that Ctrl-C is a signal.
LAUNCH = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class Terminal:
    """``interlingua …`` in a new terminal, with only the given variables in its environment."""

    def __init__(self, *words: str, home: Path, width: int = 100, environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(self._ours, TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        variables = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "PYTHONPATH": SOURCE}
        variables |= {"PROMPT_TOOLKIT_NO_CPR": "1", "PYTHONWARNINGS": "error"} | environment
        line = [sys.executable, "-c", LAUNCH, sys.executable, "-m", "interlingua", *words]
        self.process = subprocess.Popen(
            line, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, cwd=home, start_new_session=True
        )
        os.close(theirs)
        self.shown = ""
        self._seen = 0

    def type(self, text: str) -> None:
        """Type a text without Enter."""
        os.write(self._ours, text.encode())

    def press(self, text: str) -> None:
        """Type a text as soon as a prompt waits for input."""
        end = time.monotonic() + PATIENCE
        while self.shown.rfind(PROMPTING) <= self.shown.rfind(PROMPTED):
            if time.monotonic() > end or not self._read():
                raise AssertionError(f"no prompt came. The end of what was shown:\n{self.shown[-3000:]}")
        self.type(text)

    def enter(self, text: str) -> None:
        """Type a line as soon as a prompt waits for input."""
        self.press(f"{text}\r")

    def expect(self, text: str) -> str:
        """Wait until a text is shown, after the text that was expected before. Returns the output up to its end."""
        end = time.monotonic() + PATIENCE
        while True:
            plain = ANSI.sub("", self.shown)
            found = plain.find(text, self._seen)
            if found >= 0:
                shown, self._seen = plain[self._seen : found + len(text)], found + len(text)
                return shown
            if time.monotonic() > end or not self._read():
                raise AssertionError(f"{text!r} was not shown. The end of what was:\n{plain[self._seen :][-3000:]}")

    def _read(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], 1.0)
        if not ready:
            return self.process.poll() is None
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError:  # the program is gone
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)

    def ended(self) -> int:
        """Wait for the end of the program. Returns its exit code."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            self._read()
        return self.process.wait(1)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)

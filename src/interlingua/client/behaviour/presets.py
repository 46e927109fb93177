"""The presets of the package. Users can write their own in YAML."""

from __future__ import annotations

from ...types.words import ErrorClass
from ..config import Retry
from .values import Behaviour, Preset

__all__ = ["PRESETS", "preset"]

USUAL = (ErrorClass.rate_limit, ErrorClass.server_error, ErrorClass.network, ErrorClass.timeout)
MISMATCH = ErrorClass.tool_error  # the provider says that calls and results do not match; a second attempt often works

TOOL_MANNERS = """\
# Working with tools

These rules hold for the tools that you have been given; a rule about a tool that you do not have is void.

- Act. If a tool can take the next step, call it now, instead of telling what you would do or what the user could do.
- If the task has three or more steps, begin with TodoWrite: put the steps down, and keep their state current.
- Read a file before you Edit it.
- What belongs in a file goes there through Write. Do not print the content of files in your answer.
- Calls that do not need each other's results belong in the same turn.
- Save what you were asked to produce, and end with a link or a path to it.
- If a tool fails, read its error, mend the cause and call again. Do not stop at the first failure, nor hide it."""

CODING_AGENT = Preset(
    name="coding-agent",
    rows={
        "claude": Behaviour(
            max_tools=60,
            max_retries=3,
            retry=Retry(base=1.0, cap=30.0, classes=USUAL),
        ),
        "openai": Behaviour(
            addendum=TOOL_MANNERS,
            strict=True,
            max_tools=20,
            force_first_tool=True,
            max_retries=5,
            retry=Retry(base=2.0, cap=60.0, classes=(*USUAL, MISMATCH)),
        ),
        "gemini": Behaviour(
            max_tools=30,
            max_retries=3,
            retry=Retry(base=1.0, cap=30.0, classes=USUAL),
        ),
    },
    default=Behaviour(max_tools=20),
)

PRESETS: dict[str, Preset] = {row.name: row for row in (CODING_AGENT,)}
"""The presets that come with the package, by name."""


def preset(name: str) -> Preset:
    """The preset of that name, or an error that names the known ones."""
    found = PRESETS.get(name)
    if found is None:
        raise ValueError(f"no preset is called {name!r}; known: {', '.join(sorted(PRESETS))}")
    return found

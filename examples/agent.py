"""An agent with tools, one of which needs approval, and with a limit on the steps of a turn.

    python examples/agent.py anthropic:sonnet

Without a model's name the script below plays the model.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from interlingua import SyncSession, ToolAnnotations, ToolDefinition, ToolUseBlock, tool
from interlingua.embedded import call

FOLDER = Path(tempfile.mkdtemp())
SCRIPT = [
    call("list_files"),
    [call("read_file", name="notes.txt"), call("delete_file", name="old.log")],
    "The notes say to buy milk. I removed old.log.",
]


def list_files() -> list[str]:
    """The names of all files in the folder."""
    return sorted(path.name for path in FOLDER.iterdir())


def read_file(name: str) -> str:
    """The text of a file.

    Args:
        name: As list_files gives it.
    """
    return (FOLDER / name).read_text()


@tool(annotations=ToolAnnotations(destructive=True))
def delete_file(name: str) -> str:
    """Remove a file."""
    (FOLDER / name).unlink()
    return f"{name} is gone"


def approve(use: ToolUseBlock, definition: ToolDefinition) -> bool | str:
    """Decide about a call. A real program would ask a person; this one allows the removal of logs."""
    return True if use.input["name"].endswith(".log") else "only logs may be removed"


def main(model: str | None) -> None:
    (FOLDER / "notes.txt").write_text("Buy milk.")
    (FOLDER / "old.log").write_text("…")
    settings = {"script": SCRIPT} if model is None else {}
    tools = [list_files, read_file, delete_file]
    with SyncSession(model or "embedded:", tools, approve=approve, max_steps=10, **settings) as session:
        for event in session.run_stream("What do my notes say? Remove what is not needed."):
            match event.type:
                case "tool.start":
                    print("runs", event.call.name, event.call.input)
                case "approval.asked":
                    print("asks before", event.call.name)
                case "text.delta":
                    print(event.text, end="")
        print(f"\n{session.report.steps} steps, {session.usage.total_tokens} tokens; left: {list_files()}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)

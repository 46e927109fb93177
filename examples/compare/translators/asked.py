"""What every program here shares: tasks come in as lines of JSON, and for each one line goes out.

A task is ``{"verb": "request" | "answer" | "stream", "source", "target", "body", "model", "stream"}``; the body of a
stream is the text that came. A line out is ``{"body", "told"}`` (what was made of it, and what was said to be lost),
``{"refused"}`` (the library says that it does not do this) or ``{"error"}``. The first line out is the version.
"""

import contextlib
import io
import json
import sys
from importlib.metadata import version


class RefusedError(Exception):
    """The library says in words of its own that it does not translate this."""


def versions(*packages):
    return ", ".join(f"{package} {version(package)}" for package in packages)


def serve(version, verbs):
    """Answer every task of standard input; ``verbs`` are functions of a task that return ``(body, told)``."""
    out = sys.stdout
    print(json.dumps({"version": version}), file=out, flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                body, told = verbs[task["verb"]](task)
            done = json.dumps({"body": body, "told": told}, default=plain)
        except RefusedError as error:
            done = json.dumps({"refused": str(error)})
        except Exception as error:  # whatever a library raises is a finding
            done = json.dumps({"error": f"{type(error).__name__}: {error}"[:300]})
        print(done, file=out, flush=True)


def plain(value):
    """Values of a library's own types."""
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True, mode="json")
    if isinstance(value, bytes):
        return value.decode()
    raise TypeError(f"{type(value).__name__} is not JSON")


def frames(text):
    """The finished server-sent events of a text, parsed; ``[DONE]`` is left out."""
    for event in text.replace("\r\n", "\n").split("\n\n"):
        data = "".join(line[5:].strip() for line in event.split("\n") if line.startswith("data:"))
        if data and data != "[DONE]":
            with contextlib.suppress(ValueError):
                yield json.loads(data)


def events(written, named):
    """Server-sent events: ``named`` protocols say the event's type in a line of its own."""
    for event in written:
        name = f"event: {event['type']}\n" if named and "type" in event else ""
        yield f"{name}data: {json.dumps(event)}\n\n"

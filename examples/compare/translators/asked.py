"""Shared by all programs here: they read tasks as lines of JSON, and write one line for each.

A task is ``{"verb": "request" | "answer" | "stream", "source", "target", "body", "model", "stream"}``; the body of a
stream is its text. A result is ``{"body", "told"}`` (the translation, and the losses that the library reported),
``{"refused"}`` (the library says that it cannot do this) or ``{"error"}``. The first line written is the version.
"""

import contextlib
import io
import json
import sys
from importlib.metadata import version


class RefusedError(Exception):
    """The library itself says that it does not translate this."""


def versions(*packages):
    return ", ".join(f"{package} {version(package)}" for package in packages)


def serve(version, verbs):
    """Run every task of standard input; ``verbs`` are functions of a task that return ``(body, told)``."""
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
    """The JSON value for an object of a library's own type."""
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
    """Events as server-sent events; if ``named``, each has an ``event:`` line with its type."""
    for event in written:
        name = f"event: {event['type']}\n" if named and "type" in event else ""
        yield f"{name}data: {json.dumps(event)}\n\n"

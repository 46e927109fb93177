"""What an official client is here: what it holds of an answer, what it raises and sends, and how it is compared."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import Any, NamedTuple

from oracles.sdks import JSON, Answer, Loopback

Json = Any
USER = [{"role": "user", "content": "?"}]
SSE = {"content-type": "text/event-stream"}


class View(NamedTuple):
    """What a client holds of an answer, in no client's own words."""

    text: str
    thoughts: str
    calls: list[tuple[str, str, Json]]
    stop: str
    usage: Json


def plain(value: Any) -> Json:
    """A value as JSON: bytes as Base64, as the wire has them."""
    return json.loads(json.dumps(value, default=lambda held: b64encode(held).decode()))


def frames_of(wire: bytes) -> list[Json]:
    """The JSON of an event stream."""
    frames = [line[6:] for line in wire.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(frame) for frame in frames if frame != b"[DONE]"]


def parsed(arguments: str) -> Json:
    """The arguments of a call; what is no object is an empty one, as with us."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class Client:
    """What all have in common: a server that gives one answer, and remembers what it was asked."""

    name: str
    kinds: tuple[str, ...] = ("text", "thinking", "refusal", "call")
    """The blocks that may be open together in its streams."""
    streams: dict[str, str] = SSE
    connect: Callable[[str], Any]
    asks: str
    """The method that asks for an answer."""
    asked: dict[str, Any] = {"model": "m", "messages": USER}

    @contextmanager
    def calls(self, answer: Answer | str, method: str, **arguments: Any) -> Iterator[tuple[Any, Any]]:
        """What a method of the client gives, and the server that it asked; ``answer`` may be the URL of a server."""
        with ExitStack() as stack:
            if isinstance(answer, str):
                client, server = type(self).connect(answer), None
                stack.callback(client.close)
            else:
                client, server = self.connected(answer, stack)
            yield reduce(getattr, method.split("."), client)(**arguments), server

    def connected(self, answer: Answer, stack: ExitStack) -> tuple[Any, Any]:
        server = Loopback(type(self).connect, answer)
        return stack.enter_context(server), server

    def whole(self, body: Json) -> Any:
        """The client's own object for a whole answer, or for what a server answers whose URL is given."""
        answer = body if isinstance(body, str) else (200, JSON, json.dumps(body).encode())
        with self.calls(answer, self.asks, **self.asked) as (found, _):
            return found

    def streamed(self, wire: bytes | str) -> Answer | str:
        """The answer of a server that streams these bytes, or its URL."""
        return wire if isinstance(wire, str) else (200, self.streams, wire)

    def validate(self, body: Json) -> None:
        """Check a body by the client's own models, since clients construct them unchecked."""

    def validate_stream(self, wire: bytes) -> None:
        """Check the frames of a stream in the same way."""

    def reads(self, body: Json) -> Json:
        raise NotImplementedError

    def reads_stream(self, wire: bytes | str) -> Json:
        raise NotImplementedError

    def sends(self, method: str, arguments: Json, answer: Json) -> tuple[str, dict[str, str], Json]:
        """The path, headers and body that it sends."""
        streams = method.endswith("_stream") or arguments.get("stream")
        body = b"" if streams else json.dumps(answer).encode()
        with self.calls((200, self.streams if streams else JSON, body), method, **arguments) as (found, server):
            if streams:
                list(found["stream"] if isinstance(found, dict) else found)
            return self.heard(server)

    def heard(self, server: Any) -> tuple[str, dict[str, str], Json]:
        path, body = server.asked[-1]
        return path, {}, body

    def told(self, error: Any) -> tuple[int | None, str, str]:
        """Status, word and message of what it raises."""
        raise NotImplementedError

    def hears(self, wire: bytes) -> Iterator[str]:
        """The pieces of text of a stream, as they come."""
        raise NotImplementedError

    def view(self, held: Json) -> View:
        raise NotImplementedError

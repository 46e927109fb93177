"""Claude on Bedrock, as its older endpoint is called: bodies of Messages in, and binary frames out.

The body names neither model nor stream, which are in the URL, and has a header of Messages as a field. It becomes a
call of Messages. A stream goes out as frames, each with one event of Messages. Where Bedrock itself answers, the
client's own bytes go on, and those of the answer come back: its other models are called here with bodies of their own.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from msgspec.structs import replace

from ..client.adapter import Passage
from ..client.async_client import AsyncClient
from ..codec.framing import SseDecoder, encode_frame
from ..codec.json import is_dict, is_list
from ..dialects import dialect as find
from ..errors import AdapterError, InvalidRequestError
from ..serving import SERVED, Entrance
from ..types.base import Json
from .admission import Key
from .http import Answer, Inbound
from .peek import Peek
from .relay import Call
from .state import State

__all__ = ["InvokeCall", "as_messages"]

MESSAGES, BEDROCK = "anthropic-messages", "bedrock-converse"
VERSION, BETAS, BETA_HEADER = "anthropic_version", "anthropic_beta", "anthropic-beta"
PLACES = (("/converse-stream", "/invoke-with-response-stream"), ("/converse", "/invoke"))
CHUNK: Any = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}


def as_messages(wire: Json) -> tuple[dict[str, Json], list[str]]:
    """The body of a request of Messages, and the betas that it asks for."""
    if not is_dict(wire) or VERSION not in wire:
        raise InvalidRequestError(f"only bodies of Anthropic Messages are translated here, with `{VERSION}`")
    betas: Json = wire.get(BETAS)
    named = [beta for beta in betas if isinstance(beta, str)] if is_list(betas) else []
    return {key: value for key, value in wire.items() if key not in (VERSION, BETAS)}, named


class Frames:
    """Events of Messages in; out come the frames of Bedrock, each with one of them. An error is an exception there."""

    content_type = SERVED[BEDROCK].stream_type

    def __init__(self) -> None:
        self._decoder = SseDecoder()

    def __call__(self, chunk: bytes) -> bytes:
        return b"".join(_frame(kind, data) for kind, data in self._decoder.feed(chunk))


def _frame(kind: str | None, data: Any) -> bytes:
    text = data.encode() if isinstance(data, str) else bytes(data)
    if kind == "error":
        return find(BEDROCK).stream_encoder().fail(find(MESSAGES).decode_error(200, None, text))
    return encode_frame(CHUNK, msgspec.json.encode({"bytes": base64.b64encode(text).decode()}))


class InvokeCall(Call):
    """From a body of ``/invoke`` to the end of its answer."""

    def __init__(self, state: State, inbound: Inbound, answer: Answer, entrance: Entrance, key: Key | None) -> None:
        door = replace(entrance.door, dialect=MESSAGES, kind="generate")
        super().__init__(state, inbound, answer, replace(entrance, door=door), key)
        self._own, self._at_home, self._is_read = b"", False, False

    def _read(self, body: bytes) -> None:
        self._own = body
        super()._read(body)

    def _direct(self) -> None:
        """There is none: the body may have to become one of Messages."""

    def _as_messages(self) -> None:
        """From here on, a call of Messages."""
        if self._is_read:
            return
        self._is_read = True
        wire, betas = as_messages(self._peek.body_value(self.state.known_tools))
        if betas:
            self.headers = {**self.headers, BETA_HEADER: ",".join(betas)}
        body = {**wire, "model": self._entrance.model, "stream": self._streams}
        self._peek = Peek(msgspec.json.encode(body))

    def _passage(self, client: AsyncClient, model: str | None) -> Passage | None:
        passage = client.passage(model, stream=self._streams) if client.dialect.name == BEDROCK else None
        self._at_home = passage is not None and not self._carries
        self.dialect = BEDROCK if self._at_home else MESSAGES
        self.answer.frames = Frames() if self._streams and not self._at_home else None
        if passage is None or not self._at_home:
            self._as_messages()
            return super()._passage(client, model)
        path, place = next(row for row in PLACES if passage.url.endswith(row[0]))
        return replace(passage, url=passage.url.removesuffix(path) + place)

    def _outgoing(self, passage: Passage) -> bytes:
        return self._own if self._at_home else self._named(passage)

    def _fail(self, error: AdapterError) -> None:
        if not self._at_home:
            self._refused = None  # it is in the words of Messages
        super()._fail(error)

"""Claude on Bedrock through its older endpoint ``/invoke``: Messages bodies in, binary frames out.

The body has no model and no stream flag, which are in the URL, and has a header of Messages as a field. It becomes a
call of Messages; a stream is answered as frames with one event of Messages each. If Bedrock itself answers, the bytes
of client and provider are passed on, because its other models take bodies of different forms here.
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
PATHS = (("/converse-stream", "/invoke-with-response-stream"), ("/converse", "/invoke"))
CHUNK: Any = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}


def as_messages(wire: Json) -> tuple[dict[str, Json], list[str]]:
    """The Messages body for a body of ``/invoke``, and the names of the betas that it requests."""
    if not is_dict(wire) or VERSION not in wire:
        raise InvalidRequestError(f"only bodies of Anthropic Messages are translated here, with `{VERSION}`")
    betas: Json = wire.get(BETAS)
    named = [beta for beta in betas if isinstance(beta, str)] if is_list(betas) else []
    return {key: value for key, value in wire.items() if key not in (VERSION, BETAS)}, named


class Frames:
    """Rewrites events of Messages into Bedrock's frames, one event each; an error becomes an exception frame."""

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
    """A call of ``/invoke``, from its body to the end of its answer."""

    def __init__(self, state: State, inbound: Inbound, answer: Answer, entrance: Entrance, key: Key | None) -> None:
        door = replace(entrance.door, dialect=MESSAGES, kind="generate")
        super().__init__(state, inbound, answer, replace(entrance, door=door), key)
        self._body, self._by_bedrock, self._is_converted = b"", False, False

    def _read(self, body: bytes) -> None:
        self._body = body
        super()._read(body)

    def _direct(self) -> None:
        """Return None: the body may have to become one of Messages first."""

    def _become_messages(self) -> None:
        """Make this a call of Messages: replace the body, and add the betas to the headers."""
        if self._is_converted:
            return
        self._is_converted = True
        wire, betas = as_messages(self._peek.body_value(self.state.known_tools))
        if betas:
            self.headers = {**self.headers, BETA_HEADER: ",".join(betas)}
        body = {**wire, "model": self._entrance.model, "stream": self._streams}
        self._peek = Peek(msgspec.json.encode(body))

    def _passage(self, client: AsyncClient, model: str | None) -> Passage | None:
        passage = client.passage(model, stream=self._streams) if client.dialect.name == BEDROCK else None
        self._by_bedrock = passage is not None and not self._has_envelope
        self.dialect = BEDROCK if self._by_bedrock else MESSAGES
        self.answer.frames = Frames() if self._streams and not self._by_bedrock else None
        if passage is None or not self._by_bedrock:
            self._become_messages()
            return super()._passage(client, model)
        converse, invoke = next(row for row in PATHS if passage.url.endswith(row[0]))
        return replace(passage, url=passage.url.removesuffix(converse) + invoke)

    def _outgoing(self, passage: Passage) -> bytes:
        return self._body if self._by_bedrock else self._body_with_model(passage)

    def _fail(self, error: AdapterError) -> None:
        if not self._by_bedrock:
            self._refused = None  # its body is in the form of Messages
        super()._fail(error)

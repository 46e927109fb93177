"""Gemini: ``POST /v1beta/models/{model}:generateContent``. No I/O, no keys, no host names."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block
from ...types.capabilities import Target
from ...types.loss import Encoded, WireError
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.tools import Tool, ToolChoice
from ...types.words import Role
from .._base import Dialect, Headers
from .._tables import Ledger
from . import errors, request, response, stream, tools, turns, writer
from .media import NAME

__all__ = ["Gemini"]


class Gemini(Dialect):
    name = NAME
    history_key = "contents"

    def encode_request(self, request_: Request, target: Target | None = None) -> Encoded:
        return request.encode_request(request_, target)

    def decode_request(
        self, body: Json, headers: Headers | None = None, model: str | None = None, stream: bool | None = None
    ) -> Request:
        return request.decode_request(body, model, stream, self.provider)

    def encode_response(self, response_: Response, request: Request | None = None) -> Encoded:
        return response.encode_response(response_)

    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        return response.decode_response(body, request, self.provider)

    def stream_decoder(self, request: Request | None = None) -> stream.Decoder:
        return stream.Decoder(request, self.provider)

    def stream_encoder(self, request: Request | None = None) -> writer.Encoder:
        return writer.Encoder()

    def encode_error(self, error: AdapterError) -> WireError:
        return errors.encode_error(error)

    def decode_error(self, status: int, headers: Headers | None, body: bytes) -> AdapterError:
        return errors.decode_error(status, headers, body, self.provider)

    def encode_messages(self, messages_: Sequence[Message], target: Target | None = None) -> Encoded:
        """The value of ``contents``. System text has no place there; ``encode_request`` hoists it."""
        ledger = Ledger()
        for index, message in enumerate(messages_):
            if message.role == Role.system:
                ledger.lose("dropped", "system text goes into the system instruction", "messages", index)
        signing = target is not None and turns.signs_calls(target.model)
        said = turns.encode_contents(messages_, target, ledger, signing=signing)
        return Encoded(said, losses=tuple(ledger.losses))

    def encode_system(self, system: Sequence[Block], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        placed = [(("system", index), block) for index, block in enumerate(system)]
        return Encoded({"parts": turns.encode_system(placed, ledger)}, losses=tuple(ledger.losses))

    def encode_tools(self, tools_: Sequence[Tool], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        return Encoded(tools.encode_tools(tools_, ledger), losses=tuple(ledger.losses))

    def encode_tool_choice(self, choice: ToolChoice, target: Target | None = None) -> Encoded:
        ledger = Ledger()
        said = tools.say_choice(choice, ledger)
        return Encoded(None if said is None else {"functionCallingConfig": said}, losses=tuple(ledger.losses))

"""Bedrock Converse: ``POST /model/{model}/converse`` and ``converse-stream``. No I/O, no keys, no host names."""

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
from .._base import Dialect, Headers
from . import decoder, encoder, errors, messages, request, response, tools
from .names import NAME, Scribe

__all__ = ["BedrockConverse"]


class BedrockConverse(Dialect):
    name = NAME

    def encode_request(self, request_: Request, target: Target | None = None) -> Encoded:
        return request.encode_request(request_, target)

    def decode_request(
        self, body: Json, headers: Headers | None = None, model: str | None = None, stream: bool | None = None
    ) -> Request:
        return request.decode_request(body, model, stream, self.provider)

    def encode_response(self, response_: Response, request: Request | None = None) -> Encoded:
        return response.encode_response(response_, request)

    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        return response.decode_response(body, headers, request, self.provider)

    def stream_decoder(self, request: Request | None = None) -> decoder.Decoder:
        return decoder.Decoder(request, self.provider)

    def stream_encoder(self, request: Request | None = None) -> encoder.Encoder:
        return encoder.Encoder(request)

    def encode_error(self, error: AdapterError) -> WireError:
        return errors.encode_error(error)

    def decode_error(self, status: int, headers: Headers | None, body: bytes) -> AdapterError:
        return errors.decode_error(status, headers, body, self.provider)

    def encode_messages(self, messages_: Sequence[Message], target: Target | None = None) -> Encoded:
        ledger = Scribe()
        return Encoded(messages.encode_messages(messages_, target, ledger), losses=tuple(ledger.losses))

    def encode_system(self, system: Sequence[Block], target: Target | None = None) -> Encoded:
        ledger = Scribe()
        placed = [(("system", index), block) for index, block in enumerate(system)]
        return Encoded(messages.encode_system(placed, ledger), losses=tuple(ledger.losses))

    def encode_tools(self, tools_: Sequence[Tool], target: Target | None = None) -> Encoded:
        ledger = Scribe(tools_)
        return Encoded(tools.encode_tools(tools_, ledger), losses=tuple(ledger.losses))

    def encode_tool_choice(self, choice: ToolChoice, target: Target | None = None) -> Encoded:
        ledger = Scribe()
        return Encoded(tools.say_choice(choice, ledger), losses=tuple(ledger.losses))

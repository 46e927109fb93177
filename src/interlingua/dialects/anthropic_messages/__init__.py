"""Anthropic Messages: ``POST /v1/messages``. No I/O, no keys, no host names."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...codec.base import Dialect, Headers, StreamDecoder
from ...codec.incomplete import cut_answer, cut_history
from ...codec.issuer import kindred
from ...codec.offered_tools import narrow
from ...codec.output import forcing, speaking, spoken
from ...codec.tables import Ledger
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block
from ...types.capabilities import Target
from ...types.loss import Encoded, WireError
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.tools import Tool, ToolChoice
from .errors import decode_error, encode_error
from .facts import NAME
from .request import decode_request, encode_request, write_choice, write_tools
from .response import decode_response, encode_response
from .stream import Decoder, Encoder
from .turns import write_messages, write_system
from .validate import validate_request

__all__ = ["AnthropicMessages"]


class AnthropicMessages(Dialect):
    name = NAME

    def encode_request(self, request: Request, target: Target | None = None) -> Encoded:
        if (cut := cut_history(request.messages, self.name)) is not None:
            return cut.tell(self.encode_request(replace(request, messages=cut.value), target))
        if (fewer := narrow(request, NAME, ("allowed",))) is not None:
            return fewer.tell(self.encode_request(fewer.value, target))
        if request.output_schema is None:
            return encode_request(request, target)
        return forcing(lambda asked: encode_request(asked, target), request, target)

    def decode_request(
        self, body: Json, headers: Headers | None = None, model: str | None = None, stream: bool | None = None
    ) -> Request:
        return decode_request(body, headers, model, stream, self.provider)

    def validate_request(self, body: Json) -> None:
        validate_request(body)

    def encode_response(self, response: Response, request: Request | None = None) -> Encoded:
        if (cut := cut_answer(response, pieces=True)) is not None:
            return cut.tell(self.encode_response(cut.value, request))
        return encode_response(response, request)

    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        response = decode_response(body, headers, request, self.provider)
        return response if request is None or request.output_schema is None else spoken(response, request)

    def stream_decoder(self, request: Request | None = None) -> StreamDecoder:
        return speaking(Decoder(request, self.provider), request)

    def stream_encoder(self, request: Request | None = None) -> Encoder:
        return Encoder(request)

    def encode_error(self, error: AdapterError) -> WireError:
        return encode_error(error)

    def decode_error(self, status: int, headers: Headers | None, body: bytes) -> AdapterError:
        return decode_error(status, headers, body, self.provider)

    def encode_messages(self, messages: Sequence[Message], target: Target | None = None) -> Encoded:
        if (cut := cut_history(messages, self.name)) is not None:
            return cut.tell(self.encode_messages(cut.value, target))
        ledger = Ledger()
        return Encoded(
            write_messages(kindred(messages, self.name, target), target, ledger), losses=tuple(ledger.losses)
        )

    def encode_system(self, system: Sequence[Block], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        placed = [(("system", index), block) for index, block in enumerate(system)]
        return Encoded(write_system(placed, ledger, None), losses=tuple(ledger.losses))

    def encode_tools(self, tools: Sequence[Tool], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        return Encoded(write_tools(tools, ledger), losses=tuple(ledger.losses))

    def encode_tool_choice(self, choice: ToolChoice, target: Target | None = None) -> Encoded:
        ledger = Ledger()
        return Encoded(write_choice(choice, ledger), losses=tuple(ledger.losses))

"""OpenAI Chat Completions: ``POST /v1/chat/completions``, and the many servers compatible with it."""

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
from .._base import Dialect, Headers, StreamDecoder
from .._output import forcing, speaking, spoken
from .._tables import Ledger
from . import errors, messages, request, response, stream, tools
from .parts import NAME
from .quirks import QUIRKS, Quirks

__all__ = ["QUIRKS", "OpenAIChat", "Quirks"]


class OpenAIChat(Dialect):
    name = NAME

    def encode_request(self, request_: Request, target: Target | None = None) -> Encoded:
        return forcing(lambda asked: request.encode_request(asked, target, self.provider), request_, target)

    def decode_request(
        self, body: Json, headers: Headers | None = None, model: str | None = None, stream: bool | None = None
    ) -> Request:
        return request.decode_request(body, model, stream, self.provider)

    def encode_response(self, response_: Response, request: Request | None = None) -> Encoded:
        return response.encode_response(response_, request)

    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        return spoken(response.decode_response(body, headers, request, self.provider), request)

    def as_turn(self, response_: Response) -> Message:
        return response.as_turn(response_, super().as_turn(response_))

    def stream_decoder(self, request: Request | None = None) -> StreamDecoder:
        return speaking(stream.Decoder(request, self.provider), request)

    def stream_encoder(self, request: Request | None = None) -> stream.Encoder:
        return stream.Encoder(request)

    def encode_error(self, error: AdapterError) -> WireError:
        return errors.encode_error(error)

    def decode_error(self, status: int, headers: Headers | None, body: bytes) -> AdapterError:
        return errors.decode_error(status, headers, body, self.provider)

    def encode_messages(self, messages_: Sequence[Message], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        quirks, _ = request.quirks_of(self.provider, target)
        said = messages.encode_messages(messages_, target, quirks, ledger)
        return Encoded(said, losses=tuple(ledger.losses))

    def encode_system(self, system: Sequence[Block], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        quirks, _ = request.quirks_of(self.provider, target)
        return Encoded(messages.encode_system(system, quirks, ledger), losses=tuple(ledger.losses))

    def encode_tools(self, tools_: Sequence[Tool], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        quirks, _ = request.quirks_of(self.provider, target)
        return Encoded(tools.encode_tools(tools_, quirks, ledger), losses=tuple(ledger.losses))

    def encode_tool_choice(self, choice: ToolChoice, target: Target | None = None) -> Encoded:
        ledger = Ledger()
        quirks, bound = request.quirks_of(self.provider, target)
        said = tools.say_choice(choice, (), quirks, bound, ledger)
        if "parallel_tool_calls" in said:
            ledger.lose("dropped", "parallel_tool_calls is a key of its own", "tool_choice", "parallel")
        return Encoded(said.get("tool_choice"), losses=tuple(ledger.losses))

"""OpenAI Chat Completions: ``POST /v1/chat/completions``, and the many servers compatible with it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...codec.base import Dialect, Headers, StreamDecoder
from ...codec.incomplete import cut_answer, cut_history
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
from .messages import encode_messages, encode_system
from .parts import NAME
from .quirks import QUIRKS, Quirks
from .request import decode_request, encode_request, quirks_of
from .response import as_turn, decode_response, encode_response
from .stream import Decoder, Encoder
from .tools import encode_tools, say_choice
from .validate import validate_request

__all__ = ["QUIRKS", "OpenAIChat", "Quirks"]


class OpenAIChat(Dialect):
    name = NAME

    def encode_request(self, request: Request, target: Target | None = None) -> Encoded:
        if (cut := cut_history(request.messages, self.name)) is not None:
            return cut.tell(self.encode_request(replace(request, messages=cut.value), target))
        if request.output_schema is None:
            return encode_request(request, target, self.provider)
        return forcing(lambda asked: encode_request(asked, target, self.provider), request, target)

    def decode_request(
        self, body: Json, headers: Headers | None = None, model: str | None = None, stream: bool | None = None
    ) -> Request:
        return decode_request(body, model, stream, self.provider)

    def validate_request(self, body: Json) -> None:
        validate_request(body)

    def encode_response(self, response: Response, request: Request | None = None) -> Encoded:
        if (cut := cut_answer(response, pieces=True)) is not None:
            return cut.tell(self.encode_response(cut.value, request))
        return encode_response(response, request)

    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        response = decode_response(body, headers, request, self.provider)
        return response if request is None or request.output_schema is None else spoken(response, request)

    def as_turn(self, response: Response) -> Message:
        return as_turn(response, super().as_turn(response))

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
        quirks, _ = quirks_of(self.provider, target)
        said = encode_messages(messages, target, quirks, ledger)
        return Encoded(said, losses=tuple(ledger.losses))

    def encode_system(self, system: Sequence[Block], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        quirks, _ = quirks_of(self.provider, target)
        return Encoded(encode_system(system, quirks, ledger), losses=tuple(ledger.losses))

    def encode_tools(self, tools: Sequence[Tool], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        quirks, _ = quirks_of(self.provider, target)
        return Encoded(encode_tools(tools, quirks, ledger), losses=tuple(ledger.losses))

    def encode_tool_choice(self, choice: ToolChoice, target: Target | None = None) -> Encoded:
        ledger = Ledger()
        quirks, bound = quirks_of(self.provider, target)
        said = say_choice(choice, (), quirks, bound, ledger)
        if "parallel_tool_calls" in said:
            ledger.lose("dropped", "`parallel_tool_calls` is a parameter of its own", "tool_choice", "parallel")
        return Encoded(said.get("tool_choice", said.get("function_call")), losses=tuple(ledger.losses))

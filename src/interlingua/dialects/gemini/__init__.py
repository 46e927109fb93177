"""Gemini: ``POST /v1beta/models/{model}:generateContent``. No I/O, no keys, no host names."""

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
from ...types.words import Role
from .errors import decode_error, encode_error
from .media import NAME
from .request import decode_request, encode_request
from .response import decode_response, encode_response
from .stream import Decoder
from .tools import encode_tools, say_choice
from .turns import encode_contents, encode_system, signs_calls
from .validate import validate_request
from .writer import Encoder

__all__ = ["Gemini"]


class Gemini(Dialect):
    name = NAME
    history_key = "contents"

    def encode_request(self, request: Request, target: Target | None = None) -> Encoded:
        if (cut := cut_history(request.messages, self.name)) is not None:
            return cut.tell(self.encode_request(replace(request, messages=cut.value), target))
        if request.output_schema is None:
            return encode_request(request, target)
        return forcing(lambda asked: encode_request(asked, target), request, target)

    def decode_request(
        self, body: Json, headers: Headers | None = None, model: str | None = None, stream: bool | None = None
    ) -> Request:
        return decode_request(body, model, stream, self.provider)

    def validate_request(self, body: Json) -> None:
        validate_request(body)

    def encode_response(self, response: Response, request: Request | None = None) -> Encoded:
        if (cut := cut_answer(response, pieces=False)) is not None:
            return cut.tell(self.encode_response(cut.value, request))
        return encode_response(response)

    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        response = decode_response(body, request, self.provider)
        return response if request is None or request.output_schema is None else spoken(response, request)

    def stream_decoder(self, request: Request | None = None) -> StreamDecoder:
        return speaking(Decoder(request, self.provider), request)

    def stream_encoder(self, request: Request | None = None) -> Encoder:
        return Encoder()

    def encode_error(self, error: AdapterError) -> WireError:
        return encode_error(error)

    def decode_error(self, status: int, headers: Headers | None, body: bytes) -> AdapterError:
        return decode_error(status, headers, body, self.provider)

    def encode_messages(self, messages: Sequence[Message], target: Target | None = None) -> Encoded:
        """The value of ``contents``. System text has no place there; ``encode_request`` hoists it."""
        if (cut := cut_history(messages, self.name)) is not None:
            return cut.tell(self.encode_messages(cut.value, target))
        ledger = Ledger()
        for index, message in enumerate(messages):
            if message.role == Role.system:
                ledger.lose("dropped", f"{NAME} has system text in `systemInstruction`", "messages", index)
        signing = target is not None and signs_calls(target.model)
        said = encode_contents(messages, target, ledger, signing=signing)
        return Encoded(said, losses=tuple(ledger.losses))

    def encode_system(self, system: Sequence[Block], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        placed = [(("system", index), block) for index, block in enumerate(system)]
        return Encoded({"parts": encode_system(placed, ledger)}, losses=tuple(ledger.losses))

    def encode_tools(self, tools: Sequence[Tool], target: Target | None = None) -> Encoded:
        ledger = Ledger()
        return Encoded(encode_tools(tools, ledger), losses=tuple(ledger.losses))

    def encode_tool_choice(self, choice: ToolChoice, target: Target | None = None) -> Encoded:
        ledger = Ledger()
        said = say_choice(choice, ledger)
        return Encoded(None if said is None else {"functionCallingConfig": said}, losses=tuple(ledger.losses))

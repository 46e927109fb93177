"""OpenAI Chat Completions: ``POST /v1/chat/completions``, and the many servers compatible with it."""

from __future__ import annotations

from collections.abc import Sequence

from ...codec.base import Headers
from ...codec.ledger import Ledger
from ...codec.wire_dialect import WireDialect
from ...types.base import Json
from ...types.blocks import Block
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.tools import Tool, ToolChoice
from .encoder import Encoder
from .errors import ERRORS, REQUIREMENTS
from .facts import NAME, QUIRKS, Quirks
from .request import quirks_of, read_request, write_choice, write_request, write_tools
from .response import as_turn, read_response, write_response
from .stream import Decoder
from .turns import write_messages, write_system

__all__ = ["QUIRKS", "OpenAIChat", "Quirks"]


class OpenAIChat(WireDialect):
    name = NAME
    errors, requirements = ERRORS, REQUIREMENTS

    def write_request(self, request: Request, target: Target | None) -> Encoded:
        return write_request(request, target, self.provider)

    def read_request(self, body: Json, headers: Headers | None, model: str | None, stream: bool | None) -> Request:
        return read_request(body, model, stream, self.provider)

    def write_response(self, response: Response, request: Request | None) -> Encoded:
        return write_response(response, request)

    def read_response(self, body: Json, headers: Headers | None, request: Request | None) -> Response:
        return read_response(body, headers, request, self.provider)

    def as_turn(self, response: Response) -> Message:
        return as_turn(response, super().as_turn(response))

    def decoder(self, request: Request | None) -> Decoder:
        return Decoder(request, self.provider)

    def stream_encoder(self, request: Request | None = None) -> Encoder:
        return Encoder(request)

    def write_messages(self, messages: Sequence[Message], target: Target | None, ledger: Ledger) -> Json:
        return write_messages(messages, target, self._quirks(target), ledger)

    def write_system(self, system: Sequence[Block], target: Target | None, ledger: Ledger) -> Json:
        return write_system(system, self._quirks(target), ledger)

    def write_tools(self, tools: Sequence[Tool], target: Target | None, ledger: Ledger) -> Json:
        return write_tools(tools, self._quirks(target), ledger)

    def write_choice(self, choice: ToolChoice, target: Target | None, ledger: Ledger) -> Json:
        quirks, bound = quirks_of(self.provider, target)
        wire = write_choice(choice, (), quirks, ledger, bound=bound)
        if "parallel_tool_calls" in wire:
            ledger.lose("dropped", "`parallel_tool_calls` is a parameter of its own", "tool_choice", "parallel")
        return wire.get("tool_choice", wire.get("function_call"))

    def _quirks(self, target: Target | None) -> Quirks:
        return quirks_of(self.provider, target)[0]

"""Anthropic Messages: ``POST /v1/messages``. No I/O, no keys, no host names."""

from __future__ import annotations

from collections.abc import Sequence

from ...codec.base import Headers
from ...codec.issuer import kindred
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
from .facts import NAME
from .request import read_request, write_choice, write_request, write_tools
from .response import read_response, write_response
from .stream import Decoder
from .turns import write_messages, write_system

__all__ = ["AnthropicMessages"]


class AnthropicMessages(WireDialect):
    name = NAME
    errors, requirements = ERRORS, REQUIREMENTS
    unsaid_choices = ("allowed",)
    text_join = "one"

    def write_request(self, request: Request, target: Target | None) -> Encoded:
        return write_request(request, target)

    def read_request(self, body: Json, headers: Headers | None, model: str | None, stream: bool | None) -> Request:
        return read_request(body, headers, model, stream, self.provider)

    def write_response(self, response: Response, request: Request | None) -> Encoded:
        return write_response(response, request)

    def read_response(self, body: Json, headers: Headers | None, request: Request | None) -> Response:
        return read_response(body, headers, request, self.provider)

    def decoder(self, request: Request | None) -> Decoder:
        return Decoder(request, self.provider)

    def stream_encoder(self, request: Request | None = None) -> Encoder:
        return Encoder(request)

    def write_messages(self, messages: Sequence[Message], target: Target | None, ledger: Ledger) -> Json:
        return write_messages(kindred(messages, NAME, target), target, ledger)

    def write_system(self, system: Sequence[Block], target: Target | None, ledger: Ledger) -> Json:
        return write_system([(("system", index), block) for index, block in enumerate(system)], ledger, None)

    def write_tools(self, tools: Sequence[Tool], target: Target | None, ledger: Ledger) -> Json:
        return write_tools(tools, ledger)

    def write_choice(self, choice: ToolChoice, target: Target | None, ledger: Ledger) -> Json:
        return write_choice(choice, ledger)

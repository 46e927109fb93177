"""Gemini: ``POST /v1beta/models/{model}:generateContent``. No I/O, no keys, no host names."""

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
from ...types.words import Role
from .encoder import Encoder
from .errors import ERRORS, REQUIREMENTS
from .facts import NAME
from .request import read_request, write_choice, write_request, write_tools
from .response import read_response, write_response
from .stream import Decoder
from .turns import signs_calls, write_contents, write_system

__all__ = ["Gemini"]


class Gemini(WireDialect):
    name = NAME
    errors, requirements = ERRORS, REQUIREMENTS
    history_key = "contents"
    in_pieces = False

    def write_request(self, request: Request, target: Target | None) -> Encoded:
        return write_request(request, target)

    def read_request(self, body: Json, headers: Headers | None, model: str | None, stream: bool | None) -> Request:
        return read_request(body, model, stream, self.provider)

    def write_response(self, response: Response, request: Request | None) -> Encoded:
        return write_response(response)

    def read_response(self, body: Json, headers: Headers | None, request: Request | None) -> Response:
        return read_response(body, request, self.provider)

    def decoder(self, request: Request | None) -> Decoder:
        return Decoder(request, self.provider)

    def stream_encoder(self, request: Request | None = None) -> Encoder:
        return Encoder()

    def write_messages(self, messages: Sequence[Message], target: Target | None, ledger: Ledger) -> Json:
        """The value of ``contents``. System text has no place there; ``encode_request`` moves it."""
        for index, message in enumerate(messages):
            if message.role == Role.system:
                ledger.lose("dropped", f"{NAME} has system text in `systemInstruction`", "messages", index)
        signing = target is not None and signs_calls(target.model)
        return write_contents(messages, target, ledger, signing=signing)

    def write_system(self, system: Sequence[Block], target: Target | None, ledger: Ledger) -> Json:
        return {"parts": write_system([(("system", index), block) for index, block in enumerate(system)], ledger)}

    def write_tools(self, tools: Sequence[Tool], target: Target | None, ledger: Ledger) -> Json:
        return write_tools(tools, ledger)

    def write_choice(self, choice: ToolChoice, target: Target | None, ledger: Ledger) -> Json:
        wire = write_choice(choice, ledger)
        return None if wire is None else {"functionCallingConfig": wire}

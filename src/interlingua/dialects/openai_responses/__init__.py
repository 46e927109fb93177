"""OpenAI Responses: ``POST /v1/responses``. No I/O, no keys, no host names."""

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
from .facts import NAME
from .request import read_request, write_request
from .response import as_turn, read_response, write_response
from .stream import Decoder
from .tools import Scribe, write_choice, write_tools
from .turns import Writer

__all__ = ["OpenAIResponses"]


class OpenAIResponses(WireDialect):
    name = NAME
    errors, requirements = ERRORS, REQUIREMENTS
    history_key = "input"
    cut_texts = True
    text_join = "parts"

    def write_request(self, request: Request, target: Target | None) -> Encoded:
        return write_request(request, target)

    def read_request(self, body: Json, headers: Headers | None, model: str | None, stream: bool | None) -> Request:
        return read_request(body, model, stream, self.provider)

    def write_response(self, response: Response, request: Request | None) -> Encoded:
        return write_response(response, request)

    def read_response(self, body: Json, headers: Headers | None, request: Request | None) -> Response:
        return read_response(body, headers, request, self.provider)

    def decoder(self, request: Request | None) -> Decoder:
        return Decoder(request, self.provider)

    def stream_encoder(self, request: Request | None = None) -> Encoder:
        return Encoder(request)

    def as_turn(self, response: Response) -> Message:
        return as_turn(response, super().as_turn(response))

    def ledger(self, tools: Sequence[Tool] = ()) -> Scribe:
        return Scribe(tools)

    def write_messages(self, messages: Sequence[Message], target: Target | None, ledger: Ledger) -> Json:
        writer = Writer(_told(ledger, target))
        writer.messages(messages)
        return writer.items

    def write_system(self, system: Sequence[Block], target: Target | None, ledger: Ledger) -> Json:
        """A string for ``instructions``, or the items that open ``input``."""
        writer = Writer(_told(ledger, target))
        instructions = writer.system([(("system", index), block) for index, block in enumerate(system)])
        return writer.items if instructions is None else instructions

    def write_tools(self, tools: Sequence[Tool], target: Target | None, ledger: Ledger) -> Json:
        return write_tools(enumerate(tools), _told(ledger, target))

    def write_choice(self, choice: ToolChoice, target: Target | None, ledger: Ledger) -> Json:
        wire = write_choice(choice, (), _told(ledger, target))
        if "parallel_tool_calls" in wire:
            ledger.lose("dropped", "`parallel_tool_calls` is a parameter of its own", "tool_choice", "parallel")
        return wire.get("tool_choice")


def _told(ledger: Ledger, target: Target | None) -> Scribe:
    """The ledger that ``OpenAIResponses.ledger`` made, told who reads what is written."""
    assert isinstance(ledger, Scribe)
    ledger.reader = target
    return ledger

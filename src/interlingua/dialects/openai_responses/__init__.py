"""OpenAI Responses: ``POST /v1/responses``. No I/O, no keys, no host names."""

from __future__ import annotations

from ...codec.wire_dialect import Functions, WireDialect
from ...types.messages import Message
from ...types.response import Response
from .. import openai
from ..openai_tools import choice_alone
from .encoder import Encoder
from .errors import ERRORS, REQUIREMENTS
from .facts import HOSTED, NAME, NAMES
from .request import read_request, write_choice, write_request, write_tools
from .response import as_turn, read_response, write_response
from .rows import USAGE
from .rules import Scribe
from .stream import Decoder
from .turns import write_messages, write_system

__all__ = ["OpenAIResponses"]


class OpenAIResponses(WireDialect):
    name, tool_names = NAME, NAMES
    history_key = "input"
    cut_texts = True
    text_join = "parts"
    bare_errors = False
    errors, requirements, hosted = ERRORS, REQUIREMENTS, HOSTED
    schema_subset = openai.SCHEMA
    usage = USAGE
    functions = Functions[Scribe](
        read_request=lambda body, headers, model, stream, provider: read_request(body, model, stream, provider),
        write_request=lambda request, target, provider: write_request(request, target),
        read_response=read_response,
        write_response=write_response,
        decoder=Decoder,
        encoder=Encoder,
        write_messages=lambda messages, target, scribe, provider: write_messages(messages, scribe),
        write_system=lambda system, target, scribe, provider: write_system(system, scribe),
        write_tools=lambda tools, target, scribe, provider: write_tools(enumerate(tools), scribe),
        write_choice=lambda choice, target, scribe, provider: choice_alone(write_choice(choice, (), scribe), scribe),
        ledger=Scribe,
    )

    def as_turn(self, response: Response) -> Message:
        return as_turn(response, super().as_turn(response))

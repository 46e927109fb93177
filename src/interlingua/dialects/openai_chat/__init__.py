"""OpenAI Chat Completions: ``POST /v1/chat/completions``, and the many servers compatible with it."""

from __future__ import annotations

from ...codec.ledger import Ledger
from ...codec.wire_dialect import Functions, WireDialect
from ...types.messages import Message
from ...types.response import Response
from .. import openai
from .encoder import Encoder
from .errors import ERRORS, REQUIREMENTS
from .facts import NAME, NAMES, QUIRKS, Quirks, quirks_of
from .request import read_request, write_choice_alone, write_request, write_tools
from .response import as_turn, read_response, write_response
from .rows import USAGE
from .stream import Decoder
from .turns import write_messages, write_system

__all__ = ["QUIRKS", "OpenAIChat", "Quirks"]


class OpenAIChat(WireDialect):
    name, tool_names = NAME, NAMES
    bare_errors = False
    errors, requirements = ERRORS, REQUIREMENTS
    schema_subset = openai.SCHEMA
    usage = USAGE
    functions = Functions[Ledger](
        read_request=lambda body, headers, model, stream, provider: read_request(body, model, stream, provider),
        write_request=write_request,
        read_response=read_response,
        write_response=write_response,
        decoder=Decoder,
        encoder=Encoder,
        write_messages=lambda messages, target, ledger, provider: write_messages(
            messages, target, quirks_of(provider, target)[0], ledger
        ),
        write_system=lambda system, target, ledger, provider: write_system(
            [block for _, block in system], quirks_of(provider, target)[0], ledger
        ),
        write_tools=lambda tools, target, ledger, provider: write_tools(tools, quirks_of(provider, target)[0], ledger),
        write_choice=write_choice_alone,
        ledger=lambda target: Ledger(),
    )

    def as_turn(self, response: Response) -> Message:
        return as_turn(response, super().as_turn(response))

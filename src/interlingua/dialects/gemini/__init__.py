"""Gemini: ``POST /v1beta/models/{model}:generateContent``. No I/O, no keys, no host names."""

from __future__ import annotations

from ...codec.ledger import Ledger
from ...codec.wire_dialect import Functions, WireDialect
from .encoder import Encoder
from .errors import ERRORS, REQUIREMENTS
from .facts import HOSTED, NAME, NAMES, SUBSET
from .request import read_request, write_choice_alone, write_request, write_tools
from .response import read_response, write_response
from .stream import Decoder
from .turns import write_contents_alone, write_system

__all__ = ["Gemini"]


class Gemini(WireDialect):
    name, tool_names = NAME, NAMES
    names_schemas = False
    history_key = "contents"
    in_pieces = False
    errors, requirements, hosted = ERRORS, REQUIREMENTS, HOSTED
    schema_subset = SUBSET
    functions = Functions[Ledger](
        read_request=lambda body, headers, model, stream, provider: read_request(body, model, stream, provider),
        write_request=lambda request, target, provider: write_request(request, target),
        read_response=lambda body, headers, request, provider: read_response(body, request, provider),
        write_response=lambda response, request: write_response(response),
        decoder=Decoder,
        encoder=lambda request: Encoder(),
        write_messages=lambda messages, target, ledger, provider: write_contents_alone(messages, target, ledger),
        write_system=lambda system, target, ledger, provider: {"parts": write_system(system, ledger)},
        write_tools=lambda tools, target, ledger, provider: write_tools(tools, ledger),
        write_choice=lambda choice, target, ledger, provider: write_choice_alone(choice, ledger),
        ledger=lambda target: Ledger(),
    )

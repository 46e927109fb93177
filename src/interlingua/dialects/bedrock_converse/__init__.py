"""Bedrock Converse: ``POST /model/{model}/converse`` and ``converse-stream``. No I/O, no keys, no host names."""

from __future__ import annotations

from ...codec.wire_dialect import Functions, WireDialect
from .. import claude
from .errors import ERRORS, REQUIREMENTS
from .facts import NAME, NAMES
from .request import read_request, write_choice, write_request, write_tools
from .response import Encoder, read_response
from .rows import ANSWERS, USAGE
from .rules import RequestLedger
from .stream import Decoder
from .turns import write_messages, write_system

__all__ = ["BedrockConverse"]


class BedrockConverse(WireDialect):
    name, tool_names = NAME, NAMES
    unsupported_choices = ("allowed",)
    errors, requirements = ERRORS, REQUIREMENTS
    schema_subset = claude.SCHEMA
    usage = USAGE
    functions = Functions[RequestLedger](
        read_request=lambda body, headers, model, stream, provider: read_request(body, model, stream, provider),
        write_request=lambda request, target, provider: write_request(request, target),
        read_response=read_response,
        write_response=lambda response, request: ANSWERS.write(response),
        decoder=Decoder,
        encoder=lambda request: Encoder(),
        write_messages=lambda messages, target, ledger, provider: write_messages(
            claude.adopt_siblings(messages, NAME, target), target, ledger
        ),
        write_system=lambda system, target, ledger, provider: write_system(system, ledger),
        write_tools=lambda tools, target, ledger, provider: write_tools(tools, ledger),
        write_choice=lambda choice, target, ledger, provider: write_choice(choice, ledger),
        ledger=lambda target: RequestLedger(),
    )

"""Anthropic Messages: ``POST /v1/messages``. No I/O, no keys, no host names."""

from __future__ import annotations

from ...codec.ledger import Ledger
from ...codec.wire_dialect import Functions, WireDialect
from .. import claude
from .errors import ERRORS, REQUIREMENTS
from .facts import HOSTED, NAME, NAMES
from .request import read_request, write_choice, write_request, write_tools
from .response import Encoder, read_response
from .rows import ANSWERS, USAGE
from .stream import Decoder
from .turns import write_messages, write_system

__all__ = ["AnthropicMessages"]


class AnthropicMessages(WireDialect):
    name, tool_names = NAME, NAMES
    names_schemas = False
    unsupported_choices = ("allowed",)
    text_join = "one"
    errors, requirements, hosted = ERRORS, REQUIREMENTS, HOSTED
    schema_subset = claude.SCHEMA
    usage = USAGE
    functions = Functions[Ledger](
        read_request=read_request,
        write_request=lambda request, target, provider: write_request(request, target),
        read_response=read_response,
        write_response=lambda response, request: ANSWERS.write(response),
        decoder=Decoder,
        encoder=Encoder,
        write_messages=lambda messages, target, ledger, provider: write_messages(
            claude.adopt_siblings(messages, NAME, target), target, ledger
        ),
        write_system=lambda system, target, ledger, provider: write_system(system, ledger, None),
        write_tools=lambda tools, target, ledger, provider: write_tools(tools, ledger),
        write_choice=lambda choice, target, ledger, provider: write_choice(choice, ledger),
        ledger=lambda target: Ledger(),
    )

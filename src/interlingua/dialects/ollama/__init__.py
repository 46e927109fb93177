"""Ollama: ``POST /api/chat``, and ``/api/generate`` in its own form. No I/O, no keys, no host names."""

from __future__ import annotations

from ...codec.ledger import Ledger
from ...codec.wire_dialect import Functions, WireDialect
from .errors import ERRORS, REQUIREMENTS
from .facts import NAME, SUBSET
from .request import lose_choice, read_request, write_request, write_system, write_tools
from .response import read_response, write_response
from .stream import Decoder, Encoder
from .write_turns import write_messages

__all__ = ["Ollama"]


class Ollama(WireDialect):
    name = NAME
    names_schemas = False
    in_pieces = False
    unsupported_choices = ("none", "specific", "allowed")
    errors, requirements = ERRORS, REQUIREMENTS
    schema_subset = SUBSET
    functions = Functions[Ledger](
        read_request=lambda body, headers, model, stream, provider: read_request(body, model, stream, provider),
        write_request=lambda request, target, provider: write_request(request, target),
        read_response=read_response,
        write_response=write_response,
        decoder=Decoder,
        encoder=Encoder,
        write_messages=lambda messages, target, ledger, provider: write_messages(messages, target, ledger),
        # System text has no key of its own: it is written as the first messages.
        write_system=lambda system, target, ledger, provider: write_system(system, ledger),
        write_tools=lambda tools, target, ledger, provider: write_tools(tools, ledger),
        write_choice=lambda choice, target, ledger, provider: lose_choice(choice, ledger),
        ledger=lambda target: Ledger(),
    )

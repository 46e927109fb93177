"""The steps that all dialects share, around each dialect's own reading and writing.

Before a request is written: blocks that were cut off are left out (``incomplete``), calls get the ids that this
protocol's servers gave them (``history.rules``), tools get names that the protocol accepts (``tool_names``), tools that
the choice excludes are left out if the protocol cannot express the choice (``offered_tools``), and structured output
becomes a forced tool if the model has none (``output``). Before an answer is written, blocks that were cut off are left
out. After an answer is read, its calls get the caller's own names back, and a forced tool is turned back into text. A
dialect has functions for the rest, which are named below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..errors import AdapterError, ParseError
from ..types.base import Json, Value
from ..types.blocks import Block
from ..types.capabilities import Target
from ..types.loss import Encoded, WireError
from ..types.messages import Message, Origin
from ..types.request import Request
from ..types.response import Response
from ..types.tools import Tool, ToolChoice
from .base import Dialect, Headers, StreamDecoder, StreamEncoder
from .bodies.answers import READING_ERRORS, unreadable_error
from .bodies.error_bodies import WireErrors
from .bodies.validate import Requirements
from .history.incomplete import Adapted, cut_answer, cut_history
from .history.issuer import issued_by
from .history.joining import joined_history
from .history.rules import is_ready, with_native_ids
from .json import Wire, is_object
from .ledger import Ledger
from .registry import DIALECTS, dialect
from .tools.hosted_tools import HostedTool, translated_hosted
from .tools.offered_tools import keep_allowed_tools
from .tools.output import encode_with_output, output_as_text, output_decoder
from .tools.tool_names import ANY_NAME, NameRule, OriginalNames, choice_with_wire_names, renamed_tools, with_wire_names

__all__ = ["Functions", "WireDialect"]

L = TypeVar("L", bound=Ledger)
Placed = tuple[tuple[str | int, ...], Block]


class Functions(Struct, Generic[L], frozen=True, kw_only=True):
    """The functions that a dialect is made of. ``provider`` is the provider of the server, if it is known.

    ``write_system`` gets each block with its place. ``ledger`` makes the ledger of one encoding.
    """

    read_request: Callable[[Wire, Headers | None, str | None, bool | None, str | None], Request]
    """body, headers, model, stream, provider"""
    write_request: Callable[[Request, Target | None, str | None], Encoded]
    """request, target, provider"""
    read_response: Callable[[Json, Headers | None, Request | None, str | None], Response]
    """body, headers, request, provider"""
    write_response: Callable[[Response, Request | None], Encoded]
    """response, request"""
    decoder: Callable[[Request | None, str | None], StreamDecoder]
    """request, provider"""
    encoder: Callable[[Request | None], StreamEncoder]
    """request"""
    write_messages: Callable[[Sequence[Message], Target | None, L, str | None], Json]
    write_system: Callable[[Sequence[Placed], Target | None, L, str | None], Json]
    write_tools: Callable[[Sequence[Tool], Target | None, L, str | None], Json]
    write_choice: Callable[[ToolChoice, Target | None, L, str | None], Json]
    ledger: Callable[[Target | None], L]
    """target"""


class WireDialect(Dialect):
    """A dialect that is made of functions which read and write. Subclasses set what differs."""

    functions: ClassVar[Functions[Any]]
    errors: ClassVar[WireErrors]
    requirements: ClassVar[Requirements]
    """The fields and shapes that the vendor requires of a request."""
    unsupported_choices: ClassVar[tuple[str, ...]] = ()
    """The tool choices that the protocol cannot express, of ``none``, ``specific`` and ``allowed``."""
    tool_names: ClassVar[NameRule] = ANY_NAME
    """The names of tools that the protocol accepts."""
    in_pieces: ClassVar[bool] = True
    """Whether the arguments of calls are written in pieces, so that an answer may end within a call."""
    names_schemas: ClassVar[bool] = True
    """Whether the protocol has a name and a description beside the schema of an answer."""
    cut_texts: ClassVar[bool] = False
    """Whether the protocol can mark the texts of an answer that broke off as incomplete."""
    bare_errors: ClassVar[bool] = True
    """Whether a failed answer is written as its error alone, without content."""

    # ------------------------------------------------------------------------------------------------------ the verbs

    def encode_request(self, request: Request, target: Target | None = None) -> Encoded:
        done: list[Adapted[Any]] = []
        ready = is_ready(request.messages, self.name, self.text_join, self.tool_names.fits)
        if not ready:
            messages, done = self._writable_history(request.messages)
            request = replace(request, messages=tuple(messages))
        if not (ready and self.tool_names.all_fit(request.tools)):
            named = with_wire_names(request, self.name, self.tool_names)
            request, done = (request, done) if named is None else (named.value, [*done, named])
        if request.tools and (hosted := translated_hosted(request, self.name, _hosted_of)) is not None:
            request, done = hosted.value, [*done, hosted]
        while (
            request.tool_choice is not None
            and self.unsupported_choices
            and (narrowed := keep_allowed_tools(request, self.name, self.unsupported_choices)) is not None
        ):
            request, done = narrowed.value, [*done, narrowed]
        write = self.functions.write_request
        if request.output_schema is None:
            encoded = write(request, target, self.provider)
        else:
            encoded = encode_with_output(
                lambda changed: write(changed, target, self.provider), request, target, names_schemas=self.names_schemas
            )
        for step in reversed(done):
            encoded = step.complete_losses(encoded)
        return encoded

    def _writable_history(self, messages: Sequence[Message]) -> tuple[Sequence[Message], list[Adapted[Any]]]:
        """The history as this protocol can take it, and the steps that changed it, in order.

        Blocks that were cut off are left out, texts of other protocols are joined, and calls get the ids that this
        protocol's servers gave them.
        """
        done: list[Adapted[Any]] = []
        if (cut := cut_history(messages, self.name)) is not None:
            messages = cut.value
            done.append(cut)
        if self.text_join != "apart" and (joined := joined_history(messages, self.name, self.text_join)) is not None:
            messages = joined.value
            done.append(joined)
        return with_native_ids(messages, self.name), done

    def decode_request(
        self,
        body: Json,
        headers: Headers | None = None,
        model: str | None = None,
        stream: bool | None = None,
        issuer: Origin | None = None,
    ) -> Request:
        if not is_object(body):
            raise ParseError(f"a request body is a JSON object, got {type(body).__name__}")
        request = self.functions.read_request(body, headers, model, stream, self.provider)
        return request if issuer is None else replace(request, messages=issued_by(request.messages, issuer))

    def encode_response(self, response: Response, request: Request | None = None) -> Encoded:
        if (cut := cut_answer(response, pieces=self.in_pieces, texts=self.cut_texts)) is not None:
            return cut.complete_losses(self.encode_response(cut.value, request))
        if response.error is not None and self.bare_errors:
            return self._bare_error(response, response.error)
        return self.functions.write_response(response, request)

    def _bare_error(self, response: Response, error: AdapterError) -> Encoded:
        ledger = Ledger()
        if response.content:
            ledger.lose("dropped", f"an error in {self.name} has no content", "content")
        return Encoded(self.errors.body(error), losses=tuple(ledger.losses))

    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        renamed = renamed_tools(request, self.name, self.tool_names)
        sent = request if renamed is None else renamed.request
        try:
            response = self.functions.read_response(body, headers, sent, self.provider)
        except AdapterError:
            raise
        except READING_ERRORS as error:
            raise unreadable_error(body, self.name) from error
        if renamed is not None:
            response = renamed.response(response)
        return response if request is None or request.output_schema is None else output_as_text(response, request)

    def stream_decoder(self, request: Request | None = None) -> StreamDecoder:
        renamed = renamed_tools(request, self.name, self.tool_names)
        if renamed is None:
            return output_decoder(self.functions.decoder(request, self.provider), request)
        return output_decoder(OriginalNames(self.functions.decoder(renamed.request, self.provider), renamed), request)

    def stream_encoder(self, request: Request | None = None) -> StreamEncoder:
        return self.functions.encoder(request)

    def encode_error(self, error: AdapterError) -> WireError:
        return self.errors.encode(error)

    def decode_error(self, status: int, headers: Headers | None, body: bytes) -> AdapterError:
        return self.errors.decode(status, headers, body, self.provider)

    def validate_request(self, body: Json) -> None:
        self.requirements.check(body)

    def renew_marks(self, value: Value, marks: dict[str, Json]) -> dict[str, Json]:
        """Renew the marks by the dialect's module ``old_marks``, which is loaded for saved values only."""
        renewed: dict[str, Json] = import_module(f"{type(self).__module__}.old_marks").MARKS.renew(value, marks)
        return renewed

    def encode_messages(self, messages: Sequence[Message], target: Target | None = None) -> Encoded:
        writable, done = self._writable_history(messages)
        if (named := with_wire_names(Request(tuple(writable)), self.name, self.tool_names)) is not None:
            writable, done = named.value.messages, [*done, named]
        encoded = self._part(self.functions.write_messages, writable, target)
        for step in reversed(done):
            encoded = step.complete_losses(encoded)
        return encoded

    def encode_system(self, system: Sequence[Block], target: Target | None = None) -> Encoded:
        placed = [(("system", index), block) for index, block in enumerate(system)]
        return self._part(self.functions.write_system, placed, target)

    def encode_tools(self, tools: Sequence[Tool], target: Target | None = None) -> Encoded:
        request, done = Request((), tools=tuple(tools)), list[Adapted[Request]]()
        if (named := with_wire_names(request, self.name, self.tool_names)) is not None:
            request, done = named.value, [named]
        if (hosted := translated_hosted(request, self.name, _hosted_of)) is not None:
            request, done = hosted.value, [*done, hosted]
        encoded = self._part(self.functions.write_tools, request.tools, target)
        for step in reversed(done):
            encoded = step.complete_losses(encoded)
        return encoded

    def encode_tool_choice(self, choice: ToolChoice, target: Target | None = None) -> Encoded:
        if (named := choice_with_wire_names(choice, self.name, self.tool_names)) is not None:
            return named.complete_losses(self._part(self.functions.write_choice, named.value, target))
        return self._part(self.functions.write_choice, choice, target)

    def _part(self, write: Callable[..., Json], value: Any, target: Target | None) -> Encoded:
        """One part of a request, written alone."""
        ledger = self.functions.ledger(target)
        return Encoded(write(value, target, ledger, self.provider), losses=tuple(ledger.losses))


def _hosted_of(name: str) -> Sequence[HostedTool]:
    return dialect(name).hosted if name in DIALECTS else ()

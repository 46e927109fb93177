"""What every dialect does around its own reading and writing, once.

Before a request is written: what was cut off is left out (``incomplete``), tools that the choice excludes are left out
where the protocol has no word for such a choice (``offered_tools``), and structured output becomes a forced tool where
the model has none (``output``). Before an answer is written, what was cut off is left out. After an answer is read, a
forced tool is turned back into text. A dialect has functions for the rest, which are named below.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import ClassVar

from msgspec.structs import replace

from ..errors import AdapterError
from ..types.base import Json, Value
from ..types.blocks import Block
from ..types.capabilities import Target
from ..types.loss import Encoded, WireError
from ..types.messages import Message, Origin
from ..types.request import Request
from ..types.response import Response
from ..types.tools import Tool, ToolChoice
from .base import Dialect, Headers, StreamDecoder
from .error_bodies import WireErrors
from .incomplete import cut_answer, cut_history
from .issuer import issued_by
from .joining import joined_history
from .ledger import Ledger
from .offered_tools import narrow
from .output import forcing, speaking, spoken
from .validate import Requirements

__all__ = ["WireDialect"]


class WireDialect(Dialect):
    """A dialect that is made of functions which read and write. Subclasses say what differs."""

    in_pieces: ClassVar[bool] = True
    """Whether calls are written in pieces, so that an answer may end within one."""
    cut_texts: ClassVar[bool] = False
    """Whether the protocol says of the texts of an answer that broke off that they are incomplete."""
    errors: ClassVar[WireErrors]
    requirements: ClassVar[Requirements]
    """What a request must have."""
    unsaid_choices: ClassVar[tuple[str, ...]] = ()
    """The tool choices that the protocol has no word for, of ``none``, ``specific`` and ``allowed``."""

    @abstractmethod
    def write_request(self, request: Request, target: Target | None) -> Encoded: ...

    @abstractmethod
    def read_request(self, body: Json, headers: Headers | None, model: str | None, stream: bool | None) -> Request: ...

    @abstractmethod
    def write_response(self, response: Response, request: Request | None) -> Encoded: ...

    @abstractmethod
    def read_response(self, body: Json, headers: Headers | None, request: Request | None) -> Response: ...

    @abstractmethod
    def decoder(self, request: Request | None) -> StreamDecoder: ...

    @abstractmethod
    def write_messages(self, messages: Sequence[Message], target: Target | None, ledger: Ledger) -> Json: ...

    @abstractmethod
    def write_system(self, system: Sequence[Block], target: Target | None, ledger: Ledger) -> Json: ...

    @abstractmethod
    def write_tools(self, tools: Sequence[Tool], target: Target | None, ledger: Ledger) -> Json: ...

    @abstractmethod
    def write_choice(self, choice: ToolChoice, target: Target | None, ledger: Ledger) -> Json: ...

    def ledger(self, tools: Sequence[Tool] = ()) -> Ledger:
        """Where the losses of one encoding are collected."""
        return Ledger()

    # ------------------------------------------------------------------------------------------------------ the verbs

    def encode_request(self, request: Request, target: Target | None = None) -> Encoded:
        if (cut := cut_history(request.messages, self.name)) is not None:
            return cut.tell(self.encode_request(replace(request, messages=cut.value), target))
        if self.text_join != "apart" and (one := joined_history(request.messages, self.name, self.text_join)):
            return one.tell(self.write_asked(replace(request, messages=one.value), target))
        return self.write_asked(request, target)

    def write_asked(self, request: Request, target: Target | None) -> Encoded:
        """A request without the tools and the schema that the protocol has no word for."""
        if self.unsaid_choices and (fewer := narrow(request, self.name, self.unsaid_choices)) is not None:
            return fewer.tell(self.write_asked(fewer.value, target))
        if request.output_schema is None:
            return self.write_request(request, target)
        return forcing(lambda asked: self.write_request(asked, target), request, target)

    def decode_request(
        self,
        body: Json,
        headers: Headers | None = None,
        model: str | None = None,
        stream: bool | None = None,
        issuer: Origin | None = None,
    ) -> Request:
        request = self.read_request(body, headers, model, stream)
        return request if issuer is None else replace(request, messages=issued_by(request.messages, issuer))

    def encode_response(self, response: Response, request: Request | None = None) -> Encoded:
        if (cut := cut_answer(response, pieces=self.in_pieces, texts=self.cut_texts)) is not None:
            return cut.tell(self.encode_response(cut.value, request))
        return self.write_response(response, request)

    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        response = self.read_response(body, headers, request)
        return response if request is None or request.output_schema is None else spoken(response, request)

    def stream_decoder(self, request: Request | None = None) -> StreamDecoder:
        return speaking(self.decoder(request), request)

    def encode_error(self, error: AdapterError) -> WireError:
        return self.errors.encode(error)

    def decode_error(self, status: int, headers: Headers | None, body: bytes) -> AdapterError:
        return self.errors.decode(status, headers, body, self.provider)

    def validate_request(self, body: Json) -> None:
        self.requirements.check(body)

    def renew_marks(self, value: Value, marks: dict[str, Json]) -> dict[str, Json]:
        """Each dialect's folder has ``old_marks.py``, which is only loaded for files of older releases."""
        renewed: dict[str, Json] = import_module(f"{type(self).__module__}.old_marks").MARKS.renew(value, marks)
        return renewed

    def encode_messages(self, messages: Sequence[Message], target: Target | None = None) -> Encoded:
        if (cut := cut_history(messages, self.name)) is not None:
            return cut.tell(self.encode_messages(cut.value, target))
        if self.text_join != "apart" and (one := joined_history(messages, self.name, self.text_join)):
            return one.tell(self._write_history(one.value, target))
        return self._write_history(messages, target)

    def _write_history(self, messages: Sequence[Message], target: Target | None) -> Encoded:
        ledger = self.ledger()
        return Encoded(self.write_messages(messages, target, ledger), losses=tuple(ledger.losses))

    def encode_system(self, system: Sequence[Block], target: Target | None = None) -> Encoded:
        ledger = self.ledger()
        return Encoded(self.write_system(system, target, ledger), losses=tuple(ledger.losses))

    def encode_tools(self, tools: Sequence[Tool], target: Target | None = None) -> Encoded:
        ledger = self.ledger(tools)
        return Encoded(self.write_tools(tools, target, ledger), losses=tuple(ledger.losses))

    def encode_tool_choice(self, choice: ToolChoice, target: Target | None = None) -> Encoded:
        ledger = self.ledger()
        return Encoded(self.write_choice(choice, target, ledger), losses=tuple(ledger.losses))

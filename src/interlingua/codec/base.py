"""The interface of a dialect: eight verbs, and encoders for single parts of a request. No I/O, clock, chance or key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import AdapterError, InvalidRequestError, ParseError
from ..types.base import Json, Value
from ..types.blocks import Block
from ..types.capabilities import Target
from ..types.events import Event
from ..types.loss import Encoded, Loss, WireError
from ..types.messages import Message, Origin
from ..types.request import Request
from ..types.response import Response
from ..types.tools import Tool, ToolChoice
from ..types.words import Role
from .history.joining import TextJoin
from .limits import Limits
from .tools.hosted_tools import HostedTool

if TYPE_CHECKING:
    from .rows.usage import Counts
    from .schema.subsets import Subset

__all__ = ["Dialect", "Headers", "StreamDecoder", "StreamEncoder"]

Headers = Mapping[str, str]


class StreamDecoder(ABC):
    """Bytes in, events out. Never raises because of the wire's content: ``error`` holds what went wrong."""

    error: AdapterError | None
    tolerant: bool = False
    """Whether events that are not strict JSON are read as far as possible. Clients set it."""
    approximated: bool = False
    """Whether an event that was not strict JSON was read."""

    @abstractmethod
    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""

    def accept(self, limits: Limits) -> None:  # noqa: B027  # a registered decoder may have limits of its own
        """Set ``limits.event`` and ``limits.arguments``: anything larger ends the stream in an error."""

    @abstractmethod
    def close(self, clean: bool = False) -> list[Event]:
        """The events at the end of the bytes. A stream without its terminal event was cut, and ends in an error.

        ``clean``: the transport saw the proper end of the HTTP body. It matters only in protocols whose terminal event
        is not reliable.
        """


class StreamEncoder(ABC):
    """Events in, bytes out. An event that breaks the grammar raises ``ParseError``: it is the caller's mistake."""

    losses: list[Loss]

    @abstractmethod
    def feed(self, event: Event) -> bytes:
        """The bytes of an event; often empty."""

    @abstractmethod
    def fail(self, error: AdapterError) -> bytes:
        """The bytes that end the stream with an error, in the protocol's own way."""

    @abstractmethod
    def close(self) -> bytes:
        """The bytes still missing at the end. A stream that was never completed gets no end marker."""


SHAPE_ERRORS = (
    KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError, OverflowError, AssertionError,
)  # fmt: skip
"""What reading or writing a value of an unexpected shape raises."""
READING = ("decode_request", "decode_response", "decode_error")
WRITING = ("encode_request", "encode_response", "encode_error", "encode_messages", "encode_system")
VERBS = (*READING, *WRITING, "encode_tools", "encode_tool_choice", "as_turn")


def _guarded(verb: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The verb, raising an ``AdapterError`` for whatever its arguments contain."""

    @wraps(verb)
    def guarded(self: Dialect, *args: Any, **named: Any) -> Any:
        try:
            return verb(self, *args, **named)
        except SHAPE_ERRORS as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is None:
                raise  # the verb was called with wrong arguments; their content is not the cause
            what = name.partition("_")[2].replace("_", " ")
            if name in READING:
                raise ParseError(f"this {what} is not what {self.name} allows: {_described(error)}") from error
            raise InvalidRequestError(f"this {what} cannot be written in {self.name}: {_described(error)}") from error

    return guarded


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


class Dialect(ABC):
    """One wire protocol, in both directions: a client codec and a server codec.

    The verbs of every subclass raise ``AdapterError`` and nothing else: where a value has a shape that a dialect's
    readers and writers do not expect, the verb raises a ``ParseError`` or an ``InvalidRequestError``.
    """

    name: ClassVar[str]
    history_key: ClassVar[str] = "messages"
    """The key of the history in a request of the protocol."""
    schema_subset: ClassVar[Subset | None] = None
    """The part of JSON Schema that strict schemas may use; None: the dialect has no strict schemas."""
    hosted: ClassVar[Sequence[HostedTool]] = ()
    """The tools that the provider runs itself and that other providers have too."""
    text_join: ClassVar[TextJoin] = "apart"
    """How neighbouring texts of a turn that another protocol wrote are written."""
    usage: ClassVar[Counts | None] = None
    """How the object ``usage`` of an answer is counted; None where other parts of the answer count too."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in VERBS:
            if name in vars(cls):
                setattr(cls, name, _guarded(vars(cls)[name], name))

    def __init__(self, provider: str | None = None) -> None:
        self.provider = provider

    def renew_marks(self, value: Value, marks: dict[str, Json]) -> dict[str, Json]:
        """The marks of a value as this release writes them; ``marks`` may come from the file of an older release."""
        return marks

    @abstractmethod
    def encode_request(self, request: Request, target: Target | None = None) -> Encoded:
        """The request as it is sent: body, path, headers, and the losses."""

    @abstractmethod
    def decode_request(
        self,
        body: Json,
        headers: Headers | None = None,
        model: str | None = None,
        stream: bool | None = None,
        issuer: Origin | None = None,
    ) -> Request:
        """The request in a body. ``model`` and ``stream`` are from the URL; ``issuer`` wrote the assistant turns."""

    @abstractmethod
    def encode_response(self, response: Response, request: Request | None = None) -> Encoded:
        """The answer as a server sends it to the client that made ``request``."""

    @abstractmethod
    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        """The answer in a body; with ``request``, tool arguments are read by the tools' schemas."""

    @abstractmethod
    def stream_decoder(self, request: Request | None = None) -> StreamDecoder:
        """A decoder for one stream: bytes in, events out."""

    @abstractmethod
    def stream_encoder(self, request: Request | None = None) -> StreamEncoder:
        """An encoder for one stream: events in, bytes out."""

    @abstractmethod
    def encode_error(self, error: AdapterError) -> WireError:
        """The error as a server of this protocol sends it: status, headers, body."""

    @abstractmethod
    def decode_error(self, status: int, headers: Headers | None, body: bytes) -> AdapterError:
        """The error that a status and a body mean, for the caller to raise."""

    def validate_request(self, body: Json) -> None:
        """Raise an ``InvalidRequestError``, in the vendor's own form, for a body that the vendor would refuse.

        A dialect that has no rules of its own refuses what it cannot decode.
        """
        self.decode_request(body)

    def as_turn(self, response: Response) -> Message:
        """The answer as an assistant turn, with everything that later requests must send back."""
        return Message(Role.assistant, response.content, origin=Origin(self.provider, self.name, response.model))

    @abstractmethod
    def encode_messages(self, messages: Sequence[Message], target: Target | None = None) -> Encoded:
        """The history alone, as the value of the protocol's own key."""

    @abstractmethod
    def encode_system(self, system: Sequence[Block], target: Target | None = None) -> Encoded:
        """The system text alone."""

    @abstractmethod
    def encode_tools(self, tools: Sequence[Tool], target: Target | None = None) -> Encoded:
        """The tools alone."""

    @abstractmethod
    def encode_tool_choice(self, choice: ToolChoice, target: Target | None = None) -> Encoded:
        """The choice of a tool alone."""

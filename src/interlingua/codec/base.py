"""What a dialect is: eight verbs and the parts of a request usable alone. Pure: no I/O, clock, randomness or key."""

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
    """Bytes in, events out. Never raises on what the wire says: ``error`` holds what went wrong."""

    error: AdapterError | None
    tolerant: bool = False
    """Whether events that are not strict JSON are read all the same, as far as they can be. Clients set it."""
    approximated: bool = False
    """Whether that was done."""

    @abstractmethod
    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""

    def accept(self, limits: Limits) -> None:  # noqa: B027  # somebody else's decoder may have limits of its own
        """Accept no more than ``limits.event`` and ``limits.arguments``: what is larger ends the stream in an error."""

    @abstractmethod
    def close(self, clean: bool = False) -> list[Event]:
        """The end of the bytes. A stream that has not said its last word is cut: it ends in an error.

        ``clean``: the transport saw the HTTP body's own end. Only protocols without a reliable last word ask for it.
        """


class StreamEncoder(ABC):
    """Events in, bytes out. An event that breaks the grammar raises ``ParseError``: it is the caller's mistake."""

    losses: list[Loss]

    @abstractmethod
    def feed(self, event: Event) -> bytes:
        """The bytes that say an event; often none."""

    @abstractmethod
    def fail(self, error: AdapterError) -> bytes:
        """The bytes that end the stream with an error, in the protocol's own way."""

    @abstractmethod
    def close(self) -> bytes:
        """The bytes still owed at the end. A stream that was never completed gets no end marker."""


ODD = (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError, OverflowError, AssertionError)
"""What values of an unexpected shape raise."""
READING = ("decode_request", "decode_response", "decode_error")
WRITING = ("encode_request", "encode_response", "encode_error", "encode_messages", "encode_system")
VERBS = (*READING, *WRITING, "encode_tools", "encode_tool_choice", "as_turn")


def _guarded(verb: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A verb that raises nothing but our own errors, whatever it is given."""

    @wraps(verb)
    def guarded(self: Dialect, *args: Any, **named: Any) -> Any:
        try:
            return verb(self, *args, **named)
        except ODD as odd:
            if odd.__traceback__ is None or odd.__traceback__.tb_next is None:
                raise  # the call itself was wrong, not what was in it
            what = name.partition("_")[2].replace("_", " ")
            if name in READING:
                raise ParseError(f"this {what} is not what {self.name} allows: {_why(odd)}") from odd
            raise InvalidRequestError(f"this {what} cannot be written in {self.name}: {_why(odd)}") from odd

    return guarded


def _why(odd: Exception) -> str:
    return f"{type(odd).__name__}: {str(odd)[:200]}"


class Dialect(ABC):
    """One wire protocol, in both directions: a client codec and a server codec.

    The verbs of every subclass raise ``AdapterError`` and nothing else: what slips through the readers and writers of a
    dialect, because a value had a shape that nobody foresaw, becomes a ``ParseError`` or an ``InvalidRequestError``.
    """

    name: ClassVar[str]
    history_key: ClassVar[str] = "messages"
    """Where the protocol's request has its history."""
    schema_subset: ClassVar[Subset | None] = None
    """What it takes of JSON Schema; a dialect that does not say it has no strict schemas."""
    hosted: ClassVar[Sequence[HostedTool]] = ()
    """The tools that the provider runs itself and that others have too."""
    text_join: ClassVar[TextJoin] = "apart"
    """How neighbouring texts of a turn that another protocol wrote are written."""
    usage: ClassVar[Counts | None] = None
    """How the object ``usage`` of an answer counts, where nothing else of an answer does."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in VERBS:
            if name in vars(cls):
                setattr(cls, name, _guarded(vars(cls)[name], name))

    def __init__(self, provider: str | None = None) -> None:
        self.provider = provider

    def renew_marks(self, value: Value, marks: dict[str, Json]) -> dict[str, Json]:
        """What this dialect remembers about the wire of a value, as today's writers read it.

        ``marks`` may come from a file that an older release saved.
        """
        return marks

    @abstractmethod
    def encode_request(self, request: Request, target: Target | None = None) -> Encoded:
        """A request as it is sent: body, path, headers, and what the protocol cannot say."""

    @abstractmethod
    def decode_request(
        self,
        body: Json,
        headers: Headers | None = None,
        model: str | None = None,
        stream: bool | None = None,
        issuer: Origin | None = None,
    ) -> Request:
        """A request as it came. ``model`` and ``stream`` are what the URL says; ``issuer`` wrote the model's turns."""

    @abstractmethod
    def encode_response(self, response: Response, request: Request | None = None) -> Encoded:
        """An answer as a server sends it to whoever made this request."""

    @abstractmethod
    def decode_response(self, body: Json, headers: Headers | None = None, request: Request | None = None) -> Response:
        """An answer as it came; with ``request``, tool arguments are read by the tools' schemas."""

    @abstractmethod
    def stream_decoder(self, request: Request | None = None) -> StreamDecoder:
        """A decoder for one stream: bytes in, events out."""

    @abstractmethod
    def stream_encoder(self, request: Request | None = None) -> StreamEncoder:
        """An encoder for one stream: events in, bytes out."""

    @abstractmethod
    def encode_error(self, error: AdapterError) -> WireError:
        """A failure as a server of this protocol says it: status, headers, body."""

    @abstractmethod
    def decode_error(self, status: int, headers: Headers | None, body: bytes) -> AdapterError:
        """The failure that a status and a body mean; to be raised by the caller."""

    def validate_request(self, body: Json) -> None:
        """Raise an ``InvalidRequestError``, in the vendor's own form, for a body that the vendor would refuse.

        A dialect that has no rules of its own refuses what it cannot decode.
        """
        self.decode_request(body)

    def as_turn(self, response: Response) -> Message:
        """An answer as a turn of the history, with what must go back with it."""
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

"""Every exception, and nothing of any wire.

Exception
└── AdapterError                 something went wrong with a model call; ``error_class`` says what kind
    ├── RateLimitError           rate_limit: slow down; a spent quota is one with ``retryable=False``
    │   └── OverloadedError      rate_limit: the service is busy; no limit of the caller was reached
    ├── AuthError                auth: the key is missing, wrong or may not do this
    │   └── NotConfigured        auth: no key, or no such provider, is configured
    ├── ServerError              server_error: the provider failed
    ├── NetworkError             network: it could not be reached, or the connection broke
    ├── RequestTimeoutError      timeout: no answer came in time
    ├── ContextOverflowError     context_overflow: the conversation is too long for the model
    ├── InvalidRequestError      invalid_request: the provider would not take the request
    │   ├── ParseError           what came over the wire is not what the protocol allows
    │   └── LossyTranslation     something would be lost, and the caller wanted an error instead
    ├── ToolStateError           tool_error: calls and results do not match
    ├── StoreError               other: a session could not be written to its store, or read from it
    ├── OutputError              other: the model gave no answer of the type that was asked for
    └── CancelledError           cancelled: by the caller
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .types.words import ErrorClass, ErrorWord

if TYPE_CHECKING:
    from .types.loss import Loss
    from .types.response import Response

__all__ = [
    "AdapterError",
    "AuthError",
    "CancelledError",
    "ContextOverflowError",
    "InvalidRequestError",
    "LossyTranslation",
    "NetworkError",
    "NotConfigured",
    "OutputError",
    "OverloadedError",
    "ParseError",
    "RateLimitError",
    "RequestTimeoutError",
    "ServerError",
    "StoreError",
    "ToolStateError",
    "error_type",
]

RETRYABLE = frozenset(
    {
        ErrorClass.rate_limit,
        ErrorClass.server_error,
        ErrorClass.network,
        ErrorClass.timeout,
        ErrorClass.tool_error,
    }
)


class AdapterError(Exception):
    """A failed model call. ``provider_*`` is what the provider said, in its own words.

    ``extras`` is residue as everywhere: the rest of the provider's error body, keyed by dialect.
    """

    default_class: ClassVar[ErrorClass] = ErrorClass.other

    def __init__(
        self,
        message: str = "",
        *,
        error_class: ErrorWord | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        provider: str | None = None,
        provider_status: int | None = None,
        provider_code: str | int | None = None,
        provider_message: str | None = None,
        request_id: str | None = None,
        attempts: int = 0,
        response: Response | None = None,
        extras: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_class = ErrorClass(error_class) if error_class is not None else self.default_class
        self.retryable = self.error_class in RETRYABLE if retryable is None else retryable
        self.retry_after = retry_after
        self.provider = provider
        self.provider_status = provider_status
        self.provider_code = provider_code
        self.provider_message = provider_message
        self.request_id = request_id
        self.attempts = attempts
        self.response = response
        self.extras: dict[str, Any] = extras or {}

    def __eq__(self, other: object) -> bool:
        """Whether it is the same failure; the partial ``response`` is not compared, since it holds the error itself."""
        if type(self) is not type(other):
            return False
        return {**self.__dict__, "response": None} == {**other.__dict__, "response": None}

    def __hash__(self) -> int:
        return hash((type(self), self.message, self.provider_status, self.provider_code))

    def __repr__(self) -> str:
        shown = {
            k: v for k, v in self.__dict__.items() if v not in (None, "", {}, 0) and k not in ("response", "extras")
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,), self.__dict__.copy()  # state apart: a partial response refers back to us


class RateLimitError(AdapterError):
    """Slow down, or (``retryable=False``) the quota is spent."""

    default_class = ErrorClass.rate_limit


class OverloadedError(RateLimitError):
    """The service is busy: no limit of the caller's was reached."""


class AuthError(AdapterError):
    """The key is missing, wrong, or not allowed to do this."""

    default_class = ErrorClass.auth


class NotConfigured(AuthError):
    """No key, or no such provider, is configured."""


class ServerError(AdapterError):
    """The provider failed."""

    default_class = ErrorClass.server_error


class NetworkError(AdapterError):
    """The provider could not be reached, or the connection broke."""

    default_class = ErrorClass.network


class RequestTimeoutError(AdapterError):
    """No answer came in time."""

    default_class = ErrorClass.timeout


class ContextOverflowError(AdapterError):
    """The conversation does not fit the model's context window."""

    default_class = ErrorClass.context_overflow


class InvalidRequestError(AdapterError):
    """The provider would not take the request."""

    default_class = ErrorClass.invalid_request


class ParseError(InvalidRequestError):
    """What came over the wire is not what the protocol allows."""


class LossyTranslation(InvalidRequestError):
    """Something would be lost in translation, and the caller wanted an error instead. ``losses`` says what."""

    losses: tuple[Loss, ...] = ()


class ToolStateError(AdapterError):
    """Tool calls and results do not match."""

    default_class = ErrorClass.tool_error


class StoreError(AdapterError):
    """A session could not be written to its store, or read from it.

    ``response`` is the answer that was just received, if there is one: it is in the session's history, and the next
    save writes it. ``retryable`` says whether the same write may succeed later (a full disk, a locked database); it is
    False when another writer has changed the stored session.
    """


class OutputError(AdapterError):
    """The model gave no answer of the type that ``output=`` asks for. ``response`` is its last answer.

    ``reason`` lists what is wrong with it, in the words that were sent to the model.
    """

    reason: str = ""


class CancelledError(AdapterError):
    """The caller cancelled the call."""

    default_class = ErrorClass.cancelled


_TYPES: dict[ErrorClass, type[AdapterError]] = {
    cls.default_class: cls
    for cls in (
        AdapterError,
        RateLimitError,
        AuthError,
        ServerError,
        NetworkError,
        RequestTimeoutError,
        ContextOverflowError,
        InvalidRequestError,
        ToolStateError,
        CancelledError,
    )
}


def error_type(error_class: ErrorWord) -> type[AdapterError]:
    """The exception type that stands for an error class."""
    return _TYPES[ErrorClass(error_class)]

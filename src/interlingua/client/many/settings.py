"""The options of a map, and what may be given as a request."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, cast

from msgspec import Struct, structs

from ...codec.saving import to_json
from ...codec.surrogates import clean
from ...models.pricing import Pricing
from ...types.blocks import Block
from ...types.checking import check
from ...types.messages import Message
from ...types.request import Request
from ..limiter import Limiter

__all__ = ["END", "Input", "Inputs", "MapOptions", "MapSettings", "as_request", "check_inputs", "key_of"]

Input: TypeAlias = Request | Message | str | Block | Sequence[Message | Mapping[str, Any]] | Sequence[str | Block]
"""A request, a message, a conversation, or the content of a user's message."""
Inputs: TypeAlias = Iterable[Input] | AsyncIterable[Input]
END: Any = object()
"""What comes after the last input."""
OnError = Literal["keep", "raise"]
NOT_CONTENT = ("request_id", "stream")
"""Fields of a request that do not belong to its content."""


class MapOptions(TypedDict, total=False):
    """The options of ``map``, for type checkers."""

    concurrency: int
    rate: int | None
    tokens_per_minute: int | None
    limiter: Limiter | None
    on_error: OnError
    ordered: bool
    journal: str | os.PathLike[str] | None
    progress: bool
    total: int | None
    defaults: Request | None
    pricing: Pricing | None


class MapSettings(Struct, frozen=True, kw_only=True):
    """``rate`` is requests a minute. ``on_error="keep"``: a request that fails is a result with an error, and the
    others go on; ``"raise"``: the first error ends it all. ``ordered``: results come in the order of the requests, else
    as they are ready. ``journal`` is a file that keeps the answers, so that they are not asked for again; one that ends
    in ``.db`` or ``.sqlite`` is SQLite, any other JSON lines. ``defaults`` has the fields that a request leaves unset.
    ``total`` is the number of requests for the progress bar. ``output`` is the type of the answers."""

    concurrency: int = 8
    rate: int | None = None
    tokens_per_minute: int | None = None
    limiter: Limiter | None = None
    on_error: OnError = "keep"
    ordered: bool = True
    journal: str | os.PathLike[str] | None = None
    progress: bool = False
    total: int | None = None
    defaults: Request | None = None
    pricing: Pricing | None = None
    output: Any = None

    def __post_init__(self) -> None:
        if self.on_error not in ("keep", "raise"):
            raise ValueError(f"on_error must be 'keep' or 'raise', got {self.on_error!r}")
        check(self)
        if self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {self.concurrency}")

    def limiters(self) -> tuple[Limiter, ...]:
        """The limiters that every attempt waits for, besides those of the client."""
        given = () if self.limiter is None else (self.limiter,)
        if self.rate is None and self.tokens_per_minute is None:
            return given
        return (*given, Limiter(rate=self.rate, tokens_per_minute=self.tokens_per_minute))


def check_inputs(inputs: object) -> None:
    """Raise if these are not many inputs. A string would become one request for each letter."""
    kind = type(inputs)
    if issubclass(kind, str | bytes | Mapping) or not issubclass(kind, Iterable | AsyncIterable):
        raise TypeError(f"a map takes many requests, as a list or any iterable, not one {kind.__name__}")


def as_request(given: Input, defaults: Request | None = None) -> Request:
    """One input as a request, with the fields of ``defaults`` that it does not set."""
    request = given if isinstance(given, Request) else Request(_messages(given))
    if defaults is None:
        return request
    unset: dict[str, Any] = {
        name: value
        for name, default in zip(Request.__struct_fields__, _defaults(Request), strict=True)
        if (value := getattr(defaults, name)) != default and getattr(request, name) == default
    }
    return structs.replace(request, **unset) if unset else request


def _defaults(kind: type[Struct]) -> tuple[Any, ...]:
    made = kind()
    return tuple(getattr(made, name) for name in kind.__struct_fields__)


def _messages(given: Any) -> Sequence[Message]:
    if isinstance(given, Message):
        return (given,)
    if type(given) in (list, tuple) and given and all(isinstance(item, Message | Mapping) for item in given):
        return cast("Sequence[Message]", given)
    return (Message("user", given),)


def key_of(request: Request) -> str:
    """The digest of a request's content, by which a journal recognises it."""
    plain = structs.replace(request, **dict.fromkeys(NOT_CONTENT))
    return hashlib.sha256(to_json(clean(plain))).hexdigest()[:32]

"""What both clients share: a provider's row, its settings, its dialect, and how a request becomes a call."""

from __future__ import annotations

import os
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol, TypedDict, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..dialects import dialect
from ..errors import InvalidRequestError, NotConfigured, ToolStateError
from ..models.catalogue import Catalogue, Facts, default_catalogue
from ..models.catalogue.names import ALSO_CALLED, our_spelling
from ..models.estimate import Learner
from ..models.providers import PROVIDERS, Provider, provider as find
from ..types.base import unchecked_copy
from ..types.blocks import Block
from ..types.capabilities import AdapterCapabilities, Target
from ..types.checking import check_arguments
from ..types.events import Event
from ..types.loss import Loss
from ..types.messages import Message
from ..types.request import Request
from ..types.response import Response
from ..types.tools import Tool
from ..types.words import Role
from .addressing import HOSTED_DIALECTS, Address
from .bus import BUS, Bus
from .calls import Call
from .client_parts import DEFAULTS, Partial, merge_settings
from .config import AdapterConfig
from .exchange import Exchange
from .fitting import (
    Fitter,
    Unsupported,
    fit_request,
    match_results,
    results_match,
    roots_are_plain,
    with_plain_roots,
)
from .limiter import Limiter
from .loss_policy import OnLoss, judge_losses
from .retry import Budget
from .signing import signer_for
from .uploaded import Uploads

__all__ = ["Adapter", "Passage", "ProviderAdapter", "Settings", "new_ulid"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_LETTERS = _ALPHABET.encode() * 8
_RANDOM = random.Random()
if hasattr(os, "register_at_fork"):  # without it, parent and child would make the same ids
    os.register_at_fork(after_in_child=_RANDOM.seed)
_MOST_REMEMBERED = 64

C = TypeVar("C", bound=Call)


class ProviderAdapter(Protocol):
    """Anything that answers requests; ``AsyncClient`` is one."""

    @property
    def name(self) -> str:
        """The provider's name, for logs and reports."""
        ...

    @property
    def capabilities(self) -> AdapterCapabilities:
        """What the default model accepts and returns."""
        ...

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """What a model accepts and returns."""
        ...

    async def complete(self, request: Request) -> Response:
        """Return the whole answer. A raised ``AdapterError`` has the part received until then in ``response``."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Event]:
        """The answer event by event; the last is ``message.complete``."""
        ...

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), system: str | Sequence[Block] | None = None
    ) -> int:
        """An estimate of a prompt's tokens, without a network."""
        ...

    async def cancel(self, request_id: str) -> bool:
        """End the call that has this ``request_id``; False if there is none."""
        ...

    async def close(self) -> None:
        """End all calls and close the connections."""
        ...


class Passage(Struct, frozen=True):
    """Where to send a body that is forwarded unchanged: the provider's model name, the URL, headers with the key."""

    model: str
    url: str
    headers: dict[str, str]


CHECKED_ARGUMENTS: dict[str, Any] = {
    "on_loss": OnLoss,
    "unsupported": Unsupported | None,
    "limiter": Limiter | None,
    "upload": bool,
}
"""Arguments whose values are checked when a client is made: a misspelt one must not be taken for the default."""


class Settings(TypedDict, total=False):
    """The arguments of both clients beside provider, configuration and default model."""

    on_loss: OnLoss
    unsupported: Unsupported | None
    """What to do with parameters and content that the model does not take. By default such parameters are dropped with
    a Loss, and a request with such content is refused. ``"drop"`` drops the content too, ``"describe"`` puts a note in
    its place, ``"refuse"`` refuses the request in both cases."""
    catalogue: Catalogue | None
    """Names and abilities of models. ``Catalogue(())`` knows nothing, so nothing is refused or changed."""
    prepare: Callable[[Request], Request] | None
    """Applied to every request first, for instance to fill in the defaults of a configuration."""
    upload: bool
    """Whether media that are too big for a request are sent to the provider's Files API first."""
    limiter: Limiter | None
    """Requests and tokens a minute, and calls at once; several clients may share one."""
    bus: Bus
    clock: Callable[[], float]
    chance: Callable[[], float]


class Adapter:
    """The base class of both clients, with everything that does no I/O."""

    account: str | None = None
    """The client's id in its manager; None without a manager, and then the provider's name is used."""

    def __init__(
        self,
        provider: str | Provider,
        config: Partial | None = None,
        *,
        model: str | None = None,
        on_loss: OnLoss = "warn",
        unsupported: Unsupported | None = None,
        catalogue: Catalogue | None = None,
        prepare: Callable[[Request], Request] | None = None,
        upload: bool = False,
        limiter: Limiter | None = None,
        bus: Bus = BUS,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if isinstance(provider, str):
            id, _, named = our_spelling(provider).partition(":")
            provider, model = find(ALSO_CALLED.get(id, id)), model or named or None
        self.provider, self.name = provider, provider.name
        self.config = _as_config(config)
        self._signer = signer_for(self.provider, self.config)
        self._address = Address(self.provider, self.config)
        self.model, self.bus, self.limiter = model, bus, limiter
        self.uploads = Uploads() if upload else None
        self.on_loss: OnLoss = on_loss
        self.unsupported: Unsupported | None = unsupported
        given = {"on_loss": on_loss, "unsupported": unsupported, "limiter": limiter, "upload": upload}
        check_arguments(type(self).__name__, given, CHECKED_ARGUMENTS)
        self.dialect = dialect(self.provider.dialect, self.name)
        self._catalogue, self._prepare, self._clock, self._chance = catalogue, prepare, clock, chance
        self._targets: dict[str, tuple[Target, Fitter | None]] = {}
        self._learner = Learner(self.name)
        self._passages: dict[tuple[str | None, bool], Passage | None] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, model={self.model!r})"

    @property
    def capabilities(self) -> AdapterCapabilities:
        """What the default model can do; without a default model, what the dialect can carry."""
        return self.capabilities_for(self.model or "")

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """What a model can do; for an unknown model, what the dialect can carry."""
        return self.catalogue.capabilities_for(self.name, model, self.dialect.name)

    @property
    def catalogue(self) -> Catalogue:
        """What is known of models. The default catalogue is loaded on first use."""
        if self._catalogue is None:
            self._catalogue = default_catalogue()
        return self._catalogue

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), system: str | Sequence[Block] | None = None
    ) -> int:
        """An estimate of a prompt's tokens, without a network. ``docs/estimates.md`` says how exact it is.

        It is corrected with the counts that the provider reports, for each model.
        """
        return self.estimate(Request(messages, None, system or (), tools))

    def estimate(self, request: Request) -> int:
        """As ``estimate_input_tokens``, for a whole request: model, tool choice, thinking and schema count too."""
        if request.model is not None and ":" in request.model:
            request = replace(request, model=self.bare_model_name(request.model))
        if self._prepare is not None and request.model is not None:
            with suppress(NotConfigured):  # an estimate needs no key
                request = self._prepare(request)
        name = request.model or self.model or ""
        target, _ = self._targets.get(name) or self._find_target(name)
        return self._learner.estimate(replace(request, model=target.model))

    def target(self, model: str | None) -> Target:
        """The target of a request for this model: provider, model and capabilities."""
        able = self.capabilities_for(model) if model else None
        return Target(self.name, model, able, None, self.provider.shares)

    def budget(self) -> Budget:
        """The attempts and the time of one model call."""
        config = self.config
        return Budget(config.retry, config.max_retries, config.timeout_seconds, self._clock, self._chance)

    def call(self, kind: type[C], request: Request, *, stream: bool, budget: Budget | None = None) -> C:
        """Return a call that is ready to be sent. Raises if encoding fails, or loses what ``on_loss`` forbids to lose.

        ``kind`` is the client's class of calls. ``budget``: attempts and time that are shared with other adapters.
        """
        exchange = self.exchange(request, stream=stream)
        budget = budget or self.budget()
        budget.account = self.account or self.name
        exchange.body()
        if exchange.losses:
            judge_losses(exchange, self.on_loss, budget)
        return kind(exchange, self.config, budget, self.bus, self._signer, self._learner, self.limiter, self.uploads)

    def passage(self, model: str | None, *, stream: bool) -> Passage | None:
        """Where to send a body of this dialect unchanged; None if it would have to be changed or signed.

        A body is changed for clouds with their own form of it, and by ``options["body"]``, which is merged into it.
        """
        key = model, stream
        if key not in self._passages:
            if len(self._passages) >= _MOST_REMEMBERED:
                self._passages.clear()
            self._passages[key] = self._find_passage(model, stream=stream)
        return self._passages[key]

    def passage_to(self, path: str) -> Passage | None:
        """Where to send a request to another endpoint of this provider; None for clouds, whose paths differ."""
        if self.name in HOSTED_DIALECTS:
            return None
        return Passage("", self._address.url(path), self._address.headers({}))

    def _find_passage(self, model: str | None, *, stream: bool) -> Passage | None:
        if self._signer is not None or self.config.options.get("body") or self.name in HOSTED_DIALECTS:
            return None
        exchange = self.exchange(Request((Message(Role.user, "?"),), model), stream=stream)
        return None if exchange.model is None else Passage(exchange.model, exchange.url, exchange.headers)

    def exchange(self, request: Request, *, stream: bool, address: Address | None = None) -> Exchange:
        """Change the request so that the model accepts it, and encode it. The exchange has the losses."""
        if type(request) is not Request:
            _require_request(request)
        model = request.model or self.model
        if model is not None and ":" in model:
            model = self.bare_model_name(model)
        if self._prepare is not None:
            request = self._prepare(request if model == request.model else unchecked_copy(request, model=model))
            model = request.model
        target, fitter = self._targets.get(model or "") or self._find_target(model or "")
        if request.model != target.model or not request.request_id or request.stream is not stream:
            id = request.request_id or new_ulid()
            request = unchecked_copy(request, model=target.model, request_id=id, stream=stream)
        losses: tuple[Loss, ...] = ()
        if fitter is None or not fitter.accepts(request):
            request, losses = self._fit(request, fitter)
        return Exchange(
            self.provider,
            self.config,
            self.dialect,
            request,
            target,
            stream=stream,
            address=address or self._address,
            losses=losses,
        )

    def _fit(self, request: Request, fitter: Fitter | None) -> tuple[Request, tuple[Loss, ...]]:
        """A request that the model accepts, and the losses. Raises if there is none."""
        losses: tuple[Loss, ...] = ()
        try:
            if fitter is not None:
                request, losses = fit_request(request, fitter.facts, fitter.able, self.unsupported)
            if not results_match(request.messages):
                request, changed = match_results(request)
                losses += changed
            if not roots_are_plain(request.tools):
                request, copied = with_plain_roots(request)
                losses += copied
        except (InvalidRequestError, ToolStateError) as error:
            error.provider, error.request_id = self.name, request.request_id
            raise
        return request, losses

    def bare_model_name(self, name: str) -> str:
        """A model's name without the provider in ``"provider:model"``. Raises for a model of another provider, unless
        this is a local or unknown server or has a ``base_url``: their own names may contain a colon."""
        prefix, _, model = name.partition(":")
        other = ALSO_CALLED.get(prefix, prefix)
        if self.name in (prefix, other) and model:
            return model
        anything = self.provider.local or self.config.base_url is not None or self.name not in PROVIDERS
        if anything or other not in PROVIDERS:
            return name
        raise InvalidRequestError(
            f"{name!r} is a model of {other}, and this client calls {self.name}: use connect({name!r}), a router or a"
            " session",
            provider=self.name,
        )

    def _find_target(self, model: str) -> tuple[Target, Fitter | None]:
        """The target and the fitter for the model of that name, cached for the next call."""
        wire = self.catalogue.wire_name(self.name, model) if model else None
        target = self.target(wire)
        facts = self.catalogue.facts(self.name, wire) if wire else Facts()
        found = target, None if target.capabilities is None else Fitter(facts, target.capabilities)
        if len(self._targets) < _MOST_REMEMBERED:
            self._targets[model] = found
        return found


def _as_config(config: Partial | None) -> AdapterConfig:
    if config is None or isinstance(config, AdapterConfig):
        return config or DEFAULTS
    if not hasattr(config, "keys"):  # it may be a key, so the error does not show it
        raise TypeError("the second argument of a client is its configuration: AdapterConfig(api_key=…), or a dict")
    return merge_settings(DEFAULTS, config)


def _require_request(request: object) -> None:
    if not isinstance(request, Request):
        raise TypeError(f"expected a Request, got {type(request).__name__}: write Request([Message('user', 'Hello')])")


def new_ulid() -> str:
    """An id that sorts by time: 48 bits of milliseconds, 80 random bits."""
    at = time.time_ns() // 1_000_000
    letters = _RANDOM.getrandbits(128).to_bytes(16, "big").translate(_LETTERS).decode()
    return f"{_high_bits(at >> 20)}{_PAIRS[at >> 10 & 1023]}{_PAIRS[at & 1023]}{letters}"


@lru_cache(maxsize=2)
def _high_bits(number: int) -> str:
    """The first letters of an id, cached because they change only every 17 minutes."""
    return _PAIRS[number >> 20] + _PAIRS[number >> 10 & 1023] + _PAIRS[number & 1023]
